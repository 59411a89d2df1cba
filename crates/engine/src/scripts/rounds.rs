//! Rounds that the scripts measured, judged by today's rules.
//!
//! Invariants: the conditions of an operator's runs are compared before a latency is read; a round or side that is missing
//! is a round that is missing, not a shorter campaign.

use std::collections::{BTreeMap, BTreeSet};

use switchback_model::conditions::Conditions;
use switchback_model::finding::Finding;
use switchback_model::marker::CELL_TIMEOUT;
use switchback_model::operator::OperatorSpec;
use switchback_model::report::{OperatorReport, Report, SCHEMA};
use switchback_model::side::{Pairing, Side};
use switchback_model::switch::Switch;
use switchback_model::verdict::ScreenVerdict;
use switchback_stats::input::{OperatorInput, Settings};
use switchback_store::script_dir::{ScriptOperator, ScriptRounds};

use super::run::{self, RunOf};
use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::measure::{RoundEvidence, measured_cases};
use crate::parts::{Measured, controls_report, figures};
use crate::screen::Screened;

/// One operator's runs, read.
pub(super) struct OperatorRead {
    /// The operator.
    pub spec: OperatorSpec,
    /// Rounds that were asked for.
    pub rounds: u32,
    /// Runs by round and side, with all their rows as this operator's.
    pub runs: BTreeMap<(u32, Side), (RunOf, Evidence)>,
    /// Statuses of cells that did not end well, in sentences.
    pub failures: Vec<String>,
    /// The status of the first such cell.
    pub status: i32,
}

/// Judges the rounds of a root.
///
/// # Errors
/// Runs of one operator under different conditions, or the disk.
pub fn report(
    rounds: &ScriptRounds,
    allowed: &BTreeSet<String>,
    margin_pct: f64,
    version: &str,
) -> Result<Report, EngineError> {
    let statuses = Statuses::of(rounds.text("status.tsv")?.as_deref().unwrap_or_default());
    let summary = rounds.text("summary.log")?.unwrap_or_default();
    let asked = word(&summary, "rounds=").and_then(|number| number.parse().ok());
    let read = rounds
        .operators
        .iter()
        .map(|operator| read_operator(operator, asked, &statuses))
        .collect::<Result<Vec<_>, _>>()?;
    let name = rounds.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let switch = word(&summary, "switch=").map(str::to_owned).or_else(|| switch_of_name(&name));
    judge(&read, &name, switch.as_deref(), allowed, margin_pct, version)
}

/// Judges operators, a round or several each.
pub(super) fn judge(
    read: &[OperatorRead],
    name: &str,
    switch: Option<&str>,
    allowed: &BTreeSet<String>,
    margin_pct: f64,
    version: &str,
) -> Result<Report, EngineError> {
    for it in read {
        comparable(it, allowed)?;
    }
    let mut inputs = Vec::new();
    let mut measured = Vec::new();
    for it in read {
        let screened = screened_of(it);
        let missing = Evidence::default();
        let side =
            |round: u32, side: Side| it.runs.get(&(round, side)).map_or(&missing, |(_, evidence)| evidence);
        let views: Vec<RoundEvidence<'_>> = (1..=it.rounds)
            .map(|round| RoundEvidence { round, a: side(round, Side::A), b: side(round, Side::B) })
            .filter(|round| !round.a.rows.is_empty() || !round.b.rows.is_empty())
            .collect();
        let assumed = screened.clone().unwrap_or_else(|| Screened::of(ScreenVerdict::IrChanged));
        let cases = if assumed.verdict == ScreenVerdict::NoRows {
            Vec::new()
        } else {
            measured_cases(&views, Pairing::Process, &assumed, [None, None])
        };
        let fallbacks = it.runs.values().map(|(_, evidence)| evidence.fallbacks).sum();
        inputs.push(OperatorInput {
            operator: it.spec.operator.clone(),
            all_identical: assumed.verdict == ScreenVerdict::NoIrDiff,
            process_paired: true,
            rounds_requested: Some(it.rounds),
            remarks: it.failures.clone(),
            cases: cases.iter().map(|case| case.input.clone()).collect(),
            ..OperatorInput::default()
        });
        let failed_cells = it.failures.clone();
        measured.push((screened, Measured { cases, fallbacks, failed_cells, ..Measured::default() }));
    }
    let rounds = read.iter().map(|it| it.rounds).max().unwrap_or(0);
    let settings = Settings { margin_percent: margin_pct, rounds_requested: rounds, ..Settings::default() };
    let judgement = switchback_stats::judge::judge(&inputs, &settings);
    let operators: Vec<OperatorReport> = read
        .iter()
        .zip(&judgement.operators)
        .zip(&measured)
        .map(|((it, judged), (screened, measured))| {
            let mut report = figures(&it.spec, judged, measured, screened.as_ref());
            let unknown = "nothing is known of the code: no `ttgir` was kept, which is not the same as none";
            let said = screened.as_ref().map_or_else(|| vec![unknown.to_owned()], |it| it.reasons.clone());
            report.reasons = if measured.cases.is_empty() {
                said.into_iter().chain(it.failures.iter().cloned()).collect()
            } else {
                said.into_iter().chain(judged.reasons.iter().cloned()).collect()
            };
            report.hints = hints(it, screened.as_ref());
            report.rounds_requested = Some(it.rounds);
            report
        })
        .collect();
    let names = switch.unwrap_or("SWITCH");
    let mut sides = Switch::default();
    for (side, value) in [(Side::A, "0"), (Side::B, "1")] {
        // A name that is none leaves the sides without one.
        let _ = sides.set(side, &format!("{names}={value}"));
    }
    let mut stamps: BTreeMap<String, u64> = BTreeMap::new();
    for (run, _) in read.iter().flat_map(|it| it.runs.values()) {
        for (pattern, count) in &run.stamps {
            *stamps.entry(pattern.clone()).or_default() += count;
        }
    }
    let mut findings = Vec::new();
    if switch.is_none() {
        findings.push(Finding::warning(
            "the switch's name is not known",
            "neither `summary.log` nor the folder's name tells it",
            "the sides are called `SWITCH` here",
        ));
    }
    findings.extend(read.iter().flat_map(findings_of));
    Ok(Report {
        schema: SCHEMA,
        campaign: name.to_owned(),
        switchback: version.to_owned(),
        created_utc: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        switch: sides,
        suite: "flaggems".into(),
        pairing: Some(Pairing::Process),
        rounds,
        margin_pct,
        conditions: common(read),
        identity: BTreeMap::from([("origin".into(), "folder of the scripts".into())]),
        allowed: allowed.iter().cloned().collect(),
        operators,
        controls: controls_report(&judgement.controls),
        stamps,
        findings,
        ..Report::default()
    })
}

fn read_operator(
    operator: &ScriptOperator,
    asked: Option<u32>,
    statuses: &Statuses,
) -> Result<OperatorRead, EngineError> {
    let there = operator.runs.keys().map(|(round, _)| *round).max().unwrap_or(0);
    let mut it = OperatorRead {
        spec: OperatorSpec::named(&operator.operator),
        rounds: asked.unwrap_or(there).max(there),
        runs: BTreeMap::new(),
        failures: Vec::new(),
        status: 1,
    };
    for (key, run) in &operator.runs {
        let read = run::read(run, key.1)?;
        let evidence = read.joined();
        it.runs.insert(*key, (read, evidence));
    }
    for ((round, side), status) in statuses.of_operator(&operator.operator) {
        if it.failures.is_empty() {
            it.status = status;
        }
        let timeout = if matches!(status, 124 | 137) { format!(", {CELL_TIMEOUT}") } else { String::new() };
        it.failures.push(format!("r{round}_{side}: ended with status {status}{timeout}"));
    }
    Ok(it)
}

/// Compares the conditions of an operator's runs, each with the first.
fn comparable(it: &OperatorRead, allowed: &BTreeSet<String>) -> Result<(), EngineError> {
    let mut runs = it.runs.values().filter(|(run, _)| !run.operators.is_empty()).map(|(run, _)| guarded(run));
    let Some(first) = runs.next() else { return Ok(()) };
    for run in runs {
        let differences = first.differences(&run, allowed);
        if !differences.is_empty() {
            return Err(EngineError::sides_differ(differences));
        }
    }
    Ok(())
}

/// A run's conditions without those that follow from which rows it has: a missing row is shown as one.
fn guarded(run: &RunOf) -> Conditions {
    let mut conditions = run.conditions.clone();
    for field in ["dtypes", "metrics"] {
        conditions.0.remove(field);
    }
    conditions
}

/// Conditions in which all runs of all operators agree.
fn common(read: &[OperatorRead]) -> Conditions {
    let mut runs = read.iter().flat_map(|it| it.runs.values()).map(|(run, _)| guarded(run));
    let Some(mut common) = runs.next() else { return Conditions::default() };
    for run in runs {
        common.0.retain(|field, value| run.0.get(field) == Some(value));
    }
    common
}

/// The code of the first round that both sides have.
fn screened_of(it: &OperatorRead) -> Option<Screened> {
    let nothing = Evidence::default();
    let rows =
        |side: Side| it.runs.iter().any(|((_, of), (_, evidence))| *of == side && evidence.rows_ok() > 0);
    let without: Vec<Side> = Side::BOTH.into_iter().filter(|side| !rows(*side)).collect();
    if !without.is_empty() {
        let reasons = without.iter().map(|side| format!("no row was measured on side {side}")).collect();
        return Some(Screened { reasons, ..Screened::of(ScreenVerdict::NoRows) });
    }
    (1..=it.rounds).find_map(|round| {
        let of = |side| it.runs.get(&(round, side)).map_or(&nothing, |(_, evidence)| evidence);
        super::screened(of(Side::A), of(Side::B)).filter(|it| it.verdict != ScreenVerdict::NoRows)
    })
}

fn hints(it: &OperatorRead, screened: Option<&Screened>) -> Vec<String> {
    let asks =
        screened.is_some_and(|it| matches!(it.verdict, ScreenVerdict::NoRows | ScreenVerdict::NotCompiled));
    let no_rows = screened.is_some_and(|it| it.verdict == ScreenVerdict::NoRows);
    it.runs
        .values()
        .find(|(_, evidence)| asks && (!no_rows || evidence.rows_ok() == 0))
        .map(|(run, _)| run.hints(&it.spec.operator, if no_rows { it.status } else { 0 }))
        .unwrap_or_default()
}

fn findings_of(it: &OperatorRead) -> Vec<Finding> {
    let mut findings: Vec<Finding> = it
        .runs
        .iter()
        .flat_map(|((round, side), (run, _))| {
            run.notes
                .iter()
                .map(move |note| (format!("`{}`, r{round}_{side}", it.spec.operator), note.clone()))
        })
        .map(|(place, note)| {
            Finding::warning(
                format!("{place} is not read whole"),
                note,
                "what is there is used, nothing is guessed",
            )
        })
        .collect();
    let missing: Vec<String> = (1..=it.rounds)
        .flat_map(|round| Side::BOTH.map(|side| (round, side)))
        .filter(|key| !it.runs.contains_key(key))
        .map(|(round, side)| format!("r{round}_{side}"))
        .collect();
    if !missing.is_empty() {
        findings.push(Finding::warning(
            format!("`{}` lacks rounds", it.spec.operator),
            format!("{} of {} are missing: {}", missing.len(), 2 * it.rounds, missing.join(", ")),
            "a round without one of its sides compares nothing",
        ));
    }
    findings
}

/// A word behind `key` in a log.
fn word<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_whitespace().find_map(|word| word.strip_prefix(key)).filter(|word| !word.is_empty())
}

/// `ab_repeat_<SWITCH>_<date>-<time>` and `campaign_…` carry the switch in their names.
fn switch_of_name(name: &str) -> Option<String> {
    let rest = name.strip_prefix("ab_repeat_").or_else(|| name.strip_prefix("campaign_"))?;
    let (switch, stamp) = rest.rsplit_once('_')?;
    let dated = stamp.starts_with(|c: char| c.is_ascii_digit());
    (dated && switchback_model::switch::is_variable_name(switch)).then(|| switch.to_owned())
}

/// Cells of `status.tsv` that did not end well.
#[derive(Default)]
struct Statuses {
    cells: Vec<(String, (u32, Side), i32)>,
}

impl Statuses {
    /// Reads the table by its header, which may come again where tables of several cards were put together.
    fn of(text: &str) -> Self {
        let mut it = Self::default();
        let mut header: Vec<&str> = Vec::new();
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            if fields.contains(&"rc") {
                header = fields;
                continue;
            }
            let field = |name: &str| {
                header.iter().position(|column| *column == name).and_then(|at| fields.get(at)).copied()
            };
            let side = match field("side") {
                Some("A") => Side::A,
                Some("B") => Side::B,
                _ => continue,
            };
            let round = field("round").and_then(|text| text.parse().ok());
            let status = field("rc").and_then(|text| text.parse().ok());
            if let (Some(operator), Some(round), Some(status)) = (field("op"), round, status)
                && status != 0
            {
                let cell = (operator.to_owned(), (round, side), status);
                if !it.cells.contains(&cell) {
                    it.cells.push(cell);
                }
            }
        }
        it
    }

    fn of_operator<'a>(&'a self, operator: &'a str) -> impl Iterator<Item = ((u32, Side), i32)> + 'a {
        self.cells.iter().filter(move |(of, ..)| of == operator).map(|(_, key, status)| (*key, *status))
    }
}
