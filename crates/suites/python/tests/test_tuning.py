"""Recording and replaying what tuners choose, and refusing what does not fit."""

import json

import pytest
import triton

VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
SHARED_CACHE = True
NODE = "test_mm.py::test_mm"


@pytest.fixture
def recorded(cell):
    run = cell(NODE, purpose="tune_A", timed=False, tuning="record")
    assert run.status == 0, run.log
    return run


def records(run):
    return json.loads((run.folder / "autotune_records/records.json").read_text())["records"]


def configs(run):
    return [
        (event["tuner"], event["kernel"], event["key"], event["config"], event["source"]) for event in run.of("config")
    ]


def test_a_tuning_cell_records_both_tuners(recorded):
    kinds = {(record["tuner"], record["kernel"]) for record in records(recorded)}
    assert kinds == {("LibTuner", "mm_kernel"), ("Autotuner", "scale_kernel")}
    by_kernel = {record["kernel"]: record for record in records(recorded)}
    assert by_kernel["mm_kernel"]["config"]["kwargs"]["EVEN"] is True  # SQLite made a 1 of it
    assert by_kernel["mm_kernel"]["offered"] == 2
    # 64x64 and 64x96 are two keys, each met twice.
    assert len(records(recorded)) == 4
    assert [event["source"] for event in recorded.of("config")] == ["tuned"] * 4
    meta = json.loads((recorded.folder / "autotune_records/meta.json").read_text())
    assert meta["backend"] == "cuda" and meta["device"] == "Fake H200"
    assert meta["compiler"] == f"triton {triton.__version__}" and len(meta["compiler_digest"]) == 64
    assert "samples_us" not in json.dumps(recorded.rows())


def test_what_only_a_tuner_tried_is_not_launched_by_the_case(recorded):
    launched = {one["id"] for launch in recorded.of("launch") for one in launch["compiled"]}
    tried = {event["id"] for event in recorded.of("compile") if event["tuning"]}
    assert len(tried) == 4
    assert launched <= tried
    for launch in recorded.of("launch"):
        assert [one["launches"] for one in launch["compiled"]] == [1, 1], launch
        for one in launch["compiled"]:
            compiled = recorded.compiled(one)
            assert not compiled["tuning"] and "ttgir" in compiled["stages"]


def test_a_tuning_and_a_replaying_cell_launch_the_same_code(cell):
    """Nothing is shared but the recording: each cell compiles in a cache of its own."""

    def launched(run):
        assert run.status == 0, run.log
        forms = [run.compiled(one) for launch in run.of("launch") for one in launch["compiled"]]
        assert forms and not any(form["tuning"] for form in forms)
        return {(form["kernel"], form["variant"], json.dumps(form["stages"], sort_keys=True)) for form in forms}

    tuned = cell(NODE, purpose="tune_A", timed=False, tuning="record", fresh=True)
    recording = str(tuned.folder / "autotune_records")
    replayed = cell(NODE, purpose="screen_A", timed=False, tuning="replay", recording=recording, fresh=True)
    assert len([event for event in tuned.of("compile") if event["tuning"]]) == 4
    assert not [event for event in replayed.of("compile") if event["tuning"]]
    assert launched(tuned) == launched(replayed)
    stages = {stage for *_, texts in launched(tuned) for stage in json.loads(texts)}
    assert {"ttir", "ttgir", "llir", "ptx", "cubin"} <= stages


@pytest.mark.parametrize("which", [0, 1])
def test_a_replaying_cell_takes_the_recorded_config_whatever_is_faster(cell, recorded, which):
    """Both configs are as fast here: only the recording can tell which one was wanted."""
    path = recorded.folder / "autotune_records/records.json"
    content = json.loads(path.read_text())
    wanted = {"mm_kernel": [32, 64][which], "scale_kernel": [64, 128][which]}
    warps = {"mm_kernel": [4, 8][which], "scale_kernel": [4, 2][which]}
    for record in content["records"]:
        record["config"]["kwargs"]["BLOCK"] = wanted[record["kernel"]]
        record["config"]["num_warps"] = warps[record["kernel"]]
    path.write_text(json.dumps(content))
    run = cell(
        NODE, purpose="screen_B", timed=False, tuning="replay", recording=str(recorded.folder / "autotune_records")
    )
    assert run.status == 0, run.log
    assert {event["source"] for event in run.of("config")} == {"replayed"} and len(run.of("config")) == 4
    assert not [event for event in run.of("compile") if event["tuning"]]
    launched = {
        run.compiled(one)["kernel"]: run.compiled(one) for launch in run.of("launch") for one in launch["compiled"]
    }
    assert {kernel: one["constexprs"]["BLOCK"] for kernel, one in launched.items()} == wanted
    assert {kernel: one["options"]["num_warps"] for kernel, one in launched.items()} == warps
    assert launched["mm_kernel"]["constexprs"]["EVEN"] is True
    assert "AUTOTUNE_REPLAY_FALLBACK" not in run.log


def test_a_key_that_the_recording_lacks_is_a_fallback(cell, recorded):
    path = recorded.folder / "autotune_records/records.json"
    content = json.loads(path.read_text())
    content["records"] = [record for record in content["records"] if record["key"][0] == 64 * 64]
    assert len(content["records"]) == 2
    path.write_text(json.dumps(content))
    run = cell(NODE, purpose="r1_B", timed=False, tuning="replay", recording=str(recorded.folder))
    assert run.status == 0, run.log
    sources = {event["source"] for event in run.of("config") if event["key"].startswith("(6144")}
    assert sources == {"fallback"}
    assert {event["source"] for event in run.of("config") if event["key"].startswith("(4096")} == {"replayed"}
    assert run.log.count("AUTOTUNE_REPLAY_FALLBACK") == 2


@pytest.mark.parametrize("field", ["backend", "device", "compiler", "compiler_digest"])
def test_a_recording_of_other_conditions_is_refused(cell, recorded, field):
    path = recorded.folder / "autotune_records/meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: "another"}))
    run = cell(NODE, purpose="r1_A", tuning="replay", recording=str(recorded.folder / "autotune_records"))
    assert run.status == 5 and run.one("end")["status"] == 5
    assert run.rows() == [] and run.of("compile") == []
    error = run.one("error")
    assert error["place"] == "recording" and f"`{field}` is `another`" in error["error"]


def test_a_recording_that_is_not_there_is_refused(cell, tmp_path):
    run = cell(NODE, purpose="r1_A", tuning="replay", recording=str(tmp_path / "nowhere"))
    assert run.status == 5 and run.one("error")["place"] == "recording"


def test_the_tuners_benchmarking_is_no_row(cell):
    run = cell(NODE, timer="direct")
    assert [row["ok"] for row in run.rows()] == [True] * 4
    assert {event["source"] for event in run.of("config")} == {"tuned"}


def loosened(recorded, **meta):
    """A recording as the scripts' is made into one: no tuner, no module, and of the meta data what is given."""
    folder = recorded.folder / "autotune_records"
    content = json.loads((folder / "records.json").read_text())
    for record in content["records"]:
        record.update(tuner="", module="", offered=0)
    (folder / "records.json").write_text(json.dumps(content))
    made = {"schema": 1, "side": "A", "converted_from": "/old/autotune_records", **meta}
    (folder / "meta.json").write_text(json.dumps(made))
    return str(folder)


def test_a_converted_recording_is_found_by_kernel_and_key(cell, recorded):
    path = loosened(recorded, backend="cuda", device="", compiler="", compiler_digest="")
    run = cell(NODE, purpose="screen_B", timed=False, tuning="replay", recording=path)
    assert run.status == 0, run.log
    assert [event["source"] for event in run.of("config")] == ["replayed"] * 4
    said = [note["detail"] for note in run.of("note") if note["topic"] == "recording"]
    assert [f"`/old/autotune_records` does not tell its `{name}`" for name in ("device", "compiler")] == said[:2]


def test_a_converted_recording_of_another_back_end_is_refused(cell, recorded):
    path = loosened(recorded, backend="musa", device="", compiler="", compiler_digest="")
    run = cell(NODE, purpose="screen_B", timed=False, tuning="replay", recording=path)
    assert run.status == 5 and "`backend` is `musa`, here it is `cuda`" in run.log
    path = loosened(recorded, backend="cuda", device="Another", compiler="", compiler_digest="")
    run = cell(NODE, purpose="screen_B", timed=False, tuning="replay", recording=path)
    assert run.status == 5 and "`device` is `Another`" in run.log
