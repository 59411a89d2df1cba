"""Holds outputs against the same case in higher precision.

Leaves to the suites where a reference comes from, and to `distance` how far outputs are from it. Invariants: a
reference that is of no higher precision, or that is the code under test, is none; integers are not held against it, for
of several right ones (where of equal values, say) it has only one.
"""

from . import distance
from .distance import is_inexact
from .outputs_of import tensors_in

DOUBLE = ("float64", "complex128")


def evaluated(session, reference):
    """`(tensors, roundings)` of `reference()`.

    Raises `ValueError` where it is none, and whatever it raises.
    """
    (result, roundings), launches, unknown = session.launches.record(reference)
    if launches or (unknown and session.launches.counter is not None):
        raise ValueError("what it would be is a kernel of Triton's itself")
    right = tensors_in(result)
    if not right:
        raise ValueError("there is none for this operator")
    for tensor in right:
        name = str(tensor.dtype).rsplit(".", 1)[-1]
        if is_inexact(tensor) and name not in DOUBLE:
            raise ValueError(f"what it would be is rounded to {name} itself")
    return right, roundings


def against(right, roundings, seen, parts):
    """How far outputs are from the reference, and what rounding explains, both relative to its largest value.

    Of several outputs the one counts that is worst by its own bound, on the scale of the first one's. Raises
    `ValueError` where all are integers.
    """
    floating = [distance.rounding_bound(roundings, tensor.dtype) for tensor in seen if is_inexact(tensor)]
    if not floating:
        raise ValueError("its outputs are integers")
    if [tuple(tensor.shape) for tensor in right] != [tuple(tensor.shape) for tensor in seen]:
        return float("inf"), floating[0]
    worst = 0.0
    for one, other in zip(right, seen):
        if is_inexact(one) and is_inexact(other):
            error = distance.largest_error(one, other, parts)
            worst = max(worst, error / distance.rounding_bound(roundings, other.dtype))
    return worst * floating[0], floating[0]


def integers_in(tensors):
    """The tensors that no reference is asked for."""
    return [tensor for tensor in tensors if not is_inexact(tensor)]


def why_none(error):
    """Why there is no reference; a `ValueError` is ours and says it all."""
    return f"no reference: {error}" if type(error) is ValueError else f"no reference: {type(error).__name__}: {error}"
