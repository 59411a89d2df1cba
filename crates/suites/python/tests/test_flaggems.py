"""The plug-in on the miniature FlagGems: rows, launches, compilations, outputs, failures."""

import hashlib
import math
import statistics

import pytest
import triton
from conftest import triton_key

SHARED_CACHE = True
VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])


def names(rows):
    return [(row["case"]["dtype"], row["case"]["input"], row["case"]["occurrence"]) for row in rows]


def test_a_measured_cell_tells_all_there_is(cell):
    # Without the key that other cells are given, so that the probe computes its own.
    run = cell(
        "test_add.py::test_add", operator="add:add", timer="direct", direct_repeat=2, env={"FAKE_TRITON_KEY": None}
    )
    assert run.status == 0, run.log
    kinds = [event["kind"] for event in run.events]
    assert kinds[0] == "start" and kinds[-1] == "end"
    assert run.one("end")["status"] == 0
    assert run.one("end")["rows"] == 4
    times = [event["t_s"] for event in run.events if event["kind"] not in ("start", "capability")]
    assert times == sorted(times)

    conditions = run.one("start")["conditions"]
    assert conditions["compiler"] == f"triton {triton.__version__}"
    assert conditions["compiler_digest"] == hashlib.sha256(triton_key().encode()).hexdigest()
    assert conditions["torch"] == "2.99.0+fake"
    assert conditions["library"] == "flag_gems 9.9.9"
    assert conditions["device"] == "Fake H200"
    assert conditions["compute_capability"] == "9.0"
    assert conditions["library_tuning"] == "default"
    assert run.one("start")["identity"]["device_uuid"] == "GPU-00000000-1111-2222-3333-444444444444"

    rows = run.rows("add")
    both = "[torch.Size([64, 64]), torch.Size([64, 64])]", "[torch.Size([128, 64]), torch.Size([128, 64])]"
    assert names(rows) == [(dtype, text, 0) for dtype in ("torch.float16", "torch.float32") for text in both]
    for row in rows:
        assert row["ok"] and row["timer"] == "direct" and row["side"] == "A"
        assert len(row["samples_us"]) == 2
        assert row["latency_us"] == statistics.median(statistics.median(block) for block in row["samples_us"])
        assert row["host_us"] > 0

    available = {event["hook"]: event["available"] for event in run.of("capability")}
    assert all(available.values()), run.of("capability")
    assert {"kernel_registry", "compile_listener", "launch_hook", "autotuner_replay", "libtuner_replay"} <= set(
        available
    )


def test_a_launch_names_the_compiled_form_with_its_code(cell):
    run = cell("test_add.py::test_add", timed=False, purpose="screen_A", fresh=True)
    launches = run.of("launch")
    assert [launch["case"] for launch in launches] == [row["case"] for row in run.rows()]
    assert all(launch["unknown"] == 0 for launch in launches)
    ids = [[one["id"] for one in launch["compiled"]] for launch in launches]
    assert all(one["launches"] == 1 for launch in launches for one in launch["compiled"])
    assert ids[0] == ids[1] != ids[2] == ids[3]  # one form a dtype

    compiled = run.compiled(launches[0]["compiled"][0])
    assert compiled["kernel"] == "add_kernel"
    assert compiled["constexprs"]["BLOCK"] == 256
    assert compiled["signature"]["x_ptr"] == "*fp16"
    assert any("tt.divisibility" in word for word in compiled["specialization"]["x_ptr"])
    assert compiled["options"]["num_warps"] == 4
    assert compiled["registers"] == 42 and compiled["spills"] == 0
    assert compiled["compile_ms"] > 1 and not compiled["cache_hit"] and not compiled["tuning"]
    assert {"ttir", "ttgir", "llir", "ptx", "cubin"} == set(compiled["stages"])
    texts = run.texts(compiled["stages"])
    assert b"tt.func public @add_kernel" in texts["ttir"]
    assert b"#ttg.blocked" in texts["ttgir"] or b"#triton_gpu.blocked" in texts["ttgir"]
    assert b".visible .entry add_kernel" in texts["ptx"]
    for stage, text in texts.items():
        assert hashlib.sha256(text).hexdigest() == compiled["stages"][stage]
    other = run.compiled(launches[2]["compiled"][0])
    assert other["signature"]["x_ptr"] == "*fp32" and other["variant"] != compiled["variant"]


def test_a_screening_cell_has_rows_without_samples(cell):
    run = cell("test_softmax.py::test_softmax", purpose="screen_B", timed=False)
    assert run.status == 0, run.log
    assert len(run.rows()) == 4
    for row in run.rows():
        assert row["ok"] and row["side"] == "B"
        assert "timer" not in row and "samples_us" not in row and "latency_us" not in row


def test_launches_past_jit_function_are_seen(cell):
    """The second shape takes the entry's own way (`kernel[grid]`), and so does the second call of each case."""
    run = cell("test_softmax.py::test_softmax", timed=False)
    for launch in run.of("launch"):
        assert [one["launches"] for one in launch["compiled"]] == [1], launch
        assert run.compiled(launch["compiled"][0])["kernel"] == "softmax_kernel"


def test_a_kernel_from_the_disk_cache_is_known(cell):
    first = cell("test_add.py::test_add", timed=False, purpose="screen_A", fresh=True)
    second = cell(
        "test_add.py::test_add", timed=False, purpose="screen_B", env={"TRITON_CACHE_DIR": str(first.folder / "cache")}
    )
    before = first.compiled(first.of("launch")[0]["compiled"][0])
    after = second.compiled(second.of("launch")[0]["compiled"][0])
    assert not before["cache_hit"] and after["cache_hit"]
    assert (before["variant"], before["stages"]) == (after["variant"], after["stages"])


def test_texts_that_the_compiler_did_not_store_are_missing_not_forgotten(cell):
    run = cell("test_add.py::test_add", timed=False, fresh=True, env={"TRITON_STORE_BINARY_ONLY": "1"})
    compiled = run.compiled(run.of("launch")[0]["compiled"][0])
    if VERSION >= (3, 3):
        assert set(compiled["stages"]) == {"cubin"}
        assert set(compiled["missing"]) == {"ttir", "ttgir", "llir", "ptx"}
    else:
        assert set(compiled["stages"]) == {"ttir", "ttgir", "llir", "ptx", "cubin"}
        assert compiled["missing"] == {}


def test_inputs_that_print_alike_are_counted(cell):
    run = cell("test_mm.py::test_mm", timed=False)
    alike = "[torch.Size([64, 64]), torch.Size([64, 64])]"
    assert [one for one in names(run.rows()) if one[1] == alike] == [
        ("torch.float16", alike, 0),
        ("torch.float16", alike, 1),
    ]


def test_the_baseline_is_no_row(cell):
    without = cell("test_add.py::test_add", options=(), timer="direct")
    assert len(without.rows()) == 4
    assert all("baseline_us" not in row for row in without.rows())
    with_it = cell("test_add.py::test_add", options=(), timer="direct", with_baseline=True)
    assert len(with_it.rows()) == 4
    for row in with_it.rows():
        assert 4.0 < row["baseline_us"] < 500.0  # torch's stand-in takes 5 us on the card


def test_the_librarys_function_by_name_is_the_case(cell):
    run = cell("test_add.py::test_add_direct", options=(), timed=False)
    assert len(run.rows()) == 4
    assert [run.compiled(launch["compiled"][0])["kernel"] for launch in run.of("launch")] == ["add_kernel"] * 4


def test_a_class_with_a_latency_of_its_own_gives_one_row_a_case(cell):
    run = cell("test_add.py::test_add_cloning", timed=False)
    assert run.status == 0, run.log
    assert [one[1:] for one in names(run.rows())] == [
        (f"[torch.Size([64, {n}]), torch.Size([64, {n}])]", 0) for n in (64, 64, 128, 128)
    ]


def test_a_call_that_asks_for_quantiles_is_not_repeated(cell):
    run = cell("test_add.py::test_add_quantiles", timer="direct", direct_repeat=3)
    assert run.status == 0, run.log
    assert [len(row["samples_us"]) for row in run.rows()] == [1, 1]
    printed = [float(line.split()[1]) * 1000 for line in run.log.splitlines() if line.startswith("SUCCESS")]
    for row, latency_us in zip(run.rows(), printed):
        ordered = sorted(row["samples_us"][0])
        assert ordered[0] - 1e-3 <= latency_us <= row["latency_us"] + 1e-3  # the 20 % quantile, not the median
        assert latency_us == pytest.approx(statistics.quantiles(ordered, n=5, method="inclusive")[0], abs=1e-3)


def test_a_call_that_asks_for_all_times_is_not_repeated(cell):
    run = cell("test_add.py::test_add_all_times", timer="direct", direct_repeat=3)
    assert run.status == 0, run.log
    assert [len(row["samples_us"]) for row in run.rows()] == [1, 1]
    counts = [int(line.split()[1]) for line in run.log.splitlines() if line.startswith("times: ")]
    assert counts == [len(row["samples_us"][0]) for row in run.rows()]


def test_outputs_are_digested_alike_in_both_cells(cell):
    a = cell("test_mm.py::test_mm", purpose="screen_A", timed=False)
    b = cell("test_mm.py::test_mm", purpose="screen_B", timed=False)
    assert len(a.of("outputs")) == 4
    for one, other in zip(a.of("outputs"), b.of("outputs")):
        assert one["digest"] == other["digest"] and one["case"] == other["case"]
        assert (one["side"], other["side"]) == ("A", "B")
        assert one["repeatable"] is True


def test_a_failing_input_takes_nobody_with_it(cell):
    run = cell("test_sort.py::test_perf_sort_thirteen", timer="direct")
    assert run.status == 1, run.log
    assert [row["ok"] for row in run.rows()] == [True, False, True]
    assert run.rows()[1]["error"] == "RuntimeError: thirteen rows cannot be sorted"
    assert "samples_us" not in run.rows()[1]
    table = [line.split()[0] for line in run.log.splitlines() if line.startswith(("SUCCESS", "FAILED  "))]
    assert table == ["SUCCESS", "FAILED", "SUCCESS"]
    assert run.one("end") == {**run.one("end"), "status": 1, "rows": 3}


def test_after_a_lost_context_nothing_is_measured(cell):
    run = cell("test_sort.py::test_perf_sort_lost", timer="direct", capture_fatal=["illegal memory access"])
    rows = run.rows()
    assert [row["ok"] for row in rows] == [True, False, False], run.log
    assert "illegal memory access" in rows[1]["error"]
    assert run.status == 1
    assert [note["topic"] for note in run.of("note")].count("context_lost") == 1


def test_an_archive_has_the_commit_that_the_engine_names(cell):
    run = cell("test_fft.py", timed=False, env={"SWITCHBACK_LIBRARY_COMMIT": "c" * 40, "USE_FLAGTUNE": "1"})
    assert run.one("start")["conditions"]["library_commit"] == "c" * 40
    assert run.one("start")["conditions"]["library_tuning"] == "USE_FLAGTUNE=1"


def test_a_dtype_that_is_refused_is_an_error_of_setup(cell):
    run = cell("test_fft.py", operator="perf_fft:fft:float16", options=("--metrics", "latency", "--dtypes", "float16"))
    assert run.status == 1 and run.rows() == []
    error = run.one("error")
    assert error["place"] == "setup" and "can't be supported by this op 'fft'" in error["error"]


def test_an_operator_that_launches_nothing_has_rows_and_no_kernel(cell):
    run = cell("test_fft.py", timed=False)
    assert run.status == 0, run.log
    assert len(run.rows()) == 1 and run.rows()[0]["case"]["dtype"] == "torch.complex64"
    assert run.one("launch")["compiled"] == [] and run.of("compile") == []


def test_foreign_vendors_are_told(cell):
    run = cell("test_sort.py::test_perf_sort", timed=False)
    found = [note["detail"] for note in run.of("note") if note["topic"] == "FOREIGN_VENDOR_MODULE"]
    assert found == ["active=nvidia loaded=cambricon"]
    assert "FOREIGN_VENDOR_MODULE active=nvidia loaded=cambricon" in run.log
    assert not [note for note in cell("test_add.py", timed=False).of("note") if "FOREIGN" in note["topic"]]


def test_another_vendors_kernel_dies_far_from_its_cause_and_both_are_told(cell):
    run = cell("test_router_gemm.py", timed=False)
    assert run.status == 1
    [row] = run.rows()
    assert "dynamic_func() missing" in row["error"] and "BLOCK_M" in row["error"]
    assert [note["detail"] for note in run.of("note") if note["topic"] == "FOREIGN_VENDOR_MODULE"] == [
        "active=nvidia loaded=cambricon"
    ]


def test_a_skipped_test_says_why(cell):
    run = cell("test_softmax.py::test_softmax_never")
    assert run.rows() == []
    assert "Issue #1: not working" in run.one("note")["detail"]


def test_nothing_selected_is_not_a_refused_recording(cell):
    run = cell("test_add.py", options=("-m", "no_such_mark"))
    assert run.status == 4 and run.one("end")["status"] == 4
    assert run.one("error") == {**run.one("error"), "place": "collect", "error": "no test was selected"}


def test_a_file_that_cannot_be_loaded_is_told(cell):
    run = cell("test_missing.py")
    assert run.status == 4
    assert run.one("end")["rows"] == 0


def test_modes_of_the_benchmarks_own_clock(cell):
    run = cell("test_add.py::test_add", options=("--metrics", "latency", "--mode", "operator"))
    assert run.status == 0, run.log
    for row in run.rows():
        assert row["timer"] == "wall" and row["samples_us"] == [[row["latency_us"]]]
    assert len(run.of("launch")) == 4
    screen = cell("test_add.py::test_add", options=("--metrics", "latency", "--mode", "wrapper"), timed=False)
    assert [row["ok"] for row in screen.rows()] == [True] * 4
    assert all("samples_us" not in row for row in screen.rows())


def test_without_an_order_the_plug_in_does_nothing(cell, tmp_path):
    options = ("--metrics", "latency", "--warmup", "20", "--iter", "10")
    run = cell("test_add.py::test_add", options=options, env={"SWITCHBACK_RUN_DIR": None})
    assert run.status == 0 and run.events == []
    latencies = [float(line.split()[1]) for line in run.log.splitlines() if line.startswith("SUCCESS")]
    assert len(latencies) == 4 and all(math.isfinite(value) for value in latencies)
