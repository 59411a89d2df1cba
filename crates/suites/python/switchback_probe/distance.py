"""How far a tensor is from what it should be, and how much of that rounding explains.

Leaves bringing the bits to the host to `host_parts`, and what a distance means to those who ask. Invariant: every
element is looked at, in double precision.
"""

import math
import sys

PART = 1 << 19
"""Elements whose distance is computed at once. On an H200's host with eight threads 2^28 half-precision numbers take
0.3 s so, and 1.6 s with 2^15 at once: the threads then wait for the interpreter."""


def largest_error(right, seen, parts):
    """Largest distance between tensors, relative to the largest finite value of the first.

    Equal infinities, and "not a number" on both, are no distance; on one alone it is an infinite one. Computed on the
    host, every element, part by part on several threads.
    """
    worst = 0.0
    if [tuple(tensor.shape) for tensor in right] != [tuple(tensor.shape) for tensor in seen]:
        return math.inf
    for one, other in zip(right, seen):
        distance = scale = 0.0
        for gap, size in parts.pairs(one, other, part_error):
            distance, scale = max(distance, gap), max(scale, size)
        found = distance / scale if scale else distance
        worst = max(worst, found)
    return worst


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
    wide = torch.complex128 if getattr(one.dtype, "is_complex", False) else torch.float64
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
    last = {"float16": 2.0**-11, "bfloat16": 2.0**-8}.get(name, unit)
    # With so many that n u reaches 1 the worst case bounds nothing.
    worst = roundings * unit / (1.0 - roundings * unit) if roundings * unit < 1.0 else math.inf
    likely = math.expm1(6.0 * math.sqrt(roundings) * unit + roundings * unit * unit / (1.0 - unit))
    return min(worst, likely) + last
