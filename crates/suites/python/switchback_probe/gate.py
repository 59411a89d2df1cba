"""The gate: work that keeps the card busy until a whole block of calls is queued behind it.

Leaves what a call is, and whose, to the timers. Invariants: a block counts only if every one of its calls had returned
before the card reached that call's start event, proven by a query a call; a gate only grows; a block with an open gate
is dropped whole, counted and taken again. What the gate did while it waited is a clock meter: its cycles over its time.

One gate a block and few calls behind it, not one a call: with more commands queued than the card's front end has
fetched, it fetches the next ones between a start event and its kernel (docs/measurement.md).
"""

import time

from . import compat
from .summary import microseconds

FACTOR = 1.5
"""The gate lasts this many times the host's time for the block."""
LEAST_US = 20.0
MOST_US = 200_000.0
TRIES = 6
AHEAD_US = 20.0
"""Spun before the clock meter's first event, so that the card does not wait for the host between it and the gate."""
QUEUE_US = 20.0
"""First guess of the host's time for a sample's flush, events and query."""
METER_CYCLES = 200_000
SHORT_CYCLES = 1_000


class GateOpen(RuntimeError):
    """The gate did not hold: the operator waits for the card inside its call, or the host is too slow."""

    def __init__(self, text, dropped):
        super().__init__(text)
        self.dropped = dropped


class Gate:
    """The gate of one case."""

    def __init__(self, interface, flush, cache):
        self.interface = interface
        self.flush = flush
        self.dropped = 0
        """Samples that were taken behind an open gate."""
        self.sample_us = QUEUE_US
        """Length of the gate a sample of the block."""
        self._spin = Cycles(interface) if hasattr(interface, "_sleep") else Fills(interface, cache)

    def calibrate(self):
        """Measure how long the gate's kernel takes, at the clock of now."""
        self._spin.calibrate()

    def fit(self, call, reset, host_us):
        """Find a length that holds: the host's time for a call at first, then what a block really took to queue.

        Raises `GateOpen` where none holds.
        """
        self.sample_us = max(self.sample_us, FACTOR * (host_us + QUEUE_US))
        found = self.take(call, reset, 2)
        needed_us = FACTOR * found.queued_us / 2
        # Not shorter than what held: the first block after a pause is queued no slower than later ones.
        self.sample_us = max(needed_us, LEAST_US / 2) if needed_us > 0 else self.sample_us
        return found

    def widen(self, other):
        """No shorter than another gate, so that both sides wait alike."""
        self.sample_us = max(self.sample_us, other)

    def most_samples(self):
        """Samples that a block can have behind the longest gate."""
        return max(1, int(MOST_US / max(self.sample_us, 1e-3)))

    def take(self, call, reset, length):
        """One block of calls behind a gate that held.

        Raises `GateOpen` where none does.
        """
        for _ in range(TRIES):
            block = queue(self.interface, call, reset, self.flush, length, self._lead(length))
            if not block.late:
                return block.read(self._spin)
            block.wait()
            self.dropped += length
            self.sample_us = max(self.sample_us, min(MOST_US / length, 2 * self.sample_us))
        raise GateOpen(
            f"no gate held, up to {self.sample_us * length:.0f} us for {length} calls in a row", self.dropped
        )

    def _lead(self, length):
        wanted_us = min(MOST_US, max(LEAST_US, self.sample_us * length))
        return self._spin.of(wanted_us)


class Cycles:
    """A kernel that spins for a number of cycles, which makes it a clock meter too."""

    def __init__(self, interface):
        self.interface = interface
        self.cycles_per_us = None
        self.floor_us = 0.0

    def calibrate(self):
        """Cycles a microsecond, and what events read around a kernel that does nothing."""
        for _ in range(2):
            long_us = self._time(METER_CYCLES, behind=METER_CYCLES)
        short_us = min(self._time(SHORT_CYCLES, behind=METER_CYCLES) for _ in range(3))
        span_us = max(long_us - short_us, 1e-3)
        # Half as much again as is plausible, so that a wrong reading cannot make a gate of minutes.
        self.cycles_per_us = min(10_000.0, max(1.0, (METER_CYCLES - SHORT_CYCLES) / span_us))
        self.floor_us = max(0.0, short_us - SHORT_CYCLES / self.cycles_per_us)

    def _time(self, cycles, behind=0):
        """What events read around so many cycles; with the card kept busy before, nothing of the host is in it."""
        start, end = event(self.interface), event(self.interface)
        if behind:
            self.interface._sleep(behind)
        start.record()
        self.interface._sleep(cycles)
        end.record()
        self.interface.synchronize()
        return start.elapsed_time(end) * 1000.0

    def of(self, wanted_us):
        """How to keep the card busy for so long: `(ahead, act, cycles)`."""
        cycles, before = max(1, int(wanted_us * self.cycles_per_us)), max(1, int(AHEAD_US * self.cycles_per_us))
        return (lambda: self.interface._sleep(before)), (lambda: self.interface._sleep(cycles)), cycles

    def clock_mhz(self, elapsed_us, cycles):
        """The clock at which the gate ran; None where the gate was too short to tell."""
        spun_us = elapsed_us - self.floor_us
        return cycles / spun_us if spun_us > 0 and cycles >= 10 * SHORT_CYCLES else None


class Fills:
    """Where there is no spinning kernel: the flush's buffer is written as often as it takes. No clock meter."""

    def __init__(self, interface, cache):
        self.interface = interface
        self.cache = cache
        self.unit_us = 1.0

    def calibrate(self):
        """What one fill takes."""
        times = []
        for _ in range(3):
            start, end = event(self.interface), event(self.interface)
            start.record()
            self.cache.zero_()
            end.record()
            self.interface.synchronize()
            times.append(start.elapsed_time(end) * 1000.0)
        self.unit_us = max(1.0, min(times))

    def of(self, wanted_us):
        """How to keep the card busy for so long: `(ahead, act, cycles)`; nothing ahead, and cycles are unknown."""
        count = max(1, -int(-wanted_us // self.unit_us))

        def act():
            for _ in range(count):
                self.cache.zero_()

        return (lambda: None), act, None

    def clock_mhz(self, elapsed_us, cycles):
        """Unknown."""
        return None


class Block:
    """Calls that are queued, and then their times."""

    def __init__(self, interface, events, meter, cycles, late, queued_us):
        self.interface = interface
        self.events = events
        self.meter = meter
        self.cycles = cycles
        self.late = late
        """Calls that the card reached before they were queued."""
        self.queued_us = queued_us
        """The host's time to queue the block, microseconds."""
        self.times = []
        """Microseconds a call."""
        self.clock_mhz = None

    def wait(self):
        """Wait until the card has done all of it."""
        self.interface.synchronize()

    def wait_for_it(self):
        """Wait for this block alone; what is queued behind it goes on."""
        self.events[-1][1].synchronize()

    def read(self, spin=None, wait=None):
        """Wait, then read the times and the clock."""
        (wait or self.wait)()
        self.times = [microseconds(start.elapsed_time(end)) for start, end in self.events]
        if self.meter is not None and spin is not None and self.cycles is not None:
            before, after = self.meter
            self.clock_mhz = spin.clock_mhz(before.elapsed_time(after) * 1000.0, self.cycles)
        return self


def queue(interface, call, reset, flush, length, lead=None, ask=True):
    """Queue a block of calls, behind a lead `(ahead, act, cycles)` if there is one; nothing is waited for.

    With `ask` each call's start event is asked whether the card has come by, which takes the host its time.
    """
    events = [(event(interface), event(interface)) for _ in range(length)]
    meter, cycles, late = None, None, 0
    if lead is not None:
        ahead, act, cycles = lead
        ahead()
        meter = (event(interface), event(interface))
        meter[0].record()
        act()
        meter[1].record()
    began = time.perf_counter()
    for start, end in events:
        reset()
        flush()
        start.record()
        call()
        end.record()
        if ask:
            late += start.query()
    queued_us = (time.perf_counter() - began) * 1e6
    return Block(interface, events, meter, cycles, late, queued_us)


def fault(triton, interface):
    """Why this back end cannot gate, None if it can."""
    if hasattr(interface, "_sleep"):
        return None
    try:
        compat.empty_cache(triton)
    except Exception as error:
        name = getattr(interface, "__name__", "the device interface")
        return f"`{name}._sleep` is not there, and no buffer to fill instead: {error}"
    return None


def event(interface):
    """An event that takes the time."""
    return interface.Event(enable_timing=True)
