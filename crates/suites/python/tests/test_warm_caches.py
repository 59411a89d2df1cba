"""The sides of a duet begin with what their own cells compiled, and are proven all the same."""

import json

import pytest
from conftest import Cell, start, write_order

from switchback_probe import warm_caches

RUNNER = ["-c", "import fake_driver, sys; from switchback_probe import runner; sys.exit(runner.main([]))"]
SWITCH = {"a": {"DISABLE_LLVM_OPT": None}, "b": {"DISABLE_LLVM_OPT": "1"}}


@pytest.fixture
def run(tmp_path):
    def one(purpose, cache, compiled=None, env=None):
        folder = tmp_path / f"{purpose}_{cache.name}"
        measure = {"timed": purpose.startswith("r"), "timer": "gated"}
        write_order(folder, purpose, "gelu::float16", measure, SWITCH)
        if compiled:
            path = folder / "order.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), "compiled": compiled}))
        env = {"TRITON_CACHE_DIR": str(cache / "triton"), **(env or {})}
        found = Cell(folder, start(folder, RUNNER, **env))
        assert found.status == 0, found.log
        return found

    return one


def codes(cell, side):
    return sorted(
        (one["kernel"], one["stages"]["cubin"])
        for one in cell.of("compile")
        if one["side"] == side and not one["tuning"]
    )


def test_a_duet_loads_what_its_sides_compiled_alone_and_nothing_else(run, tmp_path):
    caches = {side: tmp_path / side for side in "AB"}
    alone = {
        "A": run("screen_A", caches["A"]),
        "B": run("screen_B", caches["B"], env={"DISABLE_LLVM_OPT": "1"}),
    }
    before = {side: sorted(str(path) for path in caches[side].rglob("*")) for side in "AB"}
    both = run("r1_AB", tmp_path / "AB", {side: str(caches[side]) for side in "AB"})
    told = [one for one in both.of("capability") if one["hook"] == "compiled_before"]
    assert len(told) == 1 and told[0]["available"], told
    for side in "AB":
        assert codes(both, side) == codes(alone[side], side) != []
        assert all(one["cache_hit"] for one in both.of("compile") if one["side"] == side), both.of("compile")
        assert sorted(str(path) for path in caches[side].rglob("*")) == before[side]
    assert codes(both, "A") != codes(both, "B")
    assert both.of("proof") and all(one["holds"] for one in both.of("proof"))
    groups = list((tmp_path / "AB" / "triton").rglob("__grp__*"))
    assert groups and not any(f"{caches[side]}/" in path.read_text() for side in "AB" for path in groups)


def test_without_such_caches_everything_is_compiled_in_the_duet(run, tmp_path):
    both = run("r1_AB", tmp_path / "AB", {"A": str(tmp_path / "nowhere")})
    assert not any(one["cache_hit"] for one in both.of("compile")) and both.of("proof")[0]["holds"]
    assert not [one for one in both.of("capability") if one["hook"] == "compiled_before"]


def test_a_cache_that_is_there_is_left_and_a_torn_one_is_not_taken(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "KEY").mkdir(parents=True)
    (source / "KEY" / "k.json").write_text("{}")
    (source / "KEY" / "__grp__k.json").write_text(json.dumps({"child_paths": {"k.json": f"{source}/KEY/k.json"}}))
    assert warm_caches.copy(str(source), str(target)) == 1
    group = json.loads((target / "KEY" / "__grp__k.json").read_text())
    assert group == {"child_paths": {"k.json": f"{target}/KEY/k.json"}}
    (target / "KEY" / "k.json").write_text("mine")
    assert warm_caches.copy(str(source), str(target)) is None
    assert (target / "KEY" / "k.json").read_text() == "mine"
    (source / "KEY" / "__grp__k.json").write_text("{torn")
    with pytest.raises(ValueError, match="Expecting"):
        warm_caches.copy(str(source), str(tmp_path / "other"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]
