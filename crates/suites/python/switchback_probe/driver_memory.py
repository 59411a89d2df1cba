"""Writes and copies the card's memory through its driver, past torch.

The library under test puts kernels of its own in torch's place, so what the probe did with torch between two samples
would be compiled under the switch and launched by way of Python. Known for CUDA alone; elsewhere there is none, and
callers say what they do instead.
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
        except Exception as error:
            self.fault = str(error)

    def clear(self, address, size):
        """Queue writing zeros."""
        self._check("cuMemsetD8Async", self._memset(address, 0, size, self._stream()))

    def copy(self, to, source, size):
        """Queue a copy within the card."""
        self._check("cuMemcpyDtoDAsync", self._copy(to, source, size, self._stream()))

    def _stream(self):
        return self.interface.current_stream().cuda_stream

    def _check(self, name, status):
        if status != 0:
            raise RuntimeError(f"`{name}` gave status {status}")
