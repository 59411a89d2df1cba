//! Single runs, read for a table: rows as they were measured, without a comparison.

use switchback_model::case::CaseKey;
use switchback_model::cell::Purpose;
use switchback_model::event::Timer;
use switchback_model::report::{CaseReport, Report};
use switchback_model::side::Pairing;
use switchback_stats::effect::quantile;

use crate::campaign::{Campaign, conditions_of_campaign};
use crate::error::EngineError;
use crate::evidence::{DigestCache, Evidence};
use crate::measure::latency;
use crate::state::Standing;

/// One operator's run.
#[derive(Debug, Clone)]
pub struct RunRead {
    /// The operator.
    pub operator: String,
    /// Its rows, in the order they were measured.
    pub rows: Vec<RunReadRow>,
    /// Why there is none, and what to do.
    pub hints: Vec<String>,
    /// That its cell was ended before it was done, and what it had measured by then; such rows do not count.
    pub cut_off: Option<String>,
}

/// One row.
#[derive(Debug, Clone)]
pub struct RunReadRow {
    /// The case.
    pub case: CaseKey,
    /// The timer that timed it.
    pub timer: Option<Timer>,
    /// Its latency.
    pub latency_us: Option<f64>,
    /// Number of samples.
    pub samples: u64,
    /// The benchmark's baseline.
    pub baseline_us: Option<f64>,
    /// Half the distance between the 5th and the 95th percentile of the samples, percent of the latency.
    pub spread_pct: Option<f64>,
    /// Why it has no latency.
    pub error: Option<String>,
}

/// Reads all operators of a campaign of single runs.
///
/// # Errors
/// A file is damaged.
pub fn read(campaign: &Campaign) -> Result<Vec<RunRead>, EngineError> {
    let mut runs = Vec::new();
    for spec in &campaign.request.operators {
        let operator = spec.operator.clone();
        let rows = match campaign.state.standing(&operator, Purpose::Run) {
            Standing::Done(attempt) | Standing::Failed(attempt) => {
                Evidence::read(&attempt.dir, &campaign.dir.ir_dir(), &mut DigestCache::default())?
                    .rows
                    .iter()
                    .map(row)
                    .collect()
            }
            Standing::Open => Vec::new(),
        };
        let hints = crate::judge::explain(campaign, spec, None)?;
        let cut_off = cut_off(campaign, &operator);
        runs.push(RunRead { operator, rows, hints, cut_off });
    }
    Ok(runs)
}

/// That a run's cell was ended before it was done, and what it had measured by then.
fn cut_off(campaign: &Campaign, operator: &str) -> Option<String> {
    if !matches!(campaign.state.standing(operator, Purpose::Run), Standing::Open) {
        return None;
    }
    let attempt = campaign.state.attempts(operator, Purpose::Run).last()?;
    let rows = attempt.outcome.as_ref()?.counts.success;
    let kept =
        if rows == 1 { "1 row until then is".to_owned() } else { format!("{rows} rows until then are") };
    (rows > 0).then(|| {
        format!(
            "its cell was ended before it was done, so no row of it counts; {kept} kept in `{}`, `switchback resume {}` \
             measures it anew",
            attempt.dir.path().display(),
            campaign.dir.root().display()
        )
    })
}

/// Puts the rows of single runs into a report, side A's place, with the conditions that they were measured under.
///
/// A run has no other side, so nothing in it is a verdict; what it read must not be missing from its files for that.
///
/// # Errors
/// A file is damaged.
pub fn fill(campaign: &Campaign, report: &mut Report) -> Result<(), EngineError> {
    for operator in &mut report.operators {
        let Standing::Done(attempt) = campaign.state.standing(&operator.operator, Purpose::Run) else {
            continue;
        };
        let dir = attempt.dir.clone();
        let evidence = Evidence::read(&dir, &campaign.dir.ir_dir(), &mut DigestCache::default())?;
        if report.conditions.0.is_empty() {
            report.conditions = conditions_of_campaign(&evidence.conditions);
            report.identity = evidence.identity.clone();
        }
        operator.cases = evidence
            .rows
            .iter()
            .map(|it| {
                let read = row(it);
                CaseReport {
                    case: read.case.to_string(),
                    timer: read.timer,
                    a_us: read.latency_us,
                    host_bound: it.host_bound,
                    notes: it.timer_reason.iter().cloned().chain(read.error).collect(),
                    ..CaseReport::default()
                }
            })
            .collect();
    }
    Ok(())
}

fn row(row: &switchback_model::event::Row) -> RunReadRow {
    let samples_us = row.samples_us.concat();
    let (latency_us, error) = match latency(row, Pairing::Process) {
        Ok((latency_us, _)) => (Some(latency_us), None),
        // A single run has one side, which needs no name.
        Err(error) => (None, Some(row.error.clone().filter(|_| !row.ok).unwrap_or(error))),
    };
    let spread_pct = match (quantile(&samples_us, 0.05), quantile(&samples_us, 0.95), latency_us) {
        (Some(low), Some(high), Some(latency_us)) if latency_us > 0.0 => {
            Some(50.0 * (high - low) / latency_us)
        }
        _ => None,
    };
    RunReadRow {
        case: row.case.clone(),
        timer: row.timer,
        latency_us,
        samples: samples_us.len() as u64,
        baseline_us: row.baseline_us,
        spread_pct,
        error,
    }
}
