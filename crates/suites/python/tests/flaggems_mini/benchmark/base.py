import gc
import time

import flag_gems
import pytest
import torch
import triton
import yaml

from . import consts
from .conftest import Config
from .consts import BenchmarkMetrics, BenchmarkResult

torch_device_fn = flag_gems.runtime.torch_device_fn


class Benchmark:
    device = "cuda"
    DEFAULT_METRICS = consts.DEFAULT_METRICS
    SHAPES = [(64, 64), (128, 64)]

    def __init__(self, op_name, torch_op, dtypes=None, is_backward=False, is_inplace=False, gems_op=None, shapes=None):
        self.op_name = op_name
        self.torch_op, self.gems_op = torch_op, gems_op
        self.is_backward, self.is_inplace = is_backward, is_inplace
        self.dtypes = dtypes or consts.FLOAT_DTYPES
        self.shapes = shapes or self.SHAPES

    def set_shapes(self, path):
        with open(path) as file:
            entries = yaml.safe_load(file)
        names = [self.op_name, *(found.__name__ for found in type(self).__mro__)]
        entry = next((entries[name] for name in names if name in entries), {})
        self.shapes = [tuple(shape) for shape in entry.get("shapes", self.shapes)]
        if Config.bench_level == consts.BenchLevel.COMPREHENSIVE:
            self.shapes = list(dict.fromkeys(self.shapes + self.set_more_shapes()))

    def set_more_shapes(self):
        return []

    def init_user_config(self):
        wanted = Config.user_desired_dtypes
        if wanted and not all(dtype in self.dtypes for dtype in wanted):
            raise ValueError(f"Given dtype(s) '{wanted}' can't be supported by this op '{self.op_name}'")
        self.to_bench_dtypes = wanted or self.dtypes
        self.to_bench_metrics = Config.user_desired_metrics or self.DEFAULT_METRICS
        self.set_shapes(Config.shape_file)

    def record_shapes(self, *args, **kwargs):
        def parse(item):
            if isinstance(item, torch.Tensor):
                return item.size()
            return item if isinstance(item, (int, float, str, torch.dtype)) else None

        args, kwargs = [parse(arg) for arg in args], {key: parse(value) for key, value in kwargs.items()}
        if args and kwargs:
            return args, kwargs
        return args if args else kwargs

    def get_latency(self, op, *args, **kwargs):
        fn = lambda: op(*args, **kwargs)
        if Config.mode in (consts.BenchMode.OPERATOR, consts.BenchMode.WRAPPER):
            for _ in range(3):
                fn()
            torch_device_fn.synchronize()
            start = time.time()
            for _ in range(5):
                fn()
            torch_device_fn.synchronize()
            return (time.time() - start) / 5 * 1000
        if Config.mode == consts.BenchMode.KERNEL:
            do_bench = triton.testing.do_bench
            return do_bench(fn, warmup=Config.warm_up, rep=Config.repetition, return_mode="median", grad_to_none=None)
        return triton.testing.do_bench_cudagraph(fn, rep=Config.repetition, return_mode="median", grad_to_none=None)

    def get_input_iter(self, dtype):
        raise NotImplementedError

    def unpack_to_args_kwargs(self, input_tuple):
        args, kwargs = [], {}
        for item in input_tuple:
            if isinstance(item, dict):
                kwargs.update(item)
            else:
                args.append(item)
        return args, kwargs

    def run(self):
        self.init_user_config()
        for dtype in self.to_bench_dtypes:
            metrics = []
            input_iter = self.get_input_iter(dtype)
            done = False
            while not done:
                try:
                    input = next(input_iter)
                except StopIteration:
                    done = True
                    continue
                except (RuntimeError, Exception) as e:
                    pytest.fail(str(e))
                metric = BenchmarkMetrics()
                try:
                    args, kwargs = self.unpack_to_args_kwargs(input)
                    metric.shape_detail = self.record_shapes(*args, **kwargs)
                    if "latency_base" in self.to_bench_metrics:
                        metric.latency_base = self.get_latency(self.torch_op, *args, **kwargs)
                    if "latency" in self.to_bench_metrics:
                        if self.gems_op:
                            metric.latency = self.get_latency(self.gems_op, *args, **kwargs)
                        else:
                            with flag_gems.use_gems(exclude=["zero_"]):
                                metric.latency = self.get_latency(self.torch_op, *args, **kwargs)
                    if "speedup" in self.to_bench_metrics:
                        metric.speedup = metric.latency_base / metric.latency
                except (RuntimeError, Exception) as e:
                    metric.error_msg = str(e)
                    pytest.fail(str(e))
                finally:
                    metrics.append(metric)
                    gc.collect()
            print(BenchmarkResult(self.op_name, str(dtype), Config.mode.value, Config.bench_level.value, metrics))


class BinaryPointwiseBenchmark(Benchmark):
    def get_input_iter(self, dtype):
        for shape in self.shapes:
            yield torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)


class UnaryBenchmark(Benchmark):
    def get_input_iter(self, dtype):
        for shape in self.shapes:
            yield (torch.randn(shape, dtype=dtype),)


class GenericBenchmark(Benchmark):
    def __init__(self, *args, input_fn, **kwargs):
        super().__init__(*args, **kwargs)
        self.input_fn = input_fn

    def get_input_iter(self, dtype):
        for shape in self.shapes:
            yield from self.input_fn(shape, dtype, self.device)
