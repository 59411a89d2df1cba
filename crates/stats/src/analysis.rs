//! From inputs to estimates: which rounds and cases count, per-round effects and their variances. Variances are then
//! moderated by [`crate::moderation`]; the controls' share is added by [`crate::controls`]; verdicts are left to
//! [`crate::verdict`].
//!
//! Invariant: A is compared only with the B of its own round, and the cases averaged into an operator's effect are the
//! same ones in every round (otherwise a case that drops out would read as a change).

use std::collections::BTreeSet;

use crate::effect::{effect, mean, variance};
use crate::input::{CaseInput, OperatorInput, Settings};
use crate::interval::{Estimate, quantisation};
use crate::moderation::{moderate_cases, moderate_units};
use crate::summary::decimal_step;

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
    /// Rounds beyond those asked for that are incomplete, and therefore left out.
    pub surplus_rounds: Vec<u32>,
    /// Cases that would be averaged if all their rounds were usable.
    pub n_eligible: usize,
    pub n_averaged: usize,
    /// Rounds in which a case that counts is usable; where none counts, in which any is.
    pub n_rounds: u32,
    /// B's outputs are wrong: what it reads is no speed, and no noise either.
    pub outputs_wrong: bool,
}

impl OperatorStat {
    /// At least half of the cases that should be averaged are.
    pub fn represented(&self) -> bool {
        2 * self.n_averaged >= self.n_eligible
    }
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
    let (expected, surplus_rounds) = expected_rounds(operator, requested);
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
    let rounds_there =
        if eligible.is_empty() { usable_rounds(&analysis.cases, &case_idxs) } else { present.clone() };
    let mut stat = OperatorStat {
        main: None,
        missing_rounds,
        surplus_rounds,
        n_eligible: eligible.len(),
        n_averaged: averaged.len(),
        n_rounds: u32::try_from(rounds_there.len()).unwrap_or(u32::MAX),
        outputs_wrong: operator.outputs_wrong,
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

/// The rounds that must be there, and those beyond that do not count.
///
/// A round beyond those asked for counts when it holds every case that the others hold; otherwise it would take cases
/// away from the rounds that are whole.
fn expected_rounds(operator: &OperatorInput, requested: u32) -> (BTreeSet<u32>, Vec<u32>) {
    let all: BTreeSet<u32> =
        operator.cases.iter().flat_map(|case| &case.rounds).map(|round| round.round).collect();
    if requested == 0 {
        return (all, Vec::new());
    }
    let usable = |case: &CaseInput, number: u32| {
        case.rounds
            .iter()
            .find(|pair| pair.round == number)
            .is_some_and(|pair| pair.effect(case.resolution_us).is_ok())
    };
    let whole: Vec<&CaseInput> =
        operator.cases.iter().filter(|case| (1..=requested).all(|number| usable(case, number))).collect();
    let (surplus, kept): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|&number| {
        !(1..=requested).contains(&number) && !whole.iter().all(|case| usable(case, number))
    });
    let mut expected: BTreeSet<u32> = (1..=requested).collect();
    expected.extend(kept);
    (expected, surplus)
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
        control_square: 0.0,
        n_controls: 0.0,
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
            Err(reason) if present.contains(round) || present.is_empty() => {
                Some(format!("round {round}: {reason}"))
            }
            _ => None,
        });
        match fault {
            Some(reason) => case.left_out = Some(reason),
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
