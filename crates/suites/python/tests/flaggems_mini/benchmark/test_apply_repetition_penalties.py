import pytest
import torch

from . import base


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA required")
@pytest.mark.skipif(torch.__version__ == "1", reason="too old")
@pytest.mark.apply_repetition_penalties
def test_apply_repetition_penalties():
    base.BinaryPointwiseBenchmark(op_name="apply_repetition_penalties", torch_op=torch.add).run()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA required")
def test_another_of_the_same_file():
    base.BinaryPointwiseBenchmark(op_name="another", torch_op=torch.add).run()
