//! Many cards at once, on the virtual cards of the back end `cpu`.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Signal, kill_process};

use crate::support::{Sandbox, runs, wait_until};

/// Arguments of a campaign of the speaker on both virtual cards.
fn campaign<'a>(sandbox: &'a Sandbox, operators: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = sandbox.speaker(operators, more);
    arguments[0] = "campaign";
    arguments.extend(["--devices", "0,1"]);
    arguments
}

/// The cells of `status.tsv` by card: operator, cell.
fn by_card(sandbox: &Sandbox, out: &str) -> BTreeMap<String, Vec<(String, String)>> {
    let mut cards: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for row in sandbox.table(&format!("{out}/status.tsv")) {
        let value = |column: &str| row.iter().find(|(name, _)| name == column).unwrap().1.clone();
        cards.entry(value("device")).or_default().push((value("op"), value("cell")));
    }
    cards
}

#[test]
fn both_cards_are_at_work_at_once_and_a_round_stays_on_one() {
    let sandbox = Sandbox::new();
    sandbox.hold("slow screen_A");
    let arguments = campaign(&sandbox, &["slow", "steady", "same"], &["--out", "out"]);
    let running = sandbox.start(&arguments);
    let first = sandbox.holding();
    // While that one holds its card, the other card goes on with everything else, and comes to its end.
    let steady = sandbox.path("out/cells/steady/r3_B/1/outcome.json");
    wait_until("the other card measures", || steady.exists());
    assert!(runs(first[0]) && !sandbox.path("out/cells/slow/screen_A/1/outcome.json").exists());
    kill_process(first[0], Signal::KILL).unwrap();
    running.wait().code(0);
    let cards = by_card(&sandbox, "out");
    assert_eq!(cards.keys().collect::<Vec<_>>(), ["0", "1"]);
    let mut rounds: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (card, cells) in &cards {
        for (operator, cell) in cells {
            if let Some((round, _)) = cell.split_once('_').filter(|(round, _)| round.starts_with('r')) {
                rounds.entry((operator.clone(), round.to_owned())).or_default().insert(card.clone());
            }
        }
    }
    assert_eq!(rounds.len(), 9);
    assert!(rounds.values().all(|cards| cards.len() == 1), "{rounds:?}");
    // Each card has caches of its own.
    let caches: BTreeSet<String> = std::fs::read_dir(sandbox.path("out/cache"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(caches.into_iter().collect::<Vec<_>>(), ["cpu-0", "cpu-1"]);
}

#[test]
fn a_killed_coordinator_of_two_cards_is_gone_on_with_and_runs_no_round_again() {
    let sandbox = Sandbox::new();
    sandbox.hold("slow r2_A");
    sandbox.hold("steady r2_A");
    let arguments = campaign(&sandbox, &["slow", "steady", "same"], &["--out", "out"]);
    let running = sandbox.start(&arguments);
    let held = [sandbox.holding(), sandbox.holding()];
    running.signal(Signal::KILL);
    drop(running);
    wait_until("all that it had started is gone", || held.iter().flatten().all(|pid| !runs(*pid)));
    sandbox.run(&["resume", "out"]).code(0);
    let mut cells = sandbox.cells();
    cells.sort();
    let twice: Vec<&String> =
        cells.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert_eq!(twice, ["slow r2_A", "steady r2_A"], "{cells:?}");
    // Screening of three, another compilation of the two that changed, three rounds of two cells each, two again.
    assert_eq!(cells.len(), 3 * 2 + 2 + 3 * 6 + 2, "{cells:?}");
    for name in ["slow", "steady", "same"] {
        let operator = sandbox.operator("out", name);
        assert_eq!(operator["rounds"].as_u64(), Some(3), "{operator}");
    }
}

#[test]
fn ctrl_c_ends_the_cells_of_all_cards() {
    let sandbox = Sandbox::new();
    sandbox.hold("slow screen_A");
    sandbox.hold("same screen_A");
    let running = sandbox.start(&campaign(&sandbox, &["slow", "same"], &["--out", "out"]));
    let held = [sandbox.holding(), sandbox.holding()];
    running.signal(Signal::INT);
    running.wait().code(130);
    assert!(held.iter().flatten().all(|pid| !runs(*pid)));
    for name in ["slow", "same"] {
        let outcome = sandbox.json(&format!("out/cells/{name}/screen_A/1/outcome.json"));
        assert_eq!(outcome["ending"], "interrupted");
    }
    sandbox.run(&["resume", "out"]).code(0);
}

#[test]
fn a_card_in_use_by_another_campaign_is_left_to_it_and_its_work_done_elsewhere() {
    let sandbox = Sandbox::new();
    sandbox.hold("slow screen_A");
    let mut other = sandbox.speaker(&["slow", "same"], &["--out", "other"]);
    other.extend(["--devices", "1"]);
    let holder = sandbox.start(&other);
    let [cell, ..] = sandbox.holding();
    let ran = sandbox.run(&campaign(&sandbox, &["slow", "same"], &["--out", "out"])).code(0);
    ran.says("card 1 gets no more cells: card `cpu-1` is in use by");
    let cards = by_card(&sandbox, "out");
    assert!(cards["1"].iter().all(|(_, cell)| cell == "screen_A"), "{cards:?}");
    assert_eq!(sandbox.operator("out", "slow")["rounds"], 3);
    kill_process(cell, Signal::KILL).unwrap();
    holder.wait().code(0);
}

#[test]
fn several_cards_are_refused_where_one_measures_and_a_card_is_named_once() {
    let sandbox = Sandbox::new();
    let mut ab = sandbox.speaker(&["slow"], &["--out", "out"]);
    ab.extend(["--devices", "0,1"]);
    sandbox.run(&ab).code(2).says("`switchback campaign` measures on all of them");
    let mut twice = sandbox.speaker(&["slow"], &["--out", "out"]);
    twice[0] = "campaign";
    twice.extend(["--devices", "0,0"]);
    sandbox.run(&twice).code(2).says("card `0` is named twice");
    assert!(!sandbox.path("out").exists());
}
