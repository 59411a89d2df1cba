"""A stand-in for Triton's driver: compiles for a real target, launches onto the fake card.

As a pytest plug-in (`-p fake_driver`) it is installed before anything asks for a driver.
"""

import ctypes
import functools
import importlib
import itertools
import os

import libcuda
import torch
import triton
from torch import card
from triton.backends.compiler import GPUTarget

VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
DURATION_US = {}
"""Kernel name → microseconds on the card; 6 for all others."""
EFFECTS = {}
"""Kernel name → what the kernel does to memory, called with its arguments."""
REGISTERS = 42


class Utils:
    def __init__(self):
        self._handles = itertools.count(0x1000, 16)

    def load_binary(self, name, kernel, shared, device):
        handle = next(self._handles)
        loaded = (handle + 1, handle, REGISTERS, 0)
        return loaded if VERSION < (3, 4) else (*loaded, 1024)

    def get_device_properties(self, device):
        return {"max_shared_mem": 232448, "multiprocessor_count": 132, "warpSize": 32, "max_num_regs": 65536}

    def unload_module(self, module):
        pass


class Launcher:
    def __init__(self, src, metadata):
        self.name = metadata.name

    def __call__(self, grid_x, grid_y, grid_z, stream, function, packed, launch_metadata, enter, leave, *args):
        assert function is not None
        if enter is not None:
            enter(launch_metadata)
        card.launched.append(self.name)
        card.launch(DURATION_US.get(self.name, 6.0))
        effect = EFFECTS.get(self.name)
        if effect is not None:
            effect(*args)
        if leave is not None:
            leave(launch_metadata)


class Driver:
    launcher_cls = Launcher

    def __init__(self):
        self.utils = Utils()

    @staticmethod
    def is_active():
        return True

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self):
        return torch.device("cuda")

    def get_device_interface(self):
        return torch.cuda

    def get_benchmarker(self):
        from triton.testing import do_bench

        # What configs are chosen is no matter here: a few calls of each.
        return functools.partial(do_bench, warmup=1, rep=2)

    def get_empty_cache_for_benchmark(self):
        return torch.empty(1024, dtype=torch.int32)

    def map_python_to_cpp_type(self, kind):
        return kind


if VERSION >= (3, 3):

    def clear_cache(self, cache):
        cache.zero_()

    Driver.clear_cache = clear_cache


def copy_first_to_last(*args):
    """What most kernels of the tests do: their first tensor's bits become their last one's."""
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    if len(tensors) > 1:
        source, target = tensors[0], tensors[-1]
        length = min(source.numel() * source.element_size(), target.numel() * target.element_size())
        ctypes.memmove(target.data_ptr(), source.data_ptr(), length)


def stick(flag):
    """A flag of the compiler's that stays set once a compilation has seen it, as some of LLVM's do."""
    # Not by import: up to 3.2 the one in use is loaded from its file.
    backend = triton.backends.backends["nvidia"].compiler
    make_ptx, seen = backend.__dict__["make_ptx"], []

    def sticky(self, *args):
        if os.environ.get(flag):
            seen.append(flag)
        return make_ptx.__get__(self, backend)(*args) + ("\n// sticks\n" if seen else "")

    backend.make_ptx = sticky


def know_key(key):
    """Triton's key, which is a digest of half a gigabyte, as the test's own process has computed it."""
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):
        found = importlib.import_module(name)
        if hasattr(found, "triton_key"):
            found.triton_key = lambda: key


def install():
    if os.environ.get("FAKE_TRITON_KEY"):
        know_key(os.environ["FAKE_TRITON_KEY"])
    if os.environ.get("FAKE_STICKY_FLAG"):
        stick(os.environ["FAKE_STICKY_FLAG"])
    libcuda.install_asked()
    triton.runtime.driver.set_active(Driver())


install()
