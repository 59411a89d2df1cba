//! Judging a campaign: analysis, controls, both adjustments for many tests, verdicts.
//!
//! The only entry that callers need. Pure: the same inputs give the same judgement, whatever the order of operators,
//! except that results come back in the order given.

use std::collections::BTreeMap;

use crate::analysis::{Analysis, CaseStat, Group, analyse, side_noise};
use crate::controls::{add_tau, blind_case_p_values, blind_unit_p_values, largest_by_group, summarise};
use crate::effect::{Interval, mean, median};
use crate::input::{OperatorInput, Settings};
use crate::judgement::{CaseJudgement, Judgement, OperatorJudgement, RoundEffect};
use crate::multiplicity::{benjamini_hochberg, holm};
use crate::verdict::{Facts, decide};
use switchback_model::verdict::Verdict;

/// Judges all operators of a campaign together: they share noise floor, prior variance and family of tests.
#[must_use]
pub fn judge(operators: &[OperatorInput], settings: &Settings) -> Judgement {
    let mut analysis = analyse(operators, Some(settings));
    add_tau(&mut analysis);

    let touched_units: Vec<Option<f64>> = unit_p_values(&analysis, operators);
    let unit_p_adjusted = adjust(&touched_units, holm);
    let family = touched_units.iter().flatten().count();
    let touched_cases = case_p_values(&analysis, operators);
    let q = adjust(&touched_cases, benjamini_hochberg);

    let margin = settings.margin();
    // What the rules would have said had they not been told which code is identical.
    let units_called: Vec<bool> = adjust(&filled(&touched_units, &blind_unit_p_values(&analysis)), holm)
        .iter()
        .zip(&analysis.units)
        .map(|(p, unit)| {
            p.is_some_and(|p| p <= settings.alpha)
                && unit.estimate.is_some_and(|it| it.effect.abs() >= margin)
        })
        .collect();
    let cases_called: Vec<bool> =
        adjust(&filled(&touched_cases, &blind_case_p_values(&analysis)), benjamini_hochberg)
            .iter()
            .map(|q| q.is_some_and(|q| q <= settings.alpha))
            .collect();

    let largest_controls = largest_by_group(&analysis);
    let adjusted = Adjusted { unit_p: &unit_p_adjusted, family, q: &q, largest_controls: &largest_controls };
    let judged = operators
        .iter()
        .enumerate()
        .map(|(operator_idx, input)| operator_judgement(&analysis, operator_idx, input, settings, &adjusted))
        .collect();
    Judgement { operators: judged, controls: summarise(&analysis, &cases_called, &units_called) }
}

/// p-values of units that are tested: touched and complete ones.
fn unit_p_values(analysis: &Analysis, operators: &[OperatorInput]) -> Vec<Option<f64>> {
    let tested = analysis.units.iter().map(|unit| {
        let stat = &analysis.operators[unit.operator_idx];
        let complete = stat.missing_rounds.is_empty() && stat.represented();
        let counted = unit.main && !unit.control && complete && !operators[unit.operator_idx].outputs_wrong;
        unit.estimate.filter(|_| counted).map(|it| it.p_value())
    });
    tested.collect()
}

/// p-values of cases that are tested: touched, complete, not host-bound.
fn case_p_values(analysis: &Analysis, operators: &[OperatorInput]) -> Vec<Option<f64>> {
    let tested = analysis.cases.iter().map(|case| {
        let wrong = operators[case.operator_idx].outputs_wrong;
        let counted = case.complete && !case.group.host_bound && !case.untouched && !wrong;
        case.estimate.filter(|_| counted).map(|it| it.p_value())
    });
    tested.collect()
}

/// The first of either that is there, place by place.
fn filled(first: &[Option<f64>], second: &[Option<f64>]) -> Vec<Option<f64>> {
    first.iter().zip(second).map(|(first, second)| first.or(*second)).collect()
}

/// Applies an adjustment to the p-values that are there.
fn adjust(p_values: &[Option<f64>], rule: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Option<f64>> {
    let mut adjusted = rule(&p_values.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
    p_values.iter().map(|p| p.and_then(|_| adjusted.next())).collect()
}

/// What follows from all operators together.
struct Adjusted<'a> {
    unit_p: &'a [Option<f64>],
    family: usize,
    q: &'a [Option<f64>],
    largest_controls: &'a BTreeMap<Group, f64>,
}

fn operator_judgement(
    analysis: &Analysis,
    operator_idx: usize,
    input: &OperatorInput,
    settings: &Settings,
    adjusted: &Adjusted<'_>,
) -> OperatorJudgement {
    let q = adjusted.q;
    let stat = &analysis.operators[operator_idx];
    let unit = stat.main.map(|idx| &analysis.units[idx]);
    let p_adjusted = stat.main.and_then(|idx| adjusted.unit_p[idx]);
    let cases: Vec<&CaseStat> = stat.case_idxs.iter().map(|&idx| &analysis.cases[idx]).collect();
    let first_fault = cases.iter().find_map(|case| case.left_out.clone());
    let decision = decide(&Facts {
        input,
        stat,
        unit,
        settings,
        p_adjusted,
        family: adjusted.family,
        largest_control: unit.and_then(|unit| adjusted.largest_controls.get(&unit.group).copied()),
        first_fault,
    });

    // A wrong kernel has no speed: nothing that looks like one leaves this function.
    let stated = decision.verdict != Verdict::Wrong;
    let unit = unit.filter(|_| stated);
    // An interval with a round missing would look like a conclusion.
    let estimate = unit.and_then(|unit| unit.estimate).filter(|_| stat.missing_rounds.is_empty());
    let effects: Vec<f64> =
        unit.map(|unit| unit.effects.iter().map(|(_, effect)| *effect).collect()).unwrap_or_default();
    let first_case = stat.case_idxs.first().copied().unwrap_or_default();
    let noise = |side_a: bool| unit.and_then(|unit| side_noise(unit, input, first_case, side_a));
    let averaged_medians: Vec<f64> = cases
        .iter()
        .filter(|case| case.averaged && stated)
        .filter_map(|case| median(&case.effects()))
        .collect();
    let measured: Vec<f64> = cases
        .iter()
        .filter(|case| stated && !case.group.host_bound && (case.averaged || case.complete))
        .filter_map(|case| mean(&case.effects()))
        .collect();
    let significant = |sign: f64| {
        stat.case_idxs.iter().any(|&idx| {
            let up = analysis.cases[idx].estimate.is_some_and(|it| it.effect * sign > 0.0);
            up && q[idx].is_some_and(|q| q <= settings.alpha)
        })
    };
    OperatorJudgement {
        operator: input.operator.clone(),
        verdict: decision.verdict,
        effect: mean(&effects),
        ci: estimate.map(|it| it.interval(1.0 - settings.alpha)),
        p_value: estimate.map(|it| it.p_value()),
        p_adjusted: p_adjusted.filter(|_| stated),
        rounds: stat.n_rounds,
        missing_rounds: stat.missing_rounds.clone(),
        rounds_range: range(&effects),
        sign_stable: (effects.len() >= 2).then(|| {
            effects.iter().all(|effect| *effect > 0.0) || effects.iter().all(|effect| *effect < 0.0)
        }),
        round_effects: unit.map(|unit| unit.effects.clone()).unwrap_or_default(),
        noise_a: noise(true),
        noise_b: noise(false),
        median_effect: median(&averaged_medians),
        geometric_mean: mean(&measured),
        mixed: significant(1.0) && significant(-1.0),
        rounds_needed: decision.rounds_needed,
        rounds_cannot_tell: decision.rounds_cannot_tell,
        reasons: decision.reasons,
        cases: stat
            .case_idxs
            .iter()
            .zip(&input.cases)
            .map(|(&idx, case)| case_judgement(&analysis.cases[idx], &case.case, q[idx], settings, stated))
            .collect(),
    }
}

fn range(effects: &[f64]) -> Option<Interval> {
    let low = effects.iter().copied().reduce(f64::min)?;
    let high = effects.iter().copied().reduce(f64::max)?;
    Some(Interval { low, high })
}

fn case_judgement(
    case: &CaseStat,
    name: &str,
    q: Option<f64>,
    settings: &Settings,
    stated: bool,
) -> CaseJudgement {
    let estimate = case.estimate.filter(|_| case.complete && stated);
    let effects = case.effects();
    let usable = u32::try_from(effects.len()).unwrap_or(u32::MAX);
    CaseJudgement {
        case: name.to_owned(),
        timer: case.group.timer.clone(),
        untouched: case.untouched,
        host_bound: case.group.host_bound,
        a_us: case.a_us,
        b_us: case.b_us,
        effect: mean(&effects).filter(|_| stated),
        ci: estimate.map(|it| it.interval(1.0 - settings.alpha)),
        p: estimate.map(|it| it.p_value()),
        q: q.filter(|_| stated),
        rounds: usable,
        excluded_rounds: u32::try_from(case.rounds.len()).unwrap_or(u32::MAX) - usable,
        averaged: case.averaged,
        left_out: case.left_out.clone(),
        round_effects: case
            .rounds
            .iter()
            .map(|(round, effect)| RoundEffect {
                round: *round,
                effect: effect.as_ref().ok().copied().filter(|_| stated),
                excluded: effect.as_ref().err().cloned(),
            })
            .collect(),
    }
}
