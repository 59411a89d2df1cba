"""The triton suite's runner: its own kernels compile with this Triton, run, and are told like FlagGems' operators."""

import json
import subprocess
import sys

import pytest
from conftest import PYTHON, Cell, environment, start, write_order

from kernels import catalogue

WITH_DRIVER = "import fake_driver, sys; from switchback_probe import runner; sys.exit(runner.main([]))"


@pytest.fixture
def run(tmp_path, tmp_path_factory):
    shared = {"TRITON_CACHE_DIR": str(tmp_path_factory.getbasetemp() / "runner_cache")}

    def one(operator, purpose="screen_A", env=None, switch=None, reference=False, **measure):
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}_{purpose}"
        measure.setdefault("timed", False)
        write_order(folder, purpose, operator, measure, switch, reference=reference)
        process = start(folder, ["-c", WITH_DRIVER], **shared, **(env or {}))
        return Cell(folder, process)

    return one


def test_listing_needs_neither_torch_nor_triton():
    refuse = (
        "import sys; sys.modules.update(torch=None, triton=None); "
        "from switchback_probe import runner; runner.main(['--list'])"
    )
    process = subprocess.run(
        [sys.executable, "-c", refuse], env={"PYTHONPATH": str(PYTHON)}, capture_output=True, text=True, check=True
    )
    offered = {one["operator"]: one for one in json.loads(process.stdout)}
    assert set(offered) == {
        "add", "add_autotuned", "cumsum", "dropout", "gelu", "layer_norm", "matmul", "matmul_default", "softmax",
        "sort", "topk",
    }  # fmt: skip
    assert offered["gelu"]["dtypes"] == ["float16", "bfloat16", "float32"]
    assert offered["gelu"]["detail"].startswith("12 cases")


@pytest.mark.parametrize("operator", catalogue.OPERATORS, ids=lambda one: one.name)
def test_every_kernel_compiles_and_launches(run, operator):
    cell = run(operator.name, reference=True)
    assert cell.status == 0, cell.log
    assert len(cell.rows(operator.name)) == len(operator.dtypes) * len(operator.shapes)
    for launch in cell.of("launch"):
        assert launch["unknown"] == 0
        (launched,) = launch["compiled"]
        compiled = cell.compiled(launched)
        name = {"matmul_default": "matmul"}.get(operator.name, operator.name)
        assert compiled["kernel"] == f"{name}_kernel" and launched["launches"] == 1
        assert "ttgir" in compiled["stages"] and "ptx" in compiled["stages"]
    for output in cell.of("outputs"):
        # Outputs beyond 64 MiB are not called for twice.
        large = output["case"]["input"] == "[67108864]"
        assert output.get("repeatable") == (None if large else True) and output["digest"].startswith("sha256-tree:")
        # What the stand-in's torch cannot compute has none, and says so; it can compute a small softmax.
        has_one = 0.0 < output.get("bound", 0.0) < 1.0
        assert has_one or output["detail"].startswith("no reference: "), output
        assert has_one or operator.name != "softmax" or output["case"]["input"] != "[128, 256]", output


def test_dtypes_of_the_order_are_taken_by_any_of_their_names(run):
    cell = run("add::fp16")
    assert {row["case"]["dtype"] for row in cell.rows()} == {"float16"} and len(cell.rows()) == 4
    refused = run("add::int8")
    assert refused.status == 2 and "does not take `int8`" in refused.one("error")["error"]


def test_an_operator_that_is_not_there_is_told(run):
    cell = run("conv")
    assert cell.status == 2 and "offers no operator `conv`" in cell.one("error")["error"]
    assert cell.one("end")["status"] == 2


def test_timed_cases_come_in_an_order_drawn_from_the_seed(run):
    def order(seed):
        cell = run("cumsum", purpose="r1_A", timed=True, timer="direct", seed=seed)
        assert all(row["latency_us"] > 5.0 for row in cell.rows()), cell.log
        return [(row["case"]["dtype"], row["case"]["input"]) for row in cell.rows()]

    first, again, other = order(1), order(1), order(2)
    assert first == again != other and sorted(first) == sorted(other)


def test_both_sides_of_a_case_in_one_process(run):
    switch = {"a": {"DISABLE_LLVM_OPT": None}, "b": {"DISABLE_LLVM_OPT": "1"}}
    cell = run("cumsum::float32", purpose="r1_AB", timed=True, switch=switch)
    assert cell.status == 0, cell.log
    cases = [(128, 256), (1024, 1024), (4096, 2048)]
    found = [(row["case"]["input"], row["side"], row["timer"]) for row in cell.rows()]
    assert sorted(found) == sorted((str(list(shape)), side, "gated") for shape in cases for side in "AB")
    assert [row["latency_us"] for row in cell.rows()] == pytest.approx([6.0] * 6)
    assert [proof["holds"] for proof in cell.of("proof")] == [True] * 3
    assert [output["verdict"] for output in cell.of("outputs")] == ["equal"] * 3
    llir = {event["side"]: event["stages"]["llir"] for event in cell.of("compile")}
    assert llir["A"] != llir["B"]


def test_recorded_choices_are_replayed(run):
    tuned = run("add_autotuned", purpose="tune_A", tuning="record")
    assert {event["source"] for event in tuned.of("config")} == {"tuned"}
    assert len(tuned.of("config")) == 6
    cell = run("add_autotuned", purpose="screen_B", tuning="replay", recording=str(tuned.folder / "autotune_records"))
    assert [event["source"] for event in cell.of("config")] == ["replayed"] * 6
    other = run("matmul", purpose="screen_B", tuning="replay", recording=str(tuned.folder / "autotune_records"))
    assert {event["source"] for event in other.of("config")} == {"fallback"}
    assert "AUTOTUNE_REPLAY_FALLBACK" in other.log


def run_patched(tmp_path, patch):
    write_order(tmp_path, "screen_A", "cumsum", {"timed": False})
    code = f"import os, signal, sys, fake_driver\nfrom switchback_probe import compat, runner, session\n{patch}\n"
    return Cell(tmp_path, start(tmp_path, ["-c", code + "sys.exit(runner.main([]))"]))


SECOND_CASE = """
made = session.Session.untimed_pass
def untimed_pass(self, *args):
    if self.events.rows == 1:
        {act}
    return made(self, *args)
session.Session.untimed_pass = untimed_pass
"""


def test_a_process_that_leaves_says_end_and_keeps_its_rows(tmp_path):
    cell = run_patched(tmp_path, SECOND_CASE.format(act="sys.exit(3)"))
    assert cell.status == 3
    assert len(cell.rows()) == 1 and cell.events[-1] == {**cell.one("end"), "status": -1, "rows": 1}


def test_a_process_that_is_ended_keeps_its_rows(tmp_path):
    cell = run_patched(tmp_path, SECOND_CASE.format(act="os.kill(os.getpid(), signal.SIGTERM)"))
    assert cell.status == -15
    assert len(cell.rows()) == 1 and cell.of("end") == []


def test_a_hook_that_cannot_be_set_is_told_and_the_cell_goes_on(tmp_path):
    refuse = "def refuse(*args): raise compat.Unsupported('nothing to hook')\n"
    cell = run_patched(tmp_path, refuse + "compat.LaunchCounter = compat.set_compile_listener = refuse")
    refused = {event["hook"]: event["detail"] for event in cell.of("capability") if not event["available"]}
    assert refused == {"launch_hook": "nothing to hook", "compile_listener": "nothing to hook"}
    assert cell.status == 0 and len(cell.rows()) == 6
    assert [(launch["unknown"], launch["compiled"]) for launch in cell.of("launch")] == [(1, [])] * 6
    assert len(cell.of("compile")) == 6 and all("compile_ms" not in event for event in cell.of("compile"))


def test_without_an_attempt_there_is_a_reason(tmp_path):
    process = subprocess.run(
        [sys.executable, "-m", "switchback_probe.runner"],
        env=environment(tmp_path, SWITCHBACK_RUN_DIR=None),
        capture_output=True,
        text=True,
    )
    assert process.returncode == 2 and "`SWITCHBACK_RUN_DIR` names no attempt" in process.stderr


@pytest.mark.parametrize(("purpose", "tuning", "status"), [("screen_A", "off", 0), ("tune_A", "record", -11)])
def test_what_libraries_do_at_exit_spoils_no_measured_cell(tmp_path, purpose, tuning, status):
    crash = "import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGSEGV); "
    folder = tmp_path / purpose
    write_order(folder, purpose, "add", {"timed": False, "tuning": tuning})
    found = Cell(folder, start(folder, ["-c", crash + WITH_DRIVER]))
    assert found.status == status, found.log
    assert found.one("end")["status"] == 0 and found.rows()
