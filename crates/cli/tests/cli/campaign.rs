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

#[test]
fn operators_come_from_a_file_and_are_added_and_left_out() {
    let sandbox = Sandbox::new();
    let file = "# screened in May\n\nslow   # the one that matters\nsame::f32\n  steady:steady:f32 f64\n";
    std::fs::write(sandbox.path("ops.txt"), file).unwrap();
    let dry = |more: &[&str]| {
        let mut arguments = campaign(&sandbox, &[], &["--ops-file", "ops.txt", "--dry-run"]);
        arguments.extend(more);
        let text = sandbox.run(&arguments).code(0).stdout;
        text.lines().find(|line| line.starts_with("operators")).unwrap().to_owned()
    };
    assert!(dry(&[]).ends_with("  slow same::f32 steady::f32,f64"), "{}", dry(&[]));
    let both = dry(&["--exclude", "same,steady", "--extra-ops", "plain broken::f64"]);
    assert!(both.ends_with("  slow plain broken::f64"), "{both}");
    let refused = |more: &[&str]| {
        let mut arguments = campaign(&sandbox, &["slow"], &["--dry-run"]);
        arguments.extend(more);
        sandbox.run(&arguments).code(2)
    };
    refused(&["--exclude", "fast"]).says("`fast` is to be left out and is none of the operators");
    refused(&["--ops-file", "none.txt"]).says("cannot read `none.txt`");
    std::fs::write(sandbox.path("ops.txt"), "slow\na b\n").unwrap();
    refused(&["--ops-file", "ops.txt"]).says("`ops.txt`, line 2: ");
    std::fs::write(sandbox.path("ops.txt"), "# nothing\n").unwrap();
    refused(&["--ops-file", "ops.txt"]).says("`ops.txt` names no operator");
    refused(&["--verdicts", "NO_ROWS"]).says("`verdicts` cannot be `NO_ROWS`");
    refused(&["--verdicts", "CHANGED"]).says("`CHANGED` is no verdict");
    refused(&["--replay-from", "."]).says("suite `command` has no tuners");
}

#[test]
fn verdicts_choose_what_is_measured() {
    let sandbox = Sandbox::new();
    let mut arguments = campaign(&sandbox, &["slow", "same"], &["--out", "out", "--verdicts", "NO_IR_DIFF"]);
    arguments.extend(["--rounds", "2"]);
    let at = arguments.iter().position(|it| *it == "--rounds").unwrap();
    arguments.drain(at..at + 2);
    sandbox.run(&arguments).code(0);
    let cells = sandbox.cells();
    assert!(cells.contains(&"same r1_A".to_owned()), "{cells:?}");
    assert!(!cells.iter().any(|cell| cell.starts_with("slow r")), "{cells:?}");
    assert_eq!(sandbox.operator("out", "slow")["verdict"], "NOT_MEASURED");
}

/// A campaign's request without what is the occasion's.
fn asked(sandbox: &Sandbox, path: &str) -> toml::Table {
    let text = std::fs::read_to_string(sandbox.path(path)).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    for field in ["id", "created_utc", "card", "more_cards", "operators", "takes_dtypes"] {
        table.remove(field);
    }
    table
}

#[test]
fn a_fixed_partition_is_kept_and_each_line_of_its_table_can_be_run() {
    let sandbox = Sandbox::new();
    let names = ["slow", "steady", "same"];
    let mut arguments = campaign(&sandbox, &names, &["--out", "out", "--static", "--seed", "5"]);
    arguments.extend(["--env", "QUOTED=it's $HOME", "--margin", "0.25", "--cell-timeout", "90"]);
    sandbox.run(&arguments).code(0);
    let rows = sandbox.table("out/plan.tsv");
    let of = |row: &[(String, String)], column: &str| {
        row.iter().find(|(name, _)| name == column).unwrap().1.clone()
    };
    assert_eq!(rows.len(), 2);
    let mut listed: Vec<String> = rows
        .iter()
        .flat_map(|row| of(row, "ops").split(' ').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    listed.sort();
    assert_eq!(listed, ["same", "slow", "steady"]);
    // Every round of an operator ran on the card that the table gives it.
    let cards = by_card(&sandbox, "out");
    for row in &rows {
        let rounds = cards[&of(row, "device")].iter().filter(|(_, cell)| cell.starts_with('r'));
        let ran: BTreeSet<&String> = rounds.map(|(operator, _)| operator).collect();
        let ops = of(row, "ops");
        assert_eq!(ran, ops.split(' ').map(str::to_owned).collect::<BTreeSet<_>>().iter().collect());
    }
    for row in &rows {
        let mut command = sandbox.command(&[]);
        let program = command.get_program().to_owned();
        let bin = std::path::Path::new(&program).parent().unwrap().to_owned();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        command = std::process::Command::new("sh");
        command
            .args(["-c", &of(row, "command")])
            .current_dir(sandbox.path("."))
            .env("PATH", path)
            .env("SWITCHBACK_LOCK_DIR", sandbox.path("locks"));
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{stderr}", of(row, "command"));
        let device = of(row, "device");
        let mut whole = asked(&sandbox, "out/campaign.toml");
        let mut part = asked(&sandbox, &format!("out-by-hand/card-{device}/campaign.toml"));
        for table in [&mut whole, &mut part] {
            for field in ["fixed", "controls", "measure_identical"] {
                table.remove(field);
            }
        }
        assert_eq!(part, whole);
    }
    let read = |path: &str| std::fs::read_to_string(sandbox.path(path)).unwrap();
    let by_hand: BTreeMap<&str, bool> = names
        .iter()
        .map(|name| (*name, read("notes/cells").matches(&format!("{name} r3_B")).count() == 2))
        .collect();
    assert!(by_hand.values().all(|twice| *twice), "{by_hand:?}");
}

#[test]
fn a_plan_says_who_is_spread_and_where_its_times_come_from() {
    let sandbox = Sandbox::new();
    let plan = |more: &[&str]| {
        let mut arguments = campaign(&sandbox, &["slow", "steady", "same"], more);
        arguments[0] = "plan";
        sandbox.run(&arguments)
    };
    let guessed = plan(&[]).code(0).prints("guessed, 30.0 s a block").prints("a guess").prints("card 1");
    assert!(guessed.stdout.contains("makespan") && guessed.stdout.contains("heaviest"), "{}", guessed.stdout);
    plan(&["--tsv"]).code(2).says("takes the times of screening");
    // Seconds that are known: the longest operator alone is more than a card's share.
    sandbox.run(&campaign(&sandbox, &["slow", "steady", "same"], &["--out", "runs/one"])).code(0);
    for (cell, elapsed_s) in [("slow/r1", 600.0), ("slow/r2", 600.0), ("slow/r3", 600.0), ("steady/r1", 30.0)]
    {
        for side in ["A", "B"] {
            let path = format!("runs/one/cells/{cell}_{side}/1/outcome.json");
            let mut outcome = sandbox.json(&path);
            outcome["elapsed_s"] = elapsed_s.into();
            std::fs::write(sandbox.path(&path), outcome.to_string()).unwrap();
        }
    }
    let ran = plan(&["--out", "new"]).code(0).prints("as cells took in `runs/one`, the latest of this suite");
    let spread = ran.prints("heaviest  slow, ").prints("spread by its rounds").prints("slow (2 of 3 rounds)");
    assert!(spread.stdout.contains("slow (1 of 3 rounds)"), "{}", spread.stdout);
    plan(&["--from", "runs/one", "--static"]).code(0).prints("without `--static` it would be spread");
    plan(&["--from", "runs/one", "--tsv"]).code(0).prints("switchback ab ");
    assert_eq!(sandbox.left(), ["runs"]);
}
