"""Operators: a plain kernel, one through the entry, one tuned by each tuner, one that launches none of Triton's."""

import os

import torch
import triton
import triton.language as tl

from flag_gems.utils import libentry, libtuner


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) + tl.load(y_ptr + offsets, mask), mask)


def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


@libentry()
@triton.jit
def softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * n + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < n
    x = tl.load(x_ptr + offsets, mask, other=-float("inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + offsets, x / tl.sum(x, 0), mask)


def softmax(x):
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


@libentry()
@libtuner(
    configs=[
        triton.Config({"BLOCK": 32, "EVEN": True}, num_warps=4),
        triton.Config({"BLOCK": 64, "EVEN": True}, num_warps=8),
    ],
    key=["n"],
)
@triton.jit
def mm_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) * tl.load(y_ptr + offsets, mask), mask)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128}, num_warps=2)], key=["n"])
@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) * 2, mask)


# Generated code lies in modules that are named by the process, in the real library.
for _kernel in (mm_kernel.jit_function.fn, scale_kernel.base_fn):
    _kernel.__module__ = f"_gen_module_rank_2_pid_{os.getpid()}"


def mm(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    mm_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
    scale_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, out, n)
    return out


def sort(x, dim=-1, descending=False):
    """Waits for the card inside: can be neither gated nor captured."""
    if x.shape[0] == 13:
        raise RuntimeError("thirteen rows cannot be sorted")
    if x.shape[0] == 666:
        from torch import card

        card.lose("CUDA error: an illegal memory access was encountered")
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=64)
    torch.cuda.synchronize()
    return out


def fft(x):
    return x.clone()


TABLE = {"add": add, "softmax": softmax, "mm": mm, "sort": sort, "fft": fft}
