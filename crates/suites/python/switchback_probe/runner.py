"""Runs one order of the triton suite: `python -m switchback_probe.runner`, and `--list` its operators.

Leaves the measuring to `session`. Invariants: listing imports neither torch nor Triton; a case that fails gives a
failed row and leaves the others to be measured; inputs are seeded by the case alone. The order of cases is drawn from
the order's seed where they are timed: a neighbour's heat is a bias that only new draws average out.
"""

import functools
import importlib
import json
import random
import sys

from .leaving import leave
from .outputs import seed_all, seed_of
from .protocol import OrderError, error_text, say
from .rows import label
from .session import Session
from .tuner import REFUSED_STATUS, Refused

FAILED_STATUS = 1
USAGE_STATUS = 2
FEW_ROUNDINGS = 8
"""Roundings of a kernel that adds nothing up."""

_DTYPES = {
    "f16": "float16",
    "fp16": "float16",
    "half": "float16",
    "f32": "float32",
    "fp32": "float32",
    "float": "float32",
    "bf16": "bfloat16",
}


def main(arguments=None):
    """Carry out the order of `SWITCHBACK_RUN_DIR`; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    catalogue = importlib.import_module("kernels.catalogue")
    if arguments == ["--list"]:
        print(json.dumps([offered(one) for one in catalogue.OPERATORS]))
        return 0
    if arguments:
        print("usage: python -m switchback_probe.runner [--list]", file=sys.stderr)
        return USAGE_STATUS
    try:
        session = Session.from_environment()
        if session is None:
            raise OrderError("`SWITCHBACK_RUN_DIR` names no attempt")
    except OrderError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_STATUS
    status = carry_out(session, catalogue)
    session.finish(status)
    leave(session, status)
    return status


def offered(operator):
    """An operator as the suite lists it."""
    count = len(operator.dtypes) * len(operator.shapes)
    return {
        "operator": operator.name,
        "dtypes": list(operator.dtypes),
        "detail": f"{count} cases; {operator.detail}",
    }


def carry_out(session, catalogue):
    """Measure the order's operator; returns the exit status."""
    events = session.events
    try:
        session.install()
    except OrderError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_STATUS
    try:
        import torch
    except Exception as error:
        session.finish_with_error("setup", error)
        return USAGE_STATUS
    try:
        session.start()
    except (Refused, OSError, ValueError, KeyError) as error:
        events.error("recording", f"refused: {error_text(error)}")
        return REFUSED_STATUS
    name = session.order.operator_name
    operator = catalogue.operator(name)
    if operator is None:
        events.error("collect", f"suite `triton` offers no operator `{name}`")
        return USAGE_STATUS
    try:
        dtypes = chosen(operator, session.order)
        kernel = importlib.import_module(f"kernels.{operator.module}")
    except Exception as error:
        events.error("setup", error)
        return USAGE_STATUS
    cases = [
        (session.names.next(name, dtype, list(shape)), dtype, shape) for dtype in dtypes for shape in operator.shapes
    ]
    session.take_turn()
    if session.order.measure.timed:
        random.Random(session.order.measure.seed).shuffle(cases)
    results = [measure(session, kernel, name, case, getattr(torch, dtype), shape) for case, dtype, shape in cases]
    return 0 if all(results) else FAILED_STATUS


def chosen(operator, order):
    """Dtypes to measure, in the operator's order; one that it does not take raises `ValueError`."""
    wanted = order.operator_dtypes
    if not wanted and order.conditions.get("dtypes", "all") not in ("", "all"):
        wanted = order.conditions["dtypes"].replace(",", " ").split()
    wanted = {_DTYPES.get(dtype, dtype) for dtype in (one.rsplit(".", 1)[-1] for one in wanted)}
    unknown = sorted(wanted - set(operator.dtypes))
    if unknown:
        takes = "`, `".join(operator.dtypes)
        raise ValueError(f"`{operator.name}` does not take `{'`, `'.join(unknown)}`; it takes `{takes}`")
    return [dtype for dtype in operator.dtypes if not wanted or dtype in wanted]


def measure(session, kernel, name, case, dtype, shape):
    """One case: inputs, untimed pass, timing, row; returns whether it went well."""
    if session.context_lost:
        session.row(name, case, error=f"not measured: {session.context_lost}")
        return False
    try:
        seed_all(seed_of("input", name, case["dtype"], case["input"]))
        inputs = kernel.make(shape, dtype)

        def call():
            return kernel.run(*inputs)

        if session.duet is not None or session.order.reference:
            session.outputs.reference = functools.partial(reference, kernel, inputs)
        session.untimed_pass(case, name, call, inputs)
        session.outputs.settle()
        timed = None
        if session.order.measure.timed:
            timed = session.time(case, name, call, session.triton.testing.do_bench)
    except Exception as error:
        session.after_failure(case, error)
        session.row(name, case, error=error_text(error))
        say(f"FAILED {name} {label(case)}: {error_text(error)}")
        return False
    session.row(name, case, timed)
    both = timed if isinstance(timed, dict) else {session.side: timed}
    latency = "".join(f" {side} {one.latency_us:.3f} us, {one.timer}" for side, one in both.items() if one is not None)
    print(f"{name} {label(case)}{latency}", flush=True)
    return True


def reference(kernel, inputs):
    """The case in higher precision, and the longest chain of roundings in one of its results."""
    roundings = getattr(kernel, "roundings", None)
    return kernel.reference(*inputs), FEW_ROUNDINGS if roundings is None else roundings(*inputs)


if __name__ == "__main__":
    sys.exit(main())
