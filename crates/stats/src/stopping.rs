//! Who needs another round: rounds go to the operators whose interval is still too wide.
//!
//! The width alone decides, never the sign or size of the effect, so that looking after every round does not raise the
//! error. Starting the rounds is left to the engine.

use serde::{Deserialize, Serialize};

use crate::analysis::analyse;
use crate::effect::{from_percent, percent};
use crate::input::{OperatorInput, Settings};
use crate::student;
use crate::verdict::fewest;

/// Before this many rounds a width is not believed.
pub const FIRST_LOOK: u32 = 3;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// Half width to reach, in percent, at the Bonferroni level (alpha over the number of touched operators).
    pub half_width_percent: f64,
    /// Rounds after which an operator stops whatever its width.
    pub max_rounds: u32,
}

/// Whether an operator needs another round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundNeed {
    /// Name of the operator.
    pub operator: String,
    /// Usable rounds so far.
    pub rounds: u32,
    /// Half width so far, in percent, of scatter alone: what rounds can reduce; `None` below two rounds.
    pub half_width_percent: Option<f64>,
    /// Another round is wanted.
    pub wanted: bool,
    /// Rounds in all at which the width would be reached at the scatter seen; `None` beyond the most allowed.
    pub rounds_estimated: Option<u32>,
    /// Why, in one sentence without final full stop.
    pub reason: String,
}

/// Says for each operator, in the order given, whether it needs another round.
///
/// Operators that were not measured, or that have no case to average, need none. Scatter is moderated over all
/// operators as for verdicts; the timer's resolution and the controls' bias are left out, as no round reduces them.
#[must_use]
pub fn rounds_wanted(
    operators: &[OperatorInput],
    settings: &Settings,
    precision: &Precision,
) -> Vec<RoundNeed> {
    let analysis = analyse(operators, None);
    let n_touched =
        operators.iter().filter(|operator| !operator.cases.is_empty() && !operator.identical()).count();
    let tail = 0.5 * settings.alpha / n_touched.max(1) as f64;
    let target = from_percent(precision.half_width_percent);
    let needs = operators.iter().zip(&analysis.operators).map(|(operator, stat)| {
        let unit = stat.main.map(|idx| &analysis.units[idx]);
        let rounds = u32::try_from(unit.map_or(0, |unit| unit.effects.len())).unwrap_or(u32::MAX);
        let mut need = RoundNeed {
            operator: operator.operator.clone(),
            rounds,
            half_width_percent: None,
            wanted: false,
            rounds_estimated: None,
            reason: String::new(),
        };
        if operator.cases.is_empty() || stat.n_eligible == 0 {
            need.reason = "nothing to average".into();
            return need;
        }
        let width = unit.and_then(|unit| unit.estimate).map(|mut estimate| {
            estimate.quantisation = 0.0;
            move |n_rounds: u32| {
                let later = estimate.after_rounds(n_rounds);
                student::upper(tail, later.round_df) * later.standard_error()
            }
        });
        if let Some(width) = &width {
            need.half_width_percent = Some(percent(width(rounds)));
            need.rounds_estimated =
                fewest(FIRST_LOOK, precision.max_rounds, |n_rounds| width(n_rounds) <= target);
        }
        if rounds >= precision.max_rounds {
            let half_width =
                need.half_width_percent.map_or_else(String::new, |it| format!("; half width {it:.3} %"));
            need.reason = format!(
                "has the most rounds allowed, {}{half_width}, {} % was asked for",
                precision.max_rounds, precision.half_width_percent
            );
            return need;
        }
        if rounds < FIRST_LOOK {
            need.wanted = true;
            need.reason = format!("{FIRST_LOOK} rounds are the least");
            return need;
        }
        need.wanted = width.is_none_or(|width| width(rounds) > target);
        need.reason = format!(
            "half width {:.3} %, {} {} %",
            need.half_width_percent.unwrap_or(f64::INFINITY),
            if need.wanted { "still above" } else { "at most" },
            precision.half_width_percent
        );
        need
    });
    needs.collect()
}
