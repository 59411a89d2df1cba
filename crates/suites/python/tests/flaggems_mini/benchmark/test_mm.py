import pytest
import torch

from . import base


class MmBenchmark(base.Benchmark):
    def get_input_iter(self, dtype):
        for shape in self.shapes:
            yield torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
        for shape in self.shapes:
            yield torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype).t()


@pytest.mark.mm
def test_mm():
    MmBenchmark(op_name="mm", torch_op=torch.Tensor.mm, shapes=[(64, 64), (64, 96)], dtypes=[torch.float16]).run()
