"""`a @ b`, accumulated in float32, tiles chosen by the tuner; float32 inputs without TF32.

Without `exact` the compiler chooses how it multiplies float32 (`matmul_default`).
"""

import torch
import triton
import triton.language as tl

from . import inputs


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_warps=warps, num_stages=stages)
        for m, n, k, warps, stages in (
            (64, 64, 32, 4, 3),
            (128, 64, 32, 4, 3),
            (128, 128, 32, 8, 3),
            (128, 128, 64, 8, 3),
        )
    ],
    key=["n_m", "n_n", "n_k"],
)
@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    n_m,
    n_n,
    n_k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    EXACT: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, n_k, BLOCK_K):
        inner = start + steps
        a = tl.load(
            a_ptr + rows[:, None] * n_k + inner[None, :],
            mask=(rows[:, None] < n_m) & (inner[None, :] < n_k),
            other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * n_n + columns[None, :],
            mask=(inner[:, None] < n_k) & (columns[None, :] < n_n),
            other=0.0,
        )
        if EXACT:  # noqa: SIM108
            total = tl.dot(a, b, acc=total, input_precision="ieee")
        else:
            # Not `input_precision=None`: as a constexpr it is not None, and the default is not asked for.
            total = tl.dot(a, b, acc=total)
    offsets = rows[:, None] * n_n + columns[None, :]
    mask = (rows[:, None] < n_m) & (columns[None, :] < n_n)
    tl.store(out_ptr + offsets, total.to(out_ptr.dtype.element_ty), mask=mask)


def make(shape, dtype):
    n_m, n_n, n_k = shape
    return inputs.normal((n_m, n_k), dtype), inputs.normal((n_k, n_n), dtype)


def run(a, b, exact=True):
    (n_m, n_k), n_n = a.shape, b.shape[1]
    out = torch.empty((n_m, n_n), dtype=a.dtype, device=a.device)

    def grid(meta):
        return triton.cdiv(n_m, meta["BLOCK_M"]), triton.cdiv(n_n, meta["BLOCK_N"])

    matmul_kernel[grid](a, b, out, n_m, n_n, n_k, EXACT=exact)
    return out


def roundings(a, b):
    return a.shape[1]


def reference(a, b):
    return inputs.wide(a) @ inputs.wide(b)
