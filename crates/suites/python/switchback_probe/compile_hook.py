"""Every compiled kernel of the process: its variant, its IR texts, what it uses of the card.

Leaves to `launch_hook` which of them a case launches. Invariants: the texts lie in `ir_dir` before the kernel can be
launched (so a crash in the kernel still leaves its code); the event is written once the kernel is loaded, when
registers are known, or at the end of the pass if it never was; what only a tuner tried keeps no texts.
"""

import hashlib
import json

from . import compat
from .protocol import finite, plain_text

TEXT_STAGES = ("ttir", "ttgir", "llir", "ptx", "amdgcn")
"""Stages that have a text on some back end, in the order of compilation."""

_BINARY_STAGES = ("cubin", "hsaco", "mubin")
_SOURCE = "source"  # the module before the first pass; `ttir` holds it, in the form that the fingerprint knows
_VARIANT_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "cluster_dims")
_NOT_OPTIONS = ("hash", "name", "shared", "tmem_size", "triton_version", "global_scratch_size", "global_scratch_align")


class CompiledForm:
    """One compiled kernel, held so that its handle is not given to another."""

    def __init__(self, kernel, tuning, side):
        self.kernel = kernel
        self.tuning = tuning
        self.side = side
        self.id = str(getattr(kernel, "hash", None) or id(kernel))[:32]
        self.compile_ms = None
        self.cache_hit = False
        self.told = False
        self.stages = {}
        self.missing = {}


class CompileHook:
    """Knows every compiled kernel of the process and tells of each once."""

    def __init__(self, session):
        self.session = session
        self.forms = {}  # id(kernel) → CompiledForm, in order of creation
        self._times = {}  # hash → (ms, cache_hit), told before the kernel's constructor ran

    def install(self, triton):
        """Set the hooks and tell what could be set."""
        events = self.session.events
        try:
            events.capability("kernel_registry", True, compat.watch_kernels(self._on_created, self._on_loaded))
        except Exception as error:
            events.capability("kernel_registry", False, error)
        try:
            events.capability("compile_listener", True, compat.set_compile_listener(triton, self._on_compiled))
        except Exception as error:
            events.capability("compile_listener", False, error)

    def form_of(self, kernel):
        """The form of a kernel that was launched, told by now; None if it was never seen being made."""
        form = self.forms.get(id(kernel))
        if form is None:
            # Made before the hook was set: everything but its compile time is still there to read.
            form = self.forms[id(kernel)] = CompiledForm(kernel, False, self.session.side)
        if form.tuning:
            # A tuner tried it, and now a case launches it: it is part of what is compared.
            form.tuning, form.told = False, False
        if not form.told:
            self._keep(form)
            self._tell(form)
        return form

    def since(self, count):
        """Kernels that were made after the first `count`, by name; `len(forms)` is the count of now."""
        return [str(metadata_of(form.kernel).get("name", "?")) for form in list(self.forms.values())[count:]]

    def flush(self):
        """Tell of all kernels that were compiled and never loaded."""
        for form in list(self.forms.values()):
            if not form.told:
                self._tell(form)

    def _on_created(self, kernel, metadata_group):
        try:
            form = CompiledForm(kernel, self.session.tuning_now(), self.session.side)
            self.forms[id(kernel)] = form
            if kernel.hash in self._times:
                form.compile_ms, form.cache_hit = self._times.pop(kernel.hash)
            self._keep(form)
        except Exception as error:  # a fault of ours must not become the operator's
            self.session.fault("compile_hook", error)

    def _on_compiled(self, digest, compile_ms, cache_hit):
        try:
            for form in reversed(list(self.forms.values())):
                if getattr(form.kernel, "hash", None) == digest and not form.told and form.compile_ms is None:
                    form.compile_ms, form.cache_hit = compile_ms, cache_hit
                    return
            self._times[digest] = (compile_ms, cache_hit)
        except Exception as error:
            self.session.fault("compile_listener", error)

    def _on_loaded(self, kernel):
        try:
            form = self.forms.get(id(kernel))
            if form is not None and not form.told:
                self._tell(form)
        except Exception as error:
            self.session.fault("compile_hook", error)

    def _keep(self, form):
        """Store the texts of all stages."""
        if form.tuning:
            form.missing = dict.fromkeys(TEXT_STAGES[:1], "tried by a tuner, not kept")
            return
        form.stages, form.missing = {}, {}
        texts = dict(getattr(form.kernel, "asm", None) or {})
        if not self.session.order.measure.keep_ir:
            form.missing = {stage: "`keep_ir` is off" for stage in texts if stage != _SOURCE}
            return
        for stage, content in texts.items():
            if stage != _SOURCE and content is not None:
                form.stages[stage] = self.session.objects.put(content)
        expected = ["ttir", "ttgir", "llir"]
        binary = [stage for stage in _BINARY_STAGES if stage in texts]
        expected += {"cubin": ["ptx"], "hsaco": ["amdgcn"]}.get(binary[0] if binary else "", [])
        for stage in expected:
            if stage not in form.stages:
                form.missing[stage] = (
                    "the compiler stored no text (`TRITON_STORE_BINARY_ONLY`, or a back end without it)"
                )

    def _tell(self, form):
        form.told = True
        kernel = form.kernel
        described = describe(kernel)
        registers, spills, shared = compat.registers_of(kernel)
        self.session.events.emit(
            "compile",
            side=form.side,
            id=form.id,
            registers=registers,
            spills=spills,
            shared_bytes=shared,
            compile_ms=form.compile_ms,
            tuning=form.tuning,
            cache_hit=form.cache_hit,
            stages=form.stages,
            missing=form.missing,
            **described,
        )


def describe(kernel):
    """Kernel, variant and the variant's parts, as a `compile` event has them."""
    src = getattr(kernel, "src", None)
    metadata = metadata_of(kernel)
    name = str(metadata.get("name") or getattr(kernel, "name", "") or getattr(src, "name", ""))
    constexprs = {key: constant(value) for key, value in compat.constants_of(src).items()}
    signature = compat.signature_of(src)
    specialization = compat.specialization_of(src)
    options = {key: option(value) for key, value in metadata.items() if key not in _NOT_OPTIONS and key[:1].islower()}
    identity = [
        name,
        signature,
        constexprs,
        specialization,
        {key: options[key] for key in _VARIANT_OPTIONS if options.get(key) is not None},
    ]
    text = json.dumps(finite(identity), sort_keys=True, separators=(",", ":"))
    return {
        "kernel": name,
        "variant": hashlib.sha256(text.encode()).hexdigest()[:32],
        "constexprs": constexprs,
        "signature": signature,
        "specialization": specialization,
        "options": options,
    }


def metadata_of(kernel):
    """A kernel's metadata as a dict."""
    metadata = getattr(kernel, "metadata", None)
    if isinstance(metadata, dict):
        return metadata
    as_dict = getattr(metadata, "_asdict", None)
    return dict(as_dict()) if as_dict is not None else {}


def constant(value):
    """A constexpr's value as JSON: plain values as they are, functions by name, the rest as text."""
    inner = getattr(value, "value", None)
    if type(value).__name__ == "constexpr":
        return constant(inner)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if finite(value) is not None else str(value)
    if isinstance(value, (list, tuple)):
        return [constant(item) for item in value]
    if callable(value):
        module = compat.stable_module(getattr(value, "__module__", ""))
        return f"{module}.{getattr(value, '__name__', type(value).__name__)}"
    return plain_text(value)


def option(value):
    """An option's value as JSON; the target as `{"backend", "arch", "warp_size"}`."""
    if hasattr(value, "backend") and hasattr(value, "arch"):
        return {"backend": value.backend, "arch": value.arch, "warp_size": getattr(value, "warp_size", None)}
    if isinstance(value, dict):
        return {str(key): option(item) for key, item in value.items()}
    return constant(value)
