"""A stand-in for the driver's library: what the probe asks of `libcuda.so.1`, on the fake card's memory.

A copy to the host that does not wait for what is queued finds nothing written yet.
"""

import collections
import ctypes
import os

from torch import card


class Library:
    """`failing` is a function's name and how many of its calls go well before the rest fail."""

    def __init__(self, failing=None, after=0):
        self.calls = []
        self.given = {}
        self.left = collections.defaultdict(lambda: float("inf"), {failing: after})
        for name in ("cuMemsetD8Async", "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoH_v2", "cuMemHostAlloc", "cuMemFreeHost"):
            setattr(self, name, self._called(name))

    def _called(self, name):
        def function(*args):
            self.calls.append((name, *args))
            self.left[name] -= 1
            return 1 if self.left[name] < 0 else getattr(self, f"_{name}")(*args) or 0

        return function

    def asked(self, name):
        """Arguments of a function's calls."""
        return [args for found, *args in self.calls if found == name]

    def _cuMemsetD8Async(self, address, value, size, stream):
        card.enqueue(card.flush_us())
        ctypes.memset(address, value, size)

    def _cuMemcpyDtoDAsync_v2(self, to, source, size, stream):
        card.enqueue(1.0)
        ctypes.memmove(to, source, size)

    def _cuMemcpyDtoH_v2(self, to, source, size):
        if card.free_at_us > card.now_us():
            ctypes.memset(to, 0, size)
        else:
            ctypes.memmove(to, source, size)

    def _cuMemHostAlloc(self, address_of, size, flags):
        memory = (ctypes.c_ubyte * size)()
        self.given[ctypes.addressof(memory)] = memory
        ctypes.c_void_p.from_address(address_of).value = ctypes.addressof(memory)

    def _cuMemFreeHost(self, address):
        return 0 if self.given.pop(address, None) is not None else 1


def install(library):
    """Have `ctypes` find the library."""
    original = ctypes.CDLL

    def load(name, *args, **kwargs):
        return library if name == "libcuda.so.1" else original(name, *args, **kwargs)

    ctypes.CDLL = load


def install_asked():
    """As the environment asks: `FAKE_LIBCUDA` is empty, or `function:calls that go well`."""
    if "FAKE_LIBCUDA" in os.environ:
        failing, _, after = os.environ["FAKE_LIBCUDA"].partition(":")
        install(Library(failing, int(after or 0)))
