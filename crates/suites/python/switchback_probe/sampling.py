"""When a case has samples enough: by the width of its result, by time, or by count; never by what the result is.

Leaves the taking to the timers. Invariant: the rule sees the standard error alone, so it cannot favour a sign.
"""

import time

from .summary import BATCHES, standard_error_pct

FEWEST = 2
"""Blocks a side, however long a call takes: a four of both sides."""
GROWTH = 1.5
"""The width is looked at again after so many times the blocks: seldom, so that looking costs nothing."""


class Sampling:
    """The budget of one case."""

    def __init__(self, measure, sides):
        self.precision_pct = measure.case_precision_pct
        self.budget_ms = measure.sample_ms * sides
        self.most = measure.blocks
        self.fewest = min(FEWEST, self.most)
        self.standard_error_pct = None
        self.reason = None
        """`precision`, `time` or `blocks`: what ended the sampling."""
        self._began = time.monotonic()
        self._next_look = BATCHES

    def enough(self, sides):
        """True if no more blocks are wanted; `sides` is one list of blocks a side."""
        count = min(len(blocks) for blocks in sides)
        if count < self.fewest:
            return False
        if count >= self.most:
            return self._end("blocks", sides)
        if (time.monotonic() - self._began) * 1000.0 >= self.budget_ms:
            return self._end("time", sides)
        if self.precision_pct > 0 and count >= self._next_look:
            self._next_look = max(count + 1, int(GROWTH * count))
            self.standard_error_pct = standard_error_pct(sides)
            if self.standard_error_pct is not None and self.standard_error_pct <= self.precision_pct:
                self.reason = "precision"
                return True
        return False

    def _end(self, reason, sides):
        self.reason, self.standard_error_pct = reason, standard_error_pct(sides)
        return True
