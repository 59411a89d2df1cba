"""Operators for cells of both sides: what a library may do, and faults that a duet must not hide.

The switch is `MINI_SWITCH`, read as each operator says. Kernels that do something do it in `fake_driver.EFFECTS`.
"""

import ctypes
import functools
import importlib.util
import inspect
import os

import fake_driver
import torch
import triton
import triton.language as tl

from flag_gems.utils import libentry

SWITCH = "MINI_SWITCH"


def on():
    return os.environ.get(SWITCH) == "1"


@triton.jit
def planted_kernel(x_ptr, out_ptr, n, ON: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask)
    if ON:
        x += 1
    tl.store(out_ptr + offsets, x, mask)


def launch(kernel, x, out, **constexprs):
    kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), **constexprs)
    return out


def follows(x):
    """Reads the switch at each call: nothing is wrong with it."""
    return launch(planted_kernel, x, torch.empty_like(x), ON=on(), BLOCK=256)


once = functools.lru_cache(on)


def read_once(x):
    """Reads the switch at its first call and remembers it."""
    return launch(planted_kernel, x, torch.empty_like(x), ON=once(), BLOCK=256)


_own = {}


def own_cache(x):
    """Keeps compiled kernels in a place of its own, which nobody exchanges."""
    out = torch.empty_like(x)
    kernel = _own.get(x.dtype)
    if kernel is None:
        _own[x.dtype] = planted_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), ON=on(), BLOCK=128)
    elif fake_driver.VERSION >= (3, 3):
        kernel[(triton.cdiv(x.numel(), 128), 1, 1)](x, out, x.numel(), on(), 128)
    else:
        kernel[(triton.cdiv(x.numel(), 128), 1, 1)](x, out, x.numel())
    return out


_timed = []


def late(x):
    """Compiles another variant once blocks are being timed, and stays with it."""
    if any(frame.function == "_blocks" for frame in inspect.stack(context=0)):
        _timed.append(x)
    return launch(planted_kernel, x, torch.empty_like(x), ON=on(), BLOCK=64 if _timed else 32)


_generated = {}
_SOURCE = """
import triton
import triton.language as tl
from flag_gems.utils import libentry


@libentry()
@triton.jit
def generated_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) * 3, mask)
"""


def generated(x):
    """Writes its kernel at its first call, long after the library was loaded."""
    if not _generated:
        # One file for all cells of a test: its path and its age stand in the kernel's debug information.
        path = os.path.join(os.path.dirname(os.environ["SWITCHBACK_RUN_DIR"]), "generated.py")
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write(_SOURCE)
        spec = importlib.util.spec_from_file_location("generated", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        _generated["kernel"] = module.generated_kernel
    return launch(_generated["kernel"], x, torch.empty_like(x), BLOCK=256)


@libentry()
@triton.jit
def bump_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) + 1, mask)


BUMPED = set()
"""First bytes that `bump_` found."""


def _bump(x, out, *args):
    content = bytearray(ctypes.string_at(x.data_ptr(), 64))
    BUMPED.add(content[0])
    content[0] = (content[0] + 1) % 256
    ctypes.memmove(out.data_ptr(), bytes(content), 64)


fake_driver.EFFECTS["bump_kernel"] = _bump


def bump_(x):
    """Writes into its input."""
    return launch(bump_kernel, x, x, BLOCK=256)


@triton.jit
def constant_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask), mask)


fake_driver.EFFECTS["constant_kernel"] = lambda x, out, *args: ctypes.memset(out.data_ptr(), 0x3C if on() else 0, 64)


def constant(x):
    """Computes something else with the switch on."""
    return launch(constant_kernel, x, torch.empty_like(x), BLOCK=256)


def right_constant(x):
    """What `constant` gives without the switch, in the precision of its input."""
    assert x.dtype is torch.float64, x.dtype
    return torch.empty_like(x)


def breaks(x):
    """Works without the switch only."""
    if on():
        raise RuntimeError("no such mode")
    return follows(x)
