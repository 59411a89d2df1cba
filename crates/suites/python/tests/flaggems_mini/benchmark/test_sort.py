import pytest
import torch

from . import base

try:
    from flag_gems.runtime.backend._cambricon import ops
except ImportError:
    ops = None


class SortBenchmark(base.Benchmark):
    def get_input_iter(self, dtype):
        for shape in self.shapes:
            yield torch.randn(shape, dtype=dtype), {"dim": -1, "descending": False}


def run(name, shapes, dtypes=None):
    SortBenchmark(op_name=name, torch_op=torch.sort, shapes=shapes, dtypes=dtypes).run()


@pytest.mark.sort
def test_perf_sort():
    run("sort", [(64, 64)])


@pytest.mark.sort_thirteen
def test_perf_sort_thirteen():
    run("sort_thirteen", [(64, 64), (13, 64), (128, 64)], [torch.float16])


@pytest.mark.sort_lost
def test_perf_sort_lost():
    run("sort_lost", [(64, 64), (666, 64), (128, 64)], [torch.float16])
