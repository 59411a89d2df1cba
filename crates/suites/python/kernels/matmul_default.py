"""`a @ b` of float32 as the compiler would have it: TF32 or not is its default, which a switch may set."""

from .matmul import make, reference, roundings
from .matmul import run as run_with

__all__ = ["make", "reference", "roundings", "run"]


def run(a, b):
    return run_with(a, b, exact=False)
