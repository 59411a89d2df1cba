//! One run of the scripts: its rows, its code, its conditions, and what is wrong with any of them.

use std::collections::BTreeMap;

use switchback_ir::{KernelIr, Stage};
use switchback_model::conditions::{Conditions, FIELDS, SCRIPT_FIELDS};
use switchback_model::finding::Finding;
use switchback_model::marker;
use switchback_model::report::{CaseReport, OperatorReport, Report, SCHEMA};
use switchback_model::side::{Pairing, Side};
use switchback_model::verdict::{ScreenVerdict, Verdict};
use switchback_stats::input::Settings;
use switchback_store::StoreError;
use switchback_store::script_dir::ScriptRun;
use switchback_suites::{flaggems_log, suite, symptom};

use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::measure::latency;
use crate::runs::{RunRead, RunReadRow};

/// A log's rows by operator.
pub(crate) struct LogRead {
    /// Operators in the order of their first row.
    pub operators: Vec<(String, Evidence)>,
    /// What the log tells of its conditions.
    pub conditions: BTreeMap<String, String>,
    /// How often each marker occurs.
    pub markers: BTreeMap<&'static str, u64>,
    /// Texts of its failures.
    pub errors: Vec<String>,
    /// What could not be read.
    pub notes: Vec<String>,
}

/// Reads a log; a latency that is none makes its row a failed one.
pub(crate) fn read_log(bytes: &[u8], side: Side) -> LogRead {
    let log = flaggems_log::read(bytes, side);
    let mut operators: Vec<(String, Evidence)> = Vec::new();
    for it in &log.rows {
        let mut row = it.row.clone();
        if let Some(reason) = &it.unmeasurable {
            row.ok = false;
            row.error = Some(reason.clone());
        }
        let at = operators.iter().position(|(name, _)| *name == row.operator).unwrap_or_else(|| {
            operators.push((row.operator.clone(), Evidence::default()));
            operators.len() - 1
        });
        let evidence = &mut operators[at].1;
        evidence.printed_us.insert(row.case.clone(), it.resolution_us);
        evidence.rows.push(row);
    }
    let said = |failure: &flaggems_log::LogFailure| {
        format!(
            "line {}: {} failed: {}",
            failure.line,
            failure.operator.as_deref().or(failure.test.as_deref()).unwrap_or("a test"),
            failure.error.as_deref().unwrap_or("no reason given")
        )
    };
    let notes = log.warnings.iter().map(ToString::to_string).chain(log.failures.iter().map(said)).collect();
    LogRead {
        operators,
        conditions: log.conditions(),
        errors: log.failures.iter().filter_map(|failure| failure.error.clone()).collect(),
        markers: log.markers,
        notes,
    }
}

/// One run, read.
#[derive(Debug, Clone, Default)]
pub struct RunOf {
    /// Its operators as the benchmark names them, each with its rows and the run's code.
    pub operators: Vec<(String, Evidence)>,
    /// What it was measured under.
    pub conditions: Conditions,
    /// Facts that are recorded and not compared.
    pub identity: BTreeMap<String, String>,
    /// How often each marker occurs in its log.
    pub markers: BTreeMap<&'static str, u64>,
    /// Patterns of stamps that were taken out of its code, and how often.
    pub stamps: BTreeMap<String, u64>,
    /// Texts of failures in its log.
    pub errors: Vec<String>,
    /// Its log as text, for the checklist.
    pub log: String,
    /// What is missing, damaged, or should not be trusted.
    pub notes: Vec<String>,
}

impl RunOf {
    /// All rows as one operator's, whatever the benchmark called them.
    #[must_use]
    pub fn joined(&self) -> Evidence {
        let mut all = Evidence::default();
        for (_, evidence) in &self.operators {
            all.rows.extend(evidence.rows.iter().cloned());
            all.printed_us.extend(evidence.printed_us.iter().map(|(case, it)| (case.clone(), *it)));
            all.run_code.clone_from(&evidence.run_code);
        }
        all.fallbacks = self.marker(marker::REPLAY_FALLBACK);
        all
    }

    /// How often a marker occurs.
    #[must_use]
    pub fn marker(&self, name: &str) -> u64 {
        self.markers.get(name).copied().unwrap_or(0)
    }

    /// What the checklist says of a run without rows or kernels.
    #[must_use]
    pub fn hints(&self, operator: &str, status: i32) -> Vec<String> {
        let evidence = self.joined();
        let findings = symptom::explain(
            "flaggems",
            None,
            &suite::Evidence {
                operator,
                status,
                rows: evidence.rows_ok(),
                failed: evidence.inputs_failed(),
                // Without a dump nothing is known of the kernels, which is not the same as none.
                kernels: evidence.run_code.as_ref().map_or(1, |code| code.len() as u64),
                log: &self.log,
                errors: &self.errors,
                ..suite::Evidence::default()
            },
        );
        findings.iter().map(Finding::sentence).collect()
    }
}

/// Reads a run. What is damaged in it is a note; only a file that is there and cannot be read is an error.
///
/// # Errors
/// The disk.
pub fn read(run: &ScriptRun, side: Side) -> Result<RunOf, EngineError> {
    let mut it = RunOf::default();
    match run.log()? {
        None => it.notes.push("`run.log` is missing, and with it every row".into()),
        Some(bytes) => {
            let log = read_log(&bytes, side);
            it.log = String::from_utf8_lossy(&bytes).into_owned();
            it.conditions = Conditions(log.conditions);
            (it.operators, it.markers, it.errors, it.notes) =
                (log.operators, log.markers, log.errors, log.notes);
            if it.operators.is_empty() {
                it.notes.push("no row is in `run.log`".into());
            }
        }
    }
    read_identity(run, &mut it)?;
    let code = read_code(run, &mut it)?;
    if it.operators.is_empty() && code.is_some() {
        it.operators.push((String::new(), Evidence::default()));
    }
    for (_, evidence) in &mut it.operators {
        evidence.run_code.clone_from(&code);
        evidence.conditions = it.conditions.clone();
    }
    read_recording(run, &mut it);
    say_markers(&mut it);
    Ok(it)
}

fn read_identity(run: &ScriptRun, it: &mut RunOf) -> Result<(), EngineError> {
    let identity = match run.identity() {
        Ok(Some(identity)) => identity,
        Ok(None) => {
            it.notes.push(
                "`run_identity.json` is missing: only what the log tells of its conditions is known".into(),
            );
            return Ok(());
        }
        Err(StoreError::Damaged { detail, .. }) => {
            it.notes.push(format!("`run_identity.json` cannot be read: {detail}"));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let missing: Vec<&str> = SCRIPT_FIELDS
        .into_iter()
        .filter(|field| identity.values.get(*field).is_none_or(String::is_empty))
        .collect();
    if !missing.is_empty() {
        it.notes.push(format!("`run_identity.json` has no `{}`", missing.join("`, `")));
    }
    for (name, value) in identity.values {
        if !FIELDS.contains(&name.as_str()) {
            it.identity.insert(name, value);
            continue;
        }
        let told = it.conditions.0.insert(name.clone(), value.clone());
        // The log's timer is what its rows were timed by, the file's what was asked for.
        if let Some(told) = told.filter(|told| *told != value && name != "timer") {
            it.notes.push(format!("`run_identity.json` says `{name}` is `{value}`, the log says `{told}`"));
        }
    }
    Ok(())
}

fn read_code(run: &ScriptRun, it: &mut RunOf) -> Result<Option<Vec<KernelIr>>, EngineError> {
    let Some(files) = run.ir_files()? else { return Ok(None) };
    let mut kernels = Vec::new();
    for (name, path) in files {
        let text = std::fs::read(&path).map_err(|source| StoreError::Io { action: "read", path, source })?;
        let canonical = switchback_ir::digest(&Stage::Ttgir, &text);
        for stamp in &canonical.stamps {
            *it.stamps.entry(stamp.pattern.clone()).or_default() += stamp.count as u64;
        }
        if canonical.incomplete {
            it.notes.push(format!("`{name}` is cut off"));
        }
        kernels.push(KernelIr {
            kernel: name.trim_end_matches(".ttgir").to_owned(),
            variant: String::new(),
            stages: BTreeMap::from([(Stage::Ttgir, canonical.digest)]),
        });
    }
    Ok(Some(kernels))
}

/// A recording is replayed elsewhere; here it only has to be the run's own.
fn read_recording(run: &ScriptRun, it: &mut RunOf) {
    let Some(folder) = run.recording() else { return };
    match super::recording::back_end(&folder) {
        Err(reason) => it.notes.push(reason),
        Ok(there) => {
            if let Some(here) = it.conditions.get("backend").filter(|here| *here != there) {
                it.notes.push(format!(
                    "`autotune_records` is another back end's recording: it says `{there}`, the run `{here}`"
                ));
            }
        }
    }
}

fn say_markers(it: &mut RunOf) {
    let rows: usize = it.operators.iter().map(|(_, evidence)| evidence.rows.len()).sum();
    for (name, meaning) in [
        (marker::NO_CUDAGRAPH, "rows were timed direct although a graph was asked for"),
        (marker::CAPTURE_POISONED, "captures poisoned their process"),
        (marker::REPLAY_FALLBACK, "tuner keys were not in the recording"),
        (marker::FOREIGN_VENDOR_MODULE, "lines tell of another vendor's modules"),
    ] {
        let count = it.marker(name);
        if count > 0 {
            it.notes.push(format!("{name}: {count} {meaning}, of {rows} rows"));
        }
    }
}

/// A run as a table shows it, an operator each.
///
/// # Errors
/// The disk.
pub fn runs(run: &ScriptRun) -> Result<(RunOf, Vec<RunRead>), EngineError> {
    let it = read(run, Side::A)?;
    let mut found: Vec<RunRead> = it
        .operators
        .iter()
        .filter(|(_, evidence)| !evidence.rows.is_empty())
        .map(|(operator, evidence)| RunRead {
            operator: operator.clone(),
            rows: evidence
                .rows
                .iter()
                .map(|row| {
                    let (latency_us, error) = match latency(row, Pairing::Process) {
                        Ok((latency_us, _)) => (Some(latency_us), None),
                        Err(_) => (None, row.error.clone().or_else(|| Some("no latency was printed".into()))),
                    };
                    RunReadRow {
                        case: row.case.clone(),
                        timer: row.timer,
                        latency_us,
                        samples: 0,
                        baseline_us: row.baseline_us,
                        spread_pct: None,
                        error,
                    }
                })
                .collect(),
            hints: Vec::new(),
            cut_off: None,
        })
        .collect();
    if found.is_empty() {
        let operator = run.name();
        let hints = it.hints(&operator, 1);
        found.push(RunRead { operator, rows: Vec::new(), hints, cut_off: None });
    }
    Ok((it, found))
}

/// A run as a report: its rows in side A's place, and nothing that looks like a comparison.
#[must_use]
pub fn report(it: &RunOf, runs: &[RunRead], name: &str, version: &str) -> Report {
    let operators = runs
        .iter()
        .map(|run| OperatorReport {
            operator: run.operator.clone(),
            spec: run.operator.clone(),
            screen: run.rows.is_empty().then_some(ScreenVerdict::NoRows),
            verdict: Verdict::NotMeasured,
            hints: run.hints.clone(),
            replay_fallbacks: it.marker(marker::REPLAY_FALLBACK),
            cases: run.rows.iter().map(case_report).collect(),
            ..OperatorReport::default()
        })
        .collect();
    let findings = it.notes.iter().map(|note| {
        Finding::warning(
            format!("`{name}` is not read whole"),
            note.clone(),
            "what is there is used, nothing is guessed",
        )
    });
    Report {
        schema: SCHEMA,
        campaign: name.to_owned(),
        switchback: version.to_owned(),
        created_utc: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        suite: "flaggems".into(),
        margin_pct: Settings::default().margin_percent,
        conditions: it.conditions.clone(),
        identity: it.identity.clone(),
        operators,
        stamps: it.stamps.clone(),
        findings: findings.collect(),
        ..Report::default()
    }
}

fn case_report(row: &RunReadRow) -> CaseReport {
    CaseReport {
        case: row.case.to_string(),
        timer: row.timer,
        a_us: row.latency_us,
        notes: row.error.iter().cloned().collect(),
        ..CaseReport::default()
    }
}
