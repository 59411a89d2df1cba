import pytest
import torch

from . import base


class FftBenchmark(base.UnaryBenchmark):
    SHAPES = [(16,)]


class TestFft:
    @pytest.mark.fft
    def test_perf_fft(self):
        FftBenchmark(op_name="fft", torch_op=torch.fft, dtypes=[torch.complex64]).run()
