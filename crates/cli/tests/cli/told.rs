//! What reports say of what is missing: inputs that a side breaks, rounds, operators that were left out, cells that ended
//! badly.

use crate::support::Sandbox;

#[test]
fn an_input_that_the_switch_breaks_leaves_a_trace_in_every_format() {
    let sandbox = Sandbox::new();
    // Exit code 0: the operator has a verdict, and cells that fail an input do not fail the campaign.
    let ran = sandbox.run(&sandbox.speaker(&["brittle", "same"], &["--out", "out", "--seed", "1"])).code(0);
    let said = "1 of 2 cases left out: fails on B";
    let it = sandbox.operator("out", "brittle");
    assert_eq!((it["verdict"].as_str(), it["rounds"].as_u64()), (Some("FASTER"), Some(3)));
    assert_eq!(it["cases"][0]["left_out"], "fails on B");
    assert_eq!(it["cases"][1].get("left_out"), None);
    let line = ran.stdout.lines().find(|line| line.starts_with("brittle")).unwrap();
    assert!(line.contains("FASTER") && line.contains(said), "{line}");
    let page = std::fs::read_to_string(sandbox.path("out/report.md")).unwrap();
    let row = page.lines().find(|line| line.starts_with("| `brittle` |")).unwrap();
    assert!(row.contains(said), "{row}");
    let explained = sandbox.run(&["report", "out", "--explain", "brittle"]).code(0).prints(said);
    explained.prints("1 input fails on side B and not on side A, the first is `f32 [8]`: input 8 is refused");
    sandbox.run(&["report", "out", "--cases", "brittle"]).code(0).prints("left out: fails on B");
    sandbox
        .run(&["doctor", "out"])
        .code(0)
        .prints("brittle: 1 of 2 cases left out, the first is `f32 [8]`: fails on B");
}

#[test]
fn rounds_are_counted_as_they_were_measured() {
    let sandbox = Sandbox::new();
    sandbox.hold("same r3_A");
    let arguments = sandbox.speaker(&["slow", "waiting", "same"], &["--out", "out", "--seed", "1"]);
    let running = sandbox.start(&arguments);
    sandbox.holding();
    running.signal(rustix::process::Signal::INT);
    running.wait().code(130);
    let rounds =
        ["slow", "waiting", "same"].map(|name| sandbox.operator("out", name)["rounds"].as_u64().unwrap());
    assert!(rounds[2] == 2 && rounds.iter().all(|it| (2..=3).contains(it)), "{rounds:?}");
    let ran = sandbox.run(&["report", "out"]).code(0);
    let line = |name: &str| ran.stdout.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let all = if rounds == [2; 3] { "2 of 3 rounds" } else { "2 to 3 of 3 rounds" };
    assert!(line("measure").contains(all), "{}", line("measure"));
    if rounds[0] == 2 {
        assert!(line("slow").contains("no verdict yet: 1 of 3 rounds is missing"), "{}", line("slow"));
    }
    assert!(line("waiting").contains("more rounds would not tell"), "{}", line("waiting"));
    sandbox.run(&["resume", "out"]).code(0);
    assert_eq!(sandbox.operator("out", "waiting")["rounds"], 3, "the host's time was measured all the same");
    let ran = sandbox.run(&["report", "out", "--explain", "waiting"]).code(0);
    ran.prints("3 rounds with both sides").prints("more rounds would not tell");
}

#[test]
fn operators_that_verdicts_leave_out_say_so() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out", "--verdicts", "NO_IR_DIFF"]);
    let ran = sandbox.run(&arguments).code(0).prints("left out by `--verdicts NO_IR_DIFF`: it is IR_CHANGED");
    assert!(!ran.stdout.contains("no round is complete"), "{}", ran.stdout);
    assert_eq!(sandbox.operator("out", "slow").get("rounds_requested"), None);
    let explained = sandbox.run(&["report", "out", "--explain", "slow"]).code(0);
    explained
        .prints("Its code differs, and it was not measured.")
        .prints("left out by `--verdicts NO_IR_DIFF`");
}

#[test]
fn a_single_run_shows_one_operator_s_rows_and_what_failed_of_it() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["run", "slow", "plain", "refusing", "--out", "out", "--suite", "command"];
    arguments.extend(["--backend", "cpu", "--command", "sh speaker.sh notes {operator}"]);
    sandbox.run(&arguments).code(4);
    let ran = sandbox.run(&["report", "out", "--cases", "slow"]).code(0);
    assert!(ran.stdout.starts_with("slow: 2 rows\n") && !ran.stdout.contains("plain"), "{}", ran.stdout);
    assert!(ran.stdout.contains("10.0"), "{}", ran.stdout);
    let ran = sandbox.run(&["report", "out", "--cases", "refusing"]).code(0);
    let ran = ran.prints("all 2 inputs failed, last: `input 16 is refused`");
    assert!(!ran.stdout.contains("too narrow"), "{}", ran.stdout);
    sandbox.run(&["report", "out", "--cases", "slwo"]).code(2).says("the nearest is `slow`");
    let ran = sandbox.run(&["doctor", "out"]).code(0).prints("all 2 inputs failed");
    ran.prints("plain: 2 rows, and no launch of a kernel that the compiler under test made is recorded");
}

#[test]
fn doctor_says_what_it_looked_at() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let all = "ok       the run: all 2 operators have rows, with compiled kernels on both sides, all";
    sandbox.run(&["doctor", "done"]).code(0).prints(all).prints("cells ended with status 0");
    sandbox.run(&sandbox.speaker(&["sour", "same"], &["--out", "sour"])).code(0);
    let ran = sandbox.run(&["doctor", "sour"]).code(0);
    let ran =
        ran.prints("how cells ended: ").prints("ended with another status than 0: `sour screen_A` with 3");
    assert!(!ran.stdout.contains("ok "), "{}", ran.stdout);
}

#[test]
fn case_tables_of_several_operators_have_their_names() {
    let sandbox = Sandbox::new();
    for out in ["one", "two"] {
        let mut arguments =
            vec!["run", "slow", "steady", "--out", out, "--suite", "command", "--backend", "cpu"];
        arguments.extend(["--command", "sh speaker.sh notes {operator}"]);
        sandbox.run(&arguments).code(0);
    }
    let ran = sandbox.run(&["compare", "one", "two"]).code(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let heads: Vec<&str> =
        (1..lines.len()).filter(|it| lines[*it].starts_with("case ")).map(|it| lines[it - 1]).collect();
    assert_eq!(heads, ["slow", "steady"]);
}
