//! `compare`: refused before a number is read, or compared with the refusal overridden by name.

use std::path::PathBuf;

use crate::support::{QUICK, Sandbox};

/// What a run tells of its outputs is a side's once the run stands for that side.
#[test]
fn a_wrong_run_is_wrong_as_b_and_as_a_it_is_the_one_to_look_at() {
    let sandbox = Sandbox::new();
    for (out, error) in [("good", "1e-7"), ("near", "2e-7"), ("bad", "0.5")] {
        let told = format!(r#""digest":"{out}","error_a":{error},"bound":1e-6"#);
        std::fs::write(sandbox.path("notes/outputs slow run"), told).unwrap();
        let command =
            ["--suite", "command", "--backend", "cpu", "--command", "sh speaker.sh notes {operator}"];
        sandbox.run(&[&["run", "slow", "--out", out], command.as_slice()].concat()).code(0);
    }
    let compared = |a, b| {
        let json = sandbox.run(&["compare", a, b, "--json"]).code(0);
        let report: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
        let operator = &report["operators"][0];
        [&operator["outputs"], &operator["verdict"]].map(|it| it.as_str().unwrap().to_owned())
    };
    assert_eq!(compared("good", "near")[0], "differs");
    assert_eq!(compared("good", "bad"), ["wrong", "WRONG"]);
    assert_eq!(compared("bad", "good")[0], "beyond");
}

#[test]
fn runs_of_other_conditions_are_refused_before_a_latency_is_read() {
    let sandbox = Sandbox::new();
    let run = |sample_ms: &'static str, out: &'static str| {
        let mut arguments = vec!["run", "relu", "--out", out];
        arguments.extend(QUICK.iter().copied().skip(2));
        arguments.extend(["--sample-ms", sample_ms]);
        sandbox.run(&arguments).code(0);
    };
    run("1", "one");
    run("2", "two");
    sandbox
        .run(&["compare", "one", "two"])
        .code(5)
        .prints_nothing()
        .says("error: not comparable: `sample_ms` is `1` in A, `2` in B")
        .says("hint: `--allow sample_ms` compares them all the same");
    // Before: no row could have been read from a file that is not there.
    let events = sandbox.path("two/cells/relu/run/1/events.jsonl");
    std::fs::rename(&events, sandbox.path("away")).unwrap();
    sandbox.run(&["compare", "one", "two"]).code(5);
    std::fs::rename(sandbox.path("away"), &events).unwrap();

    let ran = sandbox.run(&["compare", "one", "two", "--allow", "sample_ms"]).code(0);
    let ran = ran.prints("these conditions differ: `sample_ms`").prints("two against one");
    // One pair of the same code: no verdict and no interval can come of it.
    assert!(
        !["FASTER", "SLOWER", "EQUIVALENT"].iter().any(|word| ran.stdout.contains(word)),
        "{}",
        ran.stdout
    );
    sandbox.run(&["compare", "one", "two", "--allow", "sample"]).code(2).says("`sample` is no field");
    let json = sandbox.run(&["compare", "one", "two", "--allow", "sample_ms", "--json"]).code(0);
    let report: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(report["allowed"][0], "sample_ms");
    assert_eq!(report["operators"][0]["cases"].as_array().unwrap().len(), 6);
    // Folders of single attempts are runs too.
    sandbox.run(&["compare", "one/cells/relu/run/1", "one"]).code(0).prints("relu");
}

#[test]
fn runs_of_other_operators_have_nothing_to_compare() {
    let sandbox = Sandbox::new();
    for operator in ["relu", "tanh"] {
        let mut arguments = vec!["run", operator, "--out", operator];
        arguments.extend(QUICK);
        sandbox.run(&arguments).code(0);
    }
    sandbox.run(&["compare", "relu", "tanh"]).code(2).says("no operator in common: relu in A, tanh in B");
}

fn log(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../suites/tests/data").join(name)
}

#[test]
fn logs_of_a_benchmark_are_compared_row_by_row() {
    let sandbox = Sandbox::new();
    let text = std::fs::read_to_string(log("sort_h200.log")).unwrap();
    // The first row at half its time: 0.931296 ms on side A, 0.465648 ms on side B.
    assert_eq!(text.matches("0.931296").count(), 1);
    std::fs::write(sandbox.path("a.log"), &text).unwrap();
    std::fs::write(sandbox.path("b.log"), text.replace("0.931296", "0.465648")).unwrap();
    let ran = sandbox.run(&["compare", "a.log", "b.log", "--json"]).code(0);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let sort = &report["operators"][0];
    assert_eq!((sort["operator"].as_str(), sort["verdict"].as_str()), (Some("sort"), Some("INCONCLUSIVE")));
    let first = &sort["cases"][0];
    assert!((first["effect_pct"].as_f64().unwrap() - 100.0).abs() < 1e-9, "{first}");
    assert!((first["a_us"].as_f64().unwrap() - 931.296).abs() < 1e-9, "{first}");
    let others = &sort["cases"].as_array().unwrap()[1..];
    assert!(others.iter().all(|case| case["effect_pct"].as_f64() == Some(0.0)), "{others:?}");
    let ran = sandbox.run(&["compare", "a.log", "b.log"]).code(0).prints("b.log against a.log");
    assert!(ran.prints("INCONCLUSIVE").stderr.is_empty());
}

#[test]
fn logs_of_another_level_are_refused() {
    let sandbox = Sandbox::new();
    let text = std::fs::read_to_string(log("sort_h200.log")).unwrap();
    std::fs::write(sandbox.path("a.log"), &text).unwrap();
    std::fs::write(sandbox.path("b.log"), text.replace("level=core", "level=comprehensive")).unwrap();
    sandbox
        .run(&["compare", "a.log", "b.log"])
        .code(5)
        .prints_nothing()
        .says("`bench_level` is `core` in A, `comprehensive` in B");
    sandbox.run(&["compare", "a.log", "b.log", "--allow", "bench_level"]).code(0).prints("sort");
}

#[test]
fn what_is_no_run_is_told_with_how_it_begins() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("letter"), "Dear reader,\n\nall is well.\n").unwrap();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    let whole = log("sort_h200.log").display().to_string();
    sandbox.run(&["compare", "letter", &whole]).code(2).says("it begins with `Dear reader, / all is well.`");
    sandbox.run(&["compare", &whole, "empty"]).code(2).says("`empty` is no run");
    sandbox.run(&["compare", &whole, "nowhere"]).code(2).says("there is no such file or folder");
    let campaign = sandbox.finished(&["slow", "same"]).display().to_string();
    sandbox.run(&["compare", &campaign, &whole]).code(2).says("a campaign without a finished `run` cell");
}
