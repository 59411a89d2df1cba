"""Times a case: gated, by graph replay, or with the benchmark's own event timing.

Leaves the judging to the reader: all samples are kept in the order taken. Invariants: every result names the timer
that really timed it, and why it is not the one asked for; the tuners' benchmarking never comes here; a gated sample
is one whose whole call was queued before the card reached the start event, proven by a query, else it is dropped and
counted.
"""

import gc
import statistics
import time

from . import compat
from .protocol import error_text, say
from .rows import label
from .summary import by_position, microseconds

GATE_FACTOR = 1.5
"""The gate lasts this many times the host's time for one call."""
GATE_LEAST_US = 20.0
GATE_MOST_US = 200_000.0
GATE_TRIES = 6
HOST_SHARE = 0.7
"""A direct row is host-bound if the host needs this share of the measured time for the call alone, unless the call is
queued whole while the card still clears its cache. The rest are the events' own calls."""
MOST_SAMPLES = 20_000


class Timed:
    """What timing a case gave."""

    def __init__(self, timer, samples_us, latency_us, reason=None, host_us=None, host_bound=False, dropped=0):
        self.timer = timer
        self.samples_us = samples_us
        self.latency_us = latency_us
        self.reason = reason
        self.host_us = host_us
        self.host_bound = host_bound
        self.dropped = dropped
        self.block_order = None
        """Sides in the order in which their blocks were taken, in a cell of both: `ABBABAAB`."""


class GateOpen(RuntimeError):
    """The gate did not hold: the operator waits for the card inside its call, or the host is too slow."""


class CaptureFailed(RuntimeError):
    """A graph capture failed; `kind` says how far the error reaches."""

    def __init__(self, kind, error):
        super().__init__(error_text(error))
        self.kind = kind


class Timer:
    """The timers of one process."""

    def __init__(self, session):
        self.session = session
        self.poisoned = None
        self._cache = None
        self._cycles_per_us = None

    @property
    def measure(self):
        """How to measure."""
        return self.session.order.measure

    @property
    def interface(self):
        """`torch.cuda` or its like."""
        return compat.device_interface(self.session.triton)

    def gate_fault(self):
        """Why this back end cannot gate, None if it can."""
        if not hasattr(self.interface, "_sleep"):
            return f"`{getattr(self.interface, '__name__', 'the device interface')}._sleep` is not there"
        return None

    def time(self, case, operator, call, original, grad_to_none=None):
        """Time a case with the timer that was asked for, or the next one that works."""
        asked = self.measure.timer
        reset = resetter(grad_to_none)
        reason = None
        self.prepare()
        if asked == "graph":
            reason = self.capture_refusal(operator)
            if reason is None:
                try:
                    return self.graph(case, call, reset)
                except CaptureFailed as error:
                    reason = self.capture_failed(case, error)
            else:
                self.session.events.emit(
                    "capture", side=self.session.side, case=case, captured=False, skipped=True, error=reason
                )
            repeat = f" repeat={self.measure.direct_repeat}" if self.measure.direct_repeat > 1 else ""
            say(f"BENCHMARK_DIRECT_NO_CUDAGRAPH op={operator} case={label(case)} reason={reason}{repeat}")
        elif asked in ("auto", "gated"):
            reason = self.gate_fault()
            if reason is None:
                try:
                    return self.gated(call, reset)
                except GateOpen as error:
                    timed = self.direct(call, original, grad_to_none)
                    timed.reason, timed.host_bound, timed.dropped = str(error), True, error.dropped
                    return timed
        timed = self.direct(call, original, grad_to_none)
        timed.reason = reason
        return timed

    def prepare(self):
        """Flush once before a process's first case is timed.

        The first flush allocates its buffer and loads its kernel: milliseconds that would be taken from the case's
        budget, or for the length of its calls.
        """
        if self._cache is None:
            self.flush()
            self.interface.synchronize()

    # Direct.

    def direct(self, call, original, grad_to_none=None, repeat=None):
        """The benchmark's own event timing, with all its times kept; the median over repeats of their medians."""
        repeat = self.measure.direct_repeat if repeat is None else repeat
        blocks = []
        for _ in range(repeat):
            if self.measure.cache_state == "warm":
                times = self._direct_warm(call, resetter(grad_to_none))
            else:
                times = original(
                    call,
                    warmup=self.measure.warmup_ms,
                    rep=self.measure.sample_ms,
                    grad_to_none=grad_to_none,
                    return_mode="all",
                )
            blocks.append([microseconds(value) for value in times])
        latency_us = statistics.median(statistics.median(block) for block in blocks)
        host_us = self.host_us(call)
        host_bound = host_us >= HOST_SHARE * latency_us and not self.queued_in_time(call, resetter(grad_to_none))
        return Timed("direct", blocks, latency_us, None, host_us, host_bound)

    def queued_in_time(self, call, reset):
        """True if the flush alone is a gate: the call is queued whole before the card reaches the start event."""
        in_time = 0
        for _ in range(5):
            reset()
            start = self._event()
            self.interface.synchronize()
            self.flush()
            start.record()
            call()
            in_time += not start.query()
        self.interface.synchronize()
        return in_time >= 3

    def _direct_warm(self, call, reset):
        """`do_bench` without its flush of the L2 cache."""
        self.warm_up(call, reset)
        count = self._count(call, reset)
        events = [(self._event(), self._event()) for _ in range(count)]
        for start, end in events:
            reset()
            start.record()
            call()
            end.record()
        self.interface.synchronize()
        return [start.elapsed_time(end) for start, end in events]

    # Gated.

    def gated(self, call, reset):
        """Events around a call that is queued whole, behind a gate, before the card reaches the start event.

        Raises `GateOpen` where no gate holds.
        """
        self.warm_up(call, reset)
        host_us = self.host_us(call, reset)
        self.calibrate()
        gate_us = min(GATE_MOST_US, max(GATE_LEAST_US, GATE_FACTOR * host_us))
        dropped = 0
        for _ in range(GATE_TRIES):
            times, held = self.block(call, reset, gate_us, 1)
            if held:
                break
            dropped += 1
            gate_us = min(GATE_MOST_US, 2 * gate_us)
        else:
            raise gate_open(f"no gate held, up to {gate_us:.0f} us for a call of {host_us:.0f} us on the host", dropped)
        length = self.measure.block_length
        # A long kernel fills the time with fewer samples; three a block at least, so that a middle exists.
        length = max(3, min(length, int(self.measure.sample_ms * 1000.0 / (3 * max(times[0], 1e-3)))))
        blocks, failures = [], 0
        began = time.monotonic()
        while len(blocks) < 2 or (
            (time.monotonic() - began) * 1000.0 < self.measure.sample_ms and len(blocks) * length < MOST_SAMPLES
        ):
            times, held = self.block(call, reset, gate_us, length)
            if held:
                blocks.append(times)
                failures = 0
                continue
            # Positions in a block are compared, so a block with a hole is dropped whole.
            dropped += length
            failures += 1
            gate_us = min(GATE_MOST_US, 1.5 * gate_us)
            if failures > GATE_TRIES:
                raise gate_open(f"the gate did not hold in {failures} blocks running, last {gate_us:.0f} us", dropped)
        return Timed("gated", blocks, by_position(blocks), None, host_us, False, dropped)

    def block(self, call, reset, gate_us, length):
        """Times of calls that are queued together, microseconds, and whether every gate held; None has no gates."""
        interface = self.interface
        cycles = None if gate_us is None else max(1, int(gate_us * self._cycles_per_us))
        events = [(self._event(), self._event()) for _ in range(length)]
        held = True
        for start, end in events:
            reset()
            self.flush()
            if cycles is not None:
                interface._sleep(cycles)
            start.record()
            call()
            end.record()
            if cycles is not None:
                held = held and not start.query()
        interface.synchronize()
        return [microseconds(start.elapsed_time(end)) for start, end in events], held

    def calibrate(self):
        """How many cycles of the gate's kernel are a microsecond, at the clock of now."""
        cycles = 200_000
        for _ in range(3):
            start, end = self._event(), self._event()
            start.record()
            self.interface._sleep(cycles)
            end.record()
            self.interface.synchronize()
            elapsed_us = start.elapsed_time(end) * 1000.0
        # Half as much again as is plausible, so that a wrong reading cannot make a gate of minutes.
        self._cycles_per_us = min(10_000.0, max(1.0, cycles / max(elapsed_us, 1e-3)))

    # Graph.

    def capture_refusal(self, operator):
        """Why no capture is tried, None if one is."""
        if not self.measure.capture_supported:
            return "the back end cannot capture graphs"
        names = {operator, self.session.order.operator_name}
        if names & set(self.measure.capture_denied):
            return "the operator's capture is known to break the process"
        if self.poisoned:
            return f"poisoned: {self.poisoned}"
        interface = self.interface
        missing = [name for name in ("CUDAGraph", "graph", "Stream", "stream") if not hasattr(interface, name)]
        if missing:
            return f"the device interface has no `{'`, `'.join(missing)}`"
        return None

    def graph(self, case, call, reset):
        """Capture the call once and time its replays.

        Raises `CaptureFailed`.
        """
        try:
            graph, host_us = self.capture(call, reset, self.measure.warmup_ms)
            samples_us, dropped = self._replays(graph)
        except Exception as error:
            raise CaptureFailed(self.recover(error), error) from error
        self.session.events.emit("capture", side=self.session.side, case=case, captured=True)
        return Timed("graph", [samples_us], statistics.median(samples_us), None, host_us, False, dropped)

    def capture(self, call, reset, warmup_ms):
        """The call as a graph, and the host's microseconds for it without one."""
        interface = self.interface
        stream = interface.Stream()
        stream.wait_stream(interface.current_stream())
        with interface.stream(stream):
            # Compilation, tuning and first allocations are not allowed during a capture.
            self.warm_up(call, reset, warmup_ms)
            host_us = self.host_us(call, reset)
        interface.current_stream().wait_stream(stream)
        interface.synchronize()
        graph = interface.CUDAGraph()
        with without_gc(), interface.graph(graph):
            call()
        interface.synchronize()
        return graph, host_us

    def _replays(self, graph):
        """Times of replays in microseconds, and how many were dropped because the host came too late with one."""
        interface = self.interface
        gate = self.gate_fault() is None
        if gate:
            self.calibrate()
        for _ in range(3):
            graph.replay()
        interface.synchronize()
        host_us = self.host_us(graph.replay)
        cycles = max(1, int(max(GATE_LEAST_US, GATE_FACTOR * host_us) * self._cycles_per_us)) if gate else 0
        found, late = [], []
        began = time.monotonic()
        while len(found) < 10 or (
            (time.monotonic() - began) * 1000.0 < self.measure.sample_ms and len(found) + len(late) < MOST_SAMPLES
        ):
            events = [(self._event(), self._event()) for _ in range(self.measure.block_length)]
            open_gates = []
            for start, end in events:
                self.flush()
                if gate:
                    interface._sleep(cycles)
                start.record()
                graph.replay()
                end.record()
                open_gates.append(gate and start.query())
            interface.synchronize()
            for (start, end), is_open in zip(events, open_gates):
                (late if is_open else found).append(microseconds(start.elapsed_time(end)))
            if len(late) >= MOST_SAMPLES // 100 and len(late) > len(found):
                return found + late, 0  # this host is never in time; what it gives is what there is
        return found, len(late)

    def classify(self, text):
        """How far an error reaches: `fatal`, `poisoned` or `recoverable`, by the order's lists."""
        text = text.lower()
        if any(marker.lower() in text for marker in self.measure.capture_fatal):
            return "fatal"
        if any(marker.lower() in text for marker in self.measure.capture_poisoned):
            return "poisoned"
        return "recoverable"

    def recover(self, error):
        """Leave the capture behind; what the card says afterwards can only make it worse."""
        kind = self.classify(error_text(error))
        try:
            self.interface.synchronize()
        except Exception as after:
            kind = worse(kind, self.classify(error_text(after)))
        return kind

    def capture_failed(self, case, error):
        """Tell of a failed capture and what it means for the process; returns the reason for another timer.

        Raises the error where the process's context is lost.
        """
        self.session.events.emit(
            "capture",
            side=self.session.side,
            case=case,
            captured=False,
            skipped=False,
            **{"class": error.kind},
            error=str(error),
        )
        if error.kind == "poisoned":
            self.poisoned = f"a capture failed at {label(case)}"
            say(f"BENCHMARK_CAPTURE_POISONED case={label(case)}")
            self.session.events.note("BENCHMARK_CAPTURE_POISONED", label(case))
        if error.kind == "fatal":
            self.session.context_lost = f"a capture failed at {label(case)}"
            raise error
        return f"{error.kind}: {str(error).splitlines()[0]}"

    # Parts.

    def flush(self):
        """Clear the L2 cache, unless it is to stay warm."""
        if self.measure.cache_state == "warm":
            return
        if self._cache is None:
            self._cache = compat.empty_cache(self.session.triton)
        compat.clear_cache(self.session.triton, self._cache)

    def warm_up(self, call, reset, warmup_ms=None):
        """Call for `warmup_ms` of wall clock (the order's by default), at least thrice."""
        warmup_ms = self.measure.warmup_ms if warmup_ms is None else warmup_ms
        calls, began = 0, time.monotonic()
        while calls < 3 or (time.monotonic() - began) * 1000.0 < warmup_ms:
            for _ in range(3):
                reset()
                call()
            calls += 3
            self.interface.synchronize()

    def host_us(self, call, reset=lambda: None):
        """Microseconds that the host needs to queue one call on an idle card: the median of five."""
        times = []
        for _ in range(5):
            reset()
            self.interface.synchronize()
            began = time.perf_counter()
            call()
            times.append((time.perf_counter() - began) * 1e6)
        self.interface.synchronize()
        return statistics.median(times)

    def _count(self, call, reset):
        start, end = self._event(), self._event()
        start.record()
        for _ in range(5):
            reset()
            call()
        end.record()
        self.interface.synchronize()
        estimate_ms = max(start.elapsed_time(end) / 5.0, 1e-3)
        return min(MOST_SAMPLES, max(3, int(self.measure.sample_ms / estimate_ms)))

    def _event(self):
        return self.interface.Event(enable_timing=True)


class without_gc:
    """Garbage collection off: a kernel that is collected unloads its module, which a capture does not survive."""

    def __enter__(self):
        self._enabled = gc.isenabled()
        gc.collect()
        gc.disable()

    def __exit__(self, *error):
        if self._enabled:
            gc.enable()


def gate_open(text, dropped):
    """A `GateOpen` that carries how many samples were dropped."""
    error = GateOpen(text)
    error.dropped = dropped
    return error


def worse(kind, other):
    """The farther-reaching of two classes."""
    order = ("recoverable", "poisoned", "fatal")
    return max(kind, other, key=order.index)


def resetter(grad_to_none):
    """What `do_bench` does before each call: gradients are forgotten, not added up."""
    tensors = list(grad_to_none or [])

    def reset():
        for tensor in tensors:
            tensor.grad = None

    return reset
