"""A torch without torch: as much of its surface as the probe, the miniature FlagGems and Triton's own code touch.

Tensors have real memory, so that digests are real; the card is `card`, a queue on a clock that waits without waiting.
"""

import builtins
import ctypes
import random as _random
import statistics as _statistics
import struct as _struct

from . import card as _card
from . import cuda, version  # noqa: F401

__version__ = "2.99.0+fake"
_generator = _random.Random(0)


class dtype:
    def __init__(self, name, size, floating=False, is_complex=False):
        self.name, self.itemsize = name, size
        self.is_floating_point, self.is_complex = floating, is_complex

    def __repr__(self):
        return f"torch.{self.name}"


float16 = dtype("float16", 2, True)
bfloat16 = dtype("bfloat16", 2, True)
float32 = float = dtype("float32", 4, True)
float64 = dtype("float64", 8, True)
complex64 = cfloat = dtype("complex64", 8, False, True)
int8, int16 = dtype("int8", 1), dtype("int16", 2)
float8_e4m3fn = dtype("float8_e4m3fn", 1, True)
int32 = int = dtype("int32", 4)
int64, uint8, bool = dtype("int64", 8), dtype("uint8", 1), dtype("bool", 1)


float_of = builtins.float
_FORMATS = {"float16": "e", "float32": "f", "float64": "d"}


class Size(tuple):
    def __repr__(self):
        return f"torch.Size({list(self)})"


class device:
    def __init__(self, name, index=0):
        self.type, self.index = name, index


class Tensor:
    def __init__(self, shape, dtype, content=None, offset=0, strides=None):
        self.shape, self.dtype, self._strides = Size(shape), dtype, strides
        self.grad, self.requires_grad = None, False
        count = 1
        for extent in self.shape:
            count *= extent
        self._count, self._offset = count, offset
        reach = count if strides is None else 1 + sum((size - 1) * step for size, step in zip(shape, strides))
        length = builtins.max(1, reach * dtype.itemsize)
        self._memory = (ctypes.c_char * (length + 64))() if content is None else content
        # Aligned, so that specialisation sees what it sees on a card.
        start = ctypes.addressof(self._memory)
        self._base = (start + 63) // 64 * 64
        self.is_cuda = True

    def data_ptr(self):
        return self._base + self._offset

    def numel(self):
        return self._count

    def element_size(self):
        return self.dtype.itemsize

    @property
    def ndim(self):
        return len(self.shape)

    def size(self):
        return self.shape

    def stride(self, index=None):
        strides, step = [], 1
        for extent in reversed(self.shape):
            strides.insert(0, step)
            step *= extent
        strides = strides if self._strides is None else self._strides
        return tuple(strides) if index is None else strides[index]

    def detach(self):
        return self

    def contiguous(self):
        if self.is_contiguous():
            return self
        if self.is_cuda:
            _card.launched.append("contiguous")
        size, found = self.dtype.itemsize, Tensor(self.shape, self.dtype)
        places = [0]
        for extent, step in zip(self.shape, self._strides):
            places = [place + index * step for place in places for index in range(extent)]
        for index, place in enumerate(places):
            ctypes.memmove(found.data_ptr() + index * size, self.data_ptr() + place * size, size)
        found.is_cuda = self.is_cuda
        return found

    def cpu(self):
        cuda.synchronize()
        _card.check()
        return self

    def is_contiguous(self):
        return self._strides is None

    # Numbers, for few elements.

    def read(self):
        assert self._count <= 1 << 16, "too many numbers for this stand-in"
        form = f"{self._count}{_FORMATS[self.dtype.name]}"
        return _struct.unpack(form, ctypes.string_at(self.data_ptr(), _struct.calcsize(form)))

    def write(self, values):
        content = _struct.pack(f"{self._count}{_FORMATS[self.dtype.name]}", *values)
        ctypes.memmove(self.data_ptr(), content, len(content))

    def to(self, dtype):
        found = Tensor(self.shape, dtype)
        found.write(self.read())
        return found

    def __sub__(self, other):
        found = Tensor(self.shape, self.dtype)
        found.write([one - two for one, two in zip(self.read(), other.read())])
        return found

    def abs(self):
        found = Tensor(self.shape, self.dtype)
        found.write([builtins.abs(value) for value in self.read()])
        return found

    def _mask(self, values):
        """Truth by element, as numbers."""
        found = Tensor(self.shape, float64)
        found.write([float_of(value) for value in values])
        return found

    def eq(self, other):
        return self._mask(one == two for one, two in zip(self.read(), other.read()))

    def isnan(self):
        return self._mask(value != value for value in self.read())

    def isfinite(self):
        return self._mask(value - value == 0 for value in self.read())

    def __or__(self, other):
        return self._mask(one or two for one, two in zip(self.read(), other.read()))

    def __and__(self, other):
        return self._mask(one and two for one, two in zip(self.read(), other.read()))

    def __invert__(self):
        return self._mask(not value for value in self.read())

    def masked_fill(self, mask, value):
        found = Tensor(self.shape, self.dtype)
        found.write([value if masked else one for one, masked in zip(self.read(), mask.read())])
        return found

    def max(self):
        values = self.read()
        return next((value for value in values if value != value), builtins.max(values))

    def copy_(self, other):
        ctypes.memmove(self.data_ptr(), other.data_ptr(), self._count * self.dtype.itemsize)
        return self

    def clone(self):
        copy = Tensor(self.shape, self.dtype)
        ctypes.memmove(copy.data_ptr(), self.data_ptr(), self._count * self.dtype.itemsize)
        return copy

    def t(self):
        return Tensor(reversed(self.shape), self.dtype, self._memory)

    def reshape(self, *shape):
        return Tensor((self._count,), self.dtype, self._memory, self._offset)

    def __getitem__(self, index):
        start, stop, _ = index.indices(self._count)
        return Tensor((stop - start,), self.dtype, self._memory, self._offset + start * self.dtype.itemsize)

    def zero_(self):
        _card.enqueue(_card.flush_us())
        return self

    def requires_grad_(self, value=True):
        self.requires_grad = value
        return self

    def tolist(self):
        return list(self._values)

    def item(self):
        return self._values[0]

    @property
    def device(self):
        return "cuda"

    def mm(self, other):
        return _call("mm", self, other)


def _filled(shape, dtype, generator):
    tensor = Tensor(shape, dtype)
    length = builtins.min(tensor.numel() * dtype.itemsize, 1 << 16)
    ctypes.memmove(tensor.data_ptr(), generator.randbytes(length), length)
    return tensor


def manual_seed(seed):
    _generator.seed(seed)


def randn(*shape, dtype=float32, device=None):
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    _card.check()
    return _filled(shape, dtype, _generator)


def empty(*shape, dtype=float32, device=None):
    return Tensor(shape[0] if isinstance(shape[0], (tuple, list)) else shape, dtype)


def empty_strided(shape, strides, dtype=float32, device=None):
    found = Tensor(shape, dtype, strides=strides)
    found.is_cuda = device != "cpu"
    return found


def frombuffer(memory, dtype, count):
    found = Tensor((count,), dtype, (ctypes.c_char * (count * dtype.itemsize)).from_buffer(memory))
    found._offset, found.is_cuda = ctypes.addressof(memory) - found._base, False
    return found


def empty_like(tensor):
    return Tensor(tensor.shape, tensor.dtype)


def tensor(values, dtype=float32):
    found = Tensor((len(values),), dtype)
    found._values = list(values)
    return found


def quantile(values, shares):
    from switchback_probe.summary import quantile as one

    return tensor([one(values._values, share) for share in shares._values])


def _summary(reduce):
    return lambda values: tensor([reduce(values._values)])


mean, median, min, max = map(_summary, (_statistics.fmean, _statistics.median, builtins.min, builtins.max))


def is_tensor(value):
    return isinstance(value, Tensor)


# Operators and what may stand in for them.

_overrides = {}


def _call(name, *args, **kwargs):
    override = _overrides.get(name)
    if override is not None:
        return override(*args, **kwargs)
    _card.enqueue(5.0)
    return _filled(args[0].shape, args[0].dtype, _random.Random(name))


def add(x, y):
    return _call("add", x, y)


def mm(x, y):
    return _call("mm", x, y)


def softmax(x, dim=-1):
    return _call("softmax", x)


def sort(x, dim=-1, descending=False):
    return _call("sort", x)


def fft(x):
    return _call("fft", x)
