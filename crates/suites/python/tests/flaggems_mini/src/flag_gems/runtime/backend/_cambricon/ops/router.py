"""A kernel of another vendor: it takes block sizes that only that vendor's tuner knows."""

import torch
import triton
import triton.language as tl


@triton.jit
def router_kernel(x_ptr, out_ptr, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, SPLIT_K: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, offsets < n) * BLOCK_N * SPLIT_K, offsets < n)


def router_gemm(x):
    out = torch.empty_like(x)
    router_kernel[(1,)](x, out, x.numel())
    return out
