"""How far a tensor is from what it should be, and how much of that rounding explains.

Leaves bringing the bits to the host to `host_parts`, and what a distance means to those who ask. Invariant: every
element is looked at, in double precision.
"""

import math
import sys

LAST_ROUNDING = {
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e4m3fnuz": 2.0**-4,
    "float8_e5m2": 2.0**-3,
    "float8_e5m2fnuz": 2.0**-3,
}
"""Unit roundoff of dtypes that kernels round to after computing in single precision."""
PART = 1 << 19
"""Elements whose distance is computed at once. On an H200's host with eight threads 2^28 half-precision numbers take
0.3 s so, and 1.6 s with 2^15 at once: the threads then wait for the interpreter."""


def is_inexact(tensor):
    """True for a tensor of floating-point or complex numbers."""
    dtype = tensor.dtype
    return bool(getattr(dtype, "is_floating_point", False) or getattr(dtype, "is_complex", False))


def largest_of(ones, others, parts):
    """The largest of `largest_error` over tensors that correspond; infinite where their shapes differ."""
    if [tuple(tensor.shape) for tensor in ones] != [tuple(tensor.shape) for tensor in others]:
        return math.inf
    return max((largest_error(one, other, parts) for one, other in zip(ones, others)), default=0.0)


def largest_error(one, other, parts):
    """Largest distance between two tensors of one shape, relative to the largest finite value of the first.

    Equal infinities, and "not a number" on both, are no distance; on one alone it is an infinite one. Computed on the
    host, every element, part by part on several threads.
    """
    distance = scale = 0.0
    for gap, size in parts.pairs(one, other, part_error):
        distance, scale = max(distance, gap), max(scale, size)
    return distance / scale if scale else distance


def part_error(one, other):
    """Largest distance between two parts on the host, and the largest finite value of the first."""
    distance = scale = 0.0
    one, other = one.tensor(), other.tensor()
    for start in range(0, int(one.numel()), PART):
        gap, size = few_error(one[start : start + PART], other[start : start + PART])
        distance, scale = max(distance, gap), max(scale, size)
    return distance, scale


def few_error(one, other):
    """The same of few elements."""
    torch = sys.modules["torch"]
    is_complex = any(getattr(tensor.dtype, "is_complex", False) for tensor in (one, other))
    wide = torch.complex128 if is_complex else torch.float64
    one, other = one.to(wide), other.to(wide)
    # A distance that is finite tells that all values are; what follows takes three times as long.
    gap = float((other - one).abs().max())
    if math.isfinite(gap):
        return gap, float(one.abs().max())
    alike = one.eq(other) | (one.isnan() & other.isnan())
    gap = float((other - one).abs().masked_fill(alike, 0.0).max())
    size = float(one.abs().masked_fill(~one.isfinite(), 0.0).max())
    return (gap if gap == gap else math.inf), size


def rounding_bound(roundings, dtype):
    """Relative error that rounding explains: a chain of roundings in single precision, then one to the dtype.

    With `n` roundings of unit roundoff `u`, `n u / (1 - n u)` at worst (Higham, Accuracy and Stability of Numerical
    Algorithms, 2002, lemma 3.1), or `exp(6 sqrt(n) u + n u^2 / (1 - u)) - 1` with probability close to 1 (Higham and
    Mary, SIAM J. Sci. Comput. 41, 2019, theorem 2.4), whichever is smaller.
    """
    name = str(dtype).rsplit(".", 1)[-1]
    unit = 2.0**-53 if name == "float64" else 2.0**-24
    last = LAST_ROUNDING.get(name, unit)
    # With so many that n u reaches 1 the worst case bounds nothing.
    worst = roundings * unit / (1.0 - roundings * unit) if roundings * unit < 1.0 else math.inf
    likely = math.expm1(6.0 * math.sqrt(roundings) * unit + roundings * unit * unit / (1.0 - unit))
    return min(worst, likely) + last
