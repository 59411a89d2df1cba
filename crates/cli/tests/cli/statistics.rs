//! Rounds by precision, calibration, a floor shown beside a campaign's own, cases with their intervals as bars.

use crate::support::Sandbox;

/// Round by round the speaker's B is 0.02 % slower and 0 %, by turns: a standard deviation of 0.01155 %. For two changed
/// operators the half width after three rounds is 6.205 * 0.01155 / sqrt 3 = 0.0414 %, after four 4.177 * 0.01155 / 2 =
/// 0.0241 % (Student's t at 1 - 0.025 / 2, from tables).
const FOUR_ROUNDS: [&str; 2] = ["--precision", "0.03"];

#[test]
fn an_operator_stops_when_its_interval_is_narrow_enough() {
    let sandbox = Sandbox::new();
    let ab = |precision: &[&'static str], out: &'static str| {
        let mut arguments = vec!["ab", "slow", "steady", "same", "--suite", "command", "--backend", "cpu"];
        arguments.extend(["--switch", "MY_PASS", "--command", "sh speaker.sh notes {operator}"]);
        arguments.extend(["--controls", "1", "--seed", "1", "--out", out]);
        arguments.extend(precision);
        sandbox.run(&arguments)
    };
    ab(&FOUR_ROUNDS, "four").code(0).prints(", 4 rounds").prints("FASTER");
    ab(&["--precision", "0.045"], "three").code(0).prints(", 3 rounds");
    ab(&["--precision", "0.0001", "--max-rounds", "5"], "five").code(0).prints(", 5 rounds");
    for (out, rounds) in [("four", 4), ("three", 3), ("five", 5)] {
        for operator in ["slow", "steady", "same"] {
            assert_eq!(sandbox.operator(out, operator)["rounds"], rounds, "{out}, {operator}");
            let cell = |round: u32| sandbox.path(&format!("{out}/cells/{operator}/r{round}_B"));
            assert!(cell(rounds).is_dir() && !cell(rounds + 1).exists(), "{out}, {operator}");
        }
    }
    sandbox
        .run(&["report", "four", "--explain", "slow"])
        .prints("4 rounds by `--precision`: half width 0.024 %");
    sandbox.run(&["report", "five", "--explain", "slow"]).prints("has the most rounds allowed, 5");
    sandbox.run(&["resume", "four", "--dry-run"]).prints("nothing is left to be run");
}

#[test]
fn an_interrupted_campaign_decides_as_one_that_was_not() {
    let sandbox = Sandbox::new();
    let operators = ["slow", "steady", "same"];
    let arguments = |out: &'static str, more: &[&'static str]| {
        let mut arguments = vec!["ab"];
        arguments.extend(operators);
        arguments.extend([
            "--suite",
            "command",
            "--backend",
            "cpu",
            "--switch",
            "MY_PASS",
            "--controls",
            "1",
        ]);
        arguments.extend(["--command", "sh speaker.sh notes {operator}", "--seed", "1", "--out", out]);
        arguments.extend(FOUR_ROUNDS);
        arguments.extend(more);
        arguments
    };
    sandbox.run(&arguments("whole", &[])).code(0);
    let whole = sandbox.cells();
    std::fs::remove_file(sandbox.path("notes/cells")).unwrap();
    // Stopped within the round that only the precision asked for; the sides of a round that is cut off are one cell each.
    sandbox.hold("steady r4_B");
    let running = sandbox.start(&arguments("cut", &[]));
    sandbox.holding();
    running.signal(rustix::process::Signal::INT);
    running.wait().code(130);
    sandbox.run(&["resume", "cut"]).code(0);
    let mut cut = sandbox.cells();
    cut.dedup();
    assert_eq!(cut, whole);
    for operator in operators {
        let (one, two) = (sandbox.operator("whole", operator), sandbox.operator("cut", operator));
        assert_eq!((&one["rounds"], &one["ci_pct"]), (&two["rounds"], &two["ci_pct"]), "{operator}");
    }
}

#[test]
fn a_plan_says_from_the_least_to_the_most() {
    let sandbox = Sandbox::new();
    let campaign = sandbox.finished(&["slow", "same"]);
    let asked = |command: &'static str, more: &[&str]| {
        let mut arguments =
            vec![command, "slow", "--suite", "command", "--backend", "cpu", "--switch", "MY_PASS"];
        arguments.extend(["--command", "sh speaker.sh notes {operator}"]);
        arguments.extend(more);
        sandbox.run(&arguments)
    };
    let precise = ["--precision", "0.1", "--max-rounds", "6"];
    let from = ["--from", campaign.to_str().unwrap()];
    let ran = asked("plan", &[&precise[..], &from[..]].concat()).code(0);
    let line = ran.stdout.lines().find(|line| line.starts_with("slow")).unwrap();
    assert!(line.contains(" 12 ") && line.contains(" s to "), "{line}");
    ran.prints("rounds    3 to 6, until the half width is at most 0.1 %");
    asked("ab", &[&precise[..], &["--dry-run"]].concat())
        .code(0)
        .prints("then 6 to 12 an operator whose code differs");

    asked("ab", &["--precision", "0.1", "--max-rounds", "2"])
        .code(2)
        .says("`max-rounds` must be 3 to 1000, got 2");
    asked("ab", &["--precision", "-1"]).code(2);
    asked("ab", &["--max-rounds", "5"]).code(2).says("--precision");
    asked("ab", &["--rounds", "5", "--precision", "1"]).code(2).says("cannot be used with");
}

fn calibrate(sandbox: &Sandbox) {
    let mut arguments = vec!["calibrate", "steady", "same", "--suite", "command", "--backend", "cpu"];
    arguments.extend(["--command", "sh speaker.sh notes {operator}", "--rounds", "3", "--seed", "1"]);
    arguments.extend(["--out", "floor"]);
    sandbox.run(&arguments).code(0).prints("A against A, process, 3 rounds").prints("floor/calibration.json");
}

#[test]
fn a_calibration_that_measured_nothing_is_no_floor() {
    let sandbox = Sandbox::new();
    let command = ["--suite", "command", "--backend", "cpu", "--command", "sh speaker.sh notes {operator}"];
    let ran =
        sandbox.run(&[&["calibrate", "plain", "--rounds", "2", "--out", "cal"], command.as_slice()].concat());
    assert!(!ran.stdout.contains("--floor"), "{}", ran.stdout);
    let refused = sandbox.run(&sandbox.speaker(&["slow"], &["--floor", "cal", "--out", "out"])).code(2);
    refused.says("measured nothing, so there is no floor in it");
    assert!(!sandbox.path("out").exists(), "it is refused before anything is measured");
}

#[test]
fn a_calibration_measures_identical_code_and_later_campaigns_show_it() {
    let sandbox = Sandbox::new();
    calibrate(&sandbox);
    let calibration = sandbox.json("floor/calibration.json");
    assert_eq!(calibration["bands"].as_array().unwrap().len(), 1, "{calibration}");
    let band = &calibration["bands"][0];
    let counts =
        ["cases", "operators", "processes", "false_positives"].map(|name| band[name].as_u64().unwrap());
    // Two operators of two cases; three rounds of a process a side each.
    assert_eq!(counts, [4, 2, 12, 0]);
    assert_eq!((band["pairing"].as_str(), band["timer"].as_str()), (Some("process"), Some("direct")));
    // B is 0.02 % slower in two rounds of three.
    let floor = band["floor_pct"].as_f64().unwrap();
    assert!((floor - 0.04 / 3.0).abs() < 1e-4, "{floor}");
    for operator in ["steady", "same"] {
        let it = sandbox.operator("floor", operator);
        assert_eq!(it["control"], true, "{it}");
        assert!(!["FASTER", "SLOWER"].contains(&it["verdict"].as_str().unwrap()), "{it}");
    }

    let ab = sandbox.speaker(&["slow", "same"], &["--out", "ab", "--floor", "floor"]);
    sandbox.run(&ab).code(0).prints("calibrated before: `floor`");
    // It is kept, so that the campaign shows it without being told again.
    sandbox.run(&["report", "ab"]).code(0).prints("calibrated before: `floor`");
    sandbox.run(&["report", "ab", "--format", "markdown"]).prints("A against A, process, 3 rounds");
}

#[test]
fn a_floor_of_another_timer_is_refused_by_name_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    calibrate(&sandbox);
    let before = sandbox.cells().len();
    let text = std::fs::read_to_string(sandbox.path("floor/calibration.json")).unwrap();
    let other = text.replace("\"timer\": \"auto\"", "\"timer\": \"gated\"");
    assert_ne!(other, text);
    std::fs::write(sandbox.path("other.json"), other).unwrap();
    let ab = sandbox.speaker(&["slow", "same"], &["--out", "ab", "--floor", "other.json"]);
    sandbox.run(&ab).code(5).says("`timer` is `gated` there, `auto` here").says("--allow timer");
    assert_eq!(sandbox.cells().len(), before);
    assert!(!sandbox.path("ab").exists());
    let allowed = [&ab[..], &["--allow", "timer"]].concat();
    sandbox.run(&allowed).code(0).prints("calibrated before");
    sandbox.run(&["report", "ab", "--floor", "nowhere"]).code(2).says("is no calibration");
}

#[test]
fn cases_have_their_intervals_as_bars_and_evidence_has_a_line() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let ran = sandbox.run(&["report", "done", "--cases", "slow"]).code(0);
    ran.prints("evidence  3 rounds")
        .prints("timer direct")
        .prints("a process a side")
        .prints("●")
        .prints("scale from");
    sandbox.run(&["report", "done", "--cases", "slwo"]).code(2).says("the nearest is `slow`");
    let quiet = sandbox.run(&["report", "done"]).code(0);
    assert!(!quiet.stdout.contains("evidence"));
    quiet.code(0);
    sandbox.run(&["report", "done", "-v"]).code(0).prints("evidence\nslow\n");
}
