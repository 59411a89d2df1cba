"""A product that takes a cluster kernel for wide inputs, as the real library's does on Hopper."""

import torch
import triton
import triton.language as tl


@triton.jit
def cluster_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, offsets < n) + 1, offsets < n)


@triton.jit
def plain_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, offsets < n) * 2, offsets < n)


def cluster_remote_mm_scenario(x):
    return x.shape[1] >= 64


def clustered(x):
    out = torch.empty_like(x)
    kernel = cluster_kernel if cluster_remote_mm_scenario(x) else plain_kernel
    kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
