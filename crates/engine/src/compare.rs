//! Two single runs side by side: guarded by their conditions, judged as the one pair that they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use switchback_model::cell::Purpose;
use switchback_model::conditions::Conditions;
use switchback_model::event::OutputsVerdict;
use switchback_model::finding::Finding;
use switchback_model::operator::OperatorSpec;
use switchback_model::report::{Report, SCHEMA};
use switchback_model::side::{Pairing, Side};
use switchback_model::switch::Switch;
use switchback_model::verdict::ScreenVerdict;
use switchback_stats::input::{OperatorInput, Settings};
use switchback_store::StoreError;
use switchback_store::attempt::AttemptDir;
use switchback_store::campaign_dir::CampaignDir;
use switchback_store::script_dir::ScriptRun;

use crate::error::EngineError;
use crate::evidence::{DigestCache, Evidence};
use crate::measure::{RoundEvidence, measured_cases};
use crate::outputs;
use crate::parts::{Measured, controls_report, figures};
use crate::request::Request;
use crate::screen::{Screened, screen};
use crate::scripts::{self, ScriptDir, read_log as read_log_text};
use crate::state::{Standing, State};

/// One run, read: its operators in their order, and what is to be said of reading it.
struct Run {
    path: PathBuf,
    conditions: Conditions,
    identity: BTreeMap<String, String>,
    operators: Vec<(String, Evidence)>,
    notes: Vec<String>,
    stamps: BTreeMap<String, u64>,
}

/// Compares two runs: folders of `run`, folders of single attempts, or logs of a FlagGems benchmark.
///
/// # Errors
/// Something that is no run, conditions that differ and were not allowed to, no operator in common.
pub fn compare(a: &Path, b: &Path, allowed: &BTreeSet<String>, version: &str) -> Result<Report, EngineError> {
    let mut digests = DigestCache::default();
    let run_a = read(a, Side::A, &mut digests)?;
    let run_b = read(b, Side::B, &mut digests)?;
    let differences = run_a.conditions.differences(&run_b.conditions, allowed);
    if !differences.is_empty() {
        return Err(EngineError::sides_differ(differences));
    }
    let in_b: BTreeMap<&str, &Evidence> =
        run_b.operators.iter().map(|(name, evidence)| (name.as_str(), evidence)).collect();
    let common: Vec<(&str, &Evidence, &Evidence)> = run_a
        .operators
        .iter()
        .filter_map(|(name, a)| in_b.get(name.as_str()).map(|b| (name.as_str(), a, *b)))
        .collect();
    if common.is_empty() {
        let names =
            |run: &Run| run.operators.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(", ");
        return Err(EngineError::usage(
            format!("the runs have no operator in common: {} in A, {} in B", names(&run_a), names(&run_b)),
            "compare runs of the same operators",
        ));
    }
    let mut inputs = Vec::new();
    let mut measured = Vec::new();
    for (name, a, b) in &common {
        let has_code = !a.launched.is_empty() && !b.launched.is_empty();
        let screened = if has_code {
            Some(screen(Some(a), Some(b), None))
        } else {
            // Of several operators in one run nobody knows whose kernels changed.
            scripts::screened(a, b).filter(|it| common.len() == 1 || it.verdict != ScreenVerdict::IrChanged)
        };
        let rounds = [RoundEvidence { round: 1, a, b }];
        // Without a probe nothing is known of the code: no case can be called untouched.
        let assumed = screened.clone().unwrap_or_else(unknown_code);
        let cases = measured_cases(&rounds, Pairing::Process, &assumed, [Some(a), Some(b)]);
        let outputs = outputs::compare([Some(a), Some(b)], &[]);
        inputs.push(OperatorInput {
            operator: (*name).to_owned(),
            all_identical: screened.as_ref().is_some_and(|it| it.verdict == ScreenVerdict::NoIrDiff),
            process_paired: true,
            outputs_wrong: outputs.worst() == Some(OutputsVerdict::Wrong),
            cases: cases.iter().map(|case| case.input.clone()).collect(),
            ..OperatorInput::default()
        });
        let it = Measured {
            cases,
            outputs,
            fallbacks: a.fallbacks + b.fallbacks,
            failed_cells: Vec::new(),
            clocks: None,
        };
        measured.push((screened, it));
    }
    let settings = Settings { rounds_requested: 1, ..Settings::default() };
    let judgement = switchback_stats::judge::judge(&inputs, &settings);
    let operators = common
        .iter()
        .zip(&judgement.operators)
        .zip(&measured)
        .map(|(((name, a, b), judged), (screened, it))| {
            let mut report = figures(&OperatorSpec::named(*name), judged, it, screened.as_ref());
            report.reasons =
                screened.iter().flat_map(|it| it.reasons.clone()).chain(judged.reasons.clone()).collect();
            report.reasons.extend(one_sided(a, b));
            report
        })
        .collect();
    let mut findings: Vec<Finding> = [&run_a, &run_b]
        .into_iter()
        .flat_map(|run| {
            run.notes.iter().map(|note| {
                Finding::warning(
                    format!("`{}` is not read whole", run.path.display()),
                    note.clone(),
                    "rows around it are kept",
                )
            })
        })
        .collect();
    let only_a = run_a.operators.iter().filter(|(name, _)| !in_b.contains_key(name.as_str()));
    let names_a: BTreeSet<&str> = run_a.operators.iter().map(|(name, _)| name.as_str()).collect();
    let only_b = run_b.operators.iter().filter(|(name, _)| !names_a.contains(name.as_str()));
    let missing = only_a.map(|it| (it, "B")).chain(only_b.map(|it| (it, "A")));
    findings.extend(missing.map(|((name, _), side)| {
        Finding::warning(
            format!("`{name}` is in one run only"),
            format!("missing in {side}"),
            "it is not compared",
        )
    }));
    Ok(Report {
        schema: SCHEMA,
        campaign: format!("{} against {}", run_b.path.display(), run_a.path.display()),
        switchback: version.to_owned(),
        created_utc: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        switch: Switch::default(),
        suite: run_a.conditions.get("suite").unwrap_or("unknown").to_owned(),
        pairing: Some(Pairing::Process),
        rounds: 1,
        margin_pct: settings.margin_percent,
        conditions: run_a.conditions.clone(),
        identity: run_a.identity.clone(),
        allowed: allowed.iter().cloned().collect(),
        operators,
        controls: controls_report(&judgement.controls),
        calibration: None,
        naive: None,
        elapsed_s: Vec::new(),
        stamps: stamps_of(&digests, [&run_a, &run_b]),
        findings,
    })
}

fn stamps_of(digests: &DigestCache, runs: [&Run; 2]) -> BTreeMap<String, u64> {
    let mut stamps = digests.stamps().clone();
    for (pattern, count) in runs.into_iter().flat_map(|run| &run.stamps) {
        *stamps.entry(pattern.clone()).or_default() += count;
    }
    stamps
}

fn unknown_code() -> Screened {
    Screened::of(ScreenVerdict::IrChanged)
}

/// Cases that only one run has: never averaged in, never silently dropped.
fn one_sided(a: &Evidence, b: &Evidence) -> Vec<String> {
    let cases = |evidence: &Evidence| -> BTreeSet<String> {
        evidence.rows.iter().filter(|row| row.ok).map(|row| row.case.to_string()).collect()
    };
    let (in_a, in_b) = (cases(a), cases(b));
    let only = |one: &BTreeSet<String>, two: &BTreeSet<String>, side: &str| {
        let missing: Vec<&String> = one.difference(two).collect();
        (!missing.is_empty())
            .then(|| format!("{} cases are missing in {side}, the first is `{}`", missing.len(), missing[0]))
    };
    [only(&in_a, &in_b, "B"), only(&in_b, &in_a, "A")].into_iter().flatten().collect()
}

fn read(path: &Path, side: Side, digests: &mut DigestCache) -> Result<Run, EngineError> {
    if path.is_file() {
        return read_log(path, side);
    }
    if CampaignDir::is_campaign(path) {
        return read_campaign(path, side, digests);
    }
    if path.join("events.jsonl").is_file() {
        // An attempt's folder lies four below its campaign, where the texts are.
        let ir_dir = path.ancestors().nth(4).map(|root| root.join("ir")).unwrap_or_default();
        let evidence = relabelled(Evidence::read(&AttemptDir::at(path), &ir_dir, digests)?, side);
        let operator = evidence.rows.first().map_or_else(String::new, |row| row.operator.clone());
        return Ok(Run {
            path: path.to_owned(),
            conditions: evidence.conditions.clone(),
            identity: evidence.identity.clone(),
            notes: evidence.notes.clone(),
            operators: vec![(operator, evidence)],
            stamps: BTreeMap::new(),
        });
    }
    match scripts::recognise(path)? {
        Some(ScriptDir::Run(run)) => return read_script(&run, side),
        Some(ScriptDir::Rounds(_) | ScriptDir::Screen(_)) => {
            return Err(EngineError::NoRun {
                path: path.to_owned(),
                detail: "it holds runs of both sides: `switchback report` judges them".into(),
            });
        }
        None => {}
    }
    Err(EngineError::NoRun {
        path: path.to_owned(),
        detail: if path.exists() {
            "neither a folder of `switchback run`, nor an attempt, nor a benchmark's log".into()
        } else {
            "there is no such file or folder".into()
        },
    })
}

fn read_campaign(path: &Path, side: Side, digests: &mut DigestCache) -> Result<Run, EngineError> {
    let dir = CampaignDir::open(path)?;
    let request: Request = dir.request()?;
    let state = State::read(&dir, &request)?;
    let mut operators = Vec::new();
    let mut notes = Vec::new();
    for operator in &request.operators {
        match state.standing(&operator.operator, Purpose::Run) {
            Standing::Done(attempt) => {
                let evidence = relabelled(Evidence::read(&attempt.dir, &dir.ir_dir(), digests)?, side);
                notes.extend(evidence.notes.iter().cloned());
                operators.push((operator.operator.clone(), evidence));
            }
            Standing::Failed(_) => {
                notes.push(format!("`{}` has no rows: its cell failed", operator.operator));
            }
            Standing::Open => notes.push(format!("`{}` was not run", operator.operator)),
        }
    }
    let Some((_, first)) = operators.first() else {
        return Err(EngineError::NoRun {
            path: path.to_owned(),
            detail: "it is a campaign without a finished `run` cell (`report` reads `ab` and `screen`)"
                .into(),
        });
    };
    Ok(Run {
        path: path.to_owned(),
        conditions: first.conditions.clone(),
        identity: first.identity.clone(),
        operators,
        notes,
        stamps: BTreeMap::new(),
    })
}

/// A single run measures side A; here it stands for the side that it was given as.
fn relabelled(mut evidence: Evidence, side: Side) -> Evidence {
    for row in &mut evidence.rows {
        row.side = side;
    }
    evidence.launched =
        evidence.launched.into_iter().map(|((_, case), launched)| ((side, case), launched)).collect();
    for outputs in &mut evidence.outputs {
        let error = outputs.error_a.or(outputs.error_b);
        (outputs.error_a, outputs.error_b) = match side {
            Side::A => (error, None),
            Side::B => (None, error),
        };
        outputs.side = outputs.side.map(|_| side);
    }
    evidence
}

fn read_log(path: &Path, side: Side) -> Result<Run, EngineError> {
    let bytes = std::fs::read(path).map_err(|source| StoreError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    let log = read_log_text(&bytes, side);
    if log.operators.is_empty() {
        let first: Vec<String> = String::from_utf8_lossy(&bytes)
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(2)
            .map(|line| line.trim().chars().take(80).collect())
            .collect();
        return Err(EngineError::NoRun {
            path: path.to_owned(),
            detail: format!("no row of a benchmark is in it; it begins with `{}`", first.join(" / ")),
        });
    }
    Ok(Run {
        path: path.to_owned(),
        conditions: Conditions(log.conditions),
        identity: BTreeMap::new(),
        operators: log.operators,
        notes: log.notes,
        stamps: BTreeMap::new(),
    })
}

/// A run of the scripts; whatever is missing in it is a note, and rows it must have.
fn read_script(run: &ScriptRun, side: Side) -> Result<Run, EngineError> {
    let it = scripts::read_run(run, side)?;
    if it.operators.iter().all(|(_, evidence)| evidence.rows.is_empty()) {
        let hints = it.hints(&run.name(), 1);
        let more = hints.first().map(|hint| format!("; {hint}")).unwrap_or_default();
        return Err(EngineError::NoRun {
            path: run.path().to_owned(),
            detail: format!("{}{more}", it.notes.join("; ")),
        });
    }
    Ok(Run {
        path: run.path().to_owned(),
        conditions: it.conditions,
        identity: it.identity,
        operators: it.operators,
        notes: it.notes,
        stamps: it.stamps,
    })
}
