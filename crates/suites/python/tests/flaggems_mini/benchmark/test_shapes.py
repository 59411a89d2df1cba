"""Benchmarks by where their shapes come from; the classes are named as those of FlagGems that the registry knows."""

import dataclasses
from itertools import product

import flag_gems
import pytest
import torch

from . import base

HALF = [torch.float16]


def pairs(shape, dtype, device):
    yield torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)


def noted(x, y, note=None):
    """The library's addition; the note is for what is printed of the input."""
    return flag_gems.ops.add(x, y)


def run(bench, name, **kwargs):
    bench(op_name=name, torch_op=torch.add, gems_op=noted, **{"dtypes": HALF, **kwargs}).run()


class FollowingBenchmark(base.GenericBenchmark):
    """Takes the shapes of the file, and more of its own at the larger level."""

    def set_more_shapes(self):
        return [(16, 16)]


@pytest.mark.following
def test_following():
    run(FollowingBenchmark, "following", input_fn=pairs, dtypes=[torch.float16, torch.float32])


class ManyBenchmark(base.GenericBenchmark):
    """A list that is long enough to have orders."""

    def set_shapes(self, path):
        self.shapes = [(4, 4), (2, 8), (8, 2), (1, 16), (16, 1)]


@pytest.mark.many
def test_many():
    run(ManyBenchmark, "many", input_fn=pairs, dtypes=[torch.float16, torch.float32])


class RepeatingBenchmark(base.GenericBenchmark):
    """Two shapes that print alike."""

    def set_shapes(self, path):
        self.shapes = [(4, 4), (2, 8), (4, 4), (8, 2)]


@pytest.mark.repeating
def test_repeating():
    run(RepeatingBenchmark, "repeating", input_fn=pairs)


class OverwritingBenchmark(base.GenericBenchmark):
    """Never looks into the file, and keeps its own list where others keep the file's."""

    def set_shapes(self, path):
        self.shapes = [(8, 8)]


@pytest.mark.overwriting
def test_overwriting():
    run(OverwritingBenchmark, "overwriting", input_fn=pairs, dtypes=[torch.float16, torch.float32])


class UnconfiguredBenchmark(base.GenericBenchmark):
    """Goes past the whole configuration."""

    def init_user_config(self):
        self.to_bench_dtypes, self.to_bench_metrics = self.dtypes, ["latency"]
        self.shapes = [(8, 8)]


@pytest.mark.unconfigured
def test_unconfigured():
    run(UnconfiguredBenchmark, "unconfigured", input_fn=pairs)


class MaxPool2dBenchmark(base.GenericBenchmark):
    """A list within the method, shapes to the input function."""

    def get_input_iter(self, dtype):
        for shape in [(4, 3, 8, 8), (2, 2, 16, 16), (1, 1, 4, 4)]:
            yield from self.input_fn(shape, dtype, self.device)


def pooled(shape, dtype, device):
    if shape[0] == 13:
        raise RuntimeError("thirteen images cannot be pooled")
    for window in (2, 3):
        yield torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype), {"note": window}


@pytest.mark.max_pool2d
def test_max_pool2d():
    run(MaxPool2dBenchmark, "max_pool2d", input_fn=pooled)


class InheritingPoolBenchmark(MaxPool2dBenchmark):
    pass


@pytest.mark.inheriting_pool
def test_inheriting_pool():
    run(InheritingPoolBenchmark, "inheriting_pool", input_fn=pooled)


class UpsampleBicubic2dAaBackwardBenchmark(base.Benchmark):
    """A list in an attribute, of more than sizes."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._cfgs = [(1, 1, 4, 4, 8, 8, False, "twice"), (1, 1, 8, 8, 4, 4, True, "half")]

    def get_input_iter(self, dtype):
        for n, c, _, _, height, width, corners, _label in self._cfgs:
            shape = (n, c, height, width)
            yield torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype), {"note": corners}


@pytest.mark.upsample
def test_upsample():
    run(UpsampleBicubic2dAaBackwardBenchmark, "upsample")


LINALG_LU_FACTOR_SHAPE = [[4, 4], [8, 8]]


class LinalgLuFactorBenchmark(base.Benchmark):
    """A list of the module."""

    def get_input_iter(self, dtype):
        for shape in LINALG_LU_FACTOR_SHAPE:
            for pivot in (1, 0):
                yield torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype), {"note": pivot}


@pytest.mark.lu_factor
def test_lu_factor():
    run(LinalgLuFactorBenchmark, "lu_factor")


class FP8PagedMQACompareBenchmark(base.Benchmark):
    """A list within the method, multiplied with another."""

    def set_shapes(self, path):
        self.shapes = []

    def get_input_iter(self, dtype):
        compared = [(1, 1, 16, 64, 1024), (2, 1, 32, 128, 2048)]
        for (batch, next_n, heads, dim, kv), scale in product(compared, [1, 2]):
            shape = (batch * next_n, heads, dim, kv // 64)
            yield torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype), {"note": scale}


@pytest.mark.paged
def test_paged():
    run(FP8PagedMQACompareBenchmark, "paged")


@dataclasses.dataclass
class TestParam:
    __test__ = False

    batch: int
    topk: int = 0
    seqlen: int = 0
    d_qk: int = 576
    is_fp8: bool = True
    have_attn_sink: bool = False
    have_topk_length: bool = False
    use_out: bool = False
    num_pages: int = None


class FlashMLAWithKVCacheBenchmark(base.Benchmark):
    """Parameters of a class of their own, made into inputs by a method."""

    def set_shapes(self, path):
        self.shapes = []

    def get_input_iter(self, dtype):
        for parameter in [TestParam(128, 128), TestParam(64, 0, 256, is_fp8=False)]:
            yield from self.make_input(parameter)

    @staticmethod
    def make_input(it):
        flags = f"fp8={it.is_fp8} sink={it.have_attn_sink} out={it.use_out} pages={it.num_pages}"
        shape = (it.batch, it.topk or it.seqlen, it.d_qk)
        yield torch.randn(shape, dtype=torch.float16), torch.randn(shape, dtype=torch.float16), {"note": flags}


@pytest.mark.flash_mla
def test_flash_mla():
    run(FlashMLAWithKVCacheBenchmark, "flash_mla")


class Kit:
    scalar_only_params = [{"M": 1, "N": 2, "K": 3}]
    block_params = [{"M": 4, "N": 4, "K": 4}]


class CutlassScaledMMBenchmark(base.Benchmark):
    """Cases of a kit by what it calls its dtypes."""

    kit = Kit

    def set_shapes(self, path):
        self.shapes = []

    def get_input_iter(self, dtype):
        for case in getattr(self.kit, f"{dtype}_params"):
            left = torch.randn((case["M"], case["K"]), dtype=torch.float16)
            yield left, torch.randn((case["M"], case["K"]), dtype=torch.float16), {"note": str(case)}


@pytest.mark.scaled_mm
def test_scaled_mm():
    run(CutlassScaledMMBenchmark, "scaled_mm", dtypes=["scalar_only", "block"])


class StubbornBenchmark(base.Benchmark):
    """Writes its inputs into the method, and nobody has registered it."""

    def get_input_iter(self, dtype):
        yield torch.randn((8, 8), dtype=dtype), torch.randn((8, 8), dtype=dtype)


@pytest.mark.stubborn
def test_stubborn():
    run(StubbornBenchmark, "stubborn")
