//! The report: what a campaign found, as values (`report.json`, schema version 1).
//!
//! Effects are percent: `100 (time A / time B - 1)`, positive when B is faster. Terminal, markdown and TSV print the
//! same values; crate `report` makes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::conditions::Conditions;
use crate::event::{OutputsVerdict, Timer};
use crate::finding::Finding;
use crate::side::{Pairing, Side};
use crate::switch::Switch;
use crate::verdict::{ScreenVerdict, Verdict};

/// Version of `report.json`.
pub const SCHEMA: u32 = 1;

/// What a campaign found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this form.
    pub schema: u32,
    /// The campaign's folder name.
    pub campaign: String,
    /// The version of switchback that judged.
    pub switchback: String,
    /// When the campaign was created, RFC 3339, UTC.
    pub created_utc: String,
    /// What A and B differ in.
    pub switch: Switch,
    /// The suite's name.
    pub suite: String,
    /// How the sides were brought together; none if nothing was measured.
    pub pairing: Option<Pairing>,
    /// Rounds that were asked for.
    pub rounds: u32,
    /// Margin in percent.
    pub margin_pct: f64,
    /// All that agrees between the rows.
    pub conditions: Conditions,
    /// Versions and facts that are recorded but not compared.
    #[serde(default)]
    pub identity: BTreeMap<String, String>,
    /// Fields of the conditions that were allowed to differ.
    #[serde(default)]
    pub allowed: Vec<String>,
    /// The operators, in the order they were asked for.
    pub operators: Vec<OperatorReport>,
    /// What cases with identical code read.
    pub controls: Controls,
    /// What identical code read on this machine before, where a calibration was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibratedFloor>,
    /// The same cases measured one process a side, where that was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub naive: Option<Naive>,
    /// Seconds of cards spent: by phase, in order (`screen`, `measure`).
    #[serde(default)]
    pub elapsed_s: Vec<(String, f64)>,
    /// Which stages' texts were compared after removing stamps, and how often each pattern matched.
    #[serde(default)]
    pub stamps: BTreeMap<String, u64>,
    /// What the whole run should be read with: a switch that changes nothing, an unfinished campaign.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// One operator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperatorReport {
    /// The operator's name.
    pub operator: String,
    /// As it was asked for: `OP:FILE:DTYPES`.
    pub spec: String,
    /// What screening said; none if it was not screened yet.
    pub screen: Option<ScreenVerdict>,
    /// The first stage that differs.
    #[serde(default)]
    pub first_stage: Option<String>,
    /// Stages that are no evidence: the compiler does not give one output for one input there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<UnseenStage>,
    /// True for an operator with identical code that was measured as a control.
    #[serde(default)]
    pub control: bool,
    /// What judging said.
    pub verdict: Verdict,
    /// Effect in percent.
    #[serde(default)]
    pub effect_pct: Option<f64>,
    /// 95 % interval of the effect.
    #[serde(default)]
    pub ci_pct: Option<(f64, f64)>,
    /// P-value after Holm's correction.
    #[serde(default)]
    pub p_adjusted: Option<f64>,
    /// Rounds that both sides have.
    pub rounds: u32,
    /// Rounds that were asked for, by number or as many as the precision took; none if it was not measured and not to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_requested: Option<u32>,
    /// Smallest and largest effect of a round.
    #[serde(default)]
    pub rounds_range_pct: Option<(f64, f64)>,
    /// True if every round has the effect's sign.
    #[serde(default)]
    pub sign_stable: Option<bool>,
    /// Standard deviation of A's latency over rounds, percent.
    #[serde(default)]
    pub noise_a_pct: Option<f64>,
    /// The same of B.
    #[serde(default)]
    pub noise_b_pct: Option<f64>,
    /// Median over cases of the medians over rounds.
    #[serde(default)]
    pub median_pct: Option<f64>,
    /// Geometric mean of the cases' ratios, as a percentage.
    #[serde(default)]
    pub geometric_mean_pct: Option<f64>,
    /// How the outputs compare; none if nothing was compared.
    #[serde(default)]
    pub outputs: Option<OutputsVerdict>,
    /// How many cases' outputs compare how, of all that the operator has.
    #[serde(default)]
    pub outputs_cases: BTreeMap<OutputsVerdict, u32>,
    /// True if cases go significantly both ways.
    #[serde(default)]
    pub mixed: bool,
    /// Rounds it would take to tell, for `INCONCLUSIVE`.
    #[serde(default)]
    pub rounds_needed: Option<u32>,
    /// True if it is known that more rounds would not tell, for `INCONCLUSIVE`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rounds_cannot_tell: bool,
    /// Why the verdict is what it is, a sentence each.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// What to do or to check.
    #[serde(default)]
    pub hints: Vec<String>,
    /// Kernels whose code differs, with the first stage.
    #[serde(default)]
    pub kernels: Vec<KernelReport>,
    /// The side on which its configs were tuned; none where the suite has no tuners, or nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned_on: Option<Side>,
    /// How its sides were paired, which is otherwise than the report's where a duet of it is not proven; none where nothing
    /// was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing: Option<Pairing>,
    /// How the duet's proof went, over cases; none where no process held both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofCounts>,
    /// What the card's clock read while it was measured; none where nothing read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// Tuner keys that were not in the recording, over all cells.
    #[serde(default)]
    pub replay_fallbacks: u64,
    /// The cases, in the order they were measured.
    #[serde(default)]
    pub cases: Vec<CaseReport>,
}

/// A stage whose texts tell nothing of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnseenStage {
    /// The stage's name.
    pub stage: String,
    /// Why.
    pub reason: String,
}

/// Cases whose both sides, in one process, were held against the cells of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofCounts {
    /// Cases that were measured.
    pub cases: u32,
    /// Those that ran other code than the cell of that side alone.
    pub failed: u32,
}

/// What the card's clock read while an operator's rounds were measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// Cells with readings, of both sides.
    pub cells: u32,
    /// Smallest and largest of the cells' medians, MHz; none where the sampler reads no clock.
    #[serde(default)]
    pub sm_clock_mhz: Option<(f64, f64)>,
    /// Cells in which a reading showed this reason to run slower, by the reason's name.
    #[serde(default)]
    pub throttled: BTreeMap<String, u32>,
}

/// What identical code read in a campaign without a switch (`calibration.json`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibratedFloor {
    /// The campaign's folder name.
    pub campaign: String,
    /// When it was created, RFC 3339, UTC.
    pub created_utc: String,
    /// The suite's name.
    pub suite: String,
    /// How the sides were brought together; none if nothing was measured.
    pub pairing: Option<Pairing>,
    /// Rounds of each operator.
    pub rounds: u32,
    /// All latencies and timers together.
    pub total: CalibratedBand,
    /// By timer and latency; only those that hold controls.
    #[serde(default)]
    pub bands: Vec<CalibratedBand>,
}

/// What identical code of some latencies reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibratedBand {
    /// How the sides were brought together.
    #[serde(default)]
    pub pairing: Option<Pairing>,
    /// The timer that really timed; empty for all.
    #[serde(default)]
    pub timer: String,
    /// Latencies from here, microseconds.
    pub from_us: f64,
    /// Latencies below this; none for no end.
    #[serde(default)]
    pub below_us: Option<f64>,
    /// Cases with every round.
    pub cases: u32,
    /// Operators that they belong to.
    pub operators: u32,
    /// Processes that they were measured in.
    pub processes: u32,
    /// 95 % of |effect| over cases, percent.
    #[serde(default)]
    pub floor_pct: Option<f64>,
    /// Persistent error of an operator that more rounds do not remove, percent.
    pub tau_pct: f64,
    /// Cases that the rules would have called different.
    pub false_positives: u32,
    /// Upper 95 % bound of that rate, 0 to 1.
    pub upper95: f64,
    /// Operators that the rules would have called `FASTER` or `SLOWER`.
    pub false_positive_operators: u32,
    /// Upper 95 % bound of that rate, 0 to 1: the safe one, as cases of one process are not independent.
    pub upper95_operators: f64,
}

impl CalibratedBand {
    /// Its latencies: `below 10 us`, `10 to 100 us`, `from 1000 us`, `all`.
    #[must_use]
    pub fn latencies(&self) -> String {
        match (self.from_us, self.below_us) {
            (0.0, None) => "all".into(),
            (0.0, Some(below_us)) => format!("below {below_us} us"),
            (from_us, Some(below_us)) => format!("{from_us} to {below_us} us"),
            (from_us, None) => format!("from {from_us} us"),
        }
    }
}

/// One kernel of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReport {
    /// The kernel's name.
    pub kernel: String,
    /// Variants that cases launch.
    pub variants: u32,
    /// Variants whose code differs.
    pub changed: u32,
    /// The first stage at which one differs.
    #[serde(default)]
    pub first_stage: Option<String>,
}

/// One case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// The case, as text.
    pub case: String,
    /// The timer that timed it; none if it never was.
    pub timer: Option<Timer>,
    /// A's latency, mean over rounds, microseconds.
    #[serde(default)]
    pub a_us: Option<f64>,
    /// B's latency, mean over rounds, microseconds.
    #[serde(default)]
    pub b_us: Option<f64>,
    /// Effect in percent.
    #[serde(default)]
    pub effect_pct: Option<f64>,
    /// 95 % interval.
    #[serde(default)]
    pub ci_pct: Option<(f64, f64)>,
    /// Q-value (Benjamini-Hochberg).
    #[serde(default)]
    pub q: Option<f64>,
    /// Effect of each round, percent, in the order of rounds; none where a side is missing.
    #[serde(default)]
    pub rounds_pct: Vec<Option<f64>>,
    /// True if everything it launches is identical on both sides.
    pub untouched: bool,
    /// True if the host, not the card, decided the time.
    pub host_bound: bool,
    /// The card's clock before the blocks of A and of B, MHz, mean over rounds, where the gate read it.
    #[serde(default)]
    pub clock_mhz: Option<(f64, f64)>,
    /// Why it counts neither for the operator nor as a control although rounds were measured (`fails on B`); none if it counts,
    /// or is host-bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// How the outputs compare.
    #[serde(default)]
    pub outputs: Option<OutputsVerdict>,
    /// What is to be said of it: a fallback timer, excluded rows.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What cases with identical code read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Controls {
    /// Cases.
    pub cases: u32,
    /// Operators that they belong to; 0 in a report that did not count them.
    #[serde(default)]
    pub operators: u32,
    /// Processes they come from.
    pub processes: u32,
    /// 95 % of |effect|, percent.
    #[serde(default)]
    pub floor_pct: Option<f64>,
    /// Largest |effect|, percent; without any case, that of cases with a round missing or with one round alone.
    #[serde(default)]
    pub worst_pct: Option<f64>,
    /// Persistent error per operator, percent.
    #[serde(default)]
    pub tau_pct: Option<f64>,
    /// Cases that were called different.
    pub false_positives: u32,
    /// Upper 95 % bound of that rate, if cases were independent.
    #[serde(default)]
    pub upper95: Option<f64>,
    /// Operators that would have been called `FASTER` or `SLOWER`.
    #[serde(default)]
    pub false_positive_operators: u32,
    /// Upper 95 % bound of that rate: the safe one, as cases of one process are not independent.
    #[serde(default)]
    pub upper95_operators: Option<f64>,
}

/// Control cases measured one process a side, one round: what the naive way would have read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Naive {
    /// Cases with identical code.
    pub cases: u32,
    /// Cases that read over 1 %.
    pub over_1_pct: u32,
    /// The reading furthest from zero, percent.
    pub worst_pct: f64,
    /// 95 % of |reading|, percent.
    pub floor_pct: f64,
}
