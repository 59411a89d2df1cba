"""A call on this card: what is done before it, around it and to wait for it, whichever timer then times it.

Leaves the kinds of timing to `timer`, the gate itself to `gate`. Invariant: nothing here is a case's sample but what
`ungated` reads for whoever asks.
"""

import statistics
import time

from . import compat
from . import gate as gates
from .driver_memory import DriverMemory
from .flush import Flush
from .gate import Gate

AGREEMENT = 0.02
"""Warm-up ends when the shortest calls of two windows differ by no more than this share."""
WINDOW = 4
"""Groups of calls in a window of the warm-up."""


class Calls:
    """Calls in one process."""

    def __init__(self, session):
        self.session = session
        self._flush = None
        self._memory = None

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
        return gates.fault(self.session.triton, self.interface)

    def new_gate(self):
        """A gate for the next case, measured at the clock of now."""
        found = Gate(self.interface, self.flush, self.buffer().buffer)
        found.calibrate()
        return found

    def meter(self):
        """A meter of the card's clock, None where there is none."""
        if not hasattr(self.interface, "_sleep"):
            return None
        found = gates.Cycles(self.interface)
        found.calibrate()
        return found

    def prepare(self):
        """Flush once before a process's first case is timed.

        The first flush allocates its buffer and loads its kernel: milliseconds that would be taken from the case's
        budget, or for the length of its calls.
        """
        if self._flush is None:
            self.flush()
            self.interface.synchronize()

    def memory(self):
        """The card's memory past torch."""
        if self._memory is None:
            self._memory = DriverMemory(self.session.triton, self.interface)
        return self._memory

    def buffer(self):
        """What clears the cache, made when it is first needed."""
        if self._flush is None:
            self._flush = Flush(self.session.triton, self.memory())
            self.session.events.capability("flush", True, self._flush.detail)
        return self._flush

    def flush(self):
        """Clear the L2 cache, unless it is to stay warm."""
        if self.measure.cache_state != "warm":
            self.buffer()()

    def warm_up(self, call, reset, warmup_ms=None):
        """Call until a call's time has settled, at most for `warmup_ms` of wall clock (the order's by default).

        Settled: the shortest groups of two windows in a row agree. What interrupts a group only makes it longer.
        """
        warmup_ms = self.measure.warmup_ms if warmup_ms is None else warmup_ms
        began, before, size = time.monotonic(), None, 1
        while True:
            shortest = None
            for _ in range(WINDOW):
                group = time.perf_counter()
                for _ in range(size):
                    reset()
                    call()
                self.interface.synchronize()
                took = time.perf_counter() - group
                shortest = took if shortest is None else min(shortest, took)
                if (time.monotonic() - began) * 1000.0 >= warmup_ms:
                    return
            if before is not None and abs(shortest - before) <= AGREEMENT * before:
                return
            # Calls of which many fit into the time are grouped, so that waiting for them is not what is looked at.
            before, size = (shortest, size) if size > 1 or shortest * 300.0 > warmup_ms else (None, 3)

    def host_us(self, call, reset=lambda: None):
        """Microseconds that the host needs to queue a call on an idle card: the median of five, of fewer long ones."""
        times, first = [], time.perf_counter()
        # Long calls are not called five times for it.
        while len(times) < 5 and (not times or time.perf_counter() - first < 0.1):
            reset()
            self.interface.synchronize()
            began = time.perf_counter()
            call()
            times.append((time.perf_counter() - began) * 1e6)
        self.interface.synchronize()
        return statistics.median(times)

    def ungated(self, call, reset, length):
        """A block of calls with nothing to wait behind, read."""
        return gates.queue(self.interface, call, reset, self.flush, length, ask=False).read()

    def estimate_us(self, call, reset):
        """A first guess of a call's time on the card: the median of a few."""
        return statistics.median(self.ungated(call, reset, 3).times)

    def _event(self):
        return self.interface.Event(enable_timing=True)


def no_reset():
    """A replay leaves nothing to forget."""


def resetter(grad_to_none):
    """What `do_bench` does before each call: gradients are forgotten, not added up."""
    tensors = list(grad_to_none or [])

    def reset():
        for tensor in tensors:
            tensor.grad = None

    return reset
