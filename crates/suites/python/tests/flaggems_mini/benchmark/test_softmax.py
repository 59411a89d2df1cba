import pytest
import torch

from . import base


@pytest.mark.softmax
def test_softmax():
    base.UnaryBenchmark(op_name="softmax", torch_op=torch.softmax).run()


@pytest.mark.softmax_never
@pytest.mark.skipif(True, reason="Issue #1: not working")
def test_softmax_never():
    base.UnaryBenchmark(op_name="softmax_never", torch_op=torch.softmax).run()
