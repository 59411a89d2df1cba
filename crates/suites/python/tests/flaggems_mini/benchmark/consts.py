from dataclasses import dataclass
from enum import Enum
from typing import Any, Optional

import torch

FLOAT_DTYPES = [torch.float16, torch.float32]
DEFAULT_METRICS = ["latency_base", "latency", "speedup"]


class BenchMode(Enum):
    KERNEL = "kernel"
    OPERATOR = "operator"
    WRAPPER = "wrapper"
    CUDAGRAPH = "cudagraph"


class BenchLevel(Enum):
    COMPREHENSIVE = "comprehensive"
    CORE = "core"


@dataclass
class BenchmarkMetrics:
    shape_detail: Any = None
    latency_base: Optional[float] = None
    latency: Optional[float] = None
    speedup: Optional[float] = None
    error_msg: Optional[str] = None


@dataclass
class BenchmarkResult:
    op_name: str
    dtype: str
    mode: str
    level: str
    result: list[BenchmarkMetrics]

    def __str__(self):
        text = (
            f"\nOperator: {self.op_name}  Performance Test (dtype={self.dtype}, mode={self.mode},level={self.level})\n"
        )
        assert self.result[0] is not None
        for metrics in self.result:
            status = "SUCCESS" if metrics.error_msg is None else "FAILED"
            latency = "N/A" if metrics.latency is None else f"{metrics.latency:.6f}"
            text += f"{status:<10}{latency:>20}          {metrics.shape_detail}\n"
        return text
