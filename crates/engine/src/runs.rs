//! Single runs, read for a table: rows as they were measured, without a comparison.

use switchback_model::case::CaseKey;
use switchback_model::cell::Purpose;
use switchback_model::event::Timer;
use switchback_model::side::Pairing;
use switchback_stats::effect::quantile;

use crate::campaign::Campaign;
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
        runs.push(RunRead { operator, rows, hints });
    }
    Ok(runs)
}

fn row(row: &switchback_model::event::Row) -> RunReadRow {
    let samples_us = row.samples_us.concat();
    let (latency_us, error) = match latency(row, Pairing::Process) {
        Ok((latency_us, _)) => (Some(latency_us), None),
        Err(error) => (None, Some(error)),
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
