//! `report`, `plan --from`, `ops`, `doctor`: what is said of what is there.

use crate::support::{Sandbox, without_seconds};

#[test]
fn four_formats_say_the_same() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "steady", "same"]);
    let report = |format: &str| sandbox.run(&["report", "done", "--format", format]).code(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&report("json")).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["operators"][0]["verdict"], "FASTER");
    assert_eq!(json["switch"]["b"]["MY_PASS"], "1");
    assert_eq!(std::fs::read_to_string(sandbox.path("done/report.json")).unwrap(), report("json"));
    assert_eq!(std::fs::read_to_string(sandbox.path("done/report.md")).unwrap(), report("markdown"));
    assert_eq!(std::fs::read_to_string(sandbox.path("done/report.tsv")).unwrap(), report("tsv"));
    let effect = json["operators"][0]["effect_pct"].as_f64().unwrap();
    // Each to its own number of digits.
    for format in ["terminal", "markdown", "tsv"] {
        let text = report(format);
        let line = text.lines().find(|line| line.contains("slow") && line.contains("FASTER")).unwrap();
        let tenth = format!("{effect:.1}").trim_end_matches('0').trim_end_matches('.').to_owned();
        assert!(line.contains(&tenth), "{format}: {tenth} is not in {line}");
    }
    insta::assert_snapshot!(without_seconds(&report("terminal")));
}

#[test]
fn explanations_are_sentences_and_an_unknown_operator_has_a_nearest() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let ran = sandbox.run(&["report", "done", "--explain", "slow"]).code(0);
    insta::assert_snapshot!(ran.stdout);
    sandbox
        .run(&["report", "done", "--explain", "slwo"])
        .code(2)
        .prints_nothing()
        .says("`slwo` is not in this campaign")
        .says("the nearest is `slow`");
}

#[test]
fn a_verdict_that_was_not_wanted_is_an_exit_code() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    sandbox.run(&["report", "done", "--fail-on", "slower,wrong,inconclusive"]).code(0);
    sandbox.run(&["report", "done", "--fail-on", "faster"]).code(1).prints("FASTER");
    sandbox.run(&["resume", "done", "--fail-on", "faster"]).code(1);
    sandbox.run(&["report", "done", "--fail-on", "quick"]).code(2).says("`--fail-on` cannot be `quick`");
    // Backwards: what was faster is slower.
    let mut arguments = vec!["ab", "slow", "same", "--suite", "command", "--backend", "cpu", "--out", "back"];
    arguments.extend(["--command", "sh speaker.sh notes {operator}", "--rounds", "3", "--controls", "1"]);
    arguments.extend(["--switch", "MY_PASS=1:0", "--fail-on", "slower"]);
    sandbox.run(&arguments).code(1).prints("SLOWER");
    let effect = sandbox.operator("back", "slow")["effect_pct"].as_f64().unwrap();
    // 8 us against 10 us: 100 (8 / 10 - 1).
    assert!((effect + 20.0).abs() < 0.05, "{effect}");
}

#[test]
fn a_plan_takes_times_from_a_screened_campaign() {
    let sandbox = Sandbox::new();
    let switch = ["--switch", "SWITCHBACK_CPU_ENABLE_NAN_CANONICALIZATION=true:false"];
    let names = ["add", "transpose", "fft"];
    sandbox.run(&[&["screen"], &names[..], &switch, &["--out", "screened"]].concat()).code(0);
    let plan = [&["plan"], &names[..], &switch, &["--rounds", "3", "--from", "screened"]].concat();
    let ran = sandbox.run(&plan).code(0).prints("nothing was started");
    let line = |name: &str| ran.stdout.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    // Three cells of a round each; identical code is skipped.
    assert!(line("add").split_whitespace().nth(1) == Some("3"), "{}", line("add"));
    assert!(line("transpose").contains("3  "), "{}", line("transpose"));
    assert!(line("transpose").ends_with("control: identical code, its noise is measured"));
    assert!(
        line("controls").contains("controls  1, ") && line("controls").contains("`--controls 0` saves them")
    );
    let without = sandbox.run(&[&plan[..], &["--controls", "0"]].concat()).code(0);
    let line = |name: &str| without.stdout.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("transpose").ends_with("not measured: NO_IR_DIFF"), "{}", line("transpose"));
    assert_eq!(line("controls"), "controls  0");
    // The campaign itself says what it asked for.
    let alone = sandbox.run(&["plan", "--from", "screened", "--rounds", "3", "--devices", "0,1"]).code(0);
    let of_add = |text: &str| text.lines().find(|line| line.starts_with("add")).map(str::to_owned).unwrap();
    assert_eq!(of_add(&alone.stdout), of_add(&ran.stdout));
    alone.prints("card 1").prints("rounds    3");
    let all = sandbox.run(&["plan", "--from", "screened", "--devices", "all"]).code(2);
    all.says("`--devices all` asks this machine");
    let wrong = sandbox.run(&[&plan[..], &["--controls", "some"]].concat());
    wrong.code(2).says("`some` is no number of controls: `auto`, `0`, `8`");
    assert_eq!(sandbox.left(), ["screened"]);
}

#[test]
fn operators_are_listed_for_people_and_for_programs() {
    let sandbox = Sandbox::new();
    let json: serde_json::Value =
        serde_json::from_str(&sandbox.run(&["ops", "--json"]).code(0).stdout).unwrap();
    let text = sandbox.run(&["ops"]).code(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    let offered = json.as_array().unwrap();
    assert_eq!(offered.len(), lines.len());
    let column = lines[0].find("f32").unwrap();
    for (it, line) in offered.iter().zip(lines) {
        assert!(line.starts_with(it["operator"].as_str().unwrap()), "{line}");
        assert!(line[column..].starts_with(it["dtypes"][0].as_str().unwrap()), "{line}");
        assert_eq!(&line[column - 2..column], "  ");
    }
    let fft = offered.iter().find(|it| it["operator"] == "fft").unwrap();
    assert_eq!(
        (fft["dtypes"][0].as_str(), fft["detail"].as_str().unwrap().split(';').next()),
        (Some("c64"), Some("2 cases"))
    );
    let foreign = ["ops", "--suite", "command", "--command", "sh speaker.sh notes {operator}"];
    sandbox.run(&foreign).code(0).prints("broken");
}

#[test]
fn doctor_looks_at_the_machine_and_at_a_run() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["doctor"]).code(0).prints("ok       a card is there: cpu 0").prints("free space");
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    let json = sandbox.run(&["doctor", "--json"]).code(0).stdout;
    let findings: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(findings.as_array().unwrap().iter().any(|it| it["check"] == "free space"));
    assert_eq!(sandbox.left(), [""; 0], "a look makes nothing");
    sandbox.finished(&["slow", "same"]);
    sandbox.run(&["doctor", "done"]).code(0).prints("all 2 operators have rows");
    sandbox.run(&sandbox.speaker(&["same", "plain", "broken"], &["--out", "ill"])).code(4);
    let ran = sandbox.run(&["doctor", "ill"]).code(0);
    let ran = ran.prints("broken (NO_ROWS)").prints("the benchmark of broken is out of order");
    ran.prints("plain (NOT_COMPILED)").prints("misspelt");
}
