"""Clears the L2 cache before a sample, without the library under test.

Triton clears it with `zero_` of a large buffer, for which FlagGems puts a kernel of its own in torch's place: the flush
would be compiled under the switch, and take the host longer than the call that is timed. Leaves the buffer's size to
Triton's driver. Invariant: what clears the cache is the same on both sides.
"""

from . import compat


class Flush:
    """The buffer and how it is written."""

    def __init__(self, triton, memory):
        self.triton = triton
        self.memory = memory
        self.buffer = compat.empty_cache(triton)
        self._size = int(self.buffer.numel()) * int(self.buffer.element_size())
        self._past_torch = memory.fault is None
        if self._past_torch:
            try:
                self()
                memory.interface.synchronize()
                self.detail = f"`cuMemsetD8Async` of {self._size} bytes"
                return
            except Exception as error:
                self._past_torch, memory.fault = False, str(error)
        self.detail = f"Triton's own, of {self._size} bytes; not past torch: {memory.fault}"

    def __call__(self):
        """Queue one flush."""
        if self._past_torch:
            self.memory.clear(self.buffer.data_ptr(), self._size)
        else:
            compat.clear_cache(self.triton, self.buffer)
