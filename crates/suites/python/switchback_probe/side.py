"""The sides of a cell, and the change from one to the other inside one process.

A switch is an environment variable that a compiler reads when it compiles, so a side is its variables and the kernels
that were compiled under them. Leaves to `compat` where a Triton version keeps its kernels, and to `duet` the proof that
nothing else carries a side. Invariants: what holds compiled kernels is exchanged with the other side's at each change,
never copied; tuners' choices are shared, so a config is the same on both sides; the sides share no folder of the
compiler's cache. In a cell of one side nothing is set and nothing is exchanged.
"""

import contextlib
import functools
import gc
import os
import random
import sys

from . import compat, warm_caches

CACHE_VARIABLE = "TRITON_CACHE_DIR"


class Sides:
    """The cell's sides, of which one is current."""

    def __init__(self, order):
        self.names = list(order.sides)
        self.both = len(self.names) == 2
        self.order = list(self.names)
        """The sides in the order in which they compile, drawn from the order's seed."""
        if self.both and random.Random(f"{order.measure.seed} sides").random() < 0.5:
            self.order.reverse()
        self.current = self.first
        self.entered = False
        self._holders = []  # (what holds compiled kernels, {attribute: the other side's value})
        self._focus = None
        self._variables = {side: dict(order.switch.get(side.lower()) or {}) for side in self.names}
        names = sorted({name for variables in self._variables.values() for name in variables})
        base = os.environ.get(CACHE_VARIABLE) or os.path.join(order.attempt_dir, "triton_cache")
        for side, variables in self._variables.items():
            for name in names:
                variables.setdefault(name, None)
            variables[CACHE_VARIABLE] = os.path.join(base, side)
        self._triton = None

    @property
    def first(self):
        """The side that compiles and loads first."""
        return self.order[0]

    def warm(self, compiled):
        """Begin with what cells of one side compiled, their cache folders by side; returns kernels by side."""
        found = {}
        for side, variables in self._variables.items():
            own = variables[CACHE_VARIABLE]
            if compiled.get(side):
                cache = os.path.join(compiled[side], os.path.basename(os.path.dirname(own)))
                count = warm_caches.copy(cache, own)
                if count is not None:
                    found[side] = count
        return found

    def install(self, triton):
        """Find what holds compiled kernels, now and whenever one is made; returns how many there are.

        Raises `Unsupported` where this Triton keeps its kernels in no place that is known.
        """
        self._triton = triton
        return self._watch(compat.jit_function_class(), compat.kernel_cache_fields)

    def install_library(self):
        """The same of FlagGems' dispatch entries, which go past Triton's caches after their first launch."""
        # Not `from flag_gems.utils import libentry`: the package gives a function under that name.
        library = sys.modules.get("flag_gems.utils.libentry")
        entry_class = getattr(library, "LibEntry", None)
        if entry_class is None:
            raise compat.Unsupported("`flag_gems.utils.libentry.LibEntry` is not there")
        return self._watch(entry_class, lambda _: {"kernel_cache": emptied, "_cpu_cache": emptied})

    def _watch(self, found_class, fields_of):
        constructor = found_class.__init__

        @functools.wraps(constructor)
        def __init__(made, *args, **kwargs):
            constructor(made, *args, **kwargs)
            self._register(made, fields_of(made))

        found_class.__init__ = __init__
        count = 0
        for found in gc.get_objects():
            # Not `isinstance`: it asks the object, and some lazy ones load what they stand for.
            if issubclass(type(found), found_class):
                self._register(found, fields_of(found))
                count += 1
        return count

    def _register(self, holder, fields):
        """Give a holder empty caches for both sides: what was compiled before is neither's."""
        kept = {}
        for name, empty in fields.items():
            value = getattr(holder, name, None)
            if value is None and name not in vars(holder):
                continue
            kept[name] = empty(value)
            setattr(holder, name, empty(value))
        self._holders.append((holder, kept))

    def to(self, side):
        """Make a side the current one: its variables, its compiled kernels."""
        if not self.both or (self.entered and side == self.current):
            return
        for name, value in self._variables[side].items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        compat.refresh_environment(self._triton)
        if side != self.current:
            for holder, kept in self._holders if self._focus is None else self._focus:
                for name, other in kept.items():
                    kept[name] = getattr(holder, name)
                    setattr(holder, name, other)
        self.current, self.entered = side, True

    @contextlib.contextmanager
    def focus(self):
        """While it lasts, only what holds kernels now is exchanged: of thousands of functions a case launches a few.

        What is compiled meanwhile would be both sides'; nothing may be, which the proof looks at. Ends on the side on
        which it began, so that what was passed over is where it would have been.
        """
        began, kernel_class = self.current, compat.compiled_kernel_class()
        self._focus = [
            (holder, kept)
            for holder, kept in self._holders
            if any(
                kernels_in(value, kernel_class)
                for name, other in kept.items()
                for value in (getattr(holder, name), other)
            )
        ]
        try:
            yield
        finally:
            self.to(began)
            self._focus = None

    def overlaps(self):
        """Holders whose two sides are one object or hold one compiled kernel, each in words."""
        kernel_class, found = compat.compiled_kernel_class(), []
        for holder, kept in self._holders:
            for name, other in kept.items():
                here = getattr(holder, name)
                if here is None or other is None or not isinstance(here, (dict, tuple)):
                    continue
                if here is other or kernels_in(here, kernel_class) & kernels_in(other, kernel_class):
                    found.append(f"both sides share `{holder_name(holder)}.{name}`")
        return found


def emptied(value):
    """A new cache of the same kind: a tuple of dicts a device stays one."""
    if isinstance(value, tuple):
        return tuple(emptied(item) for item in value)
    return type(value)()


def kernels_in(value, kernel_class, depth=4):
    """Identities of the compiled kernels that a cache holds."""
    if isinstance(value, kernel_class):
        return {id(value)}
    if not depth or not isinstance(value, (dict, tuple, list)):
        return set()
    items = value.values() if isinstance(value, dict) else value
    return set().union(*(kernels_in(item, kernel_class, depth - 1) for item in items))


def holder_name(holder):
    """Name of the kernel whose compiled forms something holds."""
    function = getattr(holder, "jit_function", holder)
    return getattr(function, "__name__", type(holder).__name__)
