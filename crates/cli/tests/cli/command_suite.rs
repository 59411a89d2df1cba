//! `--suite command`: any program that speaks the cell protocol, and what its cells inherit.

use crate::support::{Sandbox, without_seconds};

#[test]
fn a_program_of_thirty_lines_gets_verdicts() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(
        &sandbox.speaker(&["slow", "steady", "same", "plain", "broken"], &["--out", "out", "--seed", "1"]),
    );
    // `broken` failed, so the campaign is not complete.
    let ran = ran.code(4);
    insta::assert_snapshot!(without_seconds(&ran.stdout));
    insta::assert_snapshot!(ran.stderr);
    let verdicts = ["slow", "steady", "same", "plain", "broken"].map(|name| {
        let it = sandbox.operator("out", name);
        format!("{} {}", it["screen"].as_str().unwrap(), it["verdict"].as_str().unwrap())
    });
    assert_eq!(
        verdicts,
        [
            "IR_CHANGED FASTER",
            "IR_CHANGED EQUIVALENT",
            "NO_IR_DIFF EQUIVALENT",
            "NOT_COMPILED NOT_MEASURED",
            "NO_ROWS NOT_MEASURED"
        ]
    );
    let report = sandbox.run(&["report", "out", "--explain", "broken"]).code(0);
    report.prints("the benchmark of broken is out of order");
}

#[test]
fn a_compiler_that_does_not_compile_twice_alike_is_no_evidence_of_a_switch() {
    let sandbox = Sandbox::new();
    let mut arguments = sandbox.speaker(&["shaky", "slow", "same"], &["--out", "out"]);
    let controls = arguments.iter().position(|it| *it == "--controls").unwrap() + 1;
    arguments[controls] = "0";
    let ran = sandbox.run(&arguments).code(0);
    // What differs is compiled another time before it counts; what does not differ is not.
    let cells = sandbox.cells();
    assert_eq!(cells[..3], ["shaky screen_A", "shaky screen_B", "shaky again_A"]);
    let again: Vec<&String> = cells.iter().filter(|cell| cell.contains("again")).collect();
    assert_eq!(again, ["shaky again_A", "slow again_A"]);
    assert!(!cells.iter().any(|cell| cell.starts_with("shaky r")), "{cells:?}");
    let shaky = sandbox.operator("out", "shaky");
    assert_eq!((&shaky["screen"], &shaky["verdict"]), (&"NO_IR_DIFF".into(), &"NOT_MEASURED".into()));
    assert_eq!(shaky["unseen"][0]["stage"], "noise");
    assert_eq!(shaky["unseen"][0]["reason"], "two compilations of side A differ in 1 of 1 kernels");
    assert_eq!(sandbox.operator("out", "slow")["verdict"], "FASTER");
    ran.prints("identical code, noise no evidence: a number would be noise");
    sandbox.run(&["ir", "diff", "out", "shaky"]).code(0).prints("`noise` is no evidence");
    sandbox.run(&["report", "out", "--explain", "shaky"]).code(0).prints("`noise` is no evidence");
    sandbox.run(&["rescore", "out"]).code(0).prints("no verdict changed, of 3 operators");
}

#[test]
fn identical_code_is_measured_unasked_only_where_there_is_a_verdict_to_protect() {
    let sandbox = Sandbox::new();
    let measured = |operators: &[&'static str], out: &'static str| {
        let mut arguments = sandbox.speaker(operators, &["--out", out, "--seed", "1"]);
        let controls = arguments.iter().position(|it| *it == "--controls").unwrap();
        arguments.drain(controls..controls + 2);
        sandbox.run(&arguments).code(0);
        sandbox.operator(out, "same")["control"] == true
    };
    assert!(measured(&["slow", "same"], "changed"));
    assert!(!measured(&["same"], "unchanged"));
}

/// Screening saw equal bits; a round that did not is not outvoted by it.
#[test]
fn outputs_that_differ_in_a_round_only_are_judged_by_that_round() {
    let sandbox = Sandbox::new();
    for (side, error) in [("A", r#""error_a":1e-7"#), ("B", r#""error_b":0.5"#)] {
        let told = format!(r#""digest":"{side}",{error},"bound":1e-6"#);
        std::fs::write(sandbox.path(&format!("notes/outputs slow r2_{side}")), told).unwrap();
        std::fs::write(
            sandbox.path(&format!("notes/outputs steady r2_{side}")),
            format!(r#""digest":"{side}""#),
        )
        .unwrap();
    }
    let ran = sandbox.run(&sandbox.speaker(&["slow", "steady", "same"], &["--out", "out"])).code(0);
    ran.prints("outputs wrong in 2 of 2 cases").prints("outputs differ, without a reference");
    assert_eq!(sandbox.operator("out", "slow")["verdict"], "WRONG");
    let steady = sandbox.operator("out", "steady");
    assert_eq!(steady["outputs_cases"], serde_json::json!({"unreferenced": 2}));
    assert_eq!(steady["cases"][0]["notes"], serde_json::json!(["equal in some cells, not in others"]));
    let same = sandbox.operator("out", "same");
    assert_eq!(same["outputs_cases"], serde_json::json!({"equal": 2}));
}

#[test]
fn tables_begin_with_the_columns_that_scripts_know() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let first = |name: &str| {
        let text = std::fs::read_to_string(sandbox.path(&format!("done/{name}"))).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    let screen = "op\top_file\tdtypes\trows_before\trows_after\tkernels_before\tkernels_after\tcvt_before\tcvt_after\t\
                  elapsed_before\telapsed_after\tverdict\tbackend\tdevice\ttimer\tbench_level\tshape_mode\ttuner_cache\t\
                  direct_repeat";
    assert!(first("screen.tsv").starts_with(screen), "{}", first("screen.tsv"));
    let status = "device\tround\top\tside\tswitch\trc\telapsed_s\tsuccess\tfailed\treplay_fallback\tno_cudagraph\t\
                  capture_poisoned";
    assert!(first("status.tsv").starts_with(status), "{}", first("status.tsv"));
    let rows = sandbox.table("done/status.tsv");
    assert_eq!(rows.len(), sandbox.cells().len());
    let value = |row: &[(String, String)], column: &str| {
        row.iter().find(|(name, _)| name == column).unwrap().1.clone()
    };
    for (row, cell) in rows.iter().zip(sandbox.cells()) {
        assert_eq!(format!("{} {}", value(row, "op"), value(row, "cell")), cell);
        let pass = if value(row, "side") == "A" { "0" } else { "1" };
        assert_eq!((value(row, "switch").as_str(), value(row, "rc").as_str()), (pass, "0"));
        assert_eq!(value(row, "success"), "2");
    }
}

#[test]
fn cells_inherit_the_environment_and_none_of_the_commands_own_variables() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(
        &["slow", "same"],
        &["--out", "out", "--env", "MINE=7", "--env", "GONE=", "--time-budget", "0.000001"],
    );
    sandbox.run(&arguments).code(4);
    let mut command = sandbox.command(&["resume", "out"]);
    command.env("SWITCHBACK_TIME_BUDGET", "1000").env("SWITCHBACK_ROUNDS", "9").env("YOURS", "8");
    command.env("GONE", "9").env("MY_PASS", "inherited");
    assert!(command.output().unwrap().status.success());
    let text = std::fs::read_to_string(sandbox.path("notes/environment")).unwrap();
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    assert_eq!((value("MINE"), value("YOURS"), value("GONE")), (Some("7"), Some("8"), None));
    // The last cell of three rounds is `same r3_B`.
    assert_eq!((value("MY_PASS"), value("SWITCHBACK_PROTOCOL")), (Some("1"), Some("1")));
    assert_eq!((value("SWITCHBACK_ROUNDS"), value("SWITCHBACK_TIME_BUDGET")), (None, None));
    let campaign = value("SWITCHBACK_CAMPAIGN").unwrap();
    let request = std::fs::read_to_string(sandbox.path("out/campaign.toml")).unwrap();
    assert!(request.contains(&format!("id = \"{campaign}\"")), "{campaign}");
}

#[test]
fn both_values_of_a_switch_and_several_variables_reach_the_cells() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["screen", "slow", "--suite", "command", "--backend", "cpu", "--out", "out"];
    arguments.extend(["--command", "sh speaker.sh notes {operator}"]);
    arguments.extend(["--switch", "MY_PASS=:1", "--a", "LEVEL=low", "--b", "LEVEL=high"]);
    sandbox.run(&arguments).code(0).prints("A  LEVEL=low MY_PASS unset").prints("B  LEVEL=high MY_PASS=1");
    let text = std::fs::read_to_string(sandbox.path("notes/environment screen_B")).unwrap();
    assert!(text.lines().any(|line| line == "LEVEL=high") && text.lines().any(|line| line == "MY_PASS=1"));
    let texts: Vec<String> = std::fs::read_dir(sandbox.path("out/ir"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let has = |text: &str| texts.iter().any(|it| it == text);
    assert!(texts.len() == 2 && has("slow compiled with unset") && has("slow compiled with 1"), "{texts:?}");
}

#[test]
fn a_program_that_is_not_there_is_told_before_anything_is_made() {
    let sandbox = Sandbox::new();
    let with = |command: &'static str| {
        let mut arguments = vec!["ab", "slow", "--suite", "command", "--backend", "cpu", "--out", "out"];
        arguments.extend(["--switch", "MY_PASS", "--command", command]);
        sandbox.run(&arguments)
    };
    with("./nowhere {operator}").code(3).says("PREFLIGHT_FAILED check=program exists:");
    with(" ").code(2).says("was given no program").says("--command 'PROGRAM ARGUMENTS'");
    assert_eq!(sandbox.left(), [""; 0]);
}
