"""The timers on a card whose kernels take 6 us and whose host takes longer than that to launch them."""

import math
import random
import statistics
import time
from types import SimpleNamespace

import pytest
import torch
from torch import card

from switchback_probe import gate, sampling, summary, sustained

SHARED_CACHE = True
NODE = "test_softmax.py::test_softmax"
KERNEL_US = 6.0


def flat(row):
    return [value for block in row["samples_us"] for value in block]


def test_gated_samples_are_the_kernel_and_not_the_host(cell):
    run = cell(NODE, timer="auto")
    assert run.status == 0, run.log
    for row in run.rows():
        assert row["timer"] == "gated" and "timer_reason" not in row and not row["host_bound"]
        assert len(row["samples_us"]) >= 2 and {len(block) for block in row["samples_us"]} == {4}
        assert flat(row) == pytest.approx([KERNEL_US] * len(flat(row)), abs=1e-6)
        assert row["latency_us"] == pytest.approx(KERNEL_US, abs=1e-6)
        assert row["host_us"] > KERNEL_US


def test_direct_samples_are_the_host_and_say_so(cell):
    run = cell(NODE, timer="direct", env={"FAKE_LAUNCH_US": "60"})
    for row in run.rows():
        assert row["timer"] == "direct"
        assert row["latency_us"] > 1.5 * KERNEL_US
        assert row["host_bound"]


def test_a_flush_that_outlasts_the_host_is_a_gate(cell):
    run = cell(NODE, timer="direct", env={"FAKE_FLUSH_US": "100000"})
    for row in run.rows():
        assert row["timer"] == "direct" and not row["host_bound"]
        assert row["host_us"] > KERNEL_US
        assert row["latency_us"] == pytest.approx(KERNEL_US, abs=1e-3)


def test_an_operator_that_waits_for_the_card_cannot_be_gated(cell):
    run = cell("test_sort.py::test_perf_sort", timer="gated")
    for row in run.rows():
        assert row["timer"] == "direct" and row["host_bound"]
        assert "no gate held" in row["timer_reason"]
        assert row["dropped"] == 2 * gate.TRIES


def test_the_first_flush_of_a_process_does_not_cost_its_case_samples(cell):
    """Seen on a card: eleven samples where the other cases had a thousand."""
    for choice in ("graph", "direct"):
        run = cell(NODE, timer=choice, capture_supported=True, sample_ms=20.0, env={"FAKE_FIRST_FLUSH_US": "100000"})
        assert {row["timer"] for row in run.rows()} == {choice}
        counts = [len(flat(row)) for row in run.rows()]
        assert counts[0] > 0.3 * max(counts), (choice, counts)


def test_a_warm_cache_is_not_flushed(cell):
    """A flush is an error on this card."""
    for choice in ("direct", "gated"):
        run = cell(NODE, timer=choice, cache_state="warm", env={"FAKE_NO_FLUSH": "1"})
        assert run.status == 0, run.log
        assert {row["timer"] for row in run.rows()} == {choice}
        assert all(len(flat(row)) >= 3 for row in run.rows())


def test_a_graph_is_captured_and_replayed(cell):
    run = cell(NODE, timer="graph", capture_supported=True)
    assert run.status == 0, run.log
    assert [event["captured"] for event in run.of("capture")] == [True] * 4
    for row in run.rows():
        assert row["timer"] == "graph" and len(row["samples_us"]) >= sampling.FEWEST
        assert flat(row) == pytest.approx([KERNEL_US] * len(flat(row)), abs=1e-6)
    assert "BENCHMARK_DIRECT_NO_CUDAGRAPH" not in run.log


def test_a_case_that_cannot_be_captured_falls_back_alone(cell):
    run = cell("test_sort.py::test_perf_sort", timer="graph", capture_supported=True, direct_repeat=2)
    assert run.status == 0, run.log
    for event in run.of("capture"):
        assert not event["captured"] and not event["skipped"] and event["class"] == "recoverable"
        assert "not permitted when stream is capturing" in event["error"]
    assert [(row["timer"], len(row["samples_us"])) for row in run.rows()] == [("direct", 2)] * 2
    assert run.log.count("BENCHMARK_DIRECT_NO_CUDAGRAPH op=sort") == 2 and "repeat=2" in run.log


def test_after_a_poisoned_capture_none_is_tried(cell):
    poison = "NOT PERMITTED when stream is capturing"
    run = cell("test_sort.py::test_perf_sort", timer="graph", capture_supported=True, capture_poisoned=[poison])
    first, second = run.of("capture")
    assert first["class"] == "poisoned" and not first["skipped"]
    assert second["skipped"] and "poisoned" in second["error"] and "class" not in second
    assert [row["timer"] for row in run.rows()] == ["direct", "direct"]
    assert run.log.count("BENCHMARK_CAPTURE_POISONED") == 1


def test_a_fatal_capture_ends_measuring(cell):
    run = cell("test_sort.py::test_perf_sort", timer="graph", capture_supported=True, capture_fatal=["not permitted"])
    assert [row["ok"] for row in run.rows()] == [False, False]
    assert len(run.of("capture")) == 1 and run.one("capture")["class"] == "fatal"
    assert run.status == 1 and "not measured" in run.rows()[1]["error"]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"capture_supported": False}, "the back end cannot capture graphs"),
        ({"capture_supported": True, "capture_denied": ["softmax"]}, "known to break"),
    ],
)
def test_what_is_not_to_be_captured_is_not_tried(cell, how, why):
    run = cell(NODE, timer="graph", **how)
    assert {event["skipped"] for event in run.of("capture")} == {True}
    assert all(why in event["error"] for event in run.of("capture"))
    assert {row["timer"] for row in run.rows()} == {"direct"}
    assert all(why in row["timer_reason"] for row in run.rows())


def test_the_benchmarks_graph_mode_takes_the_graph_timer(cell):
    options = ("--metrics", "latency", "--mode", "cudagraph")
    run = cell(NODE, timer="auto", capture_supported=True, options=options)
    assert run.status == 0, run.log
    assert {row["timer"] for row in run.rows()} == {"graph"}


def test_the_interquartile_mean_is_the_mean_of_the_middle_half():
    assert summary.interquartile_mean([1, 2, 3, 4, 5, 6, 7, 100]) == statistics.fmean([3, 4, 5, 6])
    # Six values: a quarter of them is 1.5, so the second and fifth count half.
    assert summary.interquartile_mean([9, 1, 2, 4, 8, 3]) == pytest.approx((0.5 * 2 + 3 + 4 + 0.5 * 8) / 3)
    assert summary.interquartile_mean([5]) == 5


def test_the_standard_error_is_that_of_batch_means():
    # Sixteen blocks of two: batches of two blocks, whose logarithms of means are worked out here one by one.
    draws = random.Random(3)
    one, other = ([[draws.uniform(9, 11) for _ in range(2)] for _ in range(16)] for _ in range(2))
    logs = [[math.log(sum(map(sum, side[at : at + 2])) / 4) for at in range(0, 16, 2)] for side in (one, other)]
    effects = [a - b for a, b in zip(*logs)]
    assert summary.standard_error_pct([one, other]) == pytest.approx(100 * statistics.stdev(effects) / 8**0.5)
    assert summary.standard_error_pct([one]) == pytest.approx(100 * statistics.stdev(logs[0]) / 8**0.5)
    assert summary.standard_error_pct([one[:7], other]) is None


@pytest.mark.parametrize(("spread", "precision_pct", "ended_by"), [(0.0, 0.05, "precision"), (0.3, 0.05, "blocks")])
def test_a_case_has_samples_enough_when_its_width_says_so(spread, precision_pct, ended_by):
    measure = SimpleNamespace(case_precision_pct=precision_pct, sample_ms=1e9, blocks=40)
    budget, draws, blocks = sampling.Sampling(measure, 1), random.Random(1), []
    while not budget.enough([blocks]):
        blocks.append([10 + draws.uniform(-spread, spread) for _ in range(4)])
    assert budget.reason == ended_by and len(blocks) == (8 if ended_by == "precision" else 40)
    assert (budget.standard_error_pct <= precision_pct) == (ended_by == "precision")


def test_time_that_is_up_ends_a_case_that_has_the_fewest_blocks():
    measure = SimpleNamespace(case_precision_pct=0.0, sample_ms=0.0, blocks=40)
    budget, blocks = sampling.Sampling(measure, 1), []
    while not budget.enough([blocks]):
        blocks.append([1.0])
    assert (budget.reason, len(blocks), budget.standard_error_pct) == ("time", sampling.FEWEST, None)


def test_the_gate_is_a_clock_meter(cell):
    """The card's clock is 1,900 cycles a microsecond."""
    for timer in ("gated", "graph"):
        run = cell(NODE, timer=timer, capture_supported=True)
        for row in run.rows():
            assert row["clock_mhz"] == pytest.approx(1900.0, rel=0.01), timer


def test_a_back_end_without_a_spinning_kernel_fills_a_buffer_instead(cell):
    run = cell(NODE, timer="gated", env={"FAKE_NO_SLEEP": "1", "FAKE_FLUSH_US": "400"})
    assert run.status == 0, run.log
    for row in run.rows():
        assert row["timer"] == "gated" and "timer_reason" not in row and "clock_mhz" not in row
        assert row["latency_us"] == pytest.approx(KERNEL_US, abs=1e-6)


def test_what_came_before_a_turn_settled_is_dropped():
    began = time.monotonic()

    def call():
        card.enqueue(1234.5 if time.monotonic() - began < 0.02 else 6.0)

    turn = sustained.take(torch.cuda, call, lambda: None, lambda: None, 6.0, turn_ms=200.0)
    # The calls of the first tenth of the turn are not there; what the host came too late for has a time of its own.
    assert turn.times_us and turn.clock_mhz is None
    assert not any(abs(one - 1234.5) < 1e-3 for one in turn.times_us)


def test_a_sustained_row_says_so(cell):
    run = cell("test_softmax.py::test_softmax", timer="auto", regime="sustained", turn_ms=20.0)
    assert run.status == 0, run.log
    for row in run.rows():
        assert (row["timer"], row["regime"]) == ("direct", "sustained")
        assert len(row["samples_us"]) == sustained.TURNS and all(row["samples_us"])
        assert row["clock_mhz"] == pytest.approx(1900.0, rel=0.01)


def test_positions_in_a_block_weigh_alike():
    # The first position has a mode of its own: a median over all samples would not see it.
    assert summary.by_position([[10, 4, 4]] * 8) == pytest.approx(6)


def test_summaries_are_those_of_tritons_timing_function():
    times = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert summary.summary(times, None, "median") == 3.0
    assert summary.summary(times, None, "mean") == 3.0
    assert (summary.summary(times, None, "min"), summary.summary(times, None, "max")) == (1.0, 5.0)
    assert summary.summary(times, None, "all") == times
    assert summary.summary(times, [0.5, 0.2, 0.8], "mean") == pytest.approx([3.0, 1.8, 4.2])
    assert summary.summary(times, [0.25], "mean") == statistics.quantiles(times, n=4, method="inclusive")[0]


def test_captured_rows_are_not_repeated(cell):
    """Repeating is for direct timing: of a graph the replays are many already."""

    def shapes(direct_repeat):
        run = cell(NODE, timer="graph", capture_supported=True, direct_repeat=direct_repeat, sample_ms=0.0)
        assert "BENCHMARK_DIRECT_NO_CUDAGRAPH" not in run.log
        return [(row["timer"], [len(block) for block in row["samples_us"]]) for row in run.rows()]

    assert shapes(1) == shapes(3)
    assert {timer for timer, _ in shapes(3)} == {"graph"}
