//! What the readings of a card during one attempt add up to (`telemetry` in `outcome.json`).
//!
//! The readings themselves lie in `telemetry.tsv`; whether a round is measured again because of them is the engine's rule.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The readings of one attempt.
///
/// Clocks and throttle reasons are those of readings that were taken while rows were measured and the card was at work:
/// what an idle card's clock reads says nothing of the rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TelemetrySummary {
    /// What was read with: `nvml`, `nvidia-smi`, `mthreads-gmi`, `amd-smi`; empty where nothing was.
    #[serde(default)]
    pub sampler: String,
    /// Time between two readings, seconds.
    #[serde(default)]
    pub interval_s: f64,
    /// Readings in all.
    #[serde(default)]
    pub readings: u64,
    /// Processor time of the sampling thread, seconds; the tools that it starts are not in it.
    #[serde(default)]
    pub cpu_s: f64,
    /// Time for which the sampling thread waited for readings, seconds; a tool's own run is in it.
    #[serde(default)]
    pub reading_s: f64,
    /// Readings that were taken while rows were measured and the card was at work.
    #[serde(default)]
    pub measured: u64,
    /// Median clock of the multiprocessors over those, MHz.
    #[serde(default)]
    pub sm_clock_mhz: Option<f64>,
    /// How many of those showed each throttle reason, by its name in `telemetry.tsv`.
    #[serde(default)]
    pub throttle: BTreeMap<String, u64>,
    /// True if the sampler found the card gone.
    #[serde(default)]
    pub lost: bool,
    /// Why there are no readings, fewer than there could be, or others than were to be; empty where all is as it should be.
    #[serde(default)]
    pub remark: String,
}
