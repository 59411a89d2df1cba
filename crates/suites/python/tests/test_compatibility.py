"""Gates of the benchmark that are taken out on one vendor's cards, and those that are left because they changed."""

import ast
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from switchback_probe import compatibility

SHARED_CACHE = True
NODE = "test_apply_repetition_penalties.py"
OURS = next(one for one in compatibility.OVERRIDES if one.file == NODE)


def notes(run):
    return [(note["topic"], note["detail"]) for note in run.of("note") if note["topic"] != "draws"]


def test_a_gate_is_taken_out_on_its_vendor_and_told(cell):
    run = cell(NODE, timed=False, vendor="mthreads", env={"FAKE_VENDOR": "mthreads"})
    assert run.status == 0, run.log
    assert {row["operator"] for row in run.rows()} == {"apply_repetition_penalties"}
    told = dict(notes(run))
    assert told["compatibility"] == (
        "test_apply_repetition_penalties.py::test_apply_repetition_penalties: "
        "`pytest.mark.skipif(not torch.cuda.is_available(), reason='CUDA required')` is taken out on mthreads"
    )
    # The same gate on a test that no override names is nobody's business here.
    assert "test_another_of_the_same_file: Skipped: CUDA required" in told["skipped"]


def test_other_vendors_keep_the_gate(cell):
    run = cell(NODE, timed=False, vendor="cambricon", env={"FAKE_VENDOR": "cambricon"})
    assert run.rows() == []
    assert [topic for topic, _ in notes(run)] == ["skipped", "skipped"]
    there = cell(NODE, timed=False)
    assert there.status == 0 and not [topic for topic, _ in notes(there) if topic.startswith("compat")]


def item(folder, text, **skip):
    """A collected test of a file with this text, and the mark that it would have."""
    path = folder / OURS.file
    path.write_text(text)
    mark = pytest.mark.skipif(True, **skip).mark
    return SimpleNamespace(path=path, originalname=OURS.test, own_markers=[mark])


@pytest.mark.parametrize(
    ("gate", "reason", "refusal"),
    [
        ("not torch.cuda.is_available(), reason='CUDA is required'", "CUDA is required", "the benchmark has `pytest"),
        ("not torch.cuda.is_available() or x, reason='CUDA required'", "CUDA required", "the benchmark has `pytest"),
        ("not torch.musa.is_available(), reason='CUDA required'", "CUDA required", "torch.musa.is_available()"),
        (None, "CUDA required", "the benchmark has no gate"),
    ],
)
def test_a_gate_that_changed_upstream_is_left_as_it_is(tmp_path, gate, reason, refusal):
    decorator = f"@pytest.mark.skipif({gate})\n" if gate else "@pytest.mark.slow\n"
    found = item(tmp_path, f"{decorator}def {OURS.test}():\n    pass\n", reason=reason)
    before = list(found.own_markers)
    told = []
    events = SimpleNamespace(note=lambda topic, detail: told.append((topic, detail)))
    compatibility.apply(events, "mthreads", [found])
    assert found.own_markers == before
    [(topic, detail)] = told
    assert topic == "compatibility_refused" and refusal in detail


def test_two_marks_with_one_reason_are_not_told_apart(tmp_path):
    gate = "@pytest.mark.skipif(not torch.cuda.is_available(), reason='CUDA required')\n"
    found = item(tmp_path, f"{gate}def {OURS.test}():\n    pass\n", reason="CUDA required")
    found.own_markers = found.own_markers * 2
    assert "2 marks have the reason" in compatibility.take_out(found, OURS)


def test_every_override_names_a_vendor_a_file_and_a_reason():
    assert len({str(one) for one in compatibility.OVERRIDES}) == len(compatibility.OVERRIDES)
    for one in compatibility.OVERRIDES:
        assert one.vendor == "mthreads" and one.file.endswith(".py") and one.reason
        assert ast.unparse(ast.parse(one.gate)) == one.gate, "spelt as the sources are read"


CHECKOUT = os.environ.get("SWITCHBACK_TEST_FLAGGEMS_DIR")


@pytest.mark.skipif(not CHECKOUT, reason="`SWITCHBACK_TEST_FLAGGEMS_DIR` names no FlagGems checkout")
def test_the_overrides_fit_a_checkout():
    for one in compatibility.OVERRIDES:
        path = Path(CHECKOUT, "benchmark", one.file)
        assert compatibility.gates_of(str(path), one.test).count(one.gate) == 1, str(one)


def kernels(run):
    return [run.compiled(one)["kernel"] for launch in run.of("launch") for one in launch["compiled"]]


def test_the_cluster_kernel_is_avoided_only_where_the_order_says_so(cell):
    run = cell("test_clustered.py", timed=False, conditions={"mm_cluster": "avoided"})
    [told] = [one for one in run.of("capability") if one["hook"] == "mm_cluster"]
    assert told["detail"] == "1 modules choose by `cluster_remote_mm_scenario`"
    assert kernels(run) == ["plain_kernel", "plain_kernel"]
    run = cell("test_clustered.py", timed=False)
    assert not [one for one in run.of("capability") if one["hook"] == "mm_cluster"]
    assert kernels(run) == ["plain_kernel", "cluster_kernel"]


def test_a_library_without_a_cluster_kernel_has_nothing_to_avoid():
    from switchback_probe import mm_cluster

    told = []
    events = SimpleNamespace(capability=lambda hook, available, detail: told.append(detail))
    order = SimpleNamespace(conditions={"mm_cluster": "avoided"})
    mm_cluster.install(SimpleNamespace(order=order, events=events))
    assert told == ["no loaded module has `cluster_remote_mm_scenario`: nothing to avoid"]
