"""A miniature of FlagGems: the interface that its benchmark and the probe use, over a handful of operators."""

import torch

from flag_gems import ops, runtime

__version__ = "9.9.9"
device = runtime.device.name
vendor_name = runtime.device.vendor_name


class use_gems:
    def __init__(self, exclude=None, include=None):
        self.exclude = exclude or []

    def __enter__(self):
        for name, function in ops.TABLE.items():
            if name not in self.exclude:
                torch._overrides[name] = function

    def __exit__(self, exc_type, exc_val, exc_tb):
        torch._overrides.clear()
