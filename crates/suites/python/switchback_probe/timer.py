"""Times a case: gated, by graph replay, or with the benchmark's own event timing.

Leaves what is done around a call to `calls`, the gate to `gate`, how many samples are enough to `sampling`, and the
judging to the reader: all samples are kept in the order taken. Invariants: every result names the timer that really
timed it, and why it is not the one asked for; the tuners' benchmarking never comes here.
"""

import gc
import statistics

from . import sustained
from .calls import Calls, no_reset, resetter
from .gate import GateOpen
from .protocol import error_text, say
from .rows import label
from .sampling import Sampling
from .summary import by_position, interquartile_mean, microseconds

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
        self.settling = None
        """Calls that were discarded after each change of side, in a cell of both."""
        self.clock_mhz = None
        """Median clock of the card before this side's blocks, as the gate read it."""
        self.standard_error_pct = None
        """Standard error of the case's effect (of both sides) or of its latency within this process, percent."""
        self.regime = "burst"
        """`burst`, or `sustained` where the side had the card for so long that it settled."""


class CaptureFailed(RuntimeError):
    """A graph capture failed; `kind` says how far the error reaches."""

    def __init__(self, kind, error):
        super().__init__(error_text(error))
        self.kind = kind


class Timer(Calls):
    """The timers of one process."""

    def __init__(self, session):
        super().__init__(session)
        self.poisoned = None

    def time(self, case, operator, call, original, grad_to_none=None):
        """Time a case with the timer that was asked for, or the next one that works."""
        asked = self.measure.timer
        reset = resetter(grad_to_none)
        reason = None
        self.prepare()
        if self.measure.regime == "sustained":
            return self.sustained(call, reset)
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
        """Events around calls that are queued whole, behind a gate, before the card reaches their start events.

        Raises `GateOpen` where no gate holds.
        """
        self.warm_up(call, reset)
        host_us = self.host_us(call, reset)
        gate = self.new_gate()
        first = gate.fit(call, reset, host_us)
        sampling = Sampling(self.measure, 1)
        longest_us = max(first.times)
        # A long kernel fills the time with fewer samples; three a block at least, so that a middle exists.
        length = max(3, min(self.measure.block_length, int(self.measure.sample_ms * 1000.0 / (8 * longest_us + 1e-3))))
        length = min(length, gate.most_samples())
        blocks, clocks = [], []
        while not sampling.enough([blocks]):
            block = gate.take(call, reset, length)
            blocks.append(block.times)
            clocks.append(block.clock_mhz)
        found = Timed("gated", blocks, by_position(blocks), None, host_us, False, gate.dropped)
        known = [clock for clock in clocks if clock is not None]
        found.clock_mhz = statistics.median(known) if known else None
        found.standard_error_pct = sampling.standard_error_pct
        return found

    def sustained(self, call, reset):
        """The calls of turns in which the card settles."""
        self.warm_up(call, reset)
        host_us, latency_us, spin = self.host_us(call, reset), self.estimate_us(call, reset), self.meter()
        turns = [
            sustained.take(self.interface, call, reset, self.flush, latency_us, self.measure.turn_ms, spin)
            for _ in range(sustained.TURNS)
        ]
        settled = statistics.fmean(interquartile_mean(turn.times_us) for turn in turns)
        blocks = [turn.times_us for turn in turns]
        bound = statistics.median(turn.late for turn in turns) > sustained.LATE
        found = Timed("direct", blocks, settled, None, host_us, bound)
        known = [turn.clock_mhz for turn in turns if turn.clock_mhz is not None]
        found.clock_mhz, found.regime = (statistics.median(known) if known else None), "sustained"
        return found

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
            blocks, dropped, sampling, clocks, late = self._replays(graph)
        except Exception as error:
            raise CaptureFailed(self.recover(error), error) from error
        self.session.events.emit("capture", side=self.session.side, case=case, captured=True)
        found = Timed("graph", blocks, by_position(blocks), late, host_us, late is not None, dropped)
        found.standard_error_pct = sampling.standard_error_pct
        found.clock_mhz = statistics.median(clocks) if clocks else None
        return found

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
        """Times of replays in blocks, how many the host came too late for, the sampling, clocks, why none is gated."""
        for _ in range(3):
            graph.replay()
        self.interface.synchronize()
        length = self.measure.block_length
        if self.gate_fault() is None:
            gate, blocks, clocks = self.new_gate(), [], []
            try:
                gate.fit(graph.replay, no_reset, self.host_us(graph.replay))
                sampling = Sampling(self.measure, 1)
                while not sampling.enough([blocks]):
                    block = gate.take(graph.replay, no_reset, min(length, gate.most_samples()))
                    blocks.append(block.times)
                    clocks.append(block.clock_mhz)
                return blocks, gate.dropped, sampling, [clock for clock in clocks if clock is not None], None
            except GateOpen as error:
                late, dropped = str(error), error.dropped  # what this host gives is what there is
        else:
            late, dropped = None, 0
        blocks, sampling = [], Sampling(self.measure, 1)
        while not sampling.enough([blocks]):
            blocks.append(self.ungated(graph.replay, no_reset, length).times)
        return blocks, dropped, sampling, [], late

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


class without_gc:
    """Garbage collection off: a kernel that is collected unloads its module, which a capture does not survive."""

    def __enter__(self):
        self._enabled = gc.isenabled()
        gc.collect()
        gc.disable()

    def __exit__(self, *error):
        if self._enabled:
            gc.enable()


def worse(kind, other):
    """The farther-reaching of two classes."""
    order = ("recoverable", "poisoned", "fatal")
    return max(kind, other, key=order.index)
