import pytest
import torch
from flag_gems.ops.clustered import clustered

from . import base


@pytest.mark.clustered
def test_clustered():
    base.UnaryBenchmark(
        op_name="clustered",
        torch_op=torch.softmax,
        gems_op=clustered,
        shapes=[(64, 32), (64, 64)],
        dtypes=[torch.float16],
    ).run()
