import pytest
import torch
import triton
from flag_gems.ops import planted

from . import base

RIGHT = {"constant": planted.right_constant}


def run(function, op_name=None, bench=base.UnaryBenchmark):
    """A library's function by name, on one input."""
    made = bench(
        op_name=op_name or function.__name__,
        torch_op=RIGHT.get(function.__name__, torch.softmax),
        gems_op=function,
        shapes=[(64, 64)],
        dtypes=[torch.float16],
    )
    planted.BUMPED.clear()
    made.run()
    if planted.BUMPED:
        print(f"{made.op_name} found {len(planted.BUMPED)} inputs")


@pytest.mark.parametrize(
    "name", ["follows", "read_once", "own_cache", "late", "generated", "bump_", "constant", "breaks"]
)
def test_planted(name):
    run(getattr(planted, name))


def test_bump_unnamed():
    """Writes into its input, and neither its name nor the benchmark says so."""
    run(planted.bump_, "bump")


class GradientBenchmark(base.UnaryBenchmark):
    """Asks for gradients to be forgotten before each call."""

    def get_latency(self, op, x):
        kept = []

        def fn():
            kept.append(x.grad is not None)
            x.grad = torch.empty_like(x)
            return op(x)

        latency = triton.testing.do_bench(fn, grad_to_none=[x], return_mode="median")
        print(f"gradients kept: {sum(kept)} of {len(kept)}")
        return latency


def test_gradients():
    run(planted.follows, "gradients", GradientBenchmark)
