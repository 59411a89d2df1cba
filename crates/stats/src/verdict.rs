//! The rule that turns one operator's numbers into a verdict, and the sentences that say why.
//!
//! The one definition of that rule; the product's documentation describes it in `docs/statistics.md`. Numbers come from
//! [`crate::analysis`] and [`crate::controls`], adjusted p-values from [`crate::judge`].

use switchback_model::verdict::Verdict;

use crate::analysis::{OperatorStat, Unit};
use crate::effect::{Interval, percent};
use crate::input::{OperatorInput, Settings};
use crate::interval::Estimate;
use crate::student;

/// Rounds beyond this are not worth naming.
const MOST_ROUNDS: u32 = 10_000;

/// All that the rule looks at.
pub(crate) struct Facts<'a> {
    pub input: &'a OperatorInput,
    pub stat: &'a OperatorStat,
    pub unit: Option<&'a Unit>,
    pub settings: &'a Settings,
    /// Holm-adjusted p-value; `None` for identical code and where there is no test.
    pub p_adjusted: Option<f64>,
    /// Number of operators that were adjusted for.
    pub family: usize,
    /// Largest |effect| of a control of the same pairing and timer.
    pub largest_control: Option<f64>,
    /// Why some case does not count, for an operator without any that does.
    pub first_fault: Option<String>,
}

/// What the rule says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    pub verdict: Verdict,
    pub rounds_needed: Option<u32>,
    /// More rounds would not tell; only for `INCONCLUSIVE`.
    pub rounds_cannot_tell: bool,
    pub reasons: Vec<String>,
}

impl Decision {
    fn of(verdict: Verdict, reasons: Vec<String>) -> Self {
        Self { verdict, rounds_needed: None, rounds_cannot_tell: false, reasons }
    }

    /// Not told, and nothing that another round could change.
    fn never(reasons: Vec<String>) -> Self {
        Self { rounds_cannot_tell: true, ..Self::of(Verdict::Inconclusive, reasons) }
    }
}

/// Judges one operator.
pub(crate) fn decide(facts: &Facts<'_>) -> Decision {
    let mut decision = verdict(facts);
    decision.reasons.extend(facts.input.remarks.iter().cloned());
    decision
}

fn verdict(facts: &Facts<'_>) -> Decision {
    if facts.input.outputs_wrong {
        let reason =
            "outputs of B are worse than those of A beyond what rounding explains: no speed is stated";
        return Decision::of(Verdict::Wrong, vec![reason.into()]);
    }
    if facts.input.cases.is_empty() {
        return Decision::of(Verdict::NotMeasured, vec!["no case was measured".into()]);
    }
    if facts.stat.n_eligible == 0 {
        let reason =
            "every touched case is host-bound: its time is the host's, and says nothing of the kernels";
        return Decision::never(vec![reason.into()]);
    }
    let Some(unit) = facts.unit else {
        return without_effect(facts);
    };
    let mut reasons = Vec::new();
    let n_left_out = facts.stat.n_eligible - facts.stat.n_averaged;
    if n_left_out > 0 {
        reasons.push(format!(
            "{n_left_out} of {} cases are left out: not usable in every round",
            facts.stat.n_eligible
        ));
    }
    if !facts.stat.surplus_rounds.is_empty() {
        let named = rounds_named(&facts.stat.surplus_rounds);
        reasons.push(format!("rounds beyond those asked for that lack cases are left out: {named}"));
    }
    if !facts.stat.missing_rounds.is_empty() {
        let (n_missing, n_rounds) = (facts.stat.missing_rounds.len(), round_count(facts));
        let verb = if n_missing == 1 { "is" } else { "are" };
        reasons.push(format!(
            "no verdict yet: {n_missing} of {n_rounds} rounds {verb} missing: {}",
            rounds_named(&facts.stat.missing_rounds)
        ));
        return Decision::of(Verdict::Inconclusive, reasons);
    }
    if !facts.stat.represented() {
        // A case that one round lacks stays left out, however many rounds follow.
        reasons.push("fewer than half of the cases are usable: the others might say something else".into());
        return Decision::never(reasons);
    }
    let Some(estimate) = unit.estimate else {
        reasons.push("one round has no scatter to judge by: two are the least".into());
        return Decision::of(Verdict::Inconclusive, reasons);
    };
    if unit.no_scatter {
        reasons.push(
            "every round reads the same to the last digit: the timer is coarser than the noise, its step is the error"
                .into(),
        );
    }
    tested(facts, unit, &estimate, reasons)
}

fn without_effect(facts: &Facts<'_>) -> Decision {
    let nothing_usable = facts.stat.n_averaged == 0 && facts.stat.missing_rounds.len() == round_count(facts);
    let fault = facts.first_fault.as_ref().map_or_else(String::new, |fault| format!(" ({fault})"));
    if nothing_usable {
        return Decision::of(Verdict::NotMeasured, vec![format!("no round has a usable pair{fault}")]);
    }
    Decision::never(vec![format!("no case is usable in every round{fault}")])
}

fn round_count(facts: &Facts<'_>) -> usize {
    let mut rounds: Vec<u32> =
        facts.input.cases.iter().flat_map(|case| &case.rounds).map(|it| it.round).collect();
    rounds.extend(1..=facts.input.rounds_requested.unwrap_or(facts.settings.rounds_requested));
    rounds.sort_unstable();
    rounds.dedup();
    rounds.len()
}

/// The two tests, on complete rounds.
fn tested(facts: &Facts<'_>, unit: &Unit, estimate: &Estimate, mut reasons: Vec<String>) -> Decision {
    let margin = facts.settings.margin();
    let alpha = facts.settings.alpha;
    let size = estimate.effect.abs();
    let inner = estimate.interval(1.0 - 2.0 * alpha);
    let neighbours_fixed = facts.input.process_paired && !facts.input.order_shuffled;
    if unit.control {
        reasons.push("identical code on both sides: this number is noise, never FASTER or SLOWER".into());
    } else if facts.largest_control.is_none() {
        reasons.push(
            "no control was measured in this pairing and with this timer: a bias that is the same in every round would \
             not show"
                .into(),
        );
    }
    let rejects = facts.p_adjusted.is_some_and(|p| p <= alpha);
    if rejects && size >= margin && !unit.control {
        let word = if estimate.effect > 0.0 { "faster" } else { "slower" };
        let said = format!(
            "B is {word} by at least the margin of {}: {} (p {} after Holm over {} {})",
            shown(margin),
            shown(estimate.effect),
            p_shown(facts.p_adjusted),
            facts.family,
            if facts.family == 1 { "operator" } else { "operators" }
        );
        if let (true, Some(largest)) = (neighbours_fixed, facts.largest_control)
            && size <= largest
        {
            reasons.push(said);
            reasons.push(format!(
                "capped: in process pairing with a fixed order of cases the neighbour's bias cannot be told from an \
                 effect, and a control read {}",
                shown(largest)
            ));
            return Decision::of(Verdict::Inconclusive, reasons);
        }
        if neighbours_fixed && facts.largest_control.is_none() {
            reasons.push(
                "process pairing with a fixed order of cases: no control bounds what a case inherits from its neighbour"
                    .into(),
            );
        }
        reasons.insert(0, said);
        return Decision::of(if estimate.effect > 0.0 { Verdict::Faster } else { Verdict::Slower }, reasons);
    }
    match equivalence(facts, inner, neighbours_fixed) {
        Ok(reason) => {
            reasons.insert(0, reason);
            Decision::of(Verdict::Equivalent, reasons)
        }
        Err(refusal) => inconclusive(facts, unit, estimate, refusal, reasons),
    }
}

/// Two one-sided tests (Schuirmann 1987), with what forbids them; `Err(Some)` names a reason beyond the interval.
fn equivalence(facts: &Facts<'_>, inner: Interval, neighbours_fixed: bool) -> Result<String, Option<String>> {
    let margin = facts.settings.margin();
    let level = 100.0 * (1.0 - 2.0 * facts.settings.alpha);
    if inner.low <= -margin || inner.high >= margin {
        return Err(None);
    }
    if neighbours_fixed {
        let Some(largest) = facts.largest_control else {
            return Err(Some(
                "EQUIVALENT is refused: process pairing with a fixed order of cases, and no control bounds what a case \
                 inherits from its neighbour"
                    .into(),
            ));
        };
        if inner.low - largest <= -margin || inner.high + largest >= margin {
            return Err(Some(format!(
                "EQUIVALENT is refused: process pairing with a fixed order of cases, and a control read {}",
                shown(largest)
            )));
        }
    }
    Ok(format!(
        "the {level:.0} % interval, {} to {}, lies inside the margin of {}",
        shown(inner.low),
        shown(inner.high),
        shown(margin)
    ))
}

fn inconclusive(
    facts: &Facts<'_>,
    unit: &Unit,
    estimate: &Estimate,
    refusal: Option<String>,
    mut reasons: Vec<String>,
) -> Decision {
    if let Some(refusal) = refusal {
        reasons.insert(0, refusal);
        let rounds_needed = rounds_needed(estimate, facts, !unit.control);
        let rounds_cannot_tell = rounds_needed.is_none();
        return Decision {
            rounds_needed,
            rounds_cannot_tell,
            ..Decision::of(Verdict::Inconclusive, reasons)
        };
    }
    let margin = facts.settings.margin();
    let alpha = facts.settings.alpha;
    let outer = estimate.interval(1.0 - facts.settings.alpha);
    let p = if unit.control { String::new() } else { format!(", p {}", p_shown(facts.p_adjusted)) };
    reasons.insert(
        0,
        format!(
            "neither test passes: the effect reads {} ({} to {}{p}), the margin is {}",
            shown(estimate.effect),
            shown(outer.low),
            shown(outer.high),
            shown(margin)
        ),
    );
    // An interval holds tau, so 1.645 tau above the margin already keeps it from fitting; this says why.
    let bias = student::upper(alpha, f64::INFINITY) * estimate.tau_squared.sqrt();
    if bias > margin {
        reasons.push(format!(
            "EQUIVALENT is out of reach: controls show a bias of up to {}, more than the margin",
            shown(bias)
        ));
    }
    let rounds_needed = rounds_needed(estimate, facts, !unit.control);
    if rounds_needed.is_none() {
        let fixed = (estimate.quantisation + estimate.tau_squared).sqrt();
        reasons.push(if fixed > 0.0 {
            format!("more rounds would not tell: they do not reduce the {} of timer and bias", shown(fixed))
        } else {
            format!("more than {MOST_ROUNDS} rounds would be needed: the effect is as large as the margin")
        });
    }
    let rounds_cannot_tell = rounds_needed.is_none();
    Decision { rounds_needed, rounds_cannot_tell, ..Decision::of(Verdict::Inconclusive, reasons) }
}

/// The fewest rounds at which one of the tests would pass if effect and scatter stayed as they are.
fn rounds_needed(estimate: &Estimate, facts: &Facts<'_>, can_differ: bool) -> Option<u32> {
    let margin = facts.settings.margin();
    let alpha = facts.settings.alpha;
    let size = estimate.effect.abs();
    let neighbours_fixed = facts.input.process_paired && !facts.input.order_shuffled;
    let room =
        margin - size - if neighbours_fixed { facts.largest_control.unwrap_or(f64::INFINITY) } else { 0.0 };
    let tells = |n_rounds: u32| {
        let later = estimate.after_rounds(n_rounds);
        let equivalent = later.half_width(alpha) < room;
        let differs = can_differ
            && size >= margin
            && later.half_width(0.5 * alpha / facts.family.max(1) as f64) <= size;
        equivalent || differs
    };
    fewest(estimate.n_rounds + 1, MOST_ROUNDS, tells)
}

/// The smallest number in `from..=to` for which `holds`, which stays true once it is.
pub(crate) fn fewest(from: u32, to: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if from > to || !holds(to) {
        return None;
    }
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

fn rounds_named(rounds: &[u32]) -> String {
    rounds.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// An effect in percent with about three digits.
fn shown(effect: f64) -> String {
    let value = percent(effect);
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$} %")
}

fn p_shown(p: Option<f64>) -> String {
    match p {
        Some(p) if p < 1e-3 => format!("{p:.0e}"),
        Some(p) => format!("{p:.3}"),
        None => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_is_found() {
        assert_eq!(fewest(3, 100, |n| n >= 37), Some(37));
        assert_eq!(fewest(3, 100, |_| true), Some(3));
        assert_eq!(fewest(3, 100, |n| n > 100), None);
        assert_eq!(fewest(5, 4, |_| true), None);
    }

    #[test]
    fn sizes_are_shown_with_three_digits() {
        assert_eq!(shown(0.005_f64.ln_1p()), "0.500 %");
        assert_eq!(shown(-(0.25_f64.ln_1p())), "-20.0 %");
        assert_eq!(p_shown(Some(1.2e-7)), "1e-7");
    }
}
