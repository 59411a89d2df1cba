"""Summaries of samples, as `do_bench` and the product define them; no card, no clock."""

import math
import statistics

BATCHES = 8
"""Parts into which blocks are put to see how far a summary moves."""


def microseconds(elapsed_ms):
    """An event's milliseconds as microseconds; a tenth of a nanosecond is finer than any event's clock."""
    return round(float(elapsed_ms) * 1000.0, 4)


def interquartile_mean(values):
    """Mean of the middle half; quartile borders weigh in by their share (as a 25 % trimmed mean)."""
    values = sorted(values)
    cut = len(values) / 4.0
    total = weight = 0.0
    for index, value in enumerate(values):
        share = max(0.0, min(index + 1, len(values) - cut) - max(index, cut))
        total += share * value
        weight += share
    return total / weight


def by_position(blocks):
    """Interquartile mean of each position in the blocks, averaged alike: positions have modes of their own."""
    return statistics.fmean(interquartile_mean(position) for position in zip(*blocks))


def standard_error_pct(sides):
    """Standard error of a case's effect, or of one side's latency, percent; None with too few blocks to tell.

    `sides` is one list of blocks a side. The blocks are put into batches in the order taken; what is summarised is each
    batch's own summary (batch means: Schmeiser, Operations Research 30, 1982), so that samples need not be independent.
    """
    count = min(len(blocks) for blocks in sides)
    if count < BATCHES:
        return None
    borders = [count * at // BATCHES for at in range(BATCHES + 1)]
    found = []
    for one, other in zip(borders, borders[1:]):
        logs = [math.log(max(by_position(blocks[one:other]), 1e-9)) for blocks in sides]
        found.append(logs[0] - logs[1] if len(logs) == 2 else logs[0])
    return 100.0 * statistics.stdev(found) / math.sqrt(BATCHES)


def summary(times, quantiles, return_mode):
    """What `do_bench` returns for these times: quantiles first, else by `return_mode`."""
    if quantiles is not None:
        found = [quantile(times, share) for share in quantiles]
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return list(times)
    return {"min": min, "max": max, "mean": statistics.fmean, "median": statistics.median}[return_mode](times)


def quantile(times, share):
    """Linear interpolation between order statistics, as `torch.quantile`."""
    times = sorted(times)
    point = share * (len(times) - 1)
    lower = int(point)
    upper = min(lower + 1, len(times) - 1)
    return times[lower] + (point - lower) * (times[upper] - times[lower])
