"""Inputs and references that the kernels share."""

import torch
import triton


def device():
    """The card as torch names it."""
    driver = triton.runtime.driver.active
    named = getattr(driver, "get_active_torch_device", None)
    return named() if named is not None else torch.device("cuda", driver.get_current_device())


def normal(shape, dtype):
    """Normal random numbers."""
    return torch.randn(shape, dtype=dtype, device=device())


def wide(tensor):
    """A tensor in double precision, for references."""
    return tensor.to(torch.float64)
