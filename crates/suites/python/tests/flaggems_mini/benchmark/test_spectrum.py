import pytest
import torch

from . import base


@pytest.mark.spectrum
def test_perf_spectrum():
    """Takes one dtype only, and runs none of Triton's kernels."""
    base.UnaryBenchmark(op_name="spectrum", torch_op=torch.fft, shapes=[(16,)], dtypes=[torch.complex64]).run()
