"""Events, orders and objects on disk."""

import hashlib
import json
import os

import pytest

from switchback_probe import compat, device, foreign, protocol, rows, tuner


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_start_is_first_whatever_was_told_before_it(tmp_path):
    events = protocol.Events(str(tmp_path / "events.jsonl"))
    events.capability("launch_hook", True, "how")
    assert (tmp_path / "events.jsonl").read_text() == ""
    events.start({"torch": "2.11", "driver": ""}, {"host": "h"})
    events.emit("row", ok=True, error=None, latency_us=float("nan"), samples_us=[[1.5, float("inf")]])
    events.end(0)
    events.end(1)
    found = read(tmp_path / "events.jsonl")
    assert [event["kind"] for event in found] == ["start", "capability", "row", "end"]
    assert found[0]["conditions"] == {"torch": "2.11"} and found[0]["pid"] == os.getpid()
    assert found[2] == {**found[2], "latency_us": None, "samples_us": [[1.5, None]]} and "error" not in found[2]
    assert found[3]["rows"] == 1 and found[3]["status"] == 0


def test_a_line_is_one_write_and_a_forked_child_writes_none(tmp_path, monkeypatch):
    events = protocol.Events(str(tmp_path / "events.jsonl"))
    events.start({}, {})
    writes = []
    real = os.write
    monkeypatch.setattr(protocol.os, "write", lambda *args: writes.append(args[1]) or real(*args))
    events.note("topic", "x" * 100_000)
    assert len(writes) == 1 and writes[0].endswith(b"\n") and writes[0].count(b"\n") == 1
    monkeypatch.setattr(protocol.os, "getpid", lambda: -1)
    events.note("topic", "from a child")
    assert len(writes) == 1


def test_an_object_lies_under_its_digest_and_is_left_alone(tmp_path):
    objects = protocol.Objects(str(tmp_path / "ir"))
    digest = objects.put("module {}\n")
    assert digest == hashlib.sha256(b"module {}\n").hexdigest()
    (tmp_path / "ir" / digest).write_text("another cell's, the same but for this test")
    assert protocol.Objects(str(tmp_path / "ir")).put(b"module {}\n") == digest
    assert (tmp_path / "ir" / digest).read_text().startswith("another")
    assert os.listdir(tmp_path / "ir") == [digest]


@pytest.mark.parametrize(
    ("purpose", "sides"),
    [("run", "A"), ("tune_A", "A"), ("screen_B", "B"), ("again_A", "A"), ("r12_AB", "AB"), ("naive1_B", "B")],
)
def test_sides_follow_from_the_purpose(purpose, sides):
    assert protocol.sides_of(purpose) == list(sides)


@pytest.mark.parametrize("purpose", ["", "r_A", "r1", "tune_C", "r1_BA"])
def test_what_is_no_purpose_is_refused(purpose):
    with pytest.raises(protocol.OrderError, match="is no cell"):
        protocol.sides_of(purpose)


def test_an_order_of_another_protocol_is_refused(tmp_path):
    (tmp_path / "order.json").write_text(json.dumps({"protocol": 2, "purpose": "run"}))
    with pytest.raises(protocol.OrderError, match="protocol `2`"):
        protocol.Order.load(str(tmp_path))
    with pytest.raises(protocol.OrderError, match="cannot be read"):
        protocol.Order.load(str(tmp_path / "nowhere"))


def test_the_first_error_of_a_chain_leads():
    try:
        try:
            raise RuntimeError("offset increment outside graph capture")
        except RuntimeError:
            raise ValueError("operation failed due to a previous error") from None
    except ValueError as error:
        assert protocol.error_text(error) == "ValueError: operation failed due to a previous error"
    try:
        try:
            raise RuntimeError("the cause")
        except RuntimeError:
            raise ValueError("what was seen")  # noqa: B904 - the context is what is tested
    except ValueError as error:
        assert protocol.error_text(error) == "RuntimeError: the cause\nthen ValueError: what was seen"


def test_inputs_that_print_alike_are_counted_an_operator_and_dtype():
    names = rows.CaseNames()
    assert names.next("mm", "torch.float16", "[torch.Size([2,\n  2])]") == {
        "dtype": "torch.float16", "input": "[torch.Size([2, 2])]", "occurrence": 0,
    }  # fmt: skip
    again = names.next("mm", "torch.float16", "[torch.Size([2, 2])]")
    assert again["occurrence"] == 1 and rows.label(again) == "torch.float16 [torch.Size([2, 2])] #2"
    assert names.next("mm", "torch.float32", "[torch.Size([2, 2])]")["occurrence"] == 0
    assert names.next("bmm", "torch.float16", "[torch.Size([2, 2])]")["occurrence"] == 0


def test_vendors_are_compared_by_whole_segments():
    root = "flag_gems.runtime.backend._"
    loaded = ["nvidia.hopper.ops.mm", "nvidia.ops", "mthreads", "mthreads_extra.ops", "state"]
    modules = [root + name for name in loaded] + ["torch", "flag_gems.ops.mm"]
    assert foreign.foreign_vendors("mthreads", modules) == ["mthreads_extra", "nvidia"]
    assert foreign.foreign_vendors("nvidia", modules) == ["mthreads", "mthreads_extra"]


def test_a_commit_is_read_without_git(tmp_path):
    commit, other = "a" * 40, "b" * 40
    git = tmp_path / "repo/.git"
    (git / "refs/heads").mkdir(parents=True)
    inside = tmp_path / "repo/src/pkg"
    inside.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text(f"# pack-refs with: peeled\n{other} refs/heads/main\n")
    assert device.commit_of(str(inside)) == other
    (git / "refs/heads/main").write_text(commit + "\n")
    assert device.commit_of(str(inside)) == commit
    (git / "HEAD").write_text(other + "\n")
    assert device.commit_of(str(inside)) == other
    unpacked = tmp_path / "repo/downloads/archive/src/pkg"
    unpacked.mkdir(parents=True)
    assert device.commit_of(str(unpacked)) == ""
    tree = tmp_path / "tree"
    (git / "worktrees/tree").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {git}/worktrees/tree\n")
    (git / "worktrees/tree/HEAD").write_text("ref: refs/heads/main\n")
    (git / "worktrees/tree/commondir").write_text("../..\n")
    assert device.commit_of(str(tree)) == commit


def test_tuning_variables_are_one_text():
    assert device.library_tuning({"USE_FLAGTUNE": "1", "USE_FLAGTUNE_COST_MODEL": "0", "HOME": "/"}) == (
        "USE_FLAGTUNE=1 USE_FLAGTUNE_COST_MODEL=0"
    )
    assert device.library_tuning({}) == "default"


@pytest.mark.parametrize(
    ("name", "pid", "stable"),
    [
        ("_gen_module_rank_1_pid_4711", 1, "_gen_module_rank_1_pid"),
        ("_gen_cat_module_4711_3", 4711, "_gen_cat_module_pid_3"),
        ("_gen_cat_module_47110_3", 4711, "_gen_cat_module_47110_3"),
        ("flag_gems.ops.mm", 4711, "flag_gems.ops.mm"),
    ],
)
def test_generated_modules_are_named_without_their_process(name, pid, stable):
    assert compat.stable_module(name, pid) == stable


def test_keys_keep_their_types():
    keys = [(1,), (True,), (1.0,), ("1",), (None,)]
    assert len({json.dumps(tuner.key_data(key)) for key in keys}) == 5
    assert tuner.typed({"kwargs": {"EVEN": True}}) != tuner.typed({"kwargs": {"EVEN": 1}})
