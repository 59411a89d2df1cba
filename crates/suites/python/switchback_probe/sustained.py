"""One side for so long that the card settles: calls back to back, the settling part dropped.

The other question than a burst: not what the code costs on a card at rest, but what it costs on a card that does
nothing else, at the clock and temperature that this side itself brings about. Leaves the order of sides to the timers.
Invariant: the card never runs dry within a turn, so nothing of the host is in the times unless the host is slower.
"""

import collections
import statistics
import time

from . import gate

SETTLING = 0.5
"""Share of a turn that is dropped."""
CHUNK_MS = 10.0
"""Calls are queued in chunks of this length, two at once."""
MOST_IN_CHUNK = 200
METER_US = 150.0
"""A pause a chunk in which the clock is read, short against the chunk: a hundredth part."""
LATE = 0.1
"""A row is the host's if the card came to more than this share of the calls too early."""
TURNS = 6
"""Turns a side at least."""


class Turn:
    """One side's turn: its times after settling, microseconds, and its clock."""

    def __init__(self, times_us, clock_mhz, late):
        self.times_us = times_us
        self.clock_mhz = clock_mhz
        self.late = late
        """Share of the calls that the card reached before they were queued."""


def take(interface, call, reset, flush, latency_us, turn_ms, spin=None):
    """Call for `turn_ms` of wall clock; `latency_us` is a first guess, `spin` a meter of the clock if there is one."""
    length = max(1, min(MOST_IN_CHUNK, int(CHUNK_MS * 1000.0 / max(latency_us, 1.0))))
    waiting, times, clocks, late = collections.deque(), [], [], 0
    began = time.monotonic()

    def collect():
        nonlocal late
        queued_at, block = waiting.popleft()
        block.read(spin, block.wait_for_it)
        if queued_at >= SETTLING * turn_ms:
            times.extend(block.times)
            late += block.late
            if block.clock_mhz is not None:
                clocks.append(block.clock_mhz)

    while True:
        elapsed_ms = (time.monotonic() - began) * 1000.0
        if elapsed_ms >= turn_ms and any(at >= SETTLING * turn_ms for at, _ in waiting):
            break
        lead = spin.of(METER_US) if spin is not None else None
        waiting.append((elapsed_ms, gate.queue(interface, call, reset, flush, length, lead)))
        if len(waiting) > 2:
            collect()
    while waiting:
        collect()
    return Turn(times, statistics.median(clocks) if clocks else None, late / max(1, len(times)))
