"""The card: a queue of work on a clock. It runs with the host's, but waiting moves it instead of the host."""

import os
import time

skew_us = 0.0
free_at_us = 0.0
capturing = None
lost = None
launched = []
CYCLES_PER_US = 1900.0
FLUSH_US = float(os.environ.get("FAKE_FLUSH_US", "3"))
FIRST_FLUSH_US = float(os.environ.get("FAKE_FIRST_FLUSH_US", "0"))
LAUNCH_US = float(os.environ.get("FAKE_LAUNCH_US", "0"))


def now_us():
    return time.perf_counter() * 1e6 + skew_us


def flush_us():
    """What a flush takes; a process's first one also loads its kernel."""
    global FIRST_FLUSH_US
    if os.environ.get("FAKE_NO_FLUSH"):
        raise RuntimeError("the cache was flushed")
    first, FIRST_FLUSH_US = FIRST_FLUSH_US, 0.0
    return FLUSH_US + first


def check():
    if lost:
        raise RuntimeError(lost)


def launch(duration_us):
    """Queue a kernel, which takes the host `LAUNCH_US` of its own time."""
    began = time.perf_counter()
    while (time.perf_counter() - began) * 1e6 < LAUNCH_US:
        pass
    enqueue(duration_us)


def enqueue(duration_us):
    """Queue work; it begins when what is queued before it has ended."""
    global free_at_us
    check()
    if capturing is not None:
        capturing.append(duration_us)
        return
    free_at_us = max(free_at_us, now_us()) + duration_us


def wait():
    global skew_us
    check()
    if capturing is not None:
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
    skew_us += max(0.0, free_at_us - now_us())


def lose(text):
    """An error that every later call meets again."""
    global lost
    lost = text
