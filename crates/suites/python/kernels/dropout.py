"""Dropout with Philox random numbers of a fixed seed, so that both sides drop the same elements."""

import torch
import triton
import triton.language as tl

from . import inputs

SEED = 20_240_229
KEEP = 0.5


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n_elements, keep, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    y = tl.where(tl.rand(seed, offsets) < keep, x / keep, 0.0)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def make(shape, dtype):
    return (inputs.normal(shape, dtype),)


def run(x):
    out = torch.empty_like(x)
    dropout_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), KEEP, SEED, BLOCK=1024)
    return out


def reference(x):
    """None: which elements are kept is the generator's alone."""
