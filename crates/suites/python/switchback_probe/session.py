"""One cell in one process: puts the rooms together and carries a case through them.

Leaves to `plugin` (FlagGems under pytest) and `runner` (the triton suite) where cases come from. Invariant: a case is
first called untimed, with launches recorded and outputs kept, and only then timed, with no hook of ours in its way.
"""

import atexit
import functools
import os

from . import compat, device
from .compile_hook import CompileHook
from .duet import Duet
from .host_parts import HostParts
from .launch_hook import LaunchHook
from .outputs import Outputs, seed_all, seed_of
from .protocol import RUN_DIR_VARIABLE, Events, Objects, Order, OrderError, error_text, say
from .rows import CaseNames, label
from .side import Sides
from .summary import summary
from .timer import Timer
from .tuner import TunerHook
from .turns import CardTurn

NOT_TIMED = float("nan")
"""What the benchmark gets as a latency where none was measured."""


class Session:
    """A cell's order, its events and its hooks."""

    def __init__(self, order):
        self.order = order
        self.sides = Sides(order)
        self.events = Events(os.path.join(order.attempt_dir, "events.jsonl"))
        self.turn = CardTurn(order.turn)
        self.objects = Objects(order.ir_dir)
        self.names = CaseNames()
        self.triton = None
        self.compiles = CompileHook(self)
        self.launches = LaunchHook(self)
        self.tuner = TunerHook(self)
        self.outputs = Outputs(self)
        self.timer = Timer(self)
        self.parts = HostParts(self.timer.memory, functools.partial(self.events.capability, "outputs_copy"))
        self.duet = Duet(self) if self.sides.both else None
        if self.duet is not None:
            self.outputs = self.duet.outputs
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
        return cls(Order.load(run_dir))

    @property
    def side(self):
        """The current side, the one that is compiled for and launched."""
        return self.sides.current

    def install(self):
        """Set all hooks that do not need the library; Triton is imported for it, torch is not.

        Raises `OrderError` where the order is of both sides and this Triton's kernels cannot be exchanged.
        """
        try:
            import triton
            import triton.testing
        except Exception as error:
            self.events.capability("triton", False, error_text(error))
            if self.duet is not None:
                self.finish_with_error("duet", error)
                raise OrderError(f"without Triton there are no sides: {error_text(error)}") from error
            return
        self.triton = triton
        self.events.capability("triton", True, f"{triton.__version__} at {triton.__file__}")
        self.compiles.install(triton)
        self.launches.install(triton)
        self.tuner.install(triton)
        if self.duet is not None:
            try:
                count = self.sides.install(triton)
            except Exception as error:
                text = f"sides cannot be changed within a process: {error_text(error)}"
                self.finish_with_error("duet", text)
                raise OrderError(text) from error
            self.events.capability("duet", True, f"{count} functions so far, and each that is made")
            self._warm()

    def _warm(self):
        """Take over what cells of one side compiled on this card; without it everything is compiled here."""
        try:
            found = self.sides.warm(self.order.compiled)
        except Exception as error:
            self.events.capability("compiled_before", False, error)
            return
        if found:
            counts = ", ".join(f"{count} of side {side}" for side, count in sorted(found.items()))
            self.events.capability("compiled_before", True, f"kernels that cells of one side compiled: {counts}")

    def start(self, library=None):
        """Write the `start` event and load or begin a recording.

        Raises `tuner.Refused` for a recording of other conditions.
        """
        vendor = self.order.measure.vendor
        try:
            seen = device.load(vendor)
            if self.order.turn is None:
                device.choose(vendor)
            self.events.capability("device", not seen.startswith("no device"), seen)
        except Exception as error:
            self.events.capability("device", False, error_text(error))
        conditions = device.conditions(self.triton, vendor, library)
        self.events.start(conditions, device.identity(self.triton, vendor, library))
        facts = {name: conditions.get(name, "") for name in ("device", "compiler", "compiler_digest")}
        facts["backend"] = device.attempt(lambda: str(self.triton.runtime.driver.active.get_current_target().backend))
        if self.triton is not None:
            device.attempt(lambda: compat.settle_compiler(self.triton))
        self.tuner.load(facts)
        if self.duet is not None:
            seed = self.order.measure.seed
            self.events.note("draws", f"seed {seed}: side {self.sides.first} compiles and loads first")
            self.sides.to(self.sides.first)

    def take_turn(self):
        """Wait for the card: from here on it is used. Without a turn it has been since the start."""
        if self.order.turn is None:
            return
        self.turn.take(self.events)
        try:
            device.choose(self.order.measure.vendor)
        except Exception as error:
            self.events.capability("device", False, error_text(error))

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
        """Call once, a side: compile, record launches, keep outputs.

        Errors of the call are the caller's; errors of the probe's own are told and swallowed.
        """
        if self.duet is not None:
            return self.duet.untimed_pass(case, operator, call, inputs, changes_inputs)
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
        """Time a case with the timer that was asked for; in a cell of both sides a `Timed` by side."""
        if self.duet is not None:
            return self.duet.time(case, operator, call, grad_to_none)
        return self.timer.time(case, operator, call, original, grad_to_none)

    def row(self, operator, case, timed=None, error=None, baseline_us=None, latency_us=None):
        """Write a case's row, one a side: timed, merely run (no samples), or failed."""
        errors = {self.side: error} if self.duet is None else dict.fromkeys(self.sides.names)
        if error is not None and self.duet is not None:
            errors = self.duet.errors(error)
        for side, text in errors.items():
            fields = {"operator": operator, "side": side, "case": case, "ok": text is None, "error": text}
            one = timed.get(side) if isinstance(timed, dict) else timed
            if one is not None:
                fields.update(
                    timer=one.timer,
                    timer_reason=one.reason,
                    samples_us=one.samples_us,
                    latency_us=one.latency_us if latency_us is None else latency_us,
                    host_us=one.host_us,
                    host_bound=one.host_bound,
                    dropped=one.dropped,
                    block_order=one.block_order,
                    settling=one.settling,
                    clock_mhz=one.clock_mhz,
                    standard_error_pct=one.standard_error_pct,
                    regime=None if one.regime == "burst" else one.regime,
                )
            self.events.emit("row", baseline_us=baseline_us, **fields)

    def after_failure(self, case, error):
        """Find out whether the process can go on after a case failed: by the error's text, and by asking the card."""
        self.outputs.reference = None  # it holds the case's inputs
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
        """A timing (of both sides: A's) as the benchmark's timing function returns it, milliseconds."""
        timed = timed["A"] if isinstance(timed, dict) else timed
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
        self.parts.release()
        self.events.end(status)

    def finish_with_error(self, place, error):
        """An error before anything could be measured, and the end."""
        self.events.start({}, {})
        self.events.error(place, error)
        self.events.end(2)
