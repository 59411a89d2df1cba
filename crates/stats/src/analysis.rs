//! From inputs to estimates: per-round effects, variances, moderation. The controls' share is added by
//! [`crate::controls`]; verdicts are left to `verdict`.
//!
//! Invariant: A is compared only with the B of its own round, and the cases averaged into an operator's effect are the
//! same ones in every round (otherwise a case that drops out would read as a change).

use std::collections::BTreeSet;

use crate::effect::{effect, mean, variance};
use crate::input::{CaseInput, OperatorInput, Settings};
use crate::interval::{Estimate, quantisation};
use crate::moderated::{Prior, fit_prior};
use crate::summary::decimal_step;
use crate::trend::Trend;

/// Below this many, variances are not moderated: a prior from a handful is worse than none.
pub(crate) const MODERATED_FROM: usize = 8;

/// Cases and operators that share noise: how the sides are paired, and what timed them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    pub process_paired: bool,
    pub timer: String,
    pub host_bound: bool,
}

/// A case with its rounds.
#[derive(Debug)]
pub(crate) struct CaseStat {
    pub operator_idx: usize,
    pub group: Group,
    pub untouched: bool,
    pub rounds: Vec<(u32, Result<f64, String>)>,
    pub a_us: Option<f64>,
    pub b_us: Option<f64>,
    /// Every expected round is usable.
    pub complete: bool,
    pub averaged: bool,
    pub left_out: Option<String>,
    /// Over usable rounds, from two on; its tau is still to come.
    pub estimate: Option<Estimate>,
    /// What the trend over latencies says the variance should be.
    pub trend_variance: Option<f64>,
}

impl CaseStat {
    pub fn effects(&self) -> Vec<f64> {
        self.rounds.iter().filter_map(|(_, effect)| effect.as_ref().ok().copied()).collect()
    }

    pub fn latency_us(&self) -> Option<f64> {
        Some((self.a_us? * self.b_us?).sqrt())
    }
}

/// What is tested as one: the averaged cases of an operator, or the untouched cases of a touched one.
#[derive(Debug)]
pub(crate) struct Unit {
    pub operator_idx: usize,
    pub group: Group,
    /// Its code is identical on both sides.
    pub control: bool,
    /// The operator's own effect, as against that of untouched cases beside touched ones.
    pub main: bool,
    pub case_idxs: Vec<usize>,
    pub effects: Vec<(u32, f64)>,
    pub latency_us: f64,
    /// Its rounds read the same to the last digit and the timer's resolution was unknown.
    pub no_scatter: bool,
    /// From two rounds on; its tau is still to come.
    pub estimate: Option<Estimate>,
}

/// An operator's part in the analysis.
#[derive(Debug)]
pub(crate) struct OperatorStat {
    pub case_idxs: Vec<usize>,
    pub main: Option<usize>,
    pub missing_rounds: Vec<u32>,
    /// Cases that would be averaged if all their rounds were usable.
    pub n_eligible: usize,
    pub n_averaged: usize,
}

#[derive(Debug)]
pub(crate) struct Analysis {
    pub operators: Vec<OperatorStat>,
    pub cases: Vec<CaseStat>,
    pub units: Vec<Unit>,
}

/// Analyses everything; without `settings` the rounds that are there count as those asked for.
pub(crate) fn analyse(operators: &[OperatorInput], settings: Option<&Settings>) -> Analysis {
    let mut analysis = Analysis { operators: Vec::new(), cases: Vec::new(), units: Vec::new() };
    for (operator_idx, operator) in operators.iter().enumerate() {
        let requested = settings.map_or(0, |it| operator.rounds_requested.unwrap_or(it.rounds_requested));
        add_operator(&mut analysis, operator_idx, operator, requested);
    }
    moderate_cases(&mut analysis.cases);
    moderate_units(&mut analysis.units, &analysis.cases);
    analysis
}

fn add_operator(analysis: &mut Analysis, operator_idx: usize, operator: &OperatorInput, requested: u32) {
    let mut expected: BTreeSet<u32> = (1..=requested).collect();
    expected.extend(operator.cases.iter().flat_map(|case| &case.rounds).map(|round| round.round));
    let identical = operator.identical();
    let first_idx = analysis.cases.len();
    for case in &operator.cases {
        analysis.cases.push(case_stat(operator_idx, operator.process_paired, identical, case, &expected));
    }
    let case_idxs: Vec<usize> = (first_idx..analysis.cases.len()).collect();

    let eligible: Vec<usize> = case_idxs
        .iter()
        .copied()
        .filter(|&idx| {
            let case = &analysis.cases[idx];
            !case.group.host_bound && (identical || !case.untouched)
        })
        .collect();
    let present: BTreeSet<u32> = usable_rounds(&analysis.cases, &eligible);
    let missing_rounds = if operator.cases.is_empty() {
        Vec::new()
    } else {
        expected.iter().copied().filter(|round| !present.contains(round)).collect()
    };
    let averaged = mark_averaged(&mut analysis.cases, &eligible, &present);
    for &idx in &case_idxs {
        let case = &mut analysis.cases[idx];
        if case.group.host_bound {
            case.left_out = Some("host-bound: its time is the host's".into());
        } else if case.untouched && !identical {
            case.left_out = Some("untouched: identical code on both sides, serves as a control".into());
        }
    }
    let mut stat = OperatorStat {
        main: None,
        missing_rounds,
        n_eligible: eligible.len(),
        n_averaged: averaged.len(),
        case_idxs: case_idxs.clone(),
    };
    if let Some(unit) = unit(&analysis.cases, operator_idx, identical, true, averaged, &present) {
        stat.main = Some(analysis.units.len());
        analysis.units.push(unit);
    }
    if !identical {
        let untouched: Vec<usize> = case_idxs
            .into_iter()
            .filter(|&idx| analysis.cases[idx].untouched && !analysis.cases[idx].group.host_bound)
            .filter(|&idx| analysis.cases[idx].complete)
            .collect();
        let rounds = usable_rounds(&analysis.cases, &untouched);
        analysis.units.extend(unit(&analysis.cases, operator_idx, true, false, untouched, &rounds));
    }
    analysis.operators.push(stat);
}

fn case_stat(
    operator_idx: usize,
    process_paired: bool,
    identical: bool,
    case: &CaseInput,
    expected: &BTreeSet<u32>,
) -> CaseStat {
    let mut rounds = Vec::new();
    let (mut a_logs, mut b_logs) = (Vec::new(), Vec::new());
    for &round in expected {
        // The first of several rows of one round counts, as the first complete attempt does.
        let Some(pair) = case.rounds.iter().find(|pair| pair.round == round) else {
            rounds.push((round, Err("both sides are missing".into())));
            continue;
        };
        let effect = pair.effect(case.resolution_us);
        if let (Ok(_), Some(a_us), Some(b_us)) = (&effect, pair.a_us, pair.b_us) {
            a_logs.push(a_us.ln());
            b_logs.push(b_us.ln());
        }
        rounds.push((round, effect));
    }
    let geometric = |logs: &[f64]| mean(logs).map(f64::exp);
    let (a_us, b_us) = (geometric(&a_logs), geometric(&b_logs));
    let mut stat = CaseStat {
        operator_idx,
        group: Group { process_paired, timer: case.timer.clone(), host_bound: case.host_bound },
        untouched: case.untouched || identical,
        complete: !rounds.is_empty() && rounds.iter().all(|(_, effect)| effect.is_ok()),
        rounds,
        a_us,
        b_us,
        averaged: false,
        left_out: None,
        estimate: None,
        trend_variance: None,
    };
    let effects = stat.effects();
    if let (Some(a_us), Some(b_us), Some(effect), Some(round_variance)) =
        (a_us, b_us, mean(&effects), variance(&effects))
    {
        let mut step_us = case.resolution_us;
        if step_us == 0.0 && round_variance == 0.0 {
            step_us = printed_step(case);
        }
        stat.estimate = Some(plain(effect, round_variance, effects.len(), quantisation(step_us, a_us, b_us)));
    }
    stat
}

/// How finely the latencies of a case were printed: a stand-in where neither scatter nor resolution is known.
fn printed_step(case: &CaseInput) -> f64 {
    let latencies: Vec<f64> =
        case.rounds.iter().flat_map(|round| [round.a_us, round.b_us]).flatten().collect();
    decimal_step(&latencies)
}

fn plain(effect: f64, round_variance: f64, n_rounds: usize, quantisation: f64) -> Estimate {
    Estimate {
        effect,
        round_variance,
        round_df: (n_rounds - 1) as f64,
        prior_df: 0.0,
        n_rounds: u32::try_from(n_rounds).unwrap_or(u32::MAX),
        quantisation,
        tau_squared: 0.0,
        tau_df: 0.0,
    }
}

fn usable_rounds(cases: &[CaseStat], idxs: &[usize]) -> BTreeSet<u32> {
    idxs.iter()
        .flat_map(|&idx| &cases[idx].rounds)
        .filter(|(_, effect)| effect.is_ok())
        .map(|(round, _)| *round)
        .collect()
}

/// Marks those of the eligible cases that are usable in every round present, and says why the others are not.
fn mark_averaged(cases: &mut [CaseStat], eligible: &[usize], present: &BTreeSet<u32>) -> Vec<usize> {
    let mut averaged = Vec::new();
    for &idx in eligible {
        let case = &mut cases[idx];
        let fault = case.rounds.iter().find_map(|(round, effect)| match effect {
            Err(reason) if present.contains(round) => Some(format!("round {round}: {reason}")),
            _ => None,
        });
        match fault {
            Some(reason) => case.left_out = Some(reason),
            None if present.is_empty() => case.left_out = Some("no round has both sides".into()),
            None => {
                case.averaged = true;
                averaged.push(idx);
            }
        }
    }
    averaged
}

fn unit(
    cases: &[CaseStat],
    operator_idx: usize,
    control: bool,
    main: bool,
    case_idxs: Vec<usize>,
    rounds: &BTreeSet<u32>,
) -> Option<Unit> {
    let chosen: Vec<&CaseStat> = case_idxs.iter().map(|&idx| &cases[idx]).collect();
    let first = chosen.first()?;
    let timers: BTreeSet<&str> = chosen.iter().map(|case| case.group.timer.as_str()).collect();
    let group = Group {
        process_paired: first.group.process_paired,
        timer: timers.into_iter().collect::<Vec<_>>().join("+"),
        host_bound: false,
    };
    let mut effects = Vec::new();
    for &round in rounds {
        let of_round: Vec<f64> = chosen
            .iter()
            .filter_map(|case| {
                case.rounds.iter().find(|(number, _)| *number == round)?.1.as_ref().ok().copied()
            })
            .collect();
        effects.push((round, mean(&of_round)?));
    }
    let latencies: Vec<f64> = chosen.iter().filter_map(|case| case.latency_us()).map(f64::ln).collect();
    let latency_us = mean(&latencies)?.exp();
    let values: Vec<f64> = effects.iter().map(|(_, effect)| *effect).collect();
    let estimate = mean(&values).zip(variance(&values)).map(|(effect, round_variance)| {
        // Rounding errors of different latencies are independent: the variance of a mean of n is their sum over n^2.
        let sum: f64 = chosen.iter().filter_map(|case| Some(case.estimate?.quantisation)).sum();
        plain(effect, round_variance, values.len(), sum / (chosen.len() * chosen.len()) as f64)
    });
    let no_scatter = estimate.is_some_and(|it| it.round_variance == 0.0);
    Some(Unit { operator_idx, group, control, main, case_idxs, effects, latency_us, no_scatter, estimate })
}

/// Every distinct group among `groups`, in order.
fn distinct<'a>(groups: impl Iterator<Item = &'a Group>) -> Vec<Group> {
    groups.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

fn moderate_cases(cases: &mut [CaseStat]) {
    for group in distinct(cases.iter().map(|case| &case.group)) {
        let members: Vec<usize> = (0..cases.len()).filter(|&i| cases[i].group == group).collect();
        let estimates: Vec<(f64, Estimate, usize)> = members
            .into_iter()
            .filter_map(|idx| Some((cases[idx].latency_us()?.ln(), cases[idx].estimate?, idx)))
            .collect();
        let covariate: Vec<f64> = estimates.iter().map(|(log_latency, _, _)| *log_latency).collect();
        let own: Vec<Estimate> = estimates.iter().map(|(_, estimate, _)| *estimate).collect();
        let Some(prior) = prior(&own, &covariate, Trend::Spline) else { continue };
        for (place, (_, estimate, idx)) in estimates.into_iter().enumerate() {
            cases[idx].trend_variance = Some(prior.variances[place]);
            cases[idx].estimate = Some(squeezed(&prior, place, estimate));
        }
    }
}

fn moderate_units(units: &mut [Unit], cases: &[CaseStat]) {
    for group in distinct(units.iter().map(|unit| &unit.group)) {
        let (mut idxs, mut own, mut covariate) = (Vec::new(), Vec::new(), Vec::new());
        for (idx, unit) in units.iter().enumerate().filter(|(_, unit)| unit.group == group) {
            let Some(mut estimate) = unit.estimate else { continue };
            let trend: Vec<f64> =
                unit.case_idxs.iter().filter_map(|&idx| cases[idx].trend_variance).collect();
            let n_cases = unit.case_idxs.len() as f64;
            // The variance of the mean of independent cases; what they share is left to the fitted line.
            covariate.push(if trend.len() == unit.case_idxs.len() {
                (trend.iter().sum::<f64>() / (n_cases * n_cases)).ln()
            } else {
                f64::NAN
            });
            if !unit.main {
                // Untouched cases beside touched ones share their process: predicted by the prior, not part of it.
                estimate.round_df = 0.0;
            }
            idxs.push(idx);
            own.push(estimate);
        }
        let (covariate, trend) = if covariate.iter().all(|value| value.is_finite()) {
            (covariate, Trend::Linear)
        } else {
            (vec![0.0; own.len()], Trend::Constant)
        };
        let Some(prior) = prior(&own, &covariate, trend) else { continue };
        for (place, idx) in idxs.into_iter().enumerate() {
            units[idx].estimate = units[idx].estimate.map(|estimate| squeezed(&prior, place, estimate));
        }
    }
}

/// The capped prior of at least [`MODERATED_FROM`] estimates that have degrees of freedom.
fn prior(estimates: &[Estimate], covariate: &[f64], trend: Trend) -> Option<Prior> {
    let variances: Vec<f64> = estimates.iter().map(|it| it.round_variance).collect();
    let df: Vec<f64> = estimates.iter().map(|it| it.round_df).collect();
    if df.iter().filter(|df| **df > 0.0).count() < MODERATED_FROM {
        return None;
    }
    Some(fit_prior(&variances, &df, covariate, trend)?.capped(df.iter().sum()))
}

fn squeezed(prior: &Prior, place: usize, own: Estimate) -> Estimate {
    Estimate {
        round_variance: prior.squeeze(place, own.round_variance, own.round_df),
        round_df: own.round_df + prior.df,
        prior_df: prior.df,
        ..own
    }
}

/// Standard deviation over rounds of one side's log latency, root mean square over the unit's cases.
pub(crate) fn side_noise(
    unit: &Unit,
    operator: &OperatorInput,
    first_case: usize,
    side_a: bool,
) -> Option<f64> {
    let mut sum = 0.0;
    for &idx in &unit.case_idxs {
        let case = &operator.cases[idx - first_case];
        let logs: Vec<f64> = unit
            .effects
            .iter()
            .filter_map(|(round, _)| {
                let pair = case.rounds.iter().find(|pair| pair.round == *round)?;
                let latency_us = if side_a { pair.a_us? } else { pair.b_us? };
                effect(latency_us, 1.0)
            })
            .collect();
        sum += variance(&logs)?;
    }
    Some((sum / unit.case_idxs.len() as f64).sqrt())
}
