//! What judging returns: verdicts with the numbers and the sentences behind them. No rules live here.
//!
//! Effects are `ln(A/B)`; [`crate::effect::percent`] turns them into the product's percentages.

use serde::{Deserialize, Serialize};
use switchback_model::verdict::Verdict;

use crate::effect::Interval;

/// The whole campaign, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// In the order given.
    pub operators: Vec<OperatorJudgement>,
    /// What identical code read.
    pub controls: ControlsSummary,
}

/// One operator, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorJudgement {
    /// Name of the operator.
    pub operator: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Mean over rounds of the mean over touched cases; `None` without a usable round, and when `WRONG`.
    pub effect: Option<f64>,
    /// 95 % interval (at alpha 0.05) of the effect.
    pub ci: Option<Interval>,
    /// p-value of no effect, before adjustment.
    pub p_value: Option<f64>,
    /// Holm-adjusted over operators with touched cases; `None` for identical code.
    pub p_adjusted: Option<f64>,
    /// Rounds that count; of an operator whose effect is withheld or that has none (host-bound, `WRONG`), those in which both
    /// sides of a case are usable.
    pub rounds: u32,
    /// Rounds that were asked for and have no usable pair.
    pub missing_rounds: Vec<u32>,
    /// Effect of each round that counts.
    pub round_effects: Vec<(u32, f64)>,
    /// Smallest and largest of the rounds' effects.
    pub rounds_range: Option<Interval>,
    /// All rounds have the same sign; `None` below two rounds.
    pub sign_stable: Option<bool>,
    /// Standard deviation over rounds of `ln(latency A)`, root mean square over cases.
    pub noise_a: Option<f64>,
    /// The same for B.
    pub noise_b: Option<f64>,
    /// Median over touched cases of each case's median over rounds (the scripts' figure).
    pub median_effect: Option<f64>,
    /// Mean effect of all cases that are not host-bound, untouched ones included: the log of the ratio of geometric means.
    pub geometric_mean: Option<f64>,
    /// Cases are significantly up and others significantly down.
    pub mixed: bool,
    /// Rounds in all that would tell at the scatter seen; only for `INCONCLUSIVE`, `None` when that is not known (a round is
    /// missing, one is no scatter) or rounds would not help.
    pub rounds_needed: Option<u32>,
    /// More rounds, 10 000 of them, would not tell: host-bound cases, cases left out, a control that is missing, an effect as
    /// large as the margin, a bias; only for `INCONCLUSIVE`.
    pub rounds_cannot_tell: bool,
    /// Why the verdict is what it is and how far its evidence goes, sentences without final full stop.
    pub reasons: Vec<String>,
    /// Its cases, in the order given.
    pub cases: Vec<CaseJudgement>,
}

/// One case, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseJudgement {
    /// Name of the case.
    pub case: String,
    /// The timer that really timed it.
    pub timer: String,
    /// Identical code on both sides.
    pub untouched: bool,
    /// Its times are the host's.
    pub host_bound: bool,
    /// Geometric mean of A over usable rounds.
    pub a_us: Option<f64>,
    /// Geometric mean of B over usable rounds.
    pub b_us: Option<f64>,
    /// Mean over usable rounds.
    pub effect: Option<f64>,
    /// 95 % interval (at alpha 0.05) with the moderated variance; `None` below two rounds or with one missing.
    pub ci: Option<Interval>,
    /// p-value of no effect.
    pub p: Option<f64>,
    /// Benjamini-Hochberg over all touched cases that are not host-bound.
    pub q: Option<f64>,
    /// Usable rounds.
    pub rounds: u32,
    /// Rounds whose pair could not be used, missing ones included.
    pub excluded_rounds: u32,
    /// Enters the operator's effect.
    pub averaged: bool,
    /// Why it does not, when it does not.
    pub left_out: Option<String>,
    /// Each round's effect or why it has none.
    pub round_effects: Vec<RoundEffect>,
}

/// One round of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundEffect {
    /// Number of the round.
    pub round: u32,
    /// Its effect, when both sides are usable.
    pub effect: Option<f64>,
    /// Why not, otherwise.
    pub excluded: Option<String>,
}

/// What code that is identical on both sides read: the noise floor of this campaign.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ControlsSummary {
    /// Control cases with every round complete and at least two.
    pub cases: usize,
    /// Operators that they belong to.
    pub operators: usize,
    /// Processes that they were measured in (a round counts twice where the sides have processes of their own).
    pub processes: usize,
    /// 95 % of the cases read at most this, whatever the sign; sizes are compared in percent, so that
    /// [`crate::effect::percent`] of it is the size in percent. `None` without controls.
    pub floor: Option<f64>,
    /// The reading of a case that is furthest from zero in percent, with its sign; without any case of that kind, of one whose
    /// rounds are not complete. `None` without a reading.
    pub worst: Option<f64>,
    /// Largest |effect| of any control, single cases included.
    pub largest: Option<f64>,
    /// Persistent bias (standard deviation) that control operators show beyond their scatter, all bands pooled.
    pub tau: f64,
    /// Control cases that the rule for cases would have called different.
    pub false_positives: usize,
    /// Control operators that the rule for operators would have called `FASTER` or `SLOWER`.
    pub false_positive_operators: usize,
    /// 95 % upper bound (Clopper and Pearson 1934) of the rate of false positives among cases; 1 without controls.
    pub upper95: f64,
    /// The same among operators: cases of one process are not independent, so this is the safe one.
    pub upper95_operators: f64,
    /// The same by pairing, timer and latency; only bands that hold controls.
    pub bands: Vec<ControlBand>,
}

/// Controls of one pairing, timer and band of latencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlBand {
    /// The sides had processes of their own.
    pub process_paired: bool,
    /// The timer.
    pub timer: String,
    /// Latencies from here.
    pub from_us: f64,
    /// Latencies below this; `None` for no end.
    pub below_us: Option<f64>,
    /// Control cases in the band.
    pub cases: usize,
    /// 95 % of them read at most this, as in [`ControlsSummary::floor`]; `None` without cases.
    pub floor: Option<f64>,
    /// Control cases that the rule for cases would have called different.
    pub false_positives: usize,
    /// 95 % upper bound of that rate; 1 without cases.
    pub upper95: f64,
    /// Control operators in the band, by the geometric mean of their latencies.
    pub operators: usize,
    /// Processes that they were measured in.
    pub processes: usize,
    /// Those of them that the rule for operators would have called `FASTER` or `SLOWER`.
    pub false_positive_operators: usize,
    /// 95 % upper bound of that rate; 1 without operators.
    pub upper95_operators: f64,
    /// Persistent bias used for operators in this band; from all thinly filled bands together when below 8 operators.
    pub tau: f64,
}
