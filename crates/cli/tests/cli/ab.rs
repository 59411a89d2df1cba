//! `ab`, `screen` and `run` with a real compiler and a real clock: the cpu suite.

use std::collections::BTreeMap;

use crate::support::{QUICK, Sandbox};

/// Switches that Cranelift is known not to act upon (design of the suite: byte-identical for all kernels).
const PLACEBO: &str = "SWITCHBACK_CPU_ENABLE_VERIFIER=false:true";

#[test]
fn a_switch_that_changes_no_code_is_told_so_for_every_operator() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["ab", "--switch", PLACEBO, "--rounds", "2", "--out", "out"];
    arguments.extend(QUICK);
    let ran = sandbox.run(&arguments).code(0);
    assert_eq!(ran.stderr, "", "what the table says is not said again");
    let mut verdicts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for operator in sandbox.json("out/report.json")["operators"].as_array().unwrap() {
        assert_eq!(operator["verdict"], "NOT_MEASURED", "{operator}");
        assert!(operator["effect_pct"].is_null(), "{operator}");
        let screen = operator["screen"].as_str().unwrap().to_owned();
        verdicts.entry(screen).or_default().push(operator["operator"].as_str().unwrap().to_owned());
    }
    // `sort` is plain Rust: the compiler under test has no part in it.
    assert_eq!(verdicts.keys().collect::<Vec<_>>(), ["NOT_COMPILED", "NO_IR_DIFF"]);
    assert_eq!(verdicts["NOT_COMPILED"], ["sort"]);
    let names: serde_json::Value = serde_json::from_str(&sandbox.run(&["ops", "--json"]).stdout).unwrap();
    assert_eq!(verdicts["NO_IR_DIFF"].len() + 1, names.as_array().unwrap().len());
    assert!(verdicts["NO_IR_DIFF"].contains(&"fft".to_owned()), "its own dtype is measured");
    ran.prints("is `SWITCHBACK_CPU_ENABLE_VERIFIER` misspelt");
}

#[test]
fn optimisation_makes_code_faster_and_its_absence_slower() {
    let sandbox = Sandbox::new();
    let ab = |switch: &'static str, out: &'static str| {
        let arguments = ["ab", "relu", "add", "dot", "--switch", switch, "--out", out, "--rounds", "4"];
        let more = ["--sample-ms", "4", "--warmup-ms", "1", "--fail-on", "slower,wrong"];
        sandbox.run(&[&arguments[..], &more].concat())
    };
    ab("SWITCHBACK_CPU_OPT_LEVEL=none:speed", "on").code(0).prints("FASTER");
    let faster = ["relu", "add", "dot"].map(|name| sandbox.operator("on", name));
    let verdicts: Vec<&str> = faster.iter().map(|it| it["verdict"].as_str().unwrap()).collect();
    assert!(verdicts.contains(&"FASTER") && !verdicts.contains(&"SLOWER"), "{verdicts:?}");
    for it in faster.iter().filter(|it| it["verdict"] == "FASTER") {
        assert!(it["effect_pct"].as_f64().unwrap() > 0.5 && it["outputs"] == "equal", "{it}");
        assert_eq!(
            (it["screen"].as_str(), it["first_stage"].as_str()),
            (Some("IR_CHANGED"), Some("clif_opt"))
        );
    }
    // The other way round the same difference is a loss, and the command says so with its exit code.
    ab("SWITCHBACK_CPU_OPT_LEVEL=speed:none", "off").code(1).prints("SLOWER");
}

#[test]
fn process_pairing_measures_the_same_cases_in_two_cells_a_round() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["ab", "relu", "--switch", "SWITCHBACK_CPU_OPT_LEVEL=none:speed", "--out", "out"];
    arguments.extend(["--pairing", "process", "--rounds", "2"]);
    arguments.extend(QUICK);
    sandbox.run(&arguments).code(0).prints("1 changed, process, 2 rounds");
    let cells: Vec<String> = sandbox
        .table("out/status.tsv")
        .into_iter()
        .map(|row| row.into_iter().find(|(name, _)| name == "cell").unwrap().1)
        .collect();
    assert_eq!(cells, ["screen_A", "screen_B", "r1_A", "r1_B", "r2_B", "r2_A"]);
    let relu = sandbox.operator("out", "relu");
    assert_eq!(relu["cases"].as_array().unwrap().len(), 6);
    // Its cells draw the order of cases anew; a suite that cannot is told what that leaves open.
    assert!(!relu["reasons"].to_string().contains("fixed order"), "{relu}");
    sandbox.run(&sandbox.speaker(&["slow"], &["--out", "fixed"])).code(0);
    let slow = sandbox.operator("fixed", "slow");
    assert!(slow["reasons"].to_string().contains("process pairing with a fixed order of cases"), "{slow}");
}

#[test]
fn the_demo_shows_what_the_switch_does_and_what_it_does_not() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["demo", "--out", "out", "--seed", "1", "-q"]).code(0);
    assert_eq!(ran.stderr, "");
    let ran = ran.prints("FASTER").prints("control").prints("one process a side, same cases:");
    ran.prints("refuses f32, takes c64:").prints("out/report.md");
    let gelu = sandbox.operator("out", "gelu");
    assert_eq!((gelu["verdict"].as_str(), gelu["outputs"].as_str()), (Some("FASTER"), Some("equal")));
    let report = sandbox.json("out/report.json");
    let naive = &report["naive"];
    for figure in ["worst_pct", "floor_pct"] {
        assert!(naive[figure].as_f64().is_some_and(f64::is_finite), "{naive}");
    }
    let controls: Vec<_> =
        report["operators"].as_array().unwrap().iter().filter(|it| it["control"] == true).collect();
    assert_eq!(controls.len(), 3);
    for it in controls {
        assert!(it["verdict"] != "FASTER" && it["verdict"] != "SLOWER", "{it}");
    }
}

#[test]
fn every_operator_of_the_cpu_suite_compiles_alike_in_two_processes() {
    // So a difference between its sides needs no second compilation of one of them.
    let sandbox = Sandbox::new();
    let offered: serde_json::Value =
        serde_json::from_str(&sandbox.run(&["ops", "--json"]).code(0).stdout).unwrap();
    let names: Vec<&str> =
        offered.as_array().unwrap().iter().map(|it| it["operator"].as_str().unwrap()).collect();
    let arguments = [&["screen"], &names[..], &["--switch", PLACEBO, "--out", "out"]].concat();
    sandbox.run(&arguments).code(0);
    let report = sandbox.json("out/report.json");
    let of = |verdict: &str| {
        report["operators"].as_array().unwrap().iter().filter(|it| it["screen"] == verdict).count()
    };
    assert!(names.len() > 15);
    assert_eq!(of("NO_IR_DIFF") + of("NOT_COMPILED"), names.len(), "{report}");
    assert!(of("NOT_COMPILED") < 3);
    assert!(!sandbox.path("out/cells/add/again_A").exists());
}

#[test]
fn a_refused_dtype_is_no_effect_of_the_switch() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["ab", "fft::f32", "relu", "--switch", PLACEBO, "--rounds", "2", "--out", "out"];
    arguments.extend(["--fail-on", "slower"]);
    arguments.extend(QUICK);
    let ran = sandbox.run(&arguments).code(4).prints("NO_ROWS");
    let ran = ran.prints("refuses f32, takes c64:");
    assert!(!ran.stdout.contains("fft") || !ran.stdout.contains("FASTER"));
    let fft = sandbox.operator("out", "fft");
    assert_eq!((fft["screen"].as_str(), fft["verdict"].as_str()), (Some("NO_ROWS"), Some("NOT_MEASURED")));
    assert!(fft["hints"].to_string().contains("`fft::c64`"), "{fft}");
    sandbox.run(&["doctor", "out"]).code(0).prints("fft (NO_ROWS)").prints("fft::c64");
    sandbox.run(&["report", "out", "--explain", "fft"]).code(0).prints("fft::c64");
}

#[test]
fn screening_says_which_operators_are_touched_and_measures_none() {
    let sandbox = Sandbox::new();
    // Design of the suite: AVX changes vector code and leaves integer code of a transposition alone.
    let switch = "SWITCHBACK_CPU_ENABLE_NAN_CANONICALIZATION=true:false";
    sandbox
        .run(&["screen", "add", "transpose", "sort", "fft::f32", "--switch", switch, "--out", "out"])
        .code(4);
    let verdicts: Vec<(String, String)> = sandbox
        .table("out/screen.tsv")
        .into_iter()
        .map(|row| {
            let value = |column: &str| row.iter().find(|(name, _)| name == column).unwrap().1.clone();
            (value("op"), value("verdict"))
        })
        .collect();
    let expected =
        [("add", "IR_CHANGED"), ("transpose", "NO_IR_DIFF"), ("sort", "NOT_COMPILED"), ("fft", "NO_ROWS")];
    assert_eq!(verdicts, expected.map(|(op, verdict)| (op.to_owned(), verdict.to_owned())));
    assert!(!sandbox.path("out/cells/add/r1_AB").exists());
}

#[test]
fn a_run_has_rows_and_no_verdict() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["run", "relu", "fft", "--out", "out"];
    arguments.extend(QUICK);
    let ran = sandbox.run(&arguments).code(0).prints("relu: 6 rows").prints("fft: 2 rows");
    for word in ["FASTER", "SLOWER", "B against A"] {
        assert!(!ran.stdout.contains(word), "{}", ran.stdout);
    }
    sandbox.run(&["report", "out"]).code(0).prints("relu: 6 rows");

    // What was read is in every format and every file, and none of them says that it was not measured.
    let report = |format: &str| sandbox.run(&["report", "out", "--format", format]).code(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&report("json")).unwrap();
    assert_eq!(json["conditions"]["sample_ms"], "1");
    let cases = json["operators"][0]["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 6);
    let latency_us = cases[0]["a_us"].as_f64().unwrap();
    assert!(latency_us > 0.0 && cases[0]["b_us"].is_null());
    let tsv = report("tsv");
    let rows: Vec<Vec<&str>> = tsv.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 8);
    assert_eq!((rows[0][0], rows[0][1]), ("relu", cases[0]["case"].as_str().unwrap()));
    let printed: f64 = rows[0][3].parse().unwrap();
    assert!((printed / latency_us - 1.0).abs() < 1e-6, "{printed} {latency_us}");
    let page = report("markdown");
    assert!(page.starts_with("# Single run of 2 operators\n") && page.contains("## `fft`"), "{page}");
    assert!(!page.contains("erdict") && !page.contains("screen"), "{page}");
    for (file, format) in [("report.json", "json"), ("report.tsv", "tsv"), ("report.md", "markdown")] {
        let text = std::fs::read_to_string(sandbox.path(&format!("out/{file}"))).unwrap();
        assert_eq!(text, report(format), "{file}");
    }
    let summary = std::fs::read_to_string(sandbox.path("out/summary.log")).unwrap();
    assert!(summary.contains("fft: 2 rows"), "{summary}");
    sandbox.run(&["report", "out", "--explain", "relu"]).code(2).says("is a single run");
}

#[test]
fn a_setting_that_is_none_is_explained_and_not_measured() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["ab", "relu", "--switch", "SWITCHBACK_CPU_OPT_LEVEL=none:fast", "--out", "out"]);
    ran.code(4).prints("NO_ROWS");
    let explained = sandbox.run(&["report", "out", "--explain", "relu"]).code(0);
    explained.prints("`opt_level` takes none, speed, speed_and_size");
}
