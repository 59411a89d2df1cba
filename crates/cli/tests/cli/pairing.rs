//! Duets that are proven, and those that are not, on Triton's own kernels with a driver that launches nothing.

use std::path::Path;
use std::process::Stdio;

use crate::support::{Sandbox, wait_until};

/// Loads the stand-in for the driver into every interpreter that is started.
const SITE: &str = "import fake_driver\n";

/// Runs `ab` of the triton suite's softmax without a card; none where no interpreter has Triton.
fn ab(sandbox: &Sandbox, switch: &[&str]) -> Option<serde_json::Value> {
    ab_of(sandbox, &["softmax::float16"], switch)
}

/// As [`ab`], of these operators, with up to three cells on the card at once.
fn ab_of(sandbox: &Sandbox, operators: &[&str], switch: &[&str]) -> Option<serde_json::Value> {
    let output = command(sandbox, operators, switch)?.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = std::fs::read(sandbox.path("out/report.json")).unwrap();
    Some(serde_json::from_slice(&report).unwrap())
}

/// The command of [`ab_of`].
fn command(sandbox: &Sandbox, operators: &[&str], switch: &[&str]) -> Option<std::process::Command> {
    let Some(python) = std::env::var_os("SWITCHBACK_TEST_TRITON_PYTHON") else {
        eprintln!("skipped: `SWITCHBACK_TEST_TRITON_PYTHON` names no interpreter with triton");
        return None;
    };
    std::fs::write(sandbox.path("sitecustomize.py"), SITE).unwrap();
    let mut arguments = vec!["ab"];
    arguments.extend(operators);
    arguments.extend(["--suite", "triton", "--backend", "cpu", "--rounds", "2", "--cells-per-card", "3"]);
    arguments.extend(["--sample-ms", "20", "--warmup-ms", "2", "--measure-identical", "--seed", "5"]);
    arguments.extend(["--out", "out", "--python", python.to_str().unwrap()]);
    arguments.extend(switch);
    let mut command = sandbox.command(&arguments);
    command.env("PYTHONPATH", pythonpath(sandbox));
    Some(command)
}

/// Where interpreters find the stand-ins.
fn pythonpath(sandbox: &Sandbox) -> String {
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites/python/tests/fake");
    format!("{}:{}", stand_in.display(), sandbox.path(".").display())
}

fn cells(sandbox: &Sandbox) -> Vec<String> {
    let mut found: Vec<String> = std::fs::read_dir(sandbox.path("out/cells/softmax"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('r'))
        .collect();
    found.sort();
    found
}

#[test]
fn a_duet_that_is_proven_is_what_is_measured() {
    let sandbox = Sandbox::new();
    let Some(report) = ab(&sandbox, &["--switch", "DISABLE_LLVM_OPT=:1"]) else { return };
    let softmax = &report["operators"][0];
    assert_eq!(cells(&sandbox), ["r1_AB", "r2_AB"]);
    assert_eq!((&report["pairing"], &softmax["screen"]), (&"duet".into(), &"IR_CHANGED".into()));
    assert!(!softmax["reasons"].to_string().contains("one process a side"), "{softmax}");
}

/// Cells that time nothing share the card, timed ones get ready beside others and have it to themselves.
#[test]
fn cells_get_ready_beside_each_other_and_measure_one_after_the_other() {
    let sandbox = Sandbox::new();
    let operators = ["softmax::float16", "add::float16", "gelu::float16"];
    let Some(report) = ab_of(&sandbox, &operators, &["--switch", "DISABLE_LLVM_OPT=:1"]) else { return };
    assert_eq!(report["operators"].as_array().unwrap().len(), 3);
    // (purpose, start, turn, last event) of each attempt, by one clock.
    let mut cells = Vec::new();
    for operator in ["softmax", "add", "gelu"] {
        for entry in std::fs::read_dir(sandbox.path(&format!("out/cells/{operator}"))).unwrap() {
            let cell = entry.unwrap();
            let attempts = std::fs::read_dir(cell.path()).unwrap().count();
            assert_eq!(attempts, 1, "{cell:?}");
            let text = std::fs::read(cell.path().join("1/outcome.json")).unwrap();
            let outcome: serde_json::Value = serde_json::from_slice(&text).unwrap();
            let number =
                |field: &str| outcome[field].as_f64().unwrap_or_else(|| panic!("{field}: {outcome}"));
            let start_s = number("started_s");
            let purpose = cell.file_name().into_string().unwrap();
            let is_shared = outcome["shared"].as_bool().unwrap_or(false);
            assert_eq!(is_shared, purpose.starts_with("screen"), "{outcome}");
            let events = std::fs::read_to_string(cell.path().join("1/events.jsonl")).unwrap();
            let end: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
            assert_eq!(end["kind"], "end");
            let end_s = end["t_s"].as_f64().unwrap();
            cells.push((purpose, start_s, start_s + number("turn_s"), end_s));
        }
    }
    let overlap = |from: fn(&(String, f64, f64, f64)) -> f64, timed: bool| {
        let is_timed = |it: &(String, f64, f64, f64)| !it.0.starts_with("screen");
        (0..cells.len()).flat_map(|one| (0..one).map(move |two| (one, two))).any(|(one, two)| {
            let (one, two) = (&cells[one], &cells[two]);
            (!timed || is_timed(one) || is_timed(two)) && from(one) < two.3 && from(two) < one.3
        })
    };
    assert!(overlap(|cell| cell.1, true), "one gets ready while another has the card");
    assert!(!overlap(|cell| cell.2, true), "two had the card at once, and one of them timed: {cells:?}");
}

/// `PTXAS_OPTIONS` is read when the back end is imported, before any side has its turn: in one process side B's machine
/// code is A's, and that is not what B's own cell compiled.
#[test]
fn an_operator_whose_duet_is_not_proven_is_measured_one_process_a_side() {
    let sandbox = Sandbox::new();
    let Some(report) = ab(&sandbox, &["--a", "PTXAS_OPTIONS=", "--b", "PTXAS_OPTIONS=-O0"]) else { return };
    let softmax = &report["operators"][0];
    assert_eq!((&softmax["screen"], &softmax["first_stage"]), (&"IR_CHANGED".into(), &"sass".into()));
    // One round of both is enough to know; both rounds are then measured anew.
    assert_eq!(cells(&sandbox), ["r1_A", "r1_AB", "r1_B", "r2_A", "r2_B"]);
    assert_eq!(softmax["rounds"], 2);
    let reasons = softmax["reasons"].to_string();
    for part in ["one process a side, for a duet of it is not proven", "side B ran other code", "sass"] {
        assert!(reasons.contains(part), "{part}: {reasons}");
    }
    // A resumed campaign finds the same on disk, and nothing left to do.
    let again = sandbox.run(&["resume", "out"]).code(0);
    assert!(again.stdout.contains("softmax"), "{}", again.stdout);
    assert_eq!(cells(&sandbox).len(), 5);
    // So does one whose index is gone: the reason is on disk.
    let report = || std::fs::read_to_string(sandbox.path("out/report.json")).unwrap();
    let with_index = report();
    std::fs::remove_file(sandbox.path("out/campaign.db")).unwrap();
    for command in ["resume", "report", "rescore"] {
        sandbox.run(&[command, "out"]).code(0);
        assert_eq!(report(), with_index, "{command}");
    }
    assert_eq!(cells(&sandbox).len(), 5);
}

/// A campaign that replays another's choices has no tuning cell, so the second compilation is a cell of its own.
#[test]
fn a_campaign_that_replays_compiles_a_second_time_what_differs() {
    let sandbox = Sandbox::new();
    let switch = ["--switch", "DISABLE_LLVM_OPT=:1"];
    if ab(&sandbox, &switch).is_none() {
        return;
    }
    std::fs::rename(sandbox.path("out"), sandbox.path("recorded")).unwrap();
    let report = ab(&sandbox, &[&switch[..], &["--replay-from", "recorded"]].concat()).unwrap();
    assert_eq!(report["operators"][0]["screen"], "IR_CHANGED");
    let outcome = std::fs::read(sandbox.path("out/cells/softmax/again_A/1/outcome.json")).unwrap();
    let outcome: serde_json::Value = serde_json::from_slice(&outcome).unwrap();
    assert_eq!(
        (&outcome["ending"], &outcome["counts"]["failed"]),
        (&"completed".into(), &0.into()),
        "{outcome}"
    );
    assert!(!sandbox.path("out/cells/softmax/tune_A").exists());
}

/// The coordinator dies while cells have the card, get ready and wait: all of them end, and nothing that was measured is lost.
#[test]
fn a_killed_campaign_of_cells_that_take_turns_goes_on_where_it_was() {
    let sandbox = Sandbox::new();
    let operators = ["softmax::float16", "add::float16", "gelu::float16"];
    let switch = ["--switch", "DISABLE_LLVM_OPT=:1"];
    let Some(mut command) = command(&sandbox, &operators, &switch) else { return };
    let mut coordinator = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let ended = || -> Vec<(String, String)> {
        let mut found = Vec::new();
        for operator in ["softmax", "add", "gelu"] {
            let Ok(cells) = std::fs::read_dir(sandbox.path(&format!("out/cells/{operator}"))) else {
                continue;
            };
            for cell in cells.flatten() {
                for attempt in std::fs::read_dir(cell.path()).unwrap().flatten() {
                    let Ok(text) = std::fs::read(attempt.path().join("outcome.json")) else { continue };
                    let outcome: serde_json::Value = serde_json::from_slice(&text).unwrap();
                    let name = format!("{operator} {}", cell.file_name().to_string_lossy());
                    found.push((name, outcome["ending"].as_str().unwrap().to_owned()));
                }
            }
        }
        found
    };
    wait_until("a round has begun", || ended().len() >= 7);
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
    let request = std::fs::read_to_string(sandbox.path("out/campaign.toml")).unwrap();
    let id =
        request.lines().find_map(|line| line.strip_prefix("id = ")).unwrap().trim_matches('"').to_owned();
    wait_until("all cells have ended", || carrying(&id) == 0);
    let resumed =
        sandbox.command(&["resume", "out"]).env("PYTHONPATH", pythonpath(&sandbox)).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}", String::from_utf8_lossy(&resumed.stderr));
    let all = ended();
    let mut completed: Vec<&str> =
        all.iter().filter(|(_, ending)| ending == "completed").map(|(name, _)| name.as_str()).collect();
    completed.sort_unstable();
    let mut once = completed.clone();
    once.dedup();
    assert_eq!(completed, once, "what was whole ran again: {all:?}");
    assert_eq!(completed.len(), 3 * 5, "{all:?}");
    assert!(all.iter().all(|(_, ending)| ["completed", "interrupted"].contains(&ending.as_str())), "{all:?}");
    let report = std::fs::read(sandbox.path("out/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert!(report["operators"].as_array().unwrap().iter().all(|it| it["rounds"] == 2), "{report}");
}

/// Processes that carry a campaign's id and are not zombies.
fn carrying(id: &str) -> usize {
    let carries = |environment: Vec<u8>| {
        environment.split(|byte| *byte == 0).any(|it| it == format!("SWITCHBACK_CAMPAIGN={id}").as_bytes())
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| std::fs::read(entry.path().join("environ")).is_ok_and(carries))
        .count()
}
