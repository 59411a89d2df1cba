import flag_gems
import pytest
import torch
import triton

from . import base


@pytest.mark.add
def test_add():
    base.BinaryPointwiseBenchmark(op_name="add", torch_op=torch.add).run()


@pytest.mark.add_direct
def test_add_direct():
    """The library's function by name, without standing in for torch's."""
    base.BinaryPointwiseBenchmark(op_name="add_direct", torch_op=torch.add, gems_op=flag_gems.ops.add).run()


class CloningBenchmark(base.BinaryPointwiseBenchmark):
    """Has a `get_latency` of its own, which asks the base's."""

    def get_latency(self, op, *args, **kwargs):
        return super().get_latency(op, args[0].clone(), *args[1:], **kwargs)


class QuantilesBenchmark(base.BinaryPointwiseBenchmark):
    """Asks for quantiles, whose median over repeats nobody has defined."""

    def get_latency(self, op, *args, **kwargs):
        return triton.testing.do_bench(lambda: op(*args, **kwargs), quantiles=[0.2, 0.5, 0.8])[0]


@pytest.mark.add_quantiles
def test_add_quantiles():
    QuantilesBenchmark(op_name="add_quantiles", torch_op=torch.add, dtypes=[torch.float16]).run()


class AllTimesBenchmark(base.BinaryPointwiseBenchmark):
    """Asks for all times, of which there is no median over repeats."""

    def get_latency(self, op, *args, **kwargs):
        times = triton.testing.do_bench(lambda: op(*args, **kwargs), return_mode="all")
        print(f"times: {len(times)}")
        return min(times)


@pytest.mark.add_all_times
def test_add_all_times():
    AllTimesBenchmark(op_name="add_all_times", torch_op=torch.add, dtypes=[torch.float16]).run()


@pytest.mark.add_cloning
@pytest.mark.parametrize("n", [1, 2])
def test_add_cloning(n):
    CloningBenchmark(op_name="add_cloning", torch_op=torch.add, shapes=[(64, 64 * n)]).run()
