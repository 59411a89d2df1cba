"""A user's shape file: exactly its shapes are measured, whatever a class makes of the file, and it is said how."""

import ast
import json
import os
from pathlib import Path

import pytest

from switchback_probe import shapes_registry

SHARED_CACHE = True


@pytest.fixture
def shaped(cell, tmp_path):
    """`shaped(test, entries, …)` runs a cell with a file of these entries."""

    def run(test, entries, *options, mode="file sha256:1234", **measure):
        path = tmp_path / "shapes.yaml"
        path.write_text(json.dumps(entries))
        options = ("--metrics", "latency", "--level=core", *options, f"--shape_file={path}")
        return cell(f"test_shapes.py::{test}", options=options, conditions={"shape_mode": mode}, timed=False, **measure)

    return run


def sizes(run):
    """Shapes of the first tensor of each row that ran, with the note behind it."""
    found = []
    for row in run.rows():
        if row["ok"]:
            value = row["case"]["input"].replace("torch.Size(", "(")
            found.append(ast.literal_eval(value))
    return [(tuple(one[0][0]), one[1]["note"]) if isinstance(one, tuple) else tuple(one[0]) for one in found]


def shape_mode(run):
    """The last word on the condition, as the supervisor takes it."""
    found = [event["conditions"]["shape_mode"] for event in run.of("conditions")]
    return found[-1] if found else None


def test_without_a_file_nothing_is_changed(cell):
    run = cell("test_shapes.py::test_following", options=("--metrics", "latency", "--level=core"), timed=False)
    assert sizes(run) == [(32, 64)] * 2
    assert run.of("conditions") == [] and not [one for one in run.of("capability") if one["hook"] == "shape_file"]
    larger = cell("test_shapes.py::test_following", options=("--metrics", "latency"), timed=False)
    assert sizes(larger) == [(32, 64), (16, 16)] * 2


def test_a_class_that_reads_the_file_reads_it_by_itself(shaped):
    run = shaped("test_following", {"following": {"shapes": [[4, 4], [6, 2]]}})
    assert run.status == 0, run.log
    assert sizes(run) == [(4, 4), (6, 2)] * 2
    assert shape_mode(run) == "file sha256:1234"


def test_the_operator_comes_before_the_class(shaped):
    entries = {"FollowingBenchmark": {"shapes": [[1, 1]]}, "following": {"shapes": [[4, 4]]}}
    assert sizes(shaped("test_following", entries)) == [(4, 4)] * 2
    del entries["following"]
    assert sizes(shaped("test_following", entries)) == [(1, 1)] * 2
    assert sizes(shaped("test_following", {"Benchmark": {"shapes": [[3, 3]]}})) == [(3, 3)] * 2


def test_shapes_that_the_larger_level_would_add_are_not_measured(shaped):
    run = shaped("test_following", {"following": {"shapes": [[4, 4]]}}, "--level=comprehensive")
    assert sizes(run) == [(4, 4)] * 2
    assert shape_mode(run) == "file sha256:1234 set in FollowingBenchmark"


@pytest.mark.parametrize("name", ["overwriting", "OverwritingBenchmark"])
def test_a_class_that_overwrites_the_reading_is_given_the_shapes(shaped, name):
    run = shaped("test_overwriting", {name: {"shapes": [[4, 4], [6, 2]], "shape_desc": "M, N"}})
    assert run.status == 0, run.log
    assert sizes(run) == [(4, 4), (6, 2)] * 2
    assert shape_mode(run) == "file sha256:1234 set in OverwritingBenchmark"


def test_a_class_that_goes_past_the_configuration_is_given_the_shapes(shaped):
    run = shaped("test_unconfigured", {"unconfigured": {"shapes": [[4, 4], [6, 2]]}})
    assert sizes(run) == [(4, 4), (6, 2)]
    # A general entry is of the general form, and such a class has one of its own.
    run = shaped("test_unconfigured", {"Benchmark": {"shapes": [[4, 4]]}})
    assert sizes(run) == [(8, 8)]


MADE = {
    "max_pool2d": (
        {"max_pool2d": {"shapes": [[2, 2, 4, 4], {"N": 1, "C": 1, "H": 8, "W": 8}]}},
        [((2, 2, 4, 4), 2), ((2, 2, 4, 4), 3), ((1, 1, 8, 8), 2), ((1, 1, 8, 8), 3)],
        "MaxPool2dBenchmark",
    ),
    "inheriting_pool": (
        {"InheritingPoolBenchmark": {"shapes": [[2, 2, 4, 4], [1, 1, 8, 8]]}},
        [((2, 2, 4, 4), 2), ((2, 2, 4, 4), 3), ((1, 1, 8, 8), 2), ((1, 1, 8, 8), 3)],
        "MaxPool2dBenchmark",
    ),
    "upsample": (
        {"UpsampleBicubic2dAaBackwardBenchmark": {"shapes": [[1, 2, 8, 8, 16, 16], [1, 2, 8, 8, 4, 4, True]]}},
        [((1, 2, 16, 16), False), ((1, 2, 4, 4), True)],
        "UpsampleBicubic2dAaBackwardBenchmark",
    ),
    "lu_factor": (
        {"lu_factor": {"shapes": [[16, 16], [2, 4, 4]]}},
        [((16, 16), 1), ((16, 16), 0), ((2, 4, 4), 1), ((2, 4, 4), 0)],
        "LinalgLuFactorBenchmark",
    ),
    "paged": (
        {"paged": {"shapes": [[2, 2, 4, 8, 128], [1, 1, 4, 8, 64]]}},
        [((4, 4, 8, 2), 1), ((4, 4, 8, 2), 2), ((1, 4, 8, 1), 1), ((1, 4, 8, 1), 2)],
        "FP8PagedMQACompareBenchmark",
    ),
    "flash_mla": (
        {"flash_mla": {"shapes": [[8, 64], {"batch": 4, "topk": 32, "d_qk": 512}, {"batch": 2, "seqlen": 16}]}},
        [
            ((8, 64, 576), "fp8=True sink=True out=False pages=None"),
            ((4, 32, 512), "fp8=True sink=True out=True pages=512"),
            ((2, 16, 576), "fp8=False sink=False out=False pages=None"),
        ],
        "FlashMLAWithKVCacheBenchmark",
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_a_registered_class_makes_the_shapes_of_the_file_and_no_others(shaped, name):
    entries, expected, registered = MADE[name]
    run = shaped(f"test_{name}", entries)
    assert run.status == 0, run.log
    assert sizes(run) == expected
    assert shape_mode(run) == f"file sha256:1234 made for {registered}"


def test_scaled_products_have_the_scales_that_their_dtype_stands_for(shaped):
    run = shaped("test_scaled_mm", {"CutlassScaledMMBenchmark": {"shapes": [[8, 16, 32], [4, 16, 64, False, "int8"]]}})
    assert run.status == 0, run.log
    assert [shape for shape, _ in sizes(run)] == [(8, 32), (4, 64)] * 2
    text = [note for _, note in sizes(run)]
    assert all("'a_scale_category': 'scalar', 'b_scale_category': 'scalar'" in note for note in text[:2])
    assert all("'a_scale_category': 'matrix', 'b_scale_category': 'matrix'" in note for note in text[2:])
    assert "'in_dtype': torch.int8" in text[1] and "'out_dtype': torch.float16" in text[1]
    assert "'use_bias': False, 'in_dtype': torch.float8_e4m3fn" in text[0]


def test_a_shape_of_another_form_fails_alone(shaped):
    run = shaped("test_max_pool2d", {"max_pool2d": {"shapes": [[2, 2, 4], [13, 2, 4, 4], [1, 1, 8, 8]]}})
    assert run.status == 1
    rows = run.rows()
    assert [row["ok"] for row in rows] == [False, False, True, True]
    assert "`MaxPool2dBenchmark` takes a shape of `N, C, H, W`, got `(2, 2, 4)`" in rows[0]["error"]
    assert rows[1]["case"]["input"] == "shape (13, 2, 4, 4), which could not be made"
    assert "thirteen images cannot be pooled" in rows[1]["error"]
    none = shaped("test_max_pool2d", {"max_pool2d": {"shapes": [[2, 2, 4]]}})
    assert none.status == 1 and [row["ok"] for row in none.rows()] == [False]


@pytest.mark.parametrize("name", ["stubborn", "StubbornBenchmark"])
def test_a_class_that_ignores_the_file_is_not_measured_with_its_own_shapes(shaped, name):
    run = shaped("test_stubborn", {name: {"shapes": [[4, 4]]}})
    assert run.status == 1
    assert [row["ok"] for row in run.rows()] == [False]
    assert "`StubbornBenchmark` ignores the shape file" in run.rows()[0]["error"]
    assert run.of("conditions") == []


def test_what_the_file_does_not_name_is_measured_with_its_own_shapes_and_says_so(shaped):
    run = shaped("test_overwriting", {"following": {"shapes": [[4, 4]]}})
    assert sizes(run) == [(8, 8)] * 2
    mode = "own, file sha256:1234 names neither `overwriting` nor `OverwritingBenchmark`"
    assert shape_mode(run) == mode
    assert [note["detail"] for note in run.of("note") if note["topic"] == "shapes"] == [
        f"`overwriting` is measured with shapes of its own: {mode[5:]}"
    ]
    ignored = shaped("test_stubborn", {"Benchmark": {"shapes": [[4, 4]]}})
    assert sizes(ignored) == [(8, 8)]
    assert shape_mode(ignored) == "own, StubbornBenchmark ignores file sha256:1234"


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        ({"overwriting": {"shape_desc": "M, N"}}, "`overwriting` has no `shapes`"),
        ({"overwriting": {"shapes": []}}, "`overwriting` has no list of shapes"),
        ({"overwriting": [[4, 4]]}, "`overwriting` has no `shapes`"),
        ([1], "names no operator and no class"),
    ],
)
def test_a_file_of_another_form_is_told(shaped, entries, error):
    run = shaped("test_overwriting", entries)
    assert run.status == 1
    assert error in run.rows()[0]["error"]


def test_both_sides_of_a_duet_measure_the_shapes_of_the_file(shaped):
    switch = {"a": {"MY_PASS": "0"}, "b": {"MY_PASS": "1"}}
    run = shaped("test_max_pool2d", {"max_pool2d": {"shapes": [[2, 2, 4, 4]]}}, purpose="r1_AB", switch=switch)
    assert run.status == 0, run.log
    assert sizes(run) == [((2, 2, 4, 4), 2)] * 2 + [((2, 2, 4, 4), 3)] * 2
    assert [row["side"] for row in run.rows()] == ["A", "B", "A", "B"]


CHECKOUT = os.environ.get("SWITCHBACK_TEST_FLAGGEMS_DIR")


@pytest.mark.skipif(not CHECKOUT, reason="`SWITCHBACK_TEST_FLAGGEMS_DIR` names no FlagGems checkout")
def test_the_registry_knows_the_classes_of_a_checkout():
    """Read from the sources: a class whose inputs do not come from `self.shapes` is registered, or has no shape."""
    known = set(shapes_registry.REGISTRY)
    defined, unknown = set(), []
    for path in sorted(Path(CHECKOUT, "benchmark").glob("test_*.py")):
        for found in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(found, ast.ClassDef):
                continue
            defined.add(found.name)
            for method in found.body:
                if isinstance(method, ast.FunctionDef) and method.name == "get_input_iter":
                    text = ast.unparse(method)
                    if "self.shapes" not in text and "super()" not in text and found.name not in known:
                        unknown.append(f"{path.name}: {found.name}")
    # Its inputs are scalars in three states.
    assert unknown == ["test_amp_update_scale_.py: AmpUpdateScaleBenchmark"]
    assert known <= defined
