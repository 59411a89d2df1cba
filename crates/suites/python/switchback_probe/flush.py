"""Clears the L2 cache before a sample, without the library under test.

Triton clears it with `zero_` of a large buffer, for which FlagGems puts a kernel of its own in torch's place: the flush
would be compiled under the switch, and take the host longer than the call that is timed. Leaves the buffer's size to
Triton's driver. Invariant: what clears the cache is the same on both sides.
"""

import ctypes

from . import compat


class Flush:
    """The buffer and how it is written."""

    def __init__(self, triton, interface):
        self.triton = triton
        self.interface = interface
        self.buffer = compat.empty_cache(triton)
        self._memset = None
        self._size = int(self.buffer.numel()) * int(self.buffer.element_size())
        try:
            target = compat.target_backend(triton)
            if not target.startswith("cuda"):
                raise OSError(f"no way past torch is known for `{target}`")
            memset = ctypes.CDLL("libcuda.so.1").cuMemsetD8Async
            memset.argtypes = [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p]
            self._memset = memset
            self()
            interface.synchronize()
            self.detail = f"`cuMemsetD8Async` of {self._size} bytes"
        except Exception as error:
            self._memset = None
            self.detail = f"Triton's own, of {self._size} bytes; not past torch: {error}"

    def __call__(self):
        """Queue one flush."""
        if self._memset is None:
            compat.clear_cache(self.triton, self.buffer)
            return
        status = self._memset(self.buffer.data_ptr(), 0, self._size, self.interface.current_stream().cuda_stream)
        if status != 0:
            raise RuntimeError(f"`cuMemsetD8Async` gave status {status}")
