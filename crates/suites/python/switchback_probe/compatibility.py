"""Upstream gates that ask for another vendor's device although the code behind them asks for the library's own.

`torch.cuda.is_available()` is false on a Moore Threads card, and a benchmark that dispatches through
`flag_gems.device` is then skipped: a usable operator reads as one that was not measured. Each override is pinned to one
test of one file, to the gate's exact text and to its exact reason, and works on its vendor only. Invariant: a gate that
is not word for word the one the override was written for is left alone, and that is told.
"""

import ast
import os


class Override:
    """One gate that is taken out on one vendor's cards."""

    def __init__(self, vendor, file, test, gate, reason):
        self.vendor = vendor
        self.file = file
        self.test = test
        self.gate = gate
        self.reason = reason

    def __str__(self):
        return f"{self.file}::{self.test}"


def _cuda_required(file, test, reason):
    gate = f"pytest.mark.skipif(not torch.cuda.is_available(), reason={reason!r})"
    return Override("mthreads", file, test, gate, reason)


OVERRIDES = [
    _cuda_required("test_fft.py", "test_perf_fft", "CUDA is not available"),
    _cuda_required("test_apply_repetition_penalties.py", "test_apply_repetition_penalties", "CUDA required"),
    _cuda_required(
        "test_scaled_dot_product_attention_math.py", "test_scaled_dot_product_attention_math", "CUDA is not available"
    ),
]


def apply(events, vendor, items, overrides=OVERRIDES):
    """Take out the gates of a vendor before the tests are set up; tells each, and each that is not what it was."""
    for override in overrides:
        if override.vendor != vendor:
            continue
        for item in items:
            if os.path.basename(str(item.path)) != override.file or item.originalname != override.test:
                continue
            refused = take_out(item, override)
            if refused is None:
                detail = f"{override}: `{override.gate}` is taken out on {vendor}"
                events.note("compatibility", detail)
            else:
                events.note("compatibility_refused", f"{override}: {refused}")


def take_out(item, override):
    """Remove the gate's mark from a test; returns why not, where it is not the gate that is known."""
    gates = gates_of(str(item.path), override.test)
    if gates.count(override.gate) != 1:
        there = ", ".join(f"`{gate}`" for gate in gates) or "no gate"
        return f"the override is for `{override.gate}`, the benchmark has {there}"
    marks = [mark for mark in item.own_markers if is_gate(mark, override.reason)]
    if len(marks) != 1:
        return f"{len(marks)} marks have the reason `{override.reason}`, the override is for one"
    item.own_markers = [mark for mark in item.own_markers if mark is not marks[0]]
    return None


def is_gate(mark, reason):
    """True for a conditional skip with this reason."""
    return mark.name == "skipif" and mark.kwargs.get("reason") == reason


def gates_of(path, test):
    """The conditional skips of a test as they stand in the source, in one spelling."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for found in tree.body:
        if isinstance(found, ast.FunctionDef) and found.name == test:
            texts = [ast.unparse(decorator) for decorator in found.decorator_list]
            return [text for text in texts if "skipif" in text]
    return []
