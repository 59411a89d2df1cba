"""FlagGems' benchmark seen from inside: which call is a case, of which side, with which inputs.

`Benchmark.run` asks `get_input_iter(dtype)` for inputs and calls `get_latency` once for torch's operator and once for
the library's, inside `flag_gems.use_gems()` or with `gems_op`; `get_latency` times through `triton.testing.do_bench`.
These are wrapped on the class and on every subclass that has its own. Invariants: torch's baseline is never a row; a
failing input gives a failed row and leaves the others to be measured; what the benchmark prints stays its own.
"""

import functools
import statistics
import sys

from . import flaggems_reference, mm_cluster
from .case_order import CaseOrder
from .outputs import seed_all, seed_of
from .protocol import error_text
from .session import NOT_TIMED
from .shapes import ShapeFile
from .timer import Timed

_WALL_MODES = ("operator", "wrapper")


class NotInterleaved(RuntimeError):
    """A benchmark whose timing cannot be taken in blocks."""


class Call:
    """One call of `get_latency`."""

    def __init__(self, bench, case, op, inputs, baseline):
        self.bench = bench
        self.case = case
        self.op = op
        self.inputs = inputs
        self.baseline = baseline
        self.passed = False
        self.passing_only = False
        self.timed = None
        self.timing = False


class InputSeeds:
    """Seeds what a benchmark draws for its inputs: by the shape and the input's number within it, else by number."""

    def __init__(self, operator, dtype):
        self._words = ("input", operator, dtype)
        self._place = ()
        self._count = -1

    def next(self):
        """Another input is about to be made, of the same shape as far as is known."""
        self._count += 1
        self._seed()

    def shape(self, place):
        """Inputs are about to be made of the shape with this place in the benchmark's own order."""
        self._place, self._count = (place,), 0
        self._seed()

    def _seed(self):
        seed_all(seed_of(*self._words, *self._place, self._count))


class FlagGems:
    """The hooks into FlagGems' benchmark."""

    def __init__(self, session):
        self.session = session
        self.base = None
        self.library = None
        self.inside_library = 0
        self.call = None
        self.failures = []
        self.order = CaseOrder(session)
        self.shapes = ShapeFile(session, self.order)
        self._baseline = None
        self._wrapped = set()
        self._iterating = set()
        self._dtypes = {}

    # Setting the hooks.

    def find(self):
        """FlagGems and its `benchmark/base.py` among the loaded modules."""
        self.library = sys.modules.get("flag_gems")
        for name, module in list(sys.modules.items()):
            path = str(getattr(module, "__file__", "") or "").replace("\\", "/")
            if path.endswith("benchmark/base.py") and hasattr(module, "Benchmark"):
                self.base = module
                return name
        return None

    def install(self):
        """Wrap the benchmark; called again for test files that are loaded later."""
        events = self.session.events
        if self.base is None:
            name = self.find()
            if name is None:
                return
            events.capability("flaggems_benchmark", True, f"`{name}.Benchmark`")
            self._watch_library()
            self._watch_timing()
            self.session.tuner.install_flaggems()
            self._watch_entries()
            self.shapes.install(self.base)
            mm_cluster.install(self.session)
        for found in all_classes(self.base.Benchmark):
            self._wrap_class(found)

    def _watch_entries(self):
        """In a cell of both sides, exchange the library's dispatch caches with each change of side."""
        if self.session.duet is None:
            return
        try:
            count = self.session.sides.install_library()
            self.session.events.capability("duet_entries", True, f"{count} entries so far, and each that is made")
        except Exception as error:
            self.session.events.capability("duet_entries", False, error)

    def _watch_library(self):
        """Know when the library's kernels stand in for torch's."""
        hook = self
        found = getattr(self.library, "use_gems", None)
        if not isinstance(found, type):
            self.session.events.capability("use_gems", False, "`flag_gems.use_gems` is no class")
            return
        enter, leave = found.__enter__, found.__exit__

        @functools.wraps(enter)
        def __enter__(context):
            result = enter(context)
            hook.inside_library += 1
            return result

        @functools.wraps(leave)
        def __exit__(context, *error):
            hook.inside_library -= 1
            try:
                return leave(context, *error)
            finally:
                if hook.inside_library == 0:
                    hook.session.outputs.settle()

        found.__enter__, found.__exit__ = __enter__, __exit__
        self.session.events.capability("use_gems", True, "wrapped `flag_gems.use_gems`")

    def _watch_timing(self):
        """Take the place of Triton's timing functions; calls that are no case's go on to the original."""
        testing = self.session.triton.testing
        self.original = testing.do_bench
        names = []
        for name in ("do_bench", "do_bench_cudagraph"):
            original = getattr(testing, name, None)
            if original is not None:
                setattr(testing, name, self._timing(original, name))
                names.append(name)
        vendor = sys.modules.get("triton.backends.ascend.testing")
        if vendor is not None and hasattr(vendor, "do_bench_npu"):
            vendor.do_bench_npu = self._timing(vendor.do_bench_npu, "do_bench_npu")
            names.append("do_bench_npu")
        self.session.events.capability("timing", True, f"wrapped `{'`, `'.join(names)}`")

    def _timing(self, original, name):
        hook = self

        @functools.wraps(original)
        def timing(fn, *args, **kwargs):
            call = hook.call
            # A tuner's benchmarking inside a case, and whatever the timer itself calls, are not the case's timing.
            if call is None or call.timing or hook.session.tuning_now():
                return original(fn, *args, **kwargs)
            return hook.time(call, fn, name, original, args, kwargs)

        return timing

    def _wrap_class(self, found):
        if found in self._wrapped:
            return
        self._wrapped.add(found)
        for name, wrap in (
            ("get_latency", self._wrap_latency),
            ("get_input_iter", self._wrap_inputs),
            ("run", self._wrap_run),
        ):
            if name in vars(found):
                setattr(found, name, wrap(vars(found)[name]))

    # Inputs.

    def _wrap_inputs(self, original):
        hook = self

        @functools.wraps(original)
        def get_input_iter(bench, dtype, *args, **kwargs):
            if id(bench) in hook._iterating:
                return original(bench, dtype, *args, **kwargs)
            hook._dtypes[id(bench)] = str(dtype)

            def own():
                hook.order.apply(bench, str(dtype))
                return original(bench, dtype, *args, **kwargs)

            def make():
                return hook.shapes.inputs(bench, dtype, own)

            return hook.inputs(bench, str(dtype), make)

        return get_input_iter

    def inputs(self, bench, dtype, make):
        """The benchmark's inputs, each made with a seed of its own.

        One that cannot be made ends its dtype, unless inputs are made shape by shape.
        """
        count, iterator, failed = 0, None, None
        seeds = InputSeeds(bench.op_name, dtype)
        self.order.taken = seeds.shape
        while True:
            seeds.next()
            self._iterating.add(id(bench))
            try:
                if iterator is None:
                    iterator = iter(make())
                found = next(iterator)
            except StopIteration:
                self.order.end(bench)
                if count == 0 and failed is not None:
                    raise failed from None  # the benchmark cannot print a table without a row
                return
            except Exception as error:
                goes_on = getattr(iterator, "goes_on", False)
                text = f"shape {iterator.shape}" if goes_on else f"input {count + 1}"
                case = self.session.names.next(bench.op_name, dtype, f"{text}, which could not be made")
                self.failed(bench, case, error)
                failed = error
                if goes_on:
                    continue
                if count == 0:
                    raise
                return
            finally:
                self._iterating.discard(id(bench))
            count += 1
            yield found

    # Cases.

    def _wrap_run(self, original):
        hook = self

        @functools.wraps(original)
        def run(bench, *args, **kwargs):
            before = len(hook.failures)
            try:
                return original(bench, *args, **kwargs)
            except Exception as error:
                if len(hook.failures) == before:
                    hook.failures.append(error_text(error))
                    hook.session.events.error("setup", error)
                raise

        return run

    def _wrap_latency(self, original):
        hook = self

        @functools.wraps(original)
        def get_latency(bench, op, *args, **kwargs):
            if hook.call is not None:
                return original(bench, op, *args, **kwargs)
            return hook.measure(original, bench, op, args, kwargs)

        return get_latency

    def is_baseline(self, bench, op):
        """True for torch's own operator: outside the library, and not the library's function given by name."""
        if self.inside_library:
            return False
        gems_op = getattr(bench, "gems_op", None)
        # A bound method is another object each time it is asked for, and equal to the last.
        return gems_op is None or not (op is gems_op or op == gems_op)

    def measure(self, original, bench, op, args, kwargs):
        """Carry one call of `get_latency` through the session; returns its latency in milliseconds."""
        session = self.session
        operator, dtype = bench.op_name, self._dtypes.get(id(bench), "")
        text = device_text(bench, args, kwargs)
        if self.is_baseline(bench, op):
            return self._measure_baseline(original, bench, op, args, kwargs, text)
        case = session.names.next(operator, dtype, text)
        if session.context_lost:
            return self.failed(bench, case, f"not measured: {session.context_lost}")
        call = Call(bench, case, op, (args, kwargs), False)
        baseline_us = self._baseline[1] if self._baseline and self._baseline[0] == text else None
        self._baseline = None
        self.call = call
        latency = NOT_TIMED
        try:
            if self._mode() in _WALL_MODES:
                latency = self._measure_wall(call, original, bench, op, args, kwargs)
            else:
                latency = original(bench, op, *args, **kwargs)
            if not call.passed:
                # A vendor's timing function that is not wrapped: all that is known is its result.
                if session.duet is not None:
                    raise NotInterleaved("no timing function was seen, so the sides cannot alternate in it")
                session.events.note("timing", f"no timing function was seen in `{operator}`")
                if session.order.measure.timed:
                    latency_us = scalar(latency) * 1000.0
                    call.timed = Timed("direct", [[latency_us]], latency_us, "the benchmark's own, not seen inside")
        except Exception as error:
            session.after_failure(case, error)
            return self.failed(bench, case, error)
        except BaseException as error:  # pytest's skip and fail, an interrupt
            if call.timed is None:
                self.failures.append(error_text(error))
                session.row(operator, case, error=error_text(error))
            raise
        finally:
            self.call = None
            if self.inside_library == 0:
                session.outputs.settle()
        session.row(operator, case, call.timed, baseline_us=baseline_us)
        return latency

    def _measure_baseline(self, original, bench, op, args, kwargs, text):
        measure = self.session.order.measure
        if not (measure.timed and measure.with_baseline):
            # The benchmark asks although no baseline was asked for: a class with a `run` of its own, or the suite
            # had to name the metric for the sake of another that is computed from it.
            return NOT_TIMED
        call = self.call = Call(bench, None, op, (args, kwargs), True)
        try:
            latency = original(bench, op, *args, **kwargs)
            self._baseline = (text, scalar(latency) * 1000.0)
            return latency
        except Exception as error:
            # torch cannot do it; the library's operator is measured all the same.
            self.session.events.error("baseline", error)
            call.timed = None
            return NOT_TIMED
        finally:
            self.call = None

    def _mode(self):
        mode = getattr(getattr(self.base, "Config", None), "mode", None)
        return str(getattr(mode, "value", mode) or "kernel")

    def _measure_wall(self, call, original, bench, op, args, kwargs):
        """Modes that the benchmark times by wall clock: the untimed pass borrows its kernel mode."""
        config = self.base.Config
        mode = config.mode
        call.passing_only = True
        try:
            config.mode = type(mode)("kernel")
            original(bench, op, *args, **kwargs)
        finally:
            config.mode = mode
            call.passing_only = False
        if not self.session.order.measure.timed:
            return NOT_TIMED
        call.timing = True
        reason = f"mode `{mode.value}` is timed by the benchmark itself"
        if self.session.duet is not None:
            call.timed = self.session.duet.wall(
                call.case, lambda: scalar(original(bench, op, *args, **kwargs)) * 1000.0
            )
            for timed in call.timed.values():
                timed.reason = reason
            return call.timed["A"].latency_us / 1000.0
        latency = original(bench, op, *args, **kwargs)
        latency_us = scalar(latency) * 1000.0
        call.timed = Timed("wall", [[latency_us]], latency_us, reason)
        return latency

    def time(self, call, fn, name, original, args, kwargs):
        """What the benchmark's call of its timing function becomes for a case."""
        session, bench = self.session, call.bench
        quantiles, return_mode = kwargs.get("quantiles"), kwargs.get("return_mode", "mean")
        grad_to_none = kwargs.get("grad_to_none")
        call.timing = True
        try:
            if call.baseline:
                timed = session.timer.direct(fn, self._direct_of(name, original), grad_to_none, repeat=1)
                return session.summarise(timed, quantiles, return_mode)
            if not call.passed:
                call.passed = True
                operator = bench.op_name
                changes = bool(getattr(bench, "is_inplace", False))
                if session.duet is not None or session.order.reference:
                    session.outputs.reference = self._reference(bench, call.inputs)
                session.untimed_pass(call.case, operator, fn, call.inputs, changes)
            if call.passing_only or not session.order.measure.timed:
                return [NOT_TIMED] * len(quantiles) if quantiles else NOT_TIMED
            asked = session.order.measure.direct_repeat
            if quantiles is not None or return_mode == "all":
                session.order.measure.direct_repeat = 1
            try:
                call.timed = self._timed(call, fn, name, original, grad_to_none)
            finally:
                session.order.measure.direct_repeat = asked
            return session.summarise(call.timed, quantiles, return_mode)
        finally:
            call.timing = False

    def _reference(self, bench, inputs):
        """The case in higher precision by torch's own operator, once somebody asks."""

        def found():
            if self.inside_library:
                raise ValueError("outputs of more than 64 MiB, or of an operator that changes its inputs, have none")
            return flaggems_reference.reference(bench, inputs)

        return found

    def _direct_of(self, name, original):
        return original if name == "do_bench" else self.original

    def _timed(self, call, fn, name, original, grad_to_none):
        session = self.session
        if name == "do_bench_npu" and session.duet is None:
            times = original(fn)
            latency_us = scalar(times) * 1000.0
            return Timed("direct", [[latency_us]], latency_us, "this back end's own timing function")
        if name == "do_bench_cudagraph" and session.order.measure.timer in ("auto", "graph"):
            # The benchmark's own mode asks for graphs.
            asked, session.order.measure.timer = session.order.measure.timer, "graph"
            try:
                return session.time(call.case, call.bench.op_name, fn, self.original, grad_to_none)
            finally:
                session.order.measure.timer = asked
        return session.time(call.case, call.bench.op_name, fn, self._direct_of(name, original), grad_to_none)

    def failed(self, bench, case, error):
        """A failed row; the benchmark goes on with its next input and marks this one failed in its table."""
        text = error_text(error)
        self.failures.append(text)
        self.session.row(bench.op_name, case, error=text)
        print(f"FAILED: Operator={bench.op_name} dtype={case['dtype']} err=<<<{text}>>>", flush=True)
        mark_failed(text)
        return NOT_TIMED


def mark_failed(text):
    """Put the error on the benchmark's own row, which is a local `metric` of the method that asked for a latency."""
    frame = sys._getframe(1)
    for _ in range(8):
        if frame is None:
            return
        metric = frame.f_locals.get("metric")
        if metric is not None and hasattr(metric, "error_msg"):
            metric.error_msg = text
            return
        frame = frame.f_back


def device_text(bench, args, kwargs):
    """The input as FlagGems prints it in its last column."""
    try:
        return str(bench.record_shapes(*args, **kwargs))
    except Exception as error:
        return f"not printable: {type(error).__name__}"


def scalar(latency):
    """One latency of what a timing function may return."""
    if isinstance(latency, (list, tuple)):
        return float(statistics.median(latency)) if latency else NOT_TIMED
    return float(latency)


def all_classes(root):
    """A class and all its subclasses."""
    found, waiting = [], [root]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.append(one)
            waiting.extend(one.__subclasses__())
    return found
