"""Writes and copies the card's memory through its driver, past torch.

The library under test puts kernels of its own in torch's place, so what the probe did with torch between two samples
would be compiled under the switch and launched by way of Python. Known for CUDA alone; elsewhere there is none, and
callers say what they do instead. Leaves to callers what must have ended before a copy to the host. Invariant: its
functions are called by the thread that made the context current.
"""

import ctypes

from . import compat


class DriverMemory:
    """The driver's functions, or why they are not to be had."""

    def __init__(self, triton, interface):
        self.interface = interface
        self.fault = None
        try:
            target = compat.target_backend(triton)
            if not target.startswith("cuda"):
                raise OSError(f"no way past torch is known for `{target}`")
            driver = ctypes.CDLL("libcuda.so.1")
            self._memset = driver.cuMemsetD8Async
            self._memset.argtypes = [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p]
            self._copy = driver.cuMemcpyDtoDAsync_v2
            self._copy.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p]
            self._read = driver.cuMemcpyDtoH_v2
            self._read.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]
            self._allocate = driver.cuMemHostAlloc
            self._allocate.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
            self._free = driver.cuMemFreeHost
            self._free.argtypes = [ctypes.c_void_p]
        except Exception as error:
            self.fault = str(error)

    def clear(self, address, size):
        """Queue writing zeros."""
        self._check("cuMemsetD8Async", self._memset(address, 0, size, self._stream()))

    def copy(self, to, source, size):
        """Queue a copy within the card."""
        self._check("cuMemcpyDtoDAsync", self._copy(to, source, size, self._stream()))

    def read(self, to, source, size):
        """Copy to the host and wait for it; what torch's other streams still write is not waited for."""
        self._check("cuMemcpyDtoH", self._read(to, source, size))

    def allocate(self, size):
        """Page-locked memory of the host, which the card reaches by itself; its address."""
        found = ctypes.c_void_p()
        self._check("cuMemHostAlloc", self._allocate(ctypes.addressof(found), size, 0))
        return found.value

    def free(self, address):
        """Give back what `allocate` gave."""
        self._check("cuMemFreeHost", self._free(address))

    def _stream(self):
        return self.interface.current_stream().cuda_stream

    def _check(self, name, status):
        if status != 0:
            raise RuntimeError(f"`{name}` gave status {status}")
