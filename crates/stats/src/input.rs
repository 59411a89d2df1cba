//! What judging is given: operators, their cases, the latencies of both sides in each round, and the settings.
//!
//! Plain values, so that a campaign on disk can be judged again under today's rules. Reading them off the disk, and
//! deciding that a row is not to be used (a non-zero exit, other conditions), is left to the engine: it sets
//! [`CaseRound::excluded`]. Everything has a default, so that callers name only what they know.

use serde::{Deserialize, Serialize};

use crate::effect::{effect, from_percent};

/// A and B of one case in one round, measured on the same card.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CaseRound {
    /// Number of the round, from 1.
    pub round: u32,
    /// Latency of side A; `None` when the row is missing.
    pub a_us: Option<f64>,
    /// Latency of side B; `None` when the row is missing.
    pub b_us: Option<f64>,
    /// Why the pair must not be used, whatever its latencies.
    pub excluded: Option<String>,
}

impl CaseRound {
    /// A round with both sides.
    #[must_use]
    pub fn pair(round: u32, a_us: f64, b_us: f64) -> Self {
        Self { round, a_us: Some(a_us), b_us: Some(b_us), excluded: None }
    }

    /// The effect of this round, or why there is none.
    ///
    /// # Errors
    /// A sentence: excluded by the caller, a side missing, a latency that is none, or one below `resolution_us`.
    pub fn effect(&self, resolution_us: f64) -> Result<f64, String> {
        if let Some(reason) = &self.excluded {
            return Err(reason.clone());
        }
        let (a_us, b_us) = match (self.a_us, self.b_us) {
            (Some(a_us), Some(b_us)) => (a_us, b_us),
            (None, Some(_)) => return Err("side A is missing".into()),
            (Some(_), None) => return Err("side B is missing".into()),
            (None, None) => return Err("both sides are missing".into()),
        };
        for (side, latency_us) in [("A", a_us), ("B", b_us)] {
            if !latency_us.is_finite() || latency_us <= 0.0 {
                return Err(format!("unmeasurable: side {side} reads `{latency_us}` us"));
            }
            if latency_us < resolution_us {
                return Err(format!(
                    "unmeasurable: side {side} reads {latency_us} us, below the timer's resolution of {resolution_us} us"
                ));
            }
        }
        effect(a_us, b_us).ok_or_else(|| "unmeasurable".into())
    }
}

/// One case of an operator.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CaseInput {
    /// Name of the case, unique within its operator.
    pub case: String,
    /// The timer that really timed its rows; controls speak for cases of the same timer only.
    pub timer: String,
    /// All kernels that it launches are identical on both sides: its effect is noise, and it serves as a control.
    pub untouched: bool,
    /// Its times are the host's, not the card's: shown, not averaged in.
    pub host_bound: bool,
    /// Resolution of the timer; 0 when unknown.
    pub resolution_us: f64,
    /// Its rounds, in any order.
    pub rounds: Vec<CaseRound>,
}

/// One operator.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OperatorInput {
    /// Name of the operator, unique within the campaign.
    pub operator: String,
    /// Measured on purpose although its code is identical on both sides.
    pub control: bool,
    /// All code that it launches is identical on both sides: never `FASTER` or `SLOWER`.
    pub all_identical: bool,
    /// B's outputs are worse than A's beyond what rounding explains: `WRONG`.
    pub outputs_wrong: bool,
    /// The sides were measured in processes of their own.
    pub process_paired: bool,
    /// The order of cases was drawn anew in each round, so that neighbours change.
    pub order_shuffled: bool,
    /// Rounds that were asked for, where it differs from [`Settings::rounds_requested`] (stopping by precision).
    pub rounds_requested: Option<u32>,
    /// Sentences to repeat among the reasons, such as the side that the configs were tuned on.
    pub remarks: Vec<String>,
    /// Its cases; none when it was not measured.
    pub cases: Vec<CaseInput>,
}

impl OperatorInput {
    /// Whether nothing it was measured on differs between the sides.
    #[must_use]
    pub fn identical(&self) -> bool {
        self.all_identical
            || self.control
            || (!self.cases.is_empty() && self.cases.iter().all(|case| case.untouched))
    }
}

/// What to judge by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Effects smaller than this are of no interest, in percent of time A / time B - 1; above 0, default 0.5.
    pub margin_percent: f64,
    /// Chance of any false `FASTER` or `SLOWER` in the campaign, and of a false `EQUIVALENT` per operator; default 0.05.
    pub alpha: f64,
    /// Rounds that were asked for: an operator that misses one gets no verdict; default 4.
    pub rounds_requested: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin_percent: 0.5, alpha: 0.05, rounds_requested: 4 }
    }
}

impl Settings {
    /// The margin on the log scale; faster and slower by it are equally far from zero.
    #[must_use]
    pub fn margin(&self) -> f64 {
        from_percent(self.margin_percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unusable_pair_says_why() {
        let reason = |round: CaseRound| round.effect(0.5).unwrap_err();
        assert_eq!(reason(CaseRound { a_us: None, ..CaseRound::pair(1, 1.0, 1.0) }), "side A is missing");
        assert_eq!(reason(CaseRound { b_us: None, ..CaseRound::pair(1, 1.0, 1.0) }), "side B is missing");
        assert_eq!(reason(CaseRound::default()), "both sides are missing");
        assert_eq!(reason(CaseRound::pair(1, 0.0, 1.0)), "unmeasurable: side A reads `0` us");
        assert_eq!(reason(CaseRound::pair(1, 1.0, f64::NAN)), "unmeasurable: side B reads `NaN` us");
        assert!(reason(CaseRound::pair(1, 1.0, 0.25)).contains("below the timer's resolution"));
        let excluded = CaseRound { excluded: Some("exit 139".into()), ..CaseRound::pair(1, 1.0, 1.0) };
        assert_eq!(reason(excluded), "exit 139");
        assert_eq!(CaseRound::pair(1, 2.0, 2.0).effect(0.5), Ok(0.0));
    }
}
