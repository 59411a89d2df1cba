"""The triton suite's kernels: plain Triton that needs only torch beside it.

Each module holds one operator as functions: `make(shape, dtype)` gives its inputs on the card, `run(*inputs)` launches
the kernel and returns the outputs, `reference(*inputs)` is the same in plain torch and higher precision. What they are
run on is in `catalogue`, which imports neither.
"""
