"""What differs between Triton's versions (3.1 of FlagTree to 3.9), and nothing else.

All knowledge of a version lives here. Functions take the `triton` module as found, look for what they need rather
than compare version numbers where they can, and raise `Unsupported` with the reason where there is nothing to use.
"""

import collections
import functools
import hashlib
import importlib
import inspect
import os
import re
import sys
import time


class Unsupported(RuntimeError):
    """This Triton has nothing that the hook could use; the text says what was looked for."""


def version(triton):
    """`(major, minor)` of a version's text; `3.2.0+git0123` and `3.6.0rc1` read as `(3, 2)` and `(3, 6)`."""
    match = re.match(r"(\d+)\.(\d+)", str(getattr(triton, "__version__", "")))
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def module(name):
    """A module by name, or None; never by attribute, which FlagGems shadows (`flag_gems.utils.libentry`)."""
    try:
        return importlib.import_module(name)
    except Exception:  # a vendor's module can raise anything while it loads
        return None


def compiled_kernel_class():
    """The class of compiled kernels."""
    compiler = module("triton.compiler.compiler")
    found = getattr(compiler, "CompiledKernel", None)
    if found is None:
        raise Unsupported("`triton.compiler.compiler.CompiledKernel` is not there")
    return found


def autotuner_class():
    """The class of Triton's own tuner."""
    autotuner = module("triton.runtime.autotuner")
    found = getattr(autotuner, "Autotuner", None)
    if found is None:
        raise Unsupported("`triton.runtime.autotuner.Autotuner` is not there")
    return found


def config_class():
    """The class of a tuner's configs."""
    return module("triton.runtime.autotuner").Config


def jit_function_class():
    """The class of functions that are compiled and launched."""
    jit = module("triton.runtime.jit")
    found = getattr(jit, "JITFunction", None)
    if found is None:
        raise Unsupported("`triton.runtime.jit.JITFunction` is not there")
    return found


def kernel_cache_fields(function):
    """Attributes of a `JITFunction` that hold compiled kernels, each with what makes an empty one of a value.

    Up to 3.2 `cache` (and the binder, made under some environment, apart); from 3.3 on `device_caches`, whose entries
    hold kernels and binder. Both are a `defaultdict`, and a plain dict in their place is a `KeyError` at launch.
    Raises `Unsupported` for one that has neither.
    """
    held = vars(function)
    if "device_caches" in held:
        return {"device_caches": _emptied_defaultdict}
    if "cache" in held:
        return {"cache": _emptied_defaultdict, "binder": lambda _: None}
    raise Unsupported(f"`{type(function).__name__}` has neither `device_caches` nor `cache`")


def _emptied_defaultdict(value):
    return collections.defaultdict(value.default_factory)


def refresh_environment(triton):
    """Have Triton read again what it read from the environment once (3.5 and later; before, it reads at use)."""
    refresh = getattr(knobs(triton), "refresh_knobs", None)
    if refresh is not None:
        refresh()


def settle_compiler(triton):
    """Set the one flag of LLVM's that a process's first compilation leaves behind, before anything is compiled.

    Up to 3.2 `translate_to_asm` sets `nvptx-short-ptr` for good, and the LLVM text of all that is compiled later has
    another data layout than the first kernel's: a kernel's text would depend on what was compiled before it.
    """
    if version(triton) >= (3, 3) or active_driver(triton).get_current_target().backend != "cuda":
        return
    text = "define void @nothing() { ret void }"
    llvm = module("triton._C.libtriton").llvm
    llvm.init_targets()
    llvm.translate_to_asm(text, "nvptx64-nvidia-cuda", "sm_80", "", ["nvptx-short-ptr"], False, False)


def knobs(triton):
    """`triton.knobs` (3.4 and later), or None."""
    return module("triton.knobs") if version(triton) >= (3, 4) else None


def triton_key():
    """The text that Triton itself keys its cache by: its version and the hashes of all its files and libraries."""
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):
        found = getattr(module(name), "triton_key", None)
        if callable(found):
            return str(found())
    raise Unsupported("`triton_key` is neither in `runtime.cache` nor in `compiler.compiler`")


def compiler_digest():
    """SHA-256 of `triton_key()`."""
    return hashlib.sha256(triton_key().encode()).hexdigest()


def set_compile_listener(triton, listener):
    """Call `listener(hash, compile_ms, cache_hit)` after each compilation or load from the disk cache.

    Returns how it was set.
    """
    found = knobs(triton)
    if found is not None and hasattr(found.compilation, "listener"):
        before = found.compilation.listener

        def on_compile(*args, **kwargs):
            if before is not None:
                before(*args, **kwargs)
            metadata = kwargs.get("metadata") or {}
            listener(metadata.get("hash"), _total_ms(kwargs.get("times")), bool(kwargs.get("cache_hit")))

        found.compilation.listener = on_compile
        return "knobs.compilation.listener"
    return _wrap_compile(listener)


def _total_ms(times):
    """Milliseconds of a `CompileTimes`, whose own figures are microseconds."""
    if times is None:
        return None
    stages = getattr(times, "lowering_stages", None) or []
    total_us = sum(stage[1] for stage in stages)
    total_us += getattr(times, "ir_initialization", 0) + getattr(times, "store_results", 0)
    return total_us / 1000.0


def _wrap_compile(listener):
    """Before 3.4 there is no listener: `compile` itself is wrapped, before the first binder has taken hold of it."""
    compiler = module("triton.compiler.compiler")
    package = module("triton.compiler")
    original = getattr(compiler, "compile", None)
    if original is None:
        raise Unsupported("neither `knobs.compilation.listener` nor `compiler.compile` is there")

    @functools.wraps(original)
    def compile(*args, **kwargs):
        began_wall, began = time.time(), time.monotonic()
        kernel = original(*args, **kwargs)
        elapsed_ms = (time.monotonic() - began) * 1000.0
        # The metadata file is written last; one that is older than the call was there before it. The file
        # system's clock may lag by a tick, which no compilation is shorter than.
        path = getattr(kernel, "_switchback_metadata_path", None)
        try:
            cache_hit = path is not None and os.stat(path).st_mtime < began_wall - 0.01
        except OSError:
            cache_hit = False
        listener(getattr(kernel, "hash", None), elapsed_ms, cache_hit)
        return kernel

    compiler.compile = compile
    if package is not None and getattr(package, "compile", None) is original:
        package.compile = compile
    if getattr(sys.modules.get("triton"), "compile", None) is original:
        sys.modules["triton"].compile = compile
    return "wrapped `triton.compiler.compile`"


def watch_kernels(on_created, on_loaded):
    """Call `on_created(kernel, metadata_group)` for each compiled kernel and `on_loaded(kernel)` once it is loaded.

    The constructor is the one place that all versions and all paths pass: a fresh compilation, a hit in the disk
    cache, `preload`. Returns how it was set.
    """
    kernel_class = compiled_kernel_class()
    constructor = kernel_class.__init__
    load = getattr(kernel_class, "_init_handles", None)

    @functools.wraps(constructor)
    def __init__(self, src, metadata_group, hash, *args, **kwargs):
        constructor(self, src, metadata_group, hash, *args, **kwargs)
        for name, path in metadata_group.items():
            if name.endswith(".json"):
                self._switchback_metadata_path = str(path)
        on_created(self, metadata_group)

    kernel_class.__init__ = __init__
    if load is None:
        return "wrapped the constructor; `_init_handles` is not there, so registers and spills stay unknown"

    @functools.wraps(load)
    def _init_handles(self, *args, **kwargs):
        # Called on every launch past JITFunction: as short as the original where there is nothing to do.
        if self.module is not None:
            return None
        result = load(self, *args, **kwargs)
        if self.module is not None:
            on_loaded(self)
        return result

    kernel_class._init_handles = _init_handles
    return "wrapped the constructor and `_init_handles`"


class LaunchCounter:
    """Counts launches a compiled kernel while it is on.

    `CompiledKernel.launch_metadata` is called once a launch on both ways (`JITFunction.run` and `kernel[grid]`, which
    FlagGems takes after its first launch), on the kernel itself: no handle has to be looked up, and on 3.2 the first
    launch, whose handle is not known yet, is not lost. Triton's own launch hook counts beside it; what it saw and
    `launch_metadata` did not is unknown.
    """

    def __init__(self, triton):
        self.kernel_class = compiled_kernel_class()
        self.original = getattr(self.kernel_class, "launch_metadata", None)
        if self.original is None:
            raise Unsupported("`CompiledKernel.launch_metadata` is not there")
        self.runtime = getattr(knobs(triton), "runtime", None)
        self.on_launch = None
        self.hooked = 0
        self._previous = None

    def describe(self):
        """How launches are seen."""
        beside = "knobs.runtime.launch_enter_hook" if self.runtime is not None else "CompiledKernel.launch_enter_hook"
        return f"`CompiledKernel.launch_metadata`, checked against `{beside}`"

    def switch_on(self, on_launch):
        """Call `on_launch(kernel)` at each launch until `switch_off`."""
        self.hooked = 0
        original = self.original

        @functools.wraps(original)
        def launch_metadata(kernel, *args, **kwargs):
            on_launch(kernel)
            return original(kernel, *args, **kwargs)

        self.kernel_class.launch_metadata = launch_metadata
        holder = self.runtime if self.runtime is not None else self.kernel_class
        self._previous = getattr(holder, "launch_enter_hook", None)
        if hasattr(self._previous, "add"):
            self._previous.add(self._count)
        else:
            holder.launch_enter_hook = self._chain if callable(self._previous) else self._count

    def switch_off(self):
        """Stop counting; timed calls launch as if the counter had never been."""
        self.kernel_class.launch_metadata = self.original
        holder = self.runtime if self.runtime is not None else self.kernel_class
        if hasattr(self._previous, "remove"):
            self._previous.remove(self._count)
        else:
            holder.launch_enter_hook = self._previous

    def _count(self, metadata):
        # `metadata.get()` would run the user's own code; nothing of it is needed.
        self.hooked += 1

    def _chain(self, metadata):
        self._previous(metadata)
        self._count(metadata)


def registers_of(kernel):
    """`(registers, spills, shared bytes)` of a kernel, None where unknown; the first two only once it is loaded."""
    fields = getattr(kernel, "__dict__", {})
    shared = getattr(fields.get("metadata"), "shared", None)
    return _count(fields.get("n_regs")), _count(fields.get("n_spills")), _count(shared)


def _count(value):
    return value if isinstance(value, int) and value >= 0 else None


def argument_names(src):
    """Names of a kernel's arguments, in order."""
    return list(getattr(getattr(src, "fn", None), "arg_names", None) or [])


def path_name(path, names):
    """Name of an argument given by name (3.2), index, or index path (3.3 and later): `x`, `pair.1`."""
    if isinstance(path, str):
        return path
    steps = path if isinstance(path, tuple) else (path,)
    first = steps[0] if steps else ""
    if isinstance(first, int) and first < len(names):
        first = names[first]
    return ".".join([str(first), *(str(step) for step in steps[1:])])


def constants_of(src):
    """Constants of a compilation by argument: `tl.constexpr` arguments, and what was specialised to a value."""
    names = argument_names(src)
    return {path_name(path, names): value for path, value in (getattr(src, "constants", None) or {}).items()}


def signature_of(src):
    """Types of arguments by name."""
    names = argument_names(src)
    return {path_name(path, names): str(kind) for path, kind in (getattr(src, "signature", None) or {}).items()}


def specialization_of(src):
    """What arguments were specialised on, by name: `{"x_ptr": ["tt.divisibility=16"]}`."""
    names = argument_names(src)
    attrs = getattr(src, "attrs", None)
    found = {}
    if isinstance(attrs, dict):
        for path, pairs in attrs.items():
            words = ["=".join(str(part) for part in pair) for pair in pairs]
            if words:
                found[path_name(path, names)] = sorted(words)
        return found
    for name, word in (("divisible_by_16", "tt.divisibility=16"), ("equal_to_1", "tt.equal_to=1")):
        # Triton 3.1 and FlagTree's branch of it.
        for index in getattr(attrs, name, None) or ():
            found.setdefault(path_name(index, names), []).append(word)
    values = getattr(attrs, "property_values", None) or {}
    for name, indices in (getattr(attrs, "arg_properties", None) or {}).items():
        for index in indices:
            value = values.get(name)
            word = name if value is None else f"{name}={value}"
            found.setdefault(path_name(index, names), []).append(word)
    return {name: sorted(words) for name, words in found.items()}


def stable_module(name, pid=None):
    """A module's name without the process id that FlagGems puts into those that it generates."""
    pid = os.getpid() if pid is None else pid
    name = re.sub(r"_pid_\d+", "_pid", str(name))
    # A small number could as well be a rank.
    return re.sub(rf"(?<=_){pid}(?=_|$)", "pid", name) if pid > 999 else name


CONFIG_FIELDS = (
    "num_warps",
    "num_ctas",
    "num_stages",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer",
    "maxnreg",
    "ir_override",
)
"""Fields of `triton.Config` beside `kwargs`, of all versions; the hook is not data and is not kept."""


def config_record(config):
    """A config as JSON data, with the types that its values have."""
    record = {"kwargs": dict(getattr(config, "kwargs", {}))}
    for name in CONFIG_FIELDS:
        value = getattr(config, name, None)
        if value is not None:
            record[name] = value
    return record


def config_from(record, pre_hook=None):
    """A new config from its record; fields that this version does not know raise `Unsupported`."""
    make = config_class()
    taken = set(inspect.signature(make.__init__).parameters)
    fields = {name: value for name, value in record.items() if name != "kwargs"}
    unknown = sorted(set(fields) - taken)
    if unknown:
        raise Unsupported(f"this Triton's `Config` has no `{'`, `'.join(unknown)}`")
    return make(dict(record.get("kwargs") or {}), pre_hook=pre_hook, **fields)


def active_driver(triton):
    """The active driver."""
    return triton.runtime.driver.active


def device_interface(triton):
    """What has `Event`, `synchronize`, …: `torch.cuda` on CUDA and ROCm, `torch.musa` on MUSA."""
    driver = active_driver(triton)
    get = getattr(driver, "get_device_interface", None)
    if get is not None:
        return get()
    import torch

    return torch.cuda


def empty_cache(triton):
    """A buffer that is larger than the L2 cache, to be cleared before a sample."""
    driver = active_driver(triton)
    get = getattr(driver, "get_empty_cache_for_benchmark", None)
    if get is None:
        raise Unsupported("the driver has no `get_empty_cache_for_benchmark`")
    return get()


def clear_cache(triton, cache):
    """Write the whole buffer, so that nothing of a kernel's data is left in L2."""
    clear = getattr(active_driver(triton), "clear_cache", None)
    if clear is not None:
        clear(cache)
    else:
        cache.zero_()


def target_backend(triton):
    """The compiler's target, as `cuda:90`."""
    target = active_driver(triton).get_current_target()
    return f"{target.backend}:{target.arch}"
