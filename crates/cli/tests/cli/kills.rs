//! What is killed, when, and what the same command makes of it afterwards.

use rustix::process::{Signal, kill_process};

use crate::support::{Sandbox, runs, wait_until};

/// Cells of one changed operator and one control in three rounds of one process a side.
const ALL: [&str; 17] = [
    "slow screen_A",
    "slow screen_B",
    "slow again_A",
    "same screen_A",
    "same screen_B",
    "slow r1_A",
    "slow r1_B",
    "same r1_A",
    "same r1_B",
    "slow r2_B",
    "slow r2_A",
    "same r2_B",
    "same r2_A",
    "slow r3_A",
    "slow r3_B",
    "same r3_A",
    "same r3_B",
];

/// Asserts that every cell ran once, those named one time more, and that the report is that of an undisturbed campaign.
#[track_caller]
fn assert_whole(sandbox: &Sandbox, again: &[&str]) {
    let mut expected: Vec<&str> = ALL.iter().chain(again).copied().collect();
    expected.sort_unstable();
    let mut cells = sandbox.cells();
    cells.sort_unstable();
    assert_eq!(cells, expected);
    let slow = sandbox.operator("out", "slow");
    assert_eq!((slow["verdict"].as_str(), slow["rounds"].as_u64()), (Some("FASTER"), Some(3)), "{slow}");
    // 10 us against 8 us; B reads 0.02 % more in two of three rounds.
    let effect = slow["effect_pct"].as_f64().unwrap();
    assert!((effect - 25.0).abs() < 0.05, "{effect}");
    let cases = slow["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2);
    assert!(cases.iter().all(|case| case["rounds_pct"].as_array().unwrap().len() == 3), "{slow}");
    assert_eq!(sandbox.operator("out", "same")["control"], true);
}

#[test]
fn an_undisturbed_campaign_runs_every_cell_once_and_a_second_start_runs_none() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    sandbox.run(&arguments).code(0);
    assert_eq!(sandbox.cells(), ALL);
    sandbox.run(&arguments).code(0);
    sandbox.run(&["resume", "out"]).code(0);
    assert_whole(&sandbox, &[]);
}

#[test]
fn a_killed_cell_is_measured_again() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    sandbox.hold("slow r2_A");
    let running = sandbox.start(&arguments);
    let [cell, _, left] = sandbox.holding();
    kill_process(cell, Signal::KILL).unwrap();
    running.wait().code(0).says("slow r2_A: killed by SIGKILL");
    wait_until("what the cell left is gone", || !runs(left));
    assert_whole(&sandbox, &["slow r2_A"]);
    let endings: Vec<String> = ["1", "2"]
        .map(|attempt| sandbox.json(&format!("out/cells/slow/r2_A/{attempt}/outcome.json")))
        .map(|outcome| outcome["ending"].as_str().unwrap().to_owned())
        .into();
    assert_eq!(endings, ["crashed", "completed"]);
    // The row that it had measured before is no row of the round: the attempt after it counts.
    sandbox.run(&arguments).code(0);
    assert_whole(&sandbox, &["slow r2_A"]);
}

/// A cell that had no time to tell its conditions has none that could differ.
#[test]
fn a_cell_that_is_interrupted_before_it_told_anything_refuses_nothing() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    std::fs::write(sandbox.path("notes/early slow r1_B"), "").unwrap();
    let running = sandbox.start(&arguments);
    sandbox.holding();
    running.signal(Signal::INT);
    running.wait().code(130).says("`switchback resume out` goes on");
    sandbox.run(&["resume", "out"]).code(0);
    assert_whole(&sandbox, &["slow r1_B"]);
}

#[test]
fn a_cell_that_is_killed_twice_is_left_and_the_others_go_on() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    sandbox.hold("slow r1_A");
    let running = sandbox.start(&arguments);
    let [first, ..] = sandbox.holding();
    sandbox.hold("slow r1_A");
    kill_process(first, Signal::KILL).unwrap();
    let [second, ..] = sandbox.holding();
    kill_process(second, Signal::KILL).unwrap();
    running.wait().code(4);
    let slow = sandbox.operator("out", "slow");
    assert_eq!(slow["verdict"], "NOT_MEASURED", "{slow}");
    let reasons = slow["reasons"].to_string();
    assert!(reasons.contains("r1_A") && reasons.contains("SIGKILL"), "{reasons}");
    assert!(sandbox.cells().contains(&"same r3_B".to_owned()));
    let count = sandbox.cells().len();
    sandbox.run(&arguments).code(4);
    assert_eq!(sandbox.cells().len(), count, "a third try would be no other");
}

#[test]
fn a_killed_supervisor_takes_its_cell_along_and_the_cell_is_measured_again() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    sandbox.hold("same r1_B");
    let running = sandbox.start(&arguments);
    let [cell, supervisor, left] = sandbox.holding();
    kill_process(supervisor, Signal::KILL).unwrap();
    running.wait().code(0).says("same r1_B: its supervisor left no outcome");
    assert!(!runs(cell));
    assert_whole(&sandbox, &["same r1_B"]);
    assert!(!sandbox.path("out/cells/same/r1_B/1/outcome.json").exists());
    // Nobody was left to end it; the next start of the campaign does.
    assert!(runs(left));
    sandbox.run(&arguments).code(0).says(&format!("ended process {}", left.as_raw_nonzero()));
    assert!(!runs(left));
}

#[test]
fn a_killed_coordinator_is_gone_on_with_by_the_same_command() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    sandbox.hold("slow r2_B");
    let running = sandbox.start(&arguments);
    let [cell, supervisor, left] = sandbox.holding();
    running.signal(Signal::KILL);
    drop(running);
    wait_until("the supervisor has ended its cell", || !runs(supervisor) && !runs(cell) && !runs(left));
    assert_eq!(sandbox.json("out/cells/slow/r2_B/1/outcome.json")["ending"], "interrupted");
    sandbox.run(&arguments).code(0);
    assert_whole(&sandbox, &["slow r2_B"]);
}

#[test]
fn coordinator_and_supervisor_killed_at_once_leave_a_campaign_that_goes_on() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    sandbox.hold("same screen_B");
    let running = sandbox.start(&arguments);
    let [cell, supervisor, left] = sandbox.holding();
    // At once: between two signals the supervisor could still see the coordinator go, and end what the cell left behind.
    kill_process(supervisor, Signal::STOP).unwrap();
    running.signal(Signal::KILL);
    kill_process(supervisor, Signal::KILL).unwrap();
    drop(running);
    wait_until("the cell is gone", || !runs(cell));
    assert!(runs(left));
    sandbox.run(&["resume", "out"]).code(0).says("of an earlier start");
    assert!(!runs(left));
    assert_whole(&sandbox, &["same screen_B"]);
}

#[test]
fn ctrl_c_ends_the_cell_and_says_how_to_go_on() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    sandbox.hold("slow r1_B");
    let running = sandbox.start(&arguments);
    let [cell, supervisor, _] = sandbox.holding();
    // Others may look while it runs, and not meddle.
    sandbox.run(&["report", "out"]).code(0).prints("slow");
    let seen = sandbox.run(&["watch", "out", "--once"]).code(0).prints("  slow r1_B").stdout;
    assert!(!seen.contains("nobody works here"), "{seen}");
    sandbox.run(&arguments).code(3).says("another switchback is working in");
    running.signal(Signal::INT);
    let ran = running.wait().code(130);
    assert!(!runs(cell) && !runs(supervisor));
    let ran = ran.says("once more kills").says("interrupted; `switchback resume out` goes on");
    ran.prints("slow");
    assert_eq!(sandbox.json("out/cells/slow/r1_B/1/outcome.json")["ending"], "interrupted");
    let seen = sandbox.run(&["watch", "out", "--once"]).code(0);
    let seen = seen.prints("  nobody works here; `switchback resume out` goes on\n");
    let seen = seen.prints("last     slow r1_B: interrupted after ").stdout;
    assert!(seen.starts_with("measure  ") && !seen.contains("failed") && !seen.contains("  card "), "{seen}");
    sandbox.run(&["resume", "out", "--dry-run"]).code(0).prints("measure slow r1_B would be next");
    sandbox.run(&["resume", "out"]).code(0);
    assert_whole(&sandbox, &["slow r1_B"]);
    let seen = sandbox.run(&["watch", "out", "--once"]).code(0).stdout;
    assert!(seen.starts_with("finished ") && !seen.contains("nobody works here"), "{seen}");
}

#[test]
fn a_run_that_is_cut_off_says_what_it_had_measured() {
    let sandbox = Sandbox::new();
    sandbox.hold("slow run");
    let command = ["--suite", "command", "--backend", "cpu", "--command", "sh speaker.sh notes {operator}"];
    let running = sandbox.start(&[&["run", "slow", "--out", "out"], command.as_slice()].concat());
    sandbox.holding();
    running.signal(Signal::INT);
    let ran = running.wait().code(130);
    let text = ran.prints("no row of it counts; 1 row until then is kept").stdout;
    assert!(!text.contains("no row was measured"), "{text}");
    let page = sandbox.run(&["report", "out", "--format", "markdown"]).code(0).stdout;
    assert!(page.contains("1 row until then is kept") && !page.contains("No row was measured"), "{page}");
    sandbox.run(&["resume", "out"]).code(0).prints("10.0");
}

#[test]
fn ctrl_c_twice_kills_a_cell_that_does_not_listen() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("notes/deaf slow screen_A"), "").unwrap();
    let running = sandbox.start(&sandbox.speaker(&["slow", "same"], &["--out", "out"]));
    let [cell, ..] = sandbox.holding();
    running.signal(Signal::INT);
    let outcome = sandbox.path("out/cells/slow/screen_A/1/outcome.json");
    assert!(runs(cell) && !outcome.exists());
    running.signal(Signal::TERM);
    let start = std::time::Instant::now();
    running.wait().code(130);
    // Less than the 30 s that one request grants.
    assert!(start.elapsed().as_secs() < 20 && !runs(cell));
    sandbox.run(&["resume", "out"]).code(0);
    assert_whole(&sandbox, &["slow screen_A"]);
}

#[test]
fn a_cell_that_hangs_is_ended_at_its_deadline() {
    let sandbox = Sandbox::new();
    sandbox.hold("slow r1_A");
    let ran = sandbox
        .run(&sandbox.speaker(&["slow", "same"], &["--out", "out", "--cell-timeout", "2"]))
        .code(4)
        .says("!!! CELL_TIMEOUT 2 s: slow r1_A");
    ran.prints("ended with status 124");
    assert_eq!(sandbox.json("out/cells/slow/r1_A/1/outcome.json")["ending"], "timeout");
}

#[test]
fn a_time_budget_stops_between_cells() {
    let sandbox = Sandbox::new();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out", "--time-budget", "0.000001"]);
    sandbox.run(&arguments).code(4).says("the time budget is used up; `switchback resume out` goes on");
    assert_eq!(sandbox.cells(), [""; 0]);
    sandbox.run(&["resume", "out"]).code(0);
    assert_whole(&sandbox, &[]);
}

#[test]
fn two_campaigns_do_not_measure_on_one_card() {
    let sandbox = Sandbox::new();
    sandbox.hold("slow screen_A");
    let running = sandbox.start(&sandbox.speaker(&["slow", "same"], &["--out", "out"]));
    let [cell, ..] = sandbox.holding();
    let other = sandbox.speaker(&["slow", "same"], &["--out", "other"]);
    sandbox.run(&other).code(3).says("slow screen_A: ");
    kill_process(cell, Signal::KILL).unwrap();
    running.wait().code(0);
    assert_whole(&sandbox, &["slow screen_A"]);
    sandbox.run(&other).code(0);
}
