import pytest
import torch

from . import base

try:
    # Succeeds wherever the file lies, and says nothing of the card.
    from flag_gems.runtime.backend._cambricon.ops.router import router_gemm

    AVAILABLE = True
except ImportError:
    AVAILABLE = False


@pytest.mark.skipif(not AVAILABLE, reason="no router_gemm")
@pytest.mark.router_gemm
def test_router_gemm():
    base.UnaryBenchmark(
        op_name="router_gemm",
        torch_op=torch.softmax,
        gems_op=router_gemm,
        shapes=[(64, 64)],
        dtypes=[torch.float16],
    ).run()
