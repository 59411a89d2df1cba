import os

import flag_gems  # noqa: F401
import pytest
import torch
from flag_gems.runtime import torch_device_fn

from . import consts

Config = None
CORE_SHAPES = os.path.join(os.path.dirname(__file__), "core_shapes.yaml")


class BenchConfig:
    mode = consts.BenchMode.KERNEL
    bench_level = consts.BenchLevel.COMPREHENSIVE
    warm_up, repetition = 1000, 100
    user_desired_dtypes = user_desired_metrics = None
    shape_file = CORE_SHAPES


def pytest_addoption(parser):
    parser.addoption("--mode", default="kernel", choices=[mode.value for mode in consts.BenchMode])
    parser.addoption("--level", default="comprehensive", choices=[level.value for level in consts.BenchLevel])
    parser.addoption("--warmup", default=1000)
    parser.addoption("--iter", default=100)
    parser.addoption("--metrics", action="append", default=None)
    parser.addoption("--dtypes", action="append", default=None)
    parser.addoption("--shape_file", default=CORE_SHAPES)


def pytest_configure(config):
    global Config
    Config = BenchConfig()
    Config.mode = consts.BenchMode(config.getoption("--mode"))
    Config.bench_level = consts.BenchLevel(config.getoption("--level"))
    Config.warm_up, Config.repetition = int(config.getoption("--warmup")), int(config.getoption("--iter"))
    dtypes = config.getoption("--dtypes")
    Config.user_desired_dtypes = [getattr(torch, dtype) for dtype in dtypes] if dtypes else None
    Config.shape_file = config.getoption("--shape_file")
    Config.user_desired_metrics = config.getoption("--metrics")


@pytest.fixture(scope="function", autouse=True)
def clear_function_cache():
    yield
    torch_device_fn.empty_cache()
