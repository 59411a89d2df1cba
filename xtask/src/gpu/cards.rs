//! The same operators on several numbers of cards: makespan, card seconds, idle share, speed-up, verdicts held side by side.
//!
//! Each number of cards is a campaign of its own with caches of its own. Figures come from the attempts' outcomes: card seconds
//! are those in which a cell of the card had its turn, the makespan goes from the first start to the last end.
//!
//! `--program FILE` runs a binary that is there (a machine with cards may have no compiler), `--read` runs nothing and reads the
//! folders of an earlier run, and what stands behind `--` goes to each campaign.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::step::Step;

/// Operators of FlagGems' benchmark of all kinds that have a card for seconds each: products, which the switch changes, and
/// others, which it does not.
const FLAGGEMS: [&str; 26] = [
    "mm",
    "bmm",
    "addmm",
    "mv",
    "dot",
    "softmax",
    "log_softmax",
    "layer_norm",
    "group_norm",
    "rms_norm",
    "sum",
    "mean",
    "amax",
    "argmax",
    "cumsum",
    "sort",
    "topk",
    "embedding",
    "index_select",
    "gelu_backward",
    "softmax_backward",
    "log10",
    "smooth_l1_loss",
    "gelu",
    "add",
    "dropout",
];
/// Options of the campaigns that can be given without `--`.
const PASSED_ON: [&str; 8] =
    ["--python", "--flaggems-dir", "--rounds", "--dtypes", "--level", "--ops-file", "--controls", "--seed"];
/// How close a card's turns must follow each other to count as one: what a lock needs to change hands.
const SAME_S: f64 = 0.05;

/// Runs a campaign for each number of cards and compares them.
///
/// # Errors
/// A campaign fails, or a verdict contradicts another number of cards'.
pub fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let (arguments, more) = match arguments.iter().position(|argument| *argument == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    let option = |name: &str| {
        arguments.iter().position(|argument| *argument == name).and_then(|at| arguments.get(at + 1)).copied()
    };
    let numbers: Vec<usize> = option("--cards")
        .context("`--cards` takes numbers of cards: `1,2`")?
        .split(',')
        .map(|text| {
            text.parse()
                .ok()
                .filter(|number| *number > 0)
                .with_context(|| format!("`{text}` is no number of cards"))
        })
        .collect::<anyhow::Result<_>>()?;
    let suite = option("--suite").unwrap_or("flaggems");
    let out = root.join(option("--out").unwrap_or("runs/gpu-cards"));
    let only_reads = arguments.contains(&"--read");
    let program = match option("--program") {
        Some(program) => program.to_owned(),
        None if only_reads => String::new(),
        None => {
            Step::new("build", root, &["cargo", "build", "--release", "--quiet", "--package", "switchback"])
                .run()?;
            root.join("target/release/switchback").to_string_lossy().into_owned()
        }
    };
    let mut runs = Vec::new();
    for number in numbers {
        let folder = out.join(format!("{number}-cards"));
        if !only_reads {
            let mut argv = campaign(&program, suite, number, &folder, arguments);
            argv.extend(more.iter().map(|word| (*word).to_owned()));
            let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
            // What is incomplete (an operator that this library version cannot run) is so on every number of cards, and is told.
            let step = Step::new(suite, root, &argv);
            step.ended_with(&[0, 4])?;
        }
        runs.push(Run::read(number, &folder)?);
    }
    print(&runs)?;
    contradictions(&runs)
}

fn campaign(program: &str, suite: &str, number: usize, folder: &Path, arguments: &[&str]) -> Vec<String> {
    let devices: Vec<String> = (0..number).map(|index| index.to_string()).collect();
    let switch = match suite {
        "cpu" => "SWITCHBACK_CPU_OPT_LEVEL=none:speed",
        _ => "DISABLE_MMA_V3",
    };
    let mut argv: Vec<String> =
        [program, "campaign", "--suite", suite, "--switch", switch, "--devices"].map(str::to_owned).into();
    argv.push(devices.join(","));
    argv.extend(["--out".to_owned(), folder.to_string_lossy().into_owned()]);
    for pair in arguments.windows(2).filter(|pair| PASSED_ON.contains(&pair[0])) {
        argv.extend(pair.iter().map(|word| (*word).to_owned()));
    }
    let defaults = [("--rounds", "4"), ("--seed", "1")];
    for (name, value) in defaults.into_iter().filter(|(name, _)| !arguments.contains(name)) {
        argv.extend([name.to_owned(), value.to_owned()]);
    }
    if suite == "flaggems" {
        for (name, value) in [("--dtypes", "float16"), ("--level", "core")] {
            if !arguments.contains(&name) {
                argv.extend([name.to_owned(), value.to_owned()]);
            }
        }
        if !arguments.contains(&"--ops-file") {
            argv.extend(FLAGGEMS.map(str::to_owned));
        }
    }
    argv
}

/// One campaign's figures.
struct Run {
    cards: usize,
    makespan_s: f64,
    /// Seconds before the first round began.
    before_s: f64,
    /// Seconds in which a cell had its turn, by card; cells that share it are counted once.
    busy_s: BTreeMap<String, f64>,
    /// Seconds of all processes together.
    process_s: f64,
    cells: usize,
    again: usize,
    /// Operators that more than one card measured.
    spread: usize,
    operators: BTreeMap<String, Operator>,
}

/// What a report says of an operator.
struct Operator {
    verdict: String,
    ci_pct: Option<(f64, f64)>,
}

impl Run {
    fn read(cards: usize, folder: &Path) -> anyhow::Result<Self> {
        let mut spans: Vec<(f64, f64)> = Vec::new();
        let mut first_round_s = f64::INFINITY;
        let mut turns: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let mut measured_on: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut again = 0;
        for path in outcomes(&folder.join("cells"))? {
            let outcome: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
            let part = |number: usize| {
                path.iter()
                    .rev()
                    .nth(number)
                    .map(|name| name.to_string_lossy().into_owned())
                    .unwrap_or_default()
            };
            let (attempt, cell, operator) = (part(1), part(2), part(3));
            let start_s = outcome["started_s"].as_f64().context("an outcome has no start")?;
            let elapsed_s = outcome["elapsed_s"].as_f64().context("an outcome has no time")?;
            let card = outcome["card"]["index"].as_str().unwrap_or_default().to_owned();
            spans.push((start_s, start_s + elapsed_s));
            let turn_s = outcome["turn_s"].as_f64().unwrap_or(0.0);
            turns.entry(card.clone()).or_default().push((start_s + turn_s, start_s + elapsed_s));
            again += usize::from(attempt != "1");
            if cell.starts_with('r') {
                first_round_s = first_round_s.min(start_s);
                measured_on.entry(operator).or_default().insert(card);
            }
        }
        ensure!(!spans.is_empty(), "`{}` has no outcome", folder.display());
        let start_s = spans.iter().map(|span| span.0).fold(f64::INFINITY, f64::min);
        let end_s = spans.iter().map(|span| span.1).fold(0.0, f64::max);
        let text = std::fs::read_to_string(folder.join("report.json")).context("there is no report.json")?;
        let report: Value = serde_json::from_str(&text)?;
        let operators = report["operators"]
            .as_array()
            .context("the report has no operators")?
            .iter()
            .map(|it| {
                let bound = |place: usize| it["ci_pct"][place].as_f64();
                let operator = Operator {
                    verdict: it["verdict"].as_str().unwrap_or_default().to_owned(),
                    ci_pct: bound(0).zip(bound(1)),
                };
                (it["operator"].as_str().unwrap_or_default().to_owned(), operator)
            })
            .collect();
        Ok(Self {
            cards,
            makespan_s: end_s - start_s,
            before_s: (first_round_s.min(end_s) - start_s).max(0.0),
            busy_s: turns.into_iter().map(|(card, turns)| (card, covered_s(turns))).collect(),
            process_s: spans.iter().map(|(from_s, to_s)| to_s - from_s).sum(),
            cells: spans.len(),
            again,
            spread: measured_on.values().filter(|cards| cards.len() > 1).count(),
            operators,
        })
    }

    fn card_s(&self) -> f64 {
        self.busy_s.values().sum()
    }

    #[allow(clippy::cast_precision_loss, reason = "a machine has few cards")]
    fn idle(&self) -> f64 {
        1.0 - self.card_s() / (self.makespan_s * self.cards as f64)
    }
}

/// Seconds that spans cover together.
fn covered_s(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|one, two| one.0.total_cmp(&two.0));
    let mut covered_s = 0.0;
    let mut until_s = f64::NEG_INFINITY;
    for (from_s, to_s) in spans {
        let from_s = if from_s - until_s < SAME_S { from_s.min(until_s) } else { from_s };
        covered_s += (to_s - from_s.max(until_s)).max(0.0);
        until_s = until_s.max(to_s);
    }
    covered_s
}

fn outcomes(cells: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![cells.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("cannot read `{}`", folder.display()))?
        {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name == "outcome.json") {
                found.push(path);
            } else if path.is_dir() && path.iter().count() < cells.iter().count() + 4 {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

fn print(runs: &[Run]) -> anyhow::Result<()> {
    let base = runs.iter().min_by_key(|run| run.cards).context("no run")?;
    println!("cards  makespan_s  before_rounds_s  card_s  idle  speed_up  process_s  cells  again  spread");
    for run in runs {
        println!(
            "{:>5}  {:>10.0}  {:>15.0}  {:>6.0}  {:>3.0}%  {:>8.2}  {:>9.0}  {:>5}  {:>5}  {:>6}",
            run.cards,
            run.makespan_s,
            run.before_s,
            run.card_s(),
            100.0 * run.idle(),
            base.makespan_s / run.makespan_s,
            run.process_s,
            run.cells,
            run.again,
            run.spread
        );
        let busy: Vec<String> =
            run.busy_s.iter().map(|(card, seconds)| format!("card {card} {seconds:.0} s")).collect();
        println!("       {}", busy.join(", "));
    }
    println!(
        "speed_up: makespan on {} over this one's; card_s: cells had their turn; process_s: of all cells from start to end; spread: operators that several cards measured; again: attempts after the first",
        base.cards
    );
    Ok(())
}

/// Faster on one number of cards and slower on another, or intervals that do not meet.
fn contradictions(runs: &[Run]) -> anyhow::Result<()> {
    let Some((base, others)) = runs.split_first() else { return Ok(()) };
    let mut found = Vec::new();
    let mut compared = 0;
    for other in others {
        for (name, one) in &base.operators {
            let Some(two) = other.operators.get(name) else { continue };
            let (Some(a), Some(b)) = (one.ci_pct, two.ci_pct) else { continue };
            compared += 1;
            if a.1 < b.0 || b.1 < a.0 {
                found.push(format!(
                    "`{name}`: {} [{:.2}, {:.2}] on {} cards, {} [{:.2}, {:.2}] on {}",
                    one.verdict, a.0, a.1, base.cards, two.verdict, b.0, b.1, other.cards
                ));
            }
        }
    }
    println!("intervals: {compared} pairs compared, {} do not meet", found.len());
    for line in &found {
        println!("  {line}");
    }
    let opposite = |one: &str, two: &str| matches!((one, two), ("FASTER", "SLOWER") | ("SLOWER", "FASTER"));
    let wrong: Vec<&String> = base
        .operators
        .iter()
        .filter(|(name, one)| {
            others
                .iter()
                .any(|run| run.operators.get(*name).is_some_and(|two| opposite(&one.verdict, &two.verdict)))
        })
        .map(|(name, _)| name)
        .collect();
    if !wrong.is_empty() {
        bail!("faster on one number of cards, slower on another: {wrong:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_overlap_or_follow_at_once_are_counted_once() {
        assert!((covered_s(vec![(5.0, 7.0), (0.0, 2.0), (1.0, 3.0), (3.02, 4.0)]) - 6.0).abs() < 1e-9);
        assert!((covered_s(vec![(0.0, 9.0), (1.0, 2.0)]) - 9.0).abs() < 1e-9);
    }
}
