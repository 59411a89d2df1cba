"""One cell in one process: puts the rooms together and carries a case through them.

Leaves to `plugin` (FlagGems under pytest) and `runner` (the triton suite) where cases come from. Invariant: a case is
first called untimed, with launches recorded and outputs kept, and only then timed, with no hook of ours in its way.
"""

import atexit
import os

from . import device
from .compile_hook import CompileHook
from .launch_hook import LaunchHook
from .outputs import Outputs, seed_all, seed_of
from .protocol import RUN_DIR_VARIABLE, Events, Objects, Order, OrderError, error_text, say
from .rows import CaseNames, label
from .summary import summary
from .timer import Timer
from .tuner import TunerHook

NOT_TIMED = float("nan")
"""What the benchmark gets as a latency where none was measured."""


class Session:
    """A cell's order, its events and its hooks."""

    def __init__(self, order):
        self.order = order
        self.side = order.side
        self.events = Events(os.path.join(order.attempt_dir, "events.jsonl"))
        self.objects = Objects(order.ir_dir)
        self.names = CaseNames()
        self.triton = None
        self.compiles = CompileHook(self)
        self.launches = LaunchHook(self)
        self.tuner = TunerHook(self)
        self.outputs = Outputs(self)
        self.timer = Timer(self)
        self.context_lost = None
        self._faults = set()
        atexit.register(self.finish, -1)

    @classmethod
    def from_environment(cls, environment=os.environ):
        """The session of this process; None where no cell is running it.

        Raises `OrderError` for an order that cannot be carried out.
        """
        run_dir = environment.get(RUN_DIR_VARIABLE)
        if not run_dir:
            return None
        session = cls(Order.load(run_dir))
        if len(session.order.sides) != 1:
            session.finish_with_error(
                "order", f"`{session.order.purpose}` has two sides, this probe measures one a cell"
            )
            raise OrderError(f"`{session.order.purpose}` has two sides, this probe measures one a cell")
        return session

    def install(self):
        """Set all hooks that do not need the library; Triton is imported for it, torch is not."""
        try:
            import triton
            import triton.testing
        except Exception as error:
            self.events.capability("triton", False, error_text(error))
            return
        self.triton = triton
        self.events.capability("triton", True, f"{triton.__version__} at {triton.__file__}")
        self.compiles.install(triton)
        self.launches.install(triton)
        self.tuner.install(triton)

    def start(self, library=None):
        """Write the `start` event and load or begin a recording.

        Raises `tuner.Refused` for a recording of other conditions.
        """
        vendor = self.order.measure.vendor
        try:
            set_up = device.set_up(vendor)
            self.events.capability("device", not set_up.startswith("no device"), set_up)
        except Exception as error:
            self.events.capability("device", False, error_text(error))
        conditions = device.conditions(self.triton, vendor, library)
        self.events.start(conditions, device.identity(self.triton, vendor, library))
        facts = {name: conditions.get(name, "") for name in ("device", "compiler", "compiler_digest")}
        facts["backend"] = device.attempt(lambda: str(self.triton.runtime.driver.active.get_current_target().backend))
        self.tuner.load(facts)

    def tuning_now(self):
        """True while a tuner tries configs."""
        return self.tuner.depth > 0

    def fault(self, place, error):
        """A fault of the probe's own: told once a text, and never the operator's."""
        text = f"{type(error).__name__}: {error}"
        if (place, text) not in self._faults:
            self._faults.add((place, text))
            self.events.error(f"probe:{place}", error)

    def untimed_pass(self, case, operator, call, inputs=(), changes_inputs=False):
        """Call once: compile, record launches, keep outputs.

        Errors of the call are the caller's; errors of the probe's own are told and swallowed.
        """
        seed = seed_of("call", operator, case["dtype"], case["input"], case["occurrence"])

        def seeded():
            seed_all(seed)
            return call()

        result, launches, unknown = self.launches.record(seeded)
        self.synchronize()
        try:
            self.launches.tell(case, launches, unknown)
            self.outputs.hold(case, seeded, result, inputs, changes_inputs)
        except Exception as error:
            self.after_failure(case, error)
            self.fault("untimed_pass", error)
        return result

    def synchronize(self):
        """Wait for the card, so that an error of a case is raised in that case."""
        timer = self.timer
        if self.triton is not None:
            timer.interface.synchronize()

    def time(self, case, operator, call, original, grad_to_none=None):
        """Time a case with the timer that was asked for."""
        return self.timer.time(case, operator, call, original, grad_to_none)

    def row(self, operator, case, timed=None, error=None, baseline_us=None, latency_us=None):
        """Write a case's row: timed, merely run (no samples), or failed."""
        fields = {"operator": operator, "side": self.side, "case": case, "ok": error is None, "error": error}
        if timed is not None:
            fields.update(
                timer=timed.timer,
                timer_reason=timed.reason,
                samples_us=timed.samples_us,
                latency_us=timed.latency_us if latency_us is None else latency_us,
                host_us=timed.host_us,
                host_bound=timed.host_bound,
                dropped=timed.dropped,
            )
        self.events.emit("row", baseline_us=baseline_us, **fields)

    def after_failure(self, case, error):
        """Find out whether the process can go on after a case failed: by the error's text, and by asking the card."""
        if self.context_lost is not None:
            return
        text = error_text(error)
        lost = self.timer.classify(text) == "fatal"
        try:
            self.synchronize()
            if "out of memory" in text.lower():
                self.timer.interface.empty_cache()
        except Exception:
            lost = True  # an error that comes again from a call that did nothing is there to stay
        if lost:
            self.context_lost = f"the device context was lost at {label(case)}"
            self.events.note("context_lost", self.context_lost)
            say(self.context_lost)

    def summarise(self, timed, quantiles, return_mode):
        """A timing as the benchmark's timing function returns it, milliseconds."""
        if quantiles is None and return_mode not in ("all", "min", "max"):
            return timed.latency_us / 1000.0
        return summary([value / 1000.0 for block in timed.samples_us for value in block], quantiles, return_mode)

    def finish(self, status):
        """Tell what is still to be told, then the `end`; safe to call twice and at exit."""
        if self.events.ended:
            return
        try:
            self.outputs.settle()
            self.compiles.flush()
        except Exception as error:
            self.fault("finish", error)
        self.events.end(status)

    def finish_with_error(self, place, error):
        """An error before anything could be measured, and the end."""
        self.events.start({}, {})
        self.events.error(place, error)
        self.events.end(2)
