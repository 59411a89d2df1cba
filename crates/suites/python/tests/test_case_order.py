"""The order of cases is drawn for each round; which inputs a case has does not depend on it."""

import pytest

SHARED_CACHE = True


def inputs(run, side="A"):
    """What was measured on a side, in its order, by dtype."""
    found = {}
    for row in run.rows():
        assert row["ok"], run.log
        if row["side"] == side:
            found.setdefault(row["case"]["dtype"], []).append(row["case"]["input"])
    return found


def draws(run):
    return [note["detail"] for note in run.of("note") if note["topic"] == "draws"]


@pytest.fixture
def ordered(cell):
    def run(purpose, seed=1, **measure):
        options = ("--metrics", "latency", "--level=core")
        measure.setdefault("timer", "gated")
        return cell(
            "test_shapes.py::test_many", purpose=purpose, operator="many", options=options, seed=seed, **measure
        )

    return run


def test_rounds_differ_in_their_order_and_in_nothing_else(ordered):
    rounds = [inputs(ordered("r1_A", seed=seed)) for seed in (1, 2, 3)]
    own = inputs(ordered("screen_A", timed=False))
    for dtype, listed in own.items():
        orders = [tuple(found[dtype]) for found in rounds]
        assert len(set(orders)) > 1, orders
        assert all(sorted(order) == sorted(listed) for order in orders)


def test_both_sides_of_a_round_see_one_order_and_say_whose_it_is(ordered):
    one, other = ordered("r1_A", seed=5), ordered("r1_B", seed=5)
    assert inputs(one) == inputs(other, "B")
    assert "`many`: shapes in an order drawn with seed 5" in draws(one)
    assert draws(ordered("screen_A", timed=False)) == []


def test_a_case_has_the_same_inputs_wherever_it_comes(ordered):
    def digests(run):
        return {(one["case"]["dtype"], one["case"]["input"]): one["digest"] for one in run.of("outputs")}

    first, second = digests(ordered("r1_A", seed=1)), digests(ordered("r2_A", seed=2))
    assert first == second == digests(ordered("screen_A", timed=False)) and len(set(first.values())) == len(first)


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("test_repeating", "two of its shapes print alike"),
        ("test_max_pool2d", "it makes its inputs from no list of shapes"),
    ],
)
def test_a_class_without_such_a_list_keeps_its_order_and_says_so(cell, test, why):
    options = ("--metrics", "latency", "--level=core")
    run = cell(f"test_shapes.py::{test}", purpose="r1_A", options=options, timer="gated", seed=1)
    own = cell(f"test_shapes.py::{test}", purpose="screen_A", options=options, timed=False)
    assert inputs(run) == inputs(own)
    assert any(detail.endswith(f"the benchmark's own order: {why}") for detail in draws(run)), draws(run)


def test_shapes_of_a_file_are_drawn_too(cell, tmp_path):
    path = tmp_path / "shapes.yaml"
    path.write_text('{"max_pool2d": {"shapes": [[2, 2, 4, 4], [1, 1, 8, 8], [1, 2, 6, 6], [3, 1, 4, 4]]}}')
    options = ("--metrics", "latency", "--level=core", f"--shape_file={path}")

    def run(purpose, **measure):
        return inputs(cell("test_shapes.py::test_max_pool2d", purpose=purpose, options=options, **measure))

    rounds = [run("r1_A", timer="gated", seed=seed) for seed in (1, 2, 3)]
    own = run("screen_A", timed=False)
    for dtype, listed in own.items():
        assert len({tuple(found[dtype]) for found in rounds}) > 1
        assert all(sorted(found[dtype]) == sorted(listed) for found in rounds)
