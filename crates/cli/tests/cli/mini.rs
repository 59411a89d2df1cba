//! FlagGems' benchmark in miniature through the real program: a real Triton, a card and a torch that are stand-ins.
//!
//! Needs `SWITCHBACK_TEST_TRITON_PYTHON`, an interpreter with Triton and pytest; says so and passes without.

use std::path::Path;

use serde_json::Value;

use crate::support::{Ran, Sandbox};

/// A FlagGems checkout in miniature, and the stand-ins for torch, YAML and the card.
const MINI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../suites/python/tests/flaggems_mini");
const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../suites/python/tests/fake");

/// The interpreter; none is told.
pub fn python() -> Option<String> {
    let found = std::env::var("SWITCHBACK_TEST_TRITON_PYTHON").ok();
    if found.is_none() {
        eprintln!("skipped: `SWITCHBACK_TEST_TRITON_PYTHON` names no interpreter with triton");
    }
    found
}

/// Runs a command on the miniature, timed `direct` and quickly.
pub fn mini(sandbox: &Sandbox, python: &str, arguments: &[&str]) -> Ran {
    let path = format!("PYTHONPATH={FAKE}");
    let mut all = arguments.to_vec();
    all.extend(["--suite", "flaggems", "--flaggems-dir", MINI, "--python", python, "--backend", "cpu"]);
    all.extend(["--env", &path, "--env", "PYTEST_PLUGINS=fake_driver", "--timer", "direct"]);
    all.extend(["--sample-ms", "2", "--warmup-ms", "1"]);
    sandbox.run(&all)
}

fn rows(ran: &Ran) -> Vec<&str> {
    ran.stdout.lines().filter(|line| line.starts_with("SUCCESS") || line.starts_with("FAILED")).collect()
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// A wrong kernel is wrong however the sides are paired: one process a side, neither cell sees the other's outputs.
#[test]
fn outputs_beyond_what_rounding_explains_are_wrong_in_both_pairings() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    for (pairing, rounds) in [("process", ["r1_A", "r1_B"].as_slice()), ("duet", &["r1_AB"])] {
        let arguments = ["ab", "constant", "--switch", "MINI_SWITCH", "--measure-identical", "--rounds", "2"];
        let mut arguments = arguments.to_vec();
        arguments.extend(["--pairing", pairing, "--out", pairing]);
        mini(&sandbox, &python, &arguments).code(0);
        for cell in rounds {
            assert!(sandbox.path(&format!("{pairing}/cells/constant/{cell}")).is_dir(), "{pairing}: {cell}");
        }
        let text = std::fs::read(sandbox.path(&format!("{pairing}/report.json"))).unwrap();
        let report: Value = serde_json::from_slice(&text).unwrap();
        let constant = &report["operators"][0];
        assert_eq!(
            (&constant["verdict"], &constant["outputs"]),
            (&"WRONG".into(), &"wrong".into()),
            "{pairing}"
        );
        let notes = constant["cases"][0]["notes"].to_string();
        assert!(notes.contains("from the reference A is 0, B "), "{pairing}: {notes}");
    }
}

#[test]
fn exactly_the_shapes_of_the_file_are_measured_on_both_sides() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    write(
        &sandbox.path("two.yaml"),
        r#"{"max_pool2d": {"shapes": [[2, 2, 4, 4], [1, 1, 8, 8]]}, "overwriting": {"shapes": [[4, 4], [6, 2]]},
            "following": {"shapes": [[4, 4], [6, 2]]}, "stubborn": {"shapes": [[4, 4], [6, 2]]}}"#,
    );
    let operators = ["screen", "max_pool2d", "overwriting", "following", "stubborn", "add"];
    let mut arguments = operators.to_vec();
    arguments.extend([
        "--switch",
        "MY_PASS",
        "--shape-file",
        "two.yaml",
        "--direct-repeat",
        "2",
        "--out",
        "two",
    ]);
    let ran = mini(&sandbox, &python, &arguments).code(4);
    let table = sandbox.table("two/screen.tsv");
    let of = |operator: &str, column: &str| {
        let row = table.iter().find(|row| row[0].1 == operator).unwrap_or_else(|| panic!("{table:?}"));
        row.iter().find(|(name, _)| name == column).unwrap().1.clone()
    };
    let source = of("following", "shape_mode");
    assert!(source.starts_with("file sha256:"), "{source}");
    assert_eq!(of("max_pool2d", "shape_mode"), format!("{source} made for MaxPool2dBenchmark"));
    assert_eq!(of("overwriting", "shape_mode"), format!("{source} set in OverwritingBenchmark"));
    assert_eq!(
        of("add", "shape_mode"),
        format!("own, {source} names neither `add` nor `BinaryPointwiseBenchmark`")
    );
    assert_eq!((of("stubborn", "verdict"), of("stubborn", "rows_before")), ("NO_ROWS".into(), "0".into()));
    assert_eq!(of("add", "direct_repeat"), "2");
    // Two shapes; the pool has two windows for each, the others two dtypes.
    for operator in ["max_pool2d", "overwriting", "following"] {
        assert_eq!(
            (of(operator, "rows_before"), of(operator, "rows_after")),
            ("4".into(), "4".into()),
            "{operator}"
        );
    }
    let ran = ran.prints("`StubbornBenchmark` ignores the shape file").prints("leave `--shape-file` out");
    ran.prints("`add` is measured with shapes of its own");

    let arguments = ["ab", "overwriting", "--switch", "MY_PASS", "--rounds", "2", "--measure-identical"];
    let mut arguments = arguments.to_vec();
    arguments.extend(["--shape-file", "two.yaml", "--pairing", "process", "--out", "rounds"]);
    mini(&sandbox, &python, &arguments).code(0);
    let report = sandbox.operator("rounds", "overwriting");
    let cases = report["cases"].as_array().unwrap();
    let expected = ["float16", "float32"].map(|dtype| {
        ["[4, 4]", "[6, 2]"].map(|it| format!("torch.{dtype} [torch.Size({it}), torch.Size({it})]"))
    });
    assert_eq!(
        cases.iter().map(|case| case["case"].as_str().unwrap()).collect::<Vec<_>>(),
        expected.concat()
    );
    for case in cases {
        let rounds = case["rounds_pct"].as_array().unwrap();
        assert_eq!(rounds.iter().filter(|round| round.is_f64()).count(), 2, "{case}");
    }
}

#[test]
fn a_run_is_shown_as_its_benchmark_heads_it_and_raw_as_it_came() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    let shapes: Vec<String> = (1..=9).map(|size| format!("[{size}, 1, 4, 4]")).collect();
    write(
        &sandbox.path("many.yaml"),
        &format!("{{\"max_pool2d\": {{\"shapes\": [{}]}}}}", shapes.join(", ")),
    );
    let arguments = ["run", "max_pool2d", "perf_sort_thirteen", "--shape-file", "many.yaml", "--out", "run"];
    let ran = mini(&sandbox, &python, &arguments).code(0);
    let found = rows(&ran);
    assert_eq!(found.len(), 9 * 2 + 3, "{}", ran.stdout);
    assert_eq!(found.iter().filter(|row| row.starts_with("FAILED")).count(), 1);
    assert!(
        found[0].ends_with("([torch.Size([1, 1, 4, 4]), torch.Size([1, 1, 4, 4])], {'note': 2})"),
        "{}",
        found[0]
    );
    let ran = ran
        .prints("Operator: max_pool2d  Performance Test (dtype=torch.float16, mode=kernel,level=core)")
        .prints("Torch Latency (ms)    Gems Latency (ms)         Gems Speedup")
        .prints("in every row dim: -1, descending: False");
    // Three numbers behind the status, where they are looked for: `awk '/^SUCCESS/ {print $3}'`.
    let latency: f64 = rows(&ran)[0].split_whitespace().nth(2).unwrap().parse().unwrap();
    let log = std::fs::read_to_string(sandbox.path("run/cells/max_pool2d/run/1/run.log")).unwrap();
    let printed: f64 = log
        .lines()
        .find(|line| line.starts_with("SUCCESS"))
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    assert!((latency - printed).abs() < 1e-9, "{latency} {printed}");
    // The table is read again as a log of the benchmark, and says the same as the log.
    write(&sandbox.path("kept.log"), &sandbox.run(&["report", "run"]).code(0).stdout);
    let report: Value =
        serde_json::from_str(&sandbox.run(&["compare", "kept.log", "kept.log", "--json"]).code(0).stdout)
            .unwrap();
    assert_eq!(report["operators"][0]["cases"].as_array().unwrap().len(), 18);

    let raw = sandbox.run(&["report", "run", "--raw"]).code(0).stdout;
    assert!(raw.contains(&log), "{raw}");
    let raw = mini(&sandbox, &python, &["run", "add", "--raw", "--out", "raw"]).code(0);
    let log = std::fs::read_to_string(sandbox.path("raw/cells/add/run/1/run.log")).unwrap();
    assert!(raw.stdout.contains(&log), "{}", raw.stdout);
    let campaign = sandbox.finished(&["same"]).display().to_string();
    sandbox.run(&["report", &campaign, "--raw"]).code(2).says("is no single run");
}

#[test]
fn operators_come_from_a_variable_as_words() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    let path = format!("PYTHONPATH={FAKE}");
    let mut command =
        sandbox.command(&["plan", "--switch", "MY_PASS", "--suite", "flaggems", "--backend", "cpu"]);
    command.args(["--flaggems-dir", MINI, "--python", &python, "--env", &path, "--devices", "0"]);
    command.env("SWITCHBACK_OPS", "  sort_thirteen:sort\tadd::float16\n overwriting ");
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    for operator in ["sort_thirteen", "add::float16", "overwriting"] {
        assert!(stdout.contains(operator), "{operator}: {stdout}");
    }
    assert_eq!(stdout.lines().filter(|line| line.ends_with("a guess")).count(), 3, "{stdout}");
}

#[test]
fn a_cluster_kernel_is_avoided_only_where_the_back_end_has_one() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    let arguments = ["run", "clustered", "--avoid-mm-cluster", "--out", "run"];
    let ran = mini(&sandbox, &python, &arguments).code(2);
    ran.says("suite `flaggems` on back end `cpu` has no cluster kernel to avoid");
    let arguments = ["run", "relu", "--suite", "cpu", "--avoid-mm-cluster"];
    sandbox.run(&arguments).code(2).says("suite `cpu` on back end `cpu` has no cluster kernel to avoid");
}

#[test]
fn a_suite_that_reads_no_shape_file_says_so() {
    let sandbox = Sandbox::new();
    write(&sandbox.path("two.yaml"), "{}");
    let mut arguments = vec!["run", "relu", "--shape-file", "two.yaml", "--out", "out"];
    arguments.extend(crate::support::QUICK);
    let ran = sandbox.run(&arguments).code(0).says("suite `cpu` reads no `");
    ran.says("measured with shapes of their own");
}

#[test]
fn gates_that_are_taken_out_are_listed_in_the_report() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    let arguments = ["screen", "apply_repetition_penalties", "another_of_the_same_file", "--switch", "X"];
    let mut all = arguments.to_vec();
    all.extend(["--out", "out", "--env", "FAKE_VENDOR=mthreads"]);
    let ran = mini(&sandbox, &python, &all).code(4);
    let report = sandbox.json("out/report.json");
    let findings = report["findings"].to_string();
    assert!(
        findings.contains("a gate of the benchmark was taken out (`apply_repetition_penalties`)")
            && findings.contains("reason='CUDA required')` is taken out on mthreads"),
        "{findings}"
    );
    let other = sandbox.operator("out", "another_of_the_same_file");
    assert_eq!(other["screen"], "NO_ROWS");
    assert!(
        other["hints"].to_string().contains("the benchmark's own condition skips it on this machine"),
        "{other}"
    );
    ran.prints("a gate of the benchmark was taken out (`apply_repetition_penalties`)");
    let page = std::fs::read_to_string(sandbox.path("out/report.md")).unwrap();
    assert!(page.contains("is taken out on mthreads"), "{page}");
}

#[test]
fn a_recording_of_the_scripts_is_taken_over_whole_or_refused_before_anything_is_made() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    let folder = sandbox.path("mm_20260910-074112/autotune_records");
    std::fs::create_dir_all(&folder).unwrap();
    write(&sandbox.path("mm_20260910-074112/run.log"), "1 passed in 3.20s\n");
    write(&folder.join("records.json"), r#"[{"kernel": "mm_kernel", "key": [64], "config": {"BLOCK": 32}}]"#);
    write(&folder.join("meta.json"), r#"{"backend": "musa"}"#);
    let arguments =
        ["ab", "mm", "--switch", "X", "--rounds", "2", "--out", "out", "--replay-from", "mm_20260910-074112"];
    let ran = mini(&sandbox, &python, &arguments).code(5).prints_nothing();
    ran.says("`backend` is `musa` there, `cpu` here");
    write(&folder.join("meta.json"), r#"{"backend": "cpu"}"#);
    let mut dry = arguments.to_vec();
    dry.push("--dry-run");
    mini(&sandbox, &python, &dry).code(0);
    write(&folder.join("records.json"), r#"[{"kernel": "mm_kernel"}, {"kernel": "other", "key": [1]}]"#);
    mini(&sandbox, &python, &arguments).code(2).says("cannot be taken over: ");
    write(&folder.join("records.json"), "[]");
    mini(&sandbox, &python, &arguments).code(2).says("holds no choice");
    std::fs::remove_dir_all(&folder).unwrap();
    mini(&sandbox, &python, &arguments).code(2).says("left no `autotune_records` of any of these operators");
    assert!(!sandbox.path("out").exists());
}
