"""Tensors' bits on the host, part by part on several threads: their digest, whether they are equal, how far apart.

Leaves to `driver_memory` the copy past torch, and to `outputs` and `compare` what the answers mean. Invariants: an
answer does not depend on the number of threads or on how the bits came here; the card is copied from by the calling
thread alone, after all that was launched has ended; a part's memory is given back before the next but few is taken, so
little of a large tensor is on the host at once; no thread is left when an answer is given.
"""

import collections
import contextlib
import ctypes
import functools
import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor

PART_BYTES = 8 << 20
"""Size of a part; belongs to the digest."""
MOST_THREADS = 8
KIND = "sha256-tree"
"""Names how a digest was made: digests of another kind are no word on the bits."""
SPREAD = 2
"""A tensor with gaps is copied with them if they make it no more than so many times as large."""

_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


class HostParts:
    """Brings parts to the host and has them worked on.

    `memory()` gives the `DriverMemory` or None; `tell(available, detail)` is told how parts are copied, once it is
    known, and again, with False, if that fails.
    """

    def __init__(self, memory=lambda: None, tell=lambda available, detail: None, threads=None):
        self._memory_of = memory
        self._memory = None
        self._tell = tell
        self.threads = max(1, min(MOST_THREADS, len(os.sched_getaffinity(0)) if threads is None else threads))
        self._asked = self._past_torch = False
        self._buffers = []
        self._free = collections.deque()

    def digest(self, tensors):
        """`sha256-tree:` and the SHA-256 over each tensor's dtype, shape and the SHA-256 of its parts."""
        tensors = [resolved(tensor) for tensor in tensors]
        total = hashlib.sha256()
        with contextlib.closing(self._each([tensors], hash_of)) as hashes:
            for tensor in tensors:
                total.update(f"{tensor.dtype} {tuple(tensor.shape)}\n".encode())
                for _ in starts(tensor, part_elements(tensor)):
                    total.update(next(hashes))
        return f"{KIND}:{total.hexdigest()}"

    def equal(self, ones, others):
        """True if dtypes, shapes and bits are equal."""
        ones, others = ([resolved(tensor) for tensor in tensors] for tensors in (ones, others))
        if [(one.dtype, tuple(one.shape)) for one in ones] != [(one.dtype, tuple(one.shape)) for one in others]:
            return False
        with contextlib.closing(self._each([ones, others], same)) as found:
            return all(found)

    def pairs(self, one, other, act):
        """`act(part, part)` of each part of two tensors of as many elements, on a thread; its results in order."""
        return self._each([[resolved(one)], [resolved(other)]], act)

    def release(self):
        """Give the buffers back."""
        buffers, self._buffers = self._buffers, []
        self._free.clear()
        for address in buffers:
            # A lost card gives an error once more; the process is about to end.
            with contextlib.suppress(Exception):
                self._memory.free(address)

    def _each(self, groups, act):
        """`act` of the parts of tensors that correspond, on threads; yields the results in order."""
        if any(on_card(tensor) for tensors in groups for tensor in tensors):
            self._settle_card()
        fetched = self._fetched(groups)
        if self.threads == 1 or sum(len(starts(tensor, part_elements(tensor))) for tensor in groups[0]) < 2:
            for parts in fetched:
                yield self._done(act, parts)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            waiting = collections.deque()
            for parts in fetched:
                waiting.append(pool.submit(self._done, act, parts))
                if len(waiting) > self.threads:
                    yield waiting.popleft().result()
            for one in waiting:
                yield one.result()

    def _fetched(self, groups):
        """The parts of tensors that correspond, brought to the host when they are asked for."""
        for tensors in zip(*groups):
            count = min(part_elements(tensor) for tensor in tensors)
            sources = [self._source(tensor) for tensor in tensors]
            for start in starts(tensors[0], count):
                yield [part(start, count) for part in sources]

    def _done(self, act, parts):
        try:
            return act(*parts)
        finally:
            for part in parts:
                if part.buffer is not None:
                    self._free.append(part.buffer)

    # How a part comes here.

    def _settle_card(self):
        """Ask once how parts can be copied, and wait for all that was launched, on whatever stream."""
        if not self._asked:
            self._asked, self._memory = True, self._memory_of()
            if self._memory is not None and self._memory.fault is not None:
                self._tell(True, f"by torch, for {self.threads} threads; not past torch: {self._memory.fault}")
            elif self._memory is not None:
                self._past_torch = True
                self._tell(True, f"`cuMemcpyDtoH` of {PART_BYTES} bytes at a time, for {self.threads} threads")
        if self._memory is not None:
            self._memory.interface.synchronize()

    def _source(self, tensor):
        """`(start, count) -> Part` of a tensor."""
        size = int(tensor.element_size())
        if on_card(tensor) and self._past_torch:
            if tensor.is_contiguous():
                return lambda start, count: self._read(tensor, start, min(count, int(tensor.numel()) - start), size)
            gathered = self._gathered(tensor, size)
            tensor = tensor if gathered is None else gathered
        flat = tensor.contiguous().reshape(-1)
        return lambda start, count: Part.of(flat[start : start + count].cpu())

    def _read(self, tensor, start, count, size):
        """A part by the driver, by torch from the first copy on that fails."""
        if self._past_torch:
            buffer = None
            try:
                buffer = self._buffer()
                self._memory.read(buffer, tensor.data_ptr() + start * size, count * size)
                return Part(buffer, count * size, functools.partial(viewed, buffer, tensor.dtype, count, size), buffer)
            except Exception as error:
                if buffer is not None:
                    self._free.append(buffer)
                self._give_up(error)
        return Part.of(tensor.reshape(-1)[start : start + count].cpu())

    def _gathered(self, tensor, size):
        """A tensor with gaps or in another order on the host, row-major; None where it is torch's to gather it.

        On the card that would be a kernel, and may be the library's.
        """
        reach = 1 + sum((extent - 1) * step for extent, step in zip(tensor.shape, tensor.stride()))
        if reach > SPREAD * int(tensor.numel()):
            return None
        try:
            there = sys.modules["torch"].empty_strided(
                tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device="cpu"
            )
            self._memory.read(there.data_ptr(), tensor.data_ptr(), reach * size)
            return there.contiguous()
        except Exception as error:
            self._give_up(error)
            return None

    def _give_up(self, error):
        self._past_torch = False
        self._tell(False, f"by torch from here on: {type(error).__name__}: {error}")

    def _buffer(self):
        """Address of a buffer that no part lies in; never more than two a thread and two."""
        try:
            return self._free.popleft()
        except IndexError:
            self._buffers.append(self._memory.allocate(PART_BYTES))
            return self._buffers[-1]


class Part:
    """A part on the host: its bits, `tensor()` for its values, and the buffer it lies in where that is one of ours."""

    def __init__(self, address, size, tensor, buffer=None):
        self.address = address
        self.size = size
        self.tensor = tensor
        self.buffer = buffer

    @classmethod
    def of(cls, tensor):
        """A flat tensor of the host as a part."""
        size = int(tensor.numel()) * int(tensor.element_size())
        return cls(tensor.data_ptr(), size, lambda: tensor)


def hash_of(part):
    """SHA-256 of a part's bits, which are not copied for it."""
    return hashlib.sha256((ctypes.c_ubyte * part.size).from_address(part.address)).digest()


def same(one, other):
    """True if two parts' bits are equal."""
    return _compare(one.address, other.address, one.size) == 0


def viewed(address, dtype, count, size):
    """Memory of the host as a flat tensor."""
    memory = (ctypes.c_ubyte * (count * size)).from_address(address)
    return sys.modules["torch"].frombuffer(memory, dtype=dtype, count=count)


def on_card(tensor):
    """True for a tensor whose memory is CUDA's."""
    return bool(getattr(tensor, "is_cuda", False))


def part_elements(tensor):
    """Elements of a tensor in a part."""
    return max(1, PART_BYTES // max(1, int(tensor.element_size())))


def starts(tensor, count):
    """Where a tensor's parts of `count` elements start."""
    return range(0, int(tensor.numel()), count)


def resolved(tensor):
    """A tensor whose bits are its values: lazily conjugated or negated ones are made so."""
    tensor = tensor.detach()
    for lazy, resolve in (("is_conj", "resolve_conj"), ("is_neg", "resolve_neg")):
        if getattr(tensor, lazy, bool)():
            tensor = getattr(tensor, resolve)()
    return tensor
