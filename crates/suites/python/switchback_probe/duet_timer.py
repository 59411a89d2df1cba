"""Times both sides of a case in one process, in small blocks that alternate.

Leaves what a sample is to `timer` (gated, a graph's replay, or events alone) and the change of side to `side`.
Invariants: blocks come in fours, ABBA or BAAB as drawn from the order's seed and the case alone, so that a linear drift
cancels; after each change of side calls are discarded until they have settled; both sides have as many blocks, of one
length, behind gates that only grow; a block with an open gate is dropped whole, counted, and taken again.
"""

import random
import time

from .protocol import say
from .rows import label
from .summary import by_position
from .timer import (
    GATE_FACTOR,
    GATE_LEAST_US,
    GATE_MOST_US,
    GATE_TRIES,
    HOST_SHARE,
    CaptureFailed,
    GateOpen,
    Timed,
    gate_open,
    resetter,
)

FEWEST_BLOCKS = 4
"""Blocks a side however long a call takes."""
WANTED_BLOCKS = 8
"""Blocks a side for which blocks are shortened where the time does not suffice."""
MOST_SETTLING = 4
"""Pairs of calls that may be discarded after a change of side."""
AGREEMENT = 0.02
"""Two calls agree if they differ by no more than this share."""
LONG_US = 500.0
"""Of calls longer than this one is discarded."""


class DuetTimer:
    """Takes the samples of one case after another."""

    def __init__(self, session):
        self.session = session
        self.sides = session.sides
        self.compiled = []
        """Kernels that were made while the last case's blocks were taken."""
        self._enter = self.sides.to
        self._gate_us = None
        self._dropped = {}
        self._draws = None

    @property
    def measure(self):
        """How to measure."""
        return self.session.order.measure

    def time(self, case, operator, call, grad_to_none=None):
        """Time a case on both sides with the timer that was asked for, or the next one that works; `{side: Timed}`."""
        timer, asked = self.session.timer, self.measure.timer
        reset, reason, never_gated = resetter(grad_to_none), None, False
        self._begin(case)
        timer.prepare()
        if asked == "graph":
            reason = timer.capture_refusal(operator)
            if reason is None:
                try:
                    return self._graph(case, call, reset)
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
                    reason, never_gated = str(error), True
        return self._direct(call, reset, reason, never_gated)

    def wall(self, case, sample):
        """Alternate a benchmark that times by wall clock: `sample()` gives microseconds for the current side."""
        self._begin(case)
        blocks, _ = self._blocks(lambda side, length: [sample() for _ in range(length)], 1, most=FEWEST_BLOCKS)
        return {side: Timed("wall", blocks[side], by_position(blocks[side])) for side in self.sides.names}

    def _begin(self, case):
        text = "\0".join(map(str, (self.measure.seed, case["dtype"], case["input"], case["occurrence"])))
        self._draws = random.Random(text)
        self._dropped = dict.fromkeys(self.sides.names, 0)
        self._gate_us, self.compiled = None, []

    # The three kinds of samples.

    def _gated(self, call, reset):
        timer, host_us = self.session.timer, {}
        for side in self.sides.order:
            self._enter(side)
            timer.warm_up(call, reset, self.measure.warmup_ms / 2)
            host_us[side] = timer.host_us(call, reset)
        timer.calibrate()
        self._gate_us = min(GATE_MOST_US, max(GATE_LEAST_US, GATE_FACTOR * max(host_us.values())))
        calls = dict.fromkeys(self.sides.names, call)
        return self._timed("gated", calls, reset, host_us)

    def _graph(self, case, call, reset):
        timer, graphs, host_us = self.session.timer, {}, {}
        try:
            for side in self.sides.order:
                self._enter(side)
                graphs[side], host_us[side] = timer.capture(call, reset, self.measure.warmup_ms / 2)
            replays = {side: graph.replay for side, graph in graphs.items()}
            replay_us = 0.0
            for side in self.sides.order:
                for _ in range(3):
                    replays[side]()
                replay_us = max(replay_us, timer.host_us(replays[side]))
            if timer.gate_fault() is None:
                timer.calibrate()
                self._gate_us = min(GATE_MOST_US, max(GATE_LEAST_US, GATE_FACTOR * replay_us))
            try:
                found = self._timed("graph", replays, lambda: None, host_us)
            except GateOpen:
                self._gate_us = None  # this host is never in time; what it gives is what there is
                found = self._timed("graph", replays, lambda: None, host_us)
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
        self._gate_us = None
        found = self._timed("direct", dict.fromkeys(self.sides.names, call), reset, host_us)
        for side, timed in found.items():
            late = host_us[side] >= HOST_SHARE * timed.latency_us and not in_time[side]
            timed.reason, timed.host_bound = reason, never_gated or late
        return found

    # Blocks.

    def _timed(self, name, calls, reset, host_us):
        """Find a gate that holds and a length that fits, then take the blocks."""

        def take(side, length):
            return self._take(side, calls[side], reset, length)

        cost_us, longest_us = 0.0, 0.0
        for side in self.sides.order:
            self._enter(side)
            take(side, 2)  # finds the gate
            began = time.monotonic()
            longest_us = max(longest_us, *take(side, 2))
            cost_us = max(cost_us, (time.monotonic() - began) * 1e6 / 2, longest_us)
        settling = 1 if longest_us > LONG_US else 2
        affordable = int(self.measure.sample_ms * 1000.0 / (WANTED_BLOCKS * max(cost_us, 1e-3))) - settling
        length = max(1, min(self.measure.block_length, affordable))
        count = len(self.session.compiles.forms)
        blocks, order = self._blocks(take, length, longest_us > LONG_US)
        self.compiled = self.session.compiles.since(count)
        found = {}
        for side in self.sides.names:
            latency_us = by_position(blocks[side])
            found[side] = Timed(name, blocks[side], latency_us, None, host_us[side], False, self._dropped[side])
            found[side].block_order = order
        return found

    def _blocks(self, take, length, long=None, most=None):
        """Blocks by side and the order in which they were taken; `long` None discards nothing."""
        most = self.measure.blocks if most is None else most
        fewest = min(FEWEST_BLOCKS, most)
        blocks, order = {side: [] for side in self.sides.names}, ""
        one, other = self.sides.names
        began = time.monotonic()
        while len(blocks[one]) < most:
            late = (time.monotonic() - began) * 1000.0 >= 2 * self.measure.sample_ms
            if late and len(blocks[one]) >= fewest:
                break
            first, second = (one, other) if self._draws.random() < 0.5 else (other, one)
            four = (first, second, second, first) if most - len(blocks[one]) > 1 else (first, second)
            for side in four:
                self._enter(side)
                if long is not None:
                    settle(lambda count, side=side: take(side, count), long)
                blocks[side].append(take(side, length))
                order += side
        return blocks, order

    def _take(self, side, call, reset, length):
        """One block behind closed gates.

        Raises `GateOpen` where none holds.
        """
        for _ in range(GATE_TRIES):
            times, held = self.session.timer.block(call, reset, self._gate_us, length)
            if held:
                return times
            self._dropped[side] += length
            self._gate_us = min(GATE_MOST_US, 2 * self._gate_us)
        dropped = sum(self._dropped.values())
        raise gate_open(f"no gate held on side {side}, up to {self._gate_us:.0f} us", dropped)


def settle(take, long):
    """Discard calls after a change of side: one that is long, else pairs until two calls agree."""
    if long:
        take(1)
        return
    before = None
    for _ in range(MOST_SETTLING):
        times = take(2)
        if agree(*times) or (before is not None and all(map(agree, before, times))):
            return
        before = times


def agree(one, other):
    """True for two times that differ by no more than `AGREEMENT`."""
    return abs(other - one) <= AGREEMENT * one
