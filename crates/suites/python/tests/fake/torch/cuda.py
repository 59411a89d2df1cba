"""`torch.cuda` of the fake card."""

import contextlib
import os

from . import card


class Event:
    def __init__(self, enable_timing=False):
        self.at_us = None

    def record(self, stream=None):
        card.check()
        self.at_us = max(card.now_us(), card.free_at_us)

    def query(self):
        return card.now_us() >= self.at_us

    def elapsed_time(self, end):
        return max(end.at_us - self.at_us, 1e-6) / 1000.0

    def synchronize(self):
        card.wait()


class Stream:
    cuda_stream = 0

    def wait_stream(self, other):
        pass

    def synchronize(self):
        card.wait()


_stream = Stream()


def current_stream(device=None):
    return _stream


@contextlib.contextmanager
def stream(found):
    yield


class CUDAGraph:
    def __init__(self):
        self.work = []

    def replay(self):
        for duration in self.work:
            card.enqueue(duration)


class graph:
    def __init__(self, graph):
        self.graph = graph

    def __enter__(self):
        card.capturing = self.graph.work

    def __exit__(self, *error):
        card.capturing = None


def _sleep(cycles):
    card.enqueue(cycles / card.CYCLES_PER_US)


if os.environ.get("FAKE_NO_SLEEP"):
    del _sleep


def synchronize(device=None):
    card.wait()


def is_available():
    return os.environ.get("FAKE_VENDOR", "nvidia") == "nvidia"


def device_count():
    return 1


def current_device():
    return 0


def set_device(index):
    assert index == 0


def get_device_name(index=0):
    return "Fake H200"


def get_device_capability(index=0):
    return (9, 0)


class _Properties:
    uuid = "00000000-1111-2222-3333-444444444444"
    multi_processor_count = 132


def get_device_properties(index=0):
    return _Properties()


def empty_cache():
    pass
