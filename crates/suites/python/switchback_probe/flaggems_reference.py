"""What torch's own operator gives for a case of FlagGems' benchmark in double precision.

Both sides are held against it where their outputs differ. Leaves the comparison, and putting back inputs that the
operator wrote into, to `compare`. Invariant: the case's own tensors are neither changed nor kept; whatever has no such
reference (a backward pass, integers) says so with a `ValueError`.
"""

import sys

from .distance import is_inexact
from .outputs_of import tensors_in


def reference(bench, inputs):
    """`(result, roundings)` of `bench.torch_op` on copies of the inputs in double precision.

    Raises `ValueError` where there is none, and whatever torch raises.
    """
    operator = getattr(bench, "torch_op", None)
    if operator is None:
        raise ValueError("the benchmark names no operator of torch's")
    if getattr(bench, "is_backward", False):
        raise ValueError("none for a backward pass")
    torch = sys.modules["torch"]
    args, kwargs = inputs
    if not any(is_inexact(tensor) for tensor in tensors_in([args, kwargs])):
        raise ValueError("no input has a precision that could be higher")
    kwargs = {name: value for name, value in kwargs.items() if name != "out"}
    result = operator(*widened(args, torch), **widened(kwargs, torch))
    return result, roundings(tensors_in([args, kwargs]), tensors_in(result))


def widened(value, torch):
    """A copy of a value whose inexact tensors, and dtypes of such, are double precision."""
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        wide = torch.complex128 if getattr(value.dtype, "is_complex", False) else torch.float64
        copy = value.detach().clone()
        return copy.to(wide) if is_inexact(value) else copy
    if isinstance(value, dict):
        return {name: widened(item, torch) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(widened(item, torch) for item in value)
    if isinstance(value, torch.dtype) and getattr(value, "is_floating_point", False):
        return torch.float64
    return value


def roundings(inputs, results):
    """Longest chain of roundings that one result can have behind it, as far as shapes can tell: an upper bound.

    A reduction adds up what an input has more than the result (`sum`: all of it; over rows: a row's length); a product
    of matrices, a softmax or a scan no more than the longest dimension; a convolution all of its filter but one
    dimension.
    """
    smallest = min((int(tensor.numel()) for tensor in results if int(tensor.numel())), default=1)
    longest = 1
    for tensor in inputs:
        shape = [int(size) for size in tensor.shape]
        count = int(tensor.numel())
        longest = max(longest, count // smallest, *(shape or [1]))
        if len(shape) > 2 and shape[0]:
            longest = max(longest, count // shape[0] if count // shape[0] <= 1 << 20 else 1)
    return longest + 8
