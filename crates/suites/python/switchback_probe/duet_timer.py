"""Times both sides of a case in one process, in small blocks that alternate.

Leaves what a sample is to `timer` and `gate` (gated, a graph's replay, or events alone) and the change of side to
`side`. Invariants: blocks come in fours, ABBA or BAAB as drawn from the order's seed and the case alone, so that a
linear drift cancels; after each change of side calls are discarded, as many as it was seen to take until they settle;
both sides have as many blocks, of one length, behind gates of one length.
"""

import random
import statistics
import time

from . import sustained
from .gate import GateOpen
from .protocol import say
from .rows import label
from .sampling import Sampling
from .summary import BATCHES, by_position, interquartile_mean
from .timer import HOST_SHARE, CaptureFailed, Timed

MOST_SETTLING = 3
"""Calls that may be discarded after a change of side."""
AGREEMENT = 0.02
AGREEMENT_US = 0.2
"""A call has settled if it differs from later ones by no more than this share, or by this many microseconds: a few
ticks of an event's clock."""
LONG_US = 500.0
"""Of calls longer than this one is discarded, unseen."""
LOOKS = 5
MOST_QUEUED = 6
"""Calls behind one gate: with some four commands each, what a card's front end fetches ahead."""
"""Changes of side after which is looked at how long it takes to settle."""


class DuetTimer:
    """Takes the samples of one case after another."""

    def __init__(self, session):
        self.session = session
        self.sides = session.sides
        self.compiled = []
        """Kernels that were made while the last case's blocks were taken."""
        self._enter = self.sides.to
        self._gate = None
        self._draws = None

    @property
    def measure(self):
        """How to measure."""
        return self.session.order.measure

    def time(self, case, operator, call, reset, restore):
        """Time a case on both sides with the timer that was asked for, or the next one that works; `{side: Timed}`.

        `reset` comes before each call, `restore`, the part of it that puts inputs back, before each replay of a graph.
        """
        timer, asked = self.session.timer, self.measure.timer
        reason, never_gated, dropped = None, False, 0
        self._begin(case)
        timer.prepare()
        if self.measure.regime == "sustained":
            return self._sustained(call, reset)
        if asked == "graph":
            reason = timer.capture_refusal(operator)
            if reason is None:
                try:
                    return self._graph(case, call, reset, restore)
                except CaptureFailed as error:
                    reason = timer.capture_failed(case, error)
            else:
                for side in self.sides.names:
                    self.session.events.emit(
                        "capture", side=side, case=case, captured=False, skipped=True, error=reason
                    )
            say(f"BENCHMARK_DIRECT_NO_CUDAGRAPH op={operator} case={label(case)} reason={reason}")
        elif asked in ("auto", "gated"):
            reason = timer.gate_fault()
            if reason is None:
                try:
                    return self._gated(call, reset)
                except GateOpen as error:
                    reason, never_gated, dropped = str(error), True, error.dropped
        found = self._direct(call, reset, reason, never_gated)
        for timed in found.values():
            timed.dropped = dropped
        return found

    def wall(self, case, sample):
        """Alternate a benchmark that times by wall clock: `sample()` gives microseconds for the current side."""
        self._begin(case)
        blocks, order = {side: [] for side in self.sides.names}, ""
        sampling = Sampling(self.measure, len(self.sides.names))
        count = len(self.session.compiles.forms)
        while not sampling.enough(list(blocks.values())):
            for side in self._four(sampling, blocks):
                self._enter(side)
                blocks[side].append([sample()])
                order += side
        self.compiled = self.session.compiles.since(count)
        found = {}
        for side in self.sides.names:
            found[side] = Timed("wall", blocks[side], by_position(blocks[side]))
            found[side].block_order, found[side].standard_error_pct = order, sampling.standard_error_pct
        return found

    def _begin(self, case):
        text = "\0".join(map(str, (self.measure.seed, case["dtype"], case["input"], case["occurrence"])))
        self._draws = random.Random(text)
        self._gate, self.compiled = None, []

    # The kinds of samples.

    def _gated(self, call, reset):
        timer, host_us = self.session.timer, {}
        for side in self.sides.order:
            self._enter(side)
            timer.warm_up(call, reset, self.measure.warmup_ms / 2)
            host_us[side] = timer.host_us(call, reset)
        self._gate = timer.new_gate()
        return self._timed("gated", dict.fromkeys(self.sides.names, call), reset, host_us)

    def _graph(self, case, call, reset, restore):
        timer, graphs, host_us = self.session.timer, {}, {}
        try:
            for side in self.sides.order:
                self._enter(side)
                graphs[side], host_us[side] = timer.capture(call, reset, self.measure.warmup_ms / 2)
            replays = {side: graph.replay for side, graph in graphs.items()}
            for replay in replays.values():
                for _ in range(3):
                    replay()
            if timer.gate_fault() is None:
                self._gate = timer.new_gate()
            try:
                found = self._timed("graph", replays, restore, host_us)
            except GateOpen as error:
                self._gate = None  # what this host gives is what there is
                found = self._timed("graph", replays, restore, host_us)
                for timed in found.values():
                    timed.reason, timed.host_bound, timed.dropped = str(error), True, error.dropped
        except Exception as error:
            raise CaptureFailed(timer.recover(error), error) from error
        for side in self.sides.names:
            self.session.events.emit("capture", side=side, case=case, captured=True)
        return found

    def _direct(self, call, reset, reason, never_gated):
        timer, host_us, in_time = self.session.timer, {}, {}
        for side in self.sides.order:
            self._enter(side)
            timer.warm_up(call, reset, self.measure.warmup_ms / 2)
            host_us[side] = timer.host_us(call, reset)
            in_time[side] = timer.queued_in_time(call, reset)
        self._gate = None
        found = self._timed("direct", dict.fromkeys(self.sides.names, call), reset, host_us)
        for side, timed in found.items():
            late = host_us[side] >= HOST_SHARE * timed.latency_us and not in_time[side]
            timed.reason, timed.host_bound = reason, never_gated or late
        return found

    def _sustained(self, call, reset):
        """Each side for so long that the card settles, the sides in fours as ever."""
        timer, host_us, blocks, clocks, late, order = self.session.timer, {}, {}, {}, {}, ""
        latency_us = 0.0
        for side in self.sides.order:
            self._enter(side)
            timer.warm_up(call, reset, self.measure.warmup_ms / 2)
            host_us[side] = timer.host_us(call, reset)
            latency_us = max(latency_us, timer.estimate_us(call, reset))
            blocks[side], clocks[side], late[side] = [], [], []
        spin = timer.meter()
        while min(map(len, blocks.values())) < sustained.TURNS:
            for side in self._four(None, blocks):
                self._enter(side)
                turn = sustained.take(timer.interface, call, reset, timer.flush, latency_us, self.measure.turn_ms, spin)
                blocks[side].append(turn.times_us)
                clocks[side].append(turn.clock_mhz)
                late[side].append(turn.late)
                order += side
        found = {}
        for side in self.sides.names:
            settled = statistics.fmean(interquartile_mean(block) for block in blocks[side])
            bound = statistics.median(late[side]) > sustained.LATE
            it = found[side] = Timed("direct", blocks[side], settled, None, host_us[side], bound)
            it.block_order, it.clock_mhz, it.regime = order, median_or_none(clocks[side]), "sustained"
        return found

    # Blocks.

    def _timed(self, name, calls, reset, host_us):
        """Find a gate that holds, how long sides take to settle and a length that fits, then take the blocks."""
        timer, gate, dropped = self.session.timer, self._gate, dict.fromkeys(self.sides.names, 0)

        def take(side, length):
            if gate is None:
                return timer.ungated(calls[side], reset, length)
            before = gate.dropped
            try:
                return gate.take(calls[side], reset, length)
            finally:
                dropped[side] += gate.dropped - before

        if gate is not None:
            needed_us = 0.0
            for side in self.sides.order:
                self._enter(side)
                gate.fit(calls[side], reset, host_us[side] if name == "gated" else timer.host_us(calls[side]))
                needed_us = max(needed_us, gate.sample_us)
            gate.widen(needed_us)
        try:
            settling, cost_us = self._look(take)
        except GateOpen:
            # A call of very many kernels fills the queue by itself: one at a time may hold where several do not.
            settling, cost_us = 1, max(gate.sample_us, 1.0)
            most = 1
        else:
            most = max(1, min(self.measure.block_length, MOST_QUEUED - settling))
        # A long call must not use up the time before there are blocks enough to tell how far they lie apart.
        affordable = int(self.measure.sample_ms * 1000.0 / (BATCHES * max(cost_us, 1e-3))) - settling
        length = max(1, min(most, affordable))
        if gate is not None:
            length = max(1, min(length, gate.most_samples() - settling))
        count = len(self.session.compiles.forms)
        try:
            blocks, clocks, order, sampling = self._blocks(take, length, settling)
        except GateOpen:
            if gate is None or length == 1:
                raise
            blocks, clocks, order, sampling = self._blocks(take, 1, settling)
        self.compiled = self.session.compiles.since(count)
        found = {}
        for side in self.sides.names:
            it = Timed(name, blocks[side], by_position(blocks[side]), None, host_us[side], False, dropped[side])
            it.block_order, it.settling = order, settling
            it.clock_mhz, it.standard_error_pct = median_or_none(clocks[side]), sampling.standard_error_pct
            found[side] = it
        return found

    def _look(self, take):
        """How many calls to discard after a change of side, and what a sample costs, microseconds."""
        began, samples, longest_us = time.perf_counter(), 0, 0.0
        looked = {side: [] for side in self.sides.names}
        for side in self.sides.order:
            self._enter(side)
            longest_us = max(longest_us, *take(side, 2).times)
            samples += 2
        if longest_us <= LONG_US:
            began, samples = time.perf_counter(), 0
            for _ in range(LOOKS):
                for side in self.sides.order:
                    self._enter(side)
                    looked[side].append(take(side, MOST_SETTLING + 2).times)
                    samples += MOST_SETTLING + 2
        cost_us = (time.perf_counter() - began) * 1e6 / samples
        return max(settled_after(times) for times in looked.values()), max(cost_us, longest_us)

    def _blocks(self, take, length, settling):
        """Blocks and clocks by side, the order in which they were taken, and what ended the taking."""
        blocks, clocks = ({side: [] for side in self.sides.names} for _ in range(2))
        sampling, order = Sampling(self.measure, len(self.sides.names)), ""
        while not sampling.enough(list(blocks.values())):
            for side in self._four(sampling, blocks):
                self._enter(side)
                # Without a change too: a position must mean the same in every block.
                block = take(side, settling + length)
                blocks[side].append(block.times[settling:])
                clocks[side].append(block.clock_mhz)
                order += side
        return blocks, clocks, order, sampling

    def _four(self, sampling, blocks):
        """The next blocks' sides: a four as drawn, or a pair where no more are wanted."""
        one, other = self.sides.names
        first, second = (one, other) if self._draws.random() < 0.5 else (other, one)
        if sampling is not None and sampling.most - len(blocks[one]) == 1:
            return first, second
        return first, second, second, first


def settled_after(times):
    """Calls to discard after a change of side: the first position from which on calls take as long as the last two.

    `times` are blocks that each began with a change; without any, one call.
    """
    if not times:
        return 1
    middles = [statistics.median(position) for position in zip(*times)]
    last = statistics.fmean(middles[-2:])
    for discarded in range(1, MOST_SETTLING):
        if all(abs(middle - last) <= max(AGREEMENT * last, AGREEMENT_US) for middle in middles[discarded:]):
            return discarded
    return MOST_SETTLING


def median_or_none(values):
    """Median of the values that are known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
