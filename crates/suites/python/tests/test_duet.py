"""Cells of both sides: what each side launches, how blocks alternate, and the faults that must be told."""

import ctypes
from types import SimpleNamespace

import pytest
import torch
import triton

from switchback_probe import compare, distance, duet_timer, reference, sustained
from switchback_probe.host_parts import HostParts
from switchback_probe.side import Sides

VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
OPTIMISE = {"a": {"DISABLE_LLVM_OPT": None}, "b": {"DISABLE_LLVM_OPT": "1"}}
B_FIRST, A_FIRST = 3, 1


def code(cell, side):
    """What each case launches on a side, as the engine compares it: kernel, variant, texts by stage."""
    compiled = {event["id"]: event for event in cell.of("compile") if event["side"] == side and not event["tuning"]}
    found = {}
    for launch in cell.of("launch"):
        if launch["side"] == side:
            case = tuple(launch["case"].values())
            forms = [compiled.get(one["id"], {}) for one in launch["compiled"]]
            found[case] = {(form.get("variant"), *sorted(form.get("stages", {}).items())) for form in forms}
    return found


def stages(cell, side, kernel):
    (found,) = {
        tuple(sorted(event["stages"].items()))
        for event in cell.of("compile")
        if event["side"] == side and event["kernel"] == kernel
    }
    return dict(found)


def by_side(cell, operator=None):
    found = {}
    for row in cell.rows(operator):
        found.setdefault(row["side"], []).append(row)
    return found


def test_each_side_launches_what_its_isolated_cell_launches(cell, tmp_path):
    """Through both tuners, a dispatch entry and, from the third case on, past `JITFunction.run`."""
    node = "test_mm.py::test_mm"
    tuned = cell(node, purpose="tune_A", timed=False, tuning="record")
    replay = {"tuning": "replay", "recording": str(tuned.folder / "autotune_records")}
    a = cell(node, purpose="screen_A", timed=False, **replay)
    b = cell(node, purpose="screen_B", timed=False, env=OPTIMISE["b"], **replay)
    both = cell(node, purpose="r1_AB", switch=OPTIMISE, block_length=3, sample_ms=40_000.0, blocks=7, **replay)
    assert both.status == 0, both.log
    assert code(both, "A") == code(a, "A")
    assert code(both, "B") == code(b, "B")
    assert len(code(both, "A")) == 4 and all(len(forms) == 2 for forms in code(both, "A").values())
    assert all(code(both, "A")[case] != code(both, "B")[case] for case in code(both, "A"))
    assert {event["source"] for event in both.of("config")} == {"replayed"} and len(both.of("config")) == 4
    assert [event["holds"] for event in both.of("proof")] == [True] * 4, both.of("proof")
    assert [event["verdict"] for event in both.of("outputs")] == ["equal"] * 4
    cache = both.folder / "cache"
    assert {path.name for path in cache.iterdir()} == {"A", "B"}

    rows = by_side(both)
    assert [row["case"] for row in rows["A"]] == [row["case"] for row in rows["B"]] and len(rows["A"]) == 4
    for one, other in zip(rows["A"], rows["B"]):
        order = one["block_order"]
        for row in (one, other):
            assert row["timer"] == "gated" and row["latency_us"] == pytest.approx(12.0)
            assert len(row["samples_us"]) == order.count(row["side"]) == 7
            assert {len(block) for block in row["samples_us"]} <= {1, 2, 3}
        fours = [order[at : at + 4] for at in range(0, len(order) - 2, 4)]
        assert set(fours) <= {"ABBA", "BAAB"} and order[-2:] in ("AB", "BA")
    assert len({row["block_order"] for row in rows["A"]}) > 1


def test_the_seed_draws_which_side_comes_first():
    def first(seed):
        order = SimpleNamespace(sides=["A", "B"], switch={}, attempt_dir="/x", measure=SimpleNamespace(seed=seed))
        return Sides(order).first

    firsts = [first(seed) for seed in range(64)]
    assert 16 < firsts.count("A") < 48 and firsts == [first(seed) for seed in range(64)]
    assert (first(A_FIRST), first(B_FIRST)) == ("A", "B")


@pytest.mark.parametrize("timer", ["graph", "direct"])
def test_the_other_timers_alternate_too(cell, timer):
    run = cell("test_softmax.py::test_softmax", purpose="r1_AB", switch=OPTIMISE, timer=timer, capture_supported=True)
    assert run.status == 0, run.log
    for rows in by_side(run).values():
        assert len(rows) == 4
        for row in rows:
            assert row["timer"] == timer and "timer_reason" not in row and len(row["samples_us"]) >= 2
            if timer == "graph":
                assert row["latency_us"] == pytest.approx(6.0)
    assert all(event["holds"] for event in run.of("proof"))
    captures = [(event["side"], event["captured"]) for event in run.of("capture")]
    assert captures == ([("A", True), ("B", True)] * 4 if timer == "graph" else [])


def test_both_sides_have_turns_in_which_the_card_settles(cell):
    how = {"regime": "sustained", "turn_ms": 20.0}
    run = cell("test_softmax.py::test_softmax", purpose="r1_AB", switch=OPTIMISE, **how)
    assert run.status == 0, run.log
    for row in run.rows():
        order = row["block_order"]
        assert row["regime"] == "sustained" and len(row["samples_us"]) == order.count(row["side"]) == sustained.TURNS
        assert {order[at : at + 4] for at in range(0, len(order), 4)} <= {"ABBA", "BAAB"}
        assert row["clock_mhz"] == pytest.approx(1900.0, rel=0.01)


def test_a_case_stops_when_its_effect_is_known(cell):
    """Samples of the stand-in's card do not scatter, so the first look is enough."""
    run = cell("test_softmax.py::test_softmax", purpose="r1_AB", switch=OPTIMISE, sample_ms=60_000.0)
    for row in run.rows():
        assert row["standard_error_pct"] <= 0.05 and row["settling"] == 1
        assert 8 <= len(row["samples_us"]) <= 10


def test_an_operator_that_waits_is_timed_direct_on_both_sides(cell):
    run = cell("test_sort.py::test_perf_sort", purpose="r1_AB", switch=OPTIMISE, timer="auto")
    assert run.status == 0, run.log
    for row in run.rows():
        assert row["timer"] == "direct" and row["host_bound"] and "no gate held" in row["timer_reason"]


def test_the_benchmarks_own_clock_alternates(cell):
    options = ("--metrics", "latency", "--mode", "operator")
    run = cell("test_planted.py::test_planted[follows]", purpose="r1_AB", switch=OPTIMISE, options=options)
    assert run.status == 0, run.log
    for row in run.rows():
        assert row["timer"] == "wall" and {len(block) for block in row["samples_us"]} == {1}
        assert len(row["samples_us"]) == row["block_order"].count(row["side"]) >= 2
    assert run.one("proof")["holds"] and {row["side"] for row in run.rows()} == {"A", "B"}


def test_faults_are_told_and_what_is_sound_is_sound(cell):
    switch = {"a": {"MINI_SWITCH": "0"}, "b": {"MINI_SWITCH": "1"}}
    node, sources = "test_planted.py", {"blocks": 8, "seed": A_FIRST}
    a = cell(node, purpose="screen_A", timed=False, env=switch["a"])
    b = cell(node, purpose="screen_B", timed=False, env=switch["b"])
    both = cell(node, purpose="r1_AB", switch=switch, **sources)
    launches, rows = both.of("launch"), both.rows()
    # One case an operator, told apart by the order of their rows, A's before B's.
    names = [row["operator"] for row in rows[::2]]
    assert [row["side"] for row in rows] == ["A", "B"] * len(names)
    assert set(names) == {
        "follows", "read_once", "own_cache", "late", "generated", "bump_", "constant", "breaks", "bump", "gradients",
    }  # fmt: skip

    def forms(run, side, operator):
        known = {event["id"]: event for event in run.of("compile") if event["side"] == side}
        launched = []
        for event in run.events:
            if event["kind"] == "launch" and event["side"] == side:
                launched = event["compiled"]
            if event["kind"] == "row" and (event["side"], event["operator"]) == (side, operator):
                return [known.get(one["id"], {}).get("stages") for one in launched]
        return None

    proofs = dict(zip([name for name in names if name != "breaks"], both.of("proof")))
    outputs = dict(zip([name for name in names if name != "breaks"], both.of("outputs")))
    for name in ("follows", "generated", "bump_", "gradients"):
        assert proofs[name]["holds"], proofs[name]
        assert forms(both, "A", name) == forms(a, "A", name) != [None], name
        assert forms(both, "B", name) == forms(b, "B", name) != [None], name
    assert forms(both, "A", "follows") != forms(both, "B", "follows")
    assert outputs["follows"]["verdict"] == outputs["bump_"]["verdict"] == "equal", outputs

    # A switch read once and cached: nothing in this process is amiss, and B's code is not what its own cell compiled.
    assert forms(both, "A", "read_once") == forms(a, "A", "read_once")
    assert forms(both, "B", "read_once") != forms(b, "B", "read_once")

    # A cache that is not exchanged: B launches A's kernel.
    assert not proofs["own_cache"]["holds"]
    assert "side B launches `planted_kernel` as it was compiled for side A" in proofs["own_cache"]["detail"]
    assert forms(both, "B", "own_cache") != forms(b, "B", "own_cache")

    assert not proofs["late"]["holds"]
    assert "`planted_kernel` was compiled while blocks were timed" in proofs["late"]["detail"]
    assert "other than in its untimed pass" in proofs["late"]["detail"]

    # Against torch's own operator in double precision: A gives its zeros, B something else.
    assert (outputs["constant"]["verdict"], outputs["constant"]["error_a"]) == ("wrong", 0.0), outputs["constant"]
    assert outputs["constant"]["error_b"] > 1.0 > outputs["constant"]["bound"]
    assert outputs["bump"]["verdict"] == "not_comparable" and "changes its inputs" in outputs["bump"]["detail"]

    # Inputs that an operator is known to write into are put back, before timed calls too.
    found = dict(line.split(" found ") for line in both.log.splitlines() if line.endswith(" inputs"))
    assert found["bump_"] == "1 inputs" and found["bump"] != "1 inputs", found

    # What breaks one side is measured on neither.
    on_a, on_b = both.rows("breaks")
    assert not on_a["ok"] and not on_b["ok"] and both.status == 1
    assert on_b["error"] == "RuntimeError: no such mode"
    assert on_a["error"] == "not measured: side B failed: RuntimeError: no such mode"
    assert len(launches) == 2 * len(names) - 1

    (kept,) = [line for line in both.log.splitlines() if "gradients kept" in line]
    untimed = 5  # two passes and a second call of A, two calls of the proof
    kept, of = (int(word) for word in kept.split("kept: ")[1].split(" of "))
    assert 0 < kept <= untimed and of > 10 * untimed, (kept, of)


def test_one_side_of_a_round_is_held_against_the_reference_too(cell):
    def outputs(purpose, name="constant", timed=True):
        switch = {"MINI_SWITCH": "1" if purpose.endswith("B") else "0"}
        node, wanted = f"test_planted.py::test_planted[{name}]", purpose.startswith("r1")
        run = cell(node, purpose=purpose, timed=timed, env=switch, blocks=8, reference=wanted)
        assert run.status == 0, run.log
        return run.one("outputs")

    a, b = outputs("r1_A"), outputs("r1_B")
    assert a["digest"] != b["digest"] and a["bound"] == b["bound"] < 1.0
    assert a["error_a"] == 0.0 and b["error_b"] > 1.0 and "error_b" not in a and "error_a" not in b
    # Where none is asked for there is none, nor where the input is gone.
    assert "bound" not in outputs("r2_A") and "bound" not in outputs("r1_A", "bump_")


def test_options_read_at_import_and_flags_that_stick_are_seen_in_the_code(cell):
    node = "test_planted.py::test_planted[follows]"
    switch = {"a": {"PTXAS_OPTIONS": None, "STICKY": None}, "b": {"PTXAS_OPTIONS": "-O0", "STICKY": "1"}}
    env = {"FAKE_STICKY_FLAG": "STICKY"}
    a = cell(node, purpose="screen_A", timed=False, env=env)
    b = cell(node, purpose="screen_B", timed=False, env={**env, **switch["b"]})
    both = cell(node, purpose="r1_AB", switch=switch, env=env, seed=B_FIRST, timed=False)
    assert both.status == 0, both.log
    # B came first and left the flag behind: A's machine code is not that of its own cell.
    assert stages(both, "A", "planted_kernel")["ttgir"] == stages(a, "A", "planted_kernel")["ttgir"]
    assert stages(both, "A", "planted_kernel")["ptx"] != stages(a, "A", "planted_kernel")["ptx"]
    assert stages(both, "B", "planted_kernel")["ptx"] == stages(b, "B", "planted_kernel")["ptx"]
    if VERSION >= (3, 6):
        # Read when the back end was imported, before any side had its turn.
        assert stages(both, "B", "planted_kernel")["cubin"] != stages(b, "B", "planted_kernel")["cubin"]


def test_calls_after_a_change_of_side_are_discarded_until_they_agree():
    settled = duet_timer.settled_after
    assert settled([]) == 1, "long calls are not looked at"
    assert settled([[6, 6, 6, 6, 6, 6]]) == 1, "one in any case"
    assert settled([[9, 8, 6, 6, 6, 6]]) == 2
    # One odd block of three does not decide.
    assert settled([[9, 6, 6, 6, 6, 6], [9, 8, 8, 6, 6, 6], [9, 6, 6, 6.1, 6, 6]]) == 1
    assert settled([[9, 8, 8, 7, 6]]) == duet_timer.MOST_SETTLING
    assert settled([[1, 2, 3, 5, 8]]) == duet_timer.MOST_SETTLING


def tensor(*values, dtype=torch.float32):
    found = torch.empty((len(values),), dtype=dtype)
    found.write(values)
    return found


def wide(*values):
    return tensor(*values, dtype=torch.float64)


def test_outputs_are_judged_by_bits_then_by_a_reference():
    def fields(a, b, again=None, reference=None):
        found = compare.Comparison({}, None, reference, HostParts())
        found.tensors = {"A": [tensor(*a)], "B": [tensor(*b)], "again": [tensor(*(again or a))]}
        return found.fields()

    right, near, far = (1.0, 2.0, 4.0), (1.0, 2.0, 4.0 + 2**-21), (1.0, 2.5, 4.0)
    assert fields(right, right)["verdict"] == "equal"
    assert fields(right, right, again=near)["verdict"] == "not_comparable"
    alone = fields(right, far)
    assert alone["verdict"] == "differs" and "0.125 of A's largest value apart" in alone["detail"]
    exact = wide(1.0, 2.0, 4.0 - 2**-22)
    wrong = fields(right, far, reference=lambda: ([exact], 8))
    assert wrong["verdict"] == "wrong"
    assert (wrong["error_a"], wrong["error_b"]) == pytest.approx((2**-24, 0.125), rel=1e-6)
    # Another order of the same sum: further off than A, and within what rounding explains.
    order = fields(right, near, reference=lambda: ([exact], 2048))
    assert order["verdict"] == "differs" and order["error_b"] <= order["bound"] < 1e-4
    nan, infinite = float("nan"), float("inf")
    assert fields(right, (1.0, 2.0, nan), reference=lambda: ([exact], 8))["verdict"] == "wrong"
    assert distance.largest_of([tensor(1.0, nan, infinite)], [tensor(1.5, nan, infinite)], HostParts()) == 0.5
    assert distance.largest_of([tensor(1.0, 2.0)], [tensor(1.0, infinite)], HostParts()) == infinite
    other_shape = fields(right, near, reference=lambda: ([tensor(1.0)], 8))
    assert other_shape["verdict"] == "differs" and "not this case's" in other_shape["detail"]


def indices(filled_with):
    found = torch.empty((4,), dtype=torch.int64)
    ctypes.memset(found.data_ptr(), filled_with, 32)
    return found


def test_integers_are_equal_or_not_and_no_reference_says_which_are_right():
    def fields(a, b, right):
        found = compare.Comparison({}, None, lambda: (right, 8), HostParts())
        found.tensors = {"A": a, "B": b}
        return found.fields()

    right = [wide(1.0, 2.0, 4.0), indices(0)]
    near = (1.0, 2.0, 4.0 + 2**-21)
    one = fields([tensor(*near), indices(1)], [tensor(1.0, 2.0, 4.0), indices(1)], right)
    assert one["verdict"] == "differs" and one["error_b"] == 0.0 < one["error_a"] < one["bound"]
    tie = fields([tensor(*near), indices(0)], [tensor(*near), indices(1)], right)
    assert tie["verdict"] == "differs" and tie["detail"].startswith("integers among the outputs differ")
    assert "bound" not in tie
    assert fields([tensor(*near), indices(0)], [tensor(9.0, 2.0, 4.0), indices(1)], right)["verdict"] == "wrong"
    alone = fields([indices(0)], [indices(1)], [indices(0)])
    assert alone["verdict"] == "differs" and "no reference: its outputs are integers" in alone["detail"]


def test_of_several_outputs_the_worst_by_its_own_bound_counts():
    half = torch.empty((1,), dtype=torch.float16)
    half.write((1.0 + 2**-10,))
    right, seen = [wide(1.0), wide(1.0)], [half, tensor(1.0 + 2**-14)]
    error, bound = reference.against(right, 1, seen, HostParts())
    # Two bounds off in half precision, some five hundred in single.
    assert bound == pytest.approx(2.0**-11, rel=1e-3) and error / bound == pytest.approx(2**-14 / 2**-23, rel=1e-2)
    assert reference.against(right, 1, [tensor(1.0)], HostParts())[0] == float("inf")


def test_what_is_no_higher_precision_is_no_reference():
    def evaluated(result, launches=()):
        def record(call):
            return call(), list(launches), 0

        hook = SimpleNamespace(record=record, counter=object())
        session = SimpleNamespace(launches=hook)
        return reference.evaluated(session, lambda: (result, 8))

    found = wide(1.0)
    assert evaluated((found, indices(0)))[1] == 8
    for result, launches, why in [
        (tensor(1.0), (), "rounded to float32 itself"),
        (found, [("k", 1)], "a kernel of Triton's itself"),
        (None, (), "there is none for this operator"),
    ]:
        with pytest.raises(ValueError, match=why):
            evaluated(result, launches)


def test_the_bound_is_the_smaller_of_worst_and_likely():
    assert distance.rounding_bound(1, torch.float64) == pytest.approx(2 * 2.0**-53)
    assert distance.rounding_bound(4096, torch.float32) == pytest.approx(385 * 2.0**-24, rel=1e-3)
    # So many that the worst case bounds nothing: the likely one does, and no sum in another order is wrong.
    for roundings in (2**24, 2**24 + 8, 2**30 + 8):
        assert distance.rounding_bound(roundings, torch.float32) >= 6 * roundings**0.5 * 2.0**-24
    assert distance.rounding_bound(1, torch.float16) == pytest.approx(2.0**-11, rel=1e-3)
