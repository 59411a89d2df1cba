//! Controls: what code that is identical on both sides reads, and what that adds to every standard error.
//!
//! Controls enter the error, they do not veto. `tau^2`, the variance of a bias that stays the same in all rounds of an
//! operator, is the mean of the squared control effects less the mean of their squared standard errors (the method of
//! moments of DerSimonian and Laird 1986 with equal weights and a known mean of zero), at least 0.

use std::collections::BTreeMap;

use statrs::function::beta::inv_beta_reg;

use crate::analysis::{Analysis, CaseStat, Group};
use crate::effect::{from_percent, mean, percent, quantile};
use crate::interval::Estimate;
use crate::judgement::{ControlBand, ControlsSummary};

/// A band of latencies with fewer control operators than this is pooled with others.
const BAND_FROM: usize = 8;

/// Edges of the bands of latencies, us: launch-bound, short, middle, long kernels.
const BAND_EDGES_US: [f64; 5] = [0.0, 10.0, 100.0, 1_000.0, f64::INFINITY];

/// One control's part in an estimate of tau.
#[derive(Debug, Clone)]
struct Control {
    operator_idx: usize,
    group: Group,
    latency_us: f64,
    effect: f64,
    error_squared: f64,
    /// Its index among the cases or units of the analysis.
    place: usize,
}

/// A persistent bias: its variance, and what it was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Tau {
    pub squared: f64,
    pub control_square: f64,
    pub n_controls: f64,
}

/// Adds tau to every estimate: that of control operators to units, that of control cases to cases.
pub(crate) fn add_tau(analysis: &mut Analysis) {
    let mut of_units = Taus::of(unit_controls(analysis));
    for unit in &mut analysis.units {
        if let Some(estimate) = &mut unit.estimate {
            set(estimate, of_units.at(&unit.group, unit.latency_us, None));
        }
    }
    let mut of_cases = Taus::of(case_controls(analysis));
    for case in &mut analysis.cases {
        let latency_us = case.latency_us();
        if let (Some(estimate), Some(latency_us)) = (&mut case.estimate, latency_us) {
            set(estimate, of_cases.at(&case.group, latency_us, None));
        }
    }
}

/// The p-value that each control unit would have had as a touched one: its own operator says nothing of tau.
pub(crate) fn blind_unit_p_values(analysis: &Analysis) -> Vec<Option<f64>> {
    let mut controls = Taus::of(unit_controls(analysis));
    let blind = analysis.units.iter().map(|unit| {
        let counts = unit.control && !outputs_wrong(analysis, unit.operator_idx);
        let estimate = unit.estimate.filter(|_| counts)?;
        let tau = controls.at(&unit.group, unit.latency_us, Some(unit.operator_idx));
        Some(p_value_with(estimate, tau))
    });
    blind.collect()
}

/// The same of control cases.
pub(crate) fn blind_case_p_values(analysis: &Analysis) -> Vec<Option<f64>> {
    let mut controls = Taus::of(case_controls(analysis));
    let blind = analysis.cases.iter().map(|case| {
        let estimate = case.estimate.filter(|_| is_control(analysis, case))?;
        let tau = controls.at(&case.group, case.latency_us()?, Some(case.operator_idx));
        Some(p_value_with(estimate, tau))
    });
    blind.collect()
}

fn p_value_with(mut estimate: Estimate, tau: Tau) -> f64 {
    set(&mut estimate, tau);
    estimate.p_value()
}

fn set(estimate: &mut Estimate, tau: Tau) {
    estimate.tau_squared = tau.squared;
    estimate.control_square = tau.control_square;
    estimate.n_controls = tau.n_controls;
}

/// Largest |effect| of any control of each group that has one, single cases included.
///
/// A neighbour's bias falls on single cases, so it is these that bound it.
pub(crate) fn largest_by_group(analysis: &Analysis) -> BTreeMap<Group, f64> {
    let mut largest: BTreeMap<Group, f64> = BTreeMap::new();
    for control in unit_controls(analysis).into_iter().chain(case_controls(analysis)) {
        let size = largest.entry(control.group).or_default();
        *size = size.max(control.effect.abs());
    }
    largest
}

/// The biases of some controls, each worked out once: thousands of cases share a few bands.
struct Taus {
    controls: Vec<Control>,
    known: BTreeMap<(Group, usize, Option<usize>), Tau>,
}

impl Taus {
    fn of(controls: Vec<Control>) -> Self {
        Self { controls, known: BTreeMap::new() }
    }

    /// The bias at one latency; controls of operator `left_out` are not asked.
    fn at(&mut self, group: &Group, latency_us: f64, left_out: Option<usize>) -> Tau {
        let key = (group.clone(), band_of(latency_us), left_out);
        let controls = &self.controls;
        *self.known.entry(key).or_insert_with(|| tau_at(controls, group, latency_us, left_out))
    }
}

fn largest<'a>(controls: impl Iterator<Item = &'a Control>) -> Option<f64> {
    controls.map(|control| control.effect.abs()).reduce(f64::max)
}

fn unit_controls(analysis: &Analysis) -> Vec<Control> {
    let controls = analysis.units.iter().enumerate();
    let controls = controls.filter(|(_, unit)| unit.control && !outputs_wrong(analysis, unit.operator_idx));
    controls
        .filter_map(|(place, unit)| {
            Some(control(place, unit.operator_idx, &unit.group, unit.latency_us, unit.estimate?))
        })
        .collect()
}

fn outputs_wrong(analysis: &Analysis, operator_idx: usize) -> bool {
    analysis.operators[operator_idx].outputs_wrong
}

/// Identical code whose reading may be repeated: that of an operator with wrong outputs is printed nowhere, and counts
/// nowhere.
fn reads_noise(analysis: &Analysis, case: &CaseStat) -> bool {
    case.untouched && !case.group.host_bound && !outputs_wrong(analysis, case.operator_idx)
}

fn is_control(analysis: &Analysis, case: &CaseStat) -> bool {
    case.complete && reads_noise(analysis, case)
}

fn case_controls(analysis: &Analysis) -> Vec<Control> {
    let controls = analysis.cases.iter().enumerate().filter(|(_, case)| is_control(analysis, case));
    controls
        .filter_map(|(place, case)| {
            Some(control(place, case.operator_idx, &case.group, case.latency_us()?, case.estimate?))
        })
        .collect()
}

fn control(place: usize, operator_idx: usize, group: &Group, latency_us: f64, estimate: Estimate) -> Control {
    Control {
        place,
        operator_idx,
        group: group.clone(),
        latency_us,
        effect: estimate.effect,
        error_squared: estimate.sampling_variance() + estimate.quantisation,
    }
}

/// The persistent bias that `effects` (whose standard errors squared are `errors_squared`) show; 0 of nothing.
#[must_use]
pub fn tau_squared(effects: &[f64], errors_squared: &[f64]) -> f64 {
    if effects.is_empty() {
        return 0.0;
    }
    let excess: f64 = effects
        .iter()
        .zip(errors_squared)
        .map(|(effect, error_squared)| effect * effect - error_squared)
        .sum();
    (excess / effects.len() as f64).max(0.0)
}

/// The bias that controls show, and how large they read.
fn tau_of(controls: &[&Control]) -> Tau {
    let effects: Vec<f64> = controls.iter().map(|it| it.effect).collect();
    let errors: Vec<f64> = controls.iter().map(|it| it.error_squared).collect();
    let squares: Vec<f64> = effects.iter().map(|effect| effect * effect).collect();
    Tau {
        squared: tau_squared(&effects, &errors),
        control_square: mean(&squares).unwrap_or(0.0),
        n_controls: controls.len() as f64,
    }
}

/// The bias at one latency, as the controls of its group show it; those of operator `left_out` are not asked.
fn tau_at(controls: &[Control], group: &Group, latency_us: f64, left_out: Option<usize>) -> Tau {
    let asked: Vec<&Control> = controls
        .iter()
        .filter(|control| control.group == *group && Some(control.operator_idx) != left_out)
        .collect();
    let mut counts = [0; BAND_EDGES_US.len() - 1];
    for control in &asked {
        counts[band_of(control.latency_us)] += 1;
    }
    let full = |band: usize| counts[band] >= BAND_FROM;
    let band = band_of(latency_us);
    let chosen: Vec<&Control> = if full(band) {
        asked.into_iter().filter(|control| band_of(control.latency_us) == band).collect()
    } else {
        let thin: Vec<&Control> =
            asked.iter().copied().filter(|control| !full(band_of(control.latency_us))).collect();
        if thin.len() < BAND_FROM { asked } else { thin }
    };
    tau_of(&chosen)
}

fn band_of(latency_us: f64) -> usize {
    BAND_EDGES_US[1..4].iter().filter(|edge| latency_us >= **edge).count()
}

/// Upper end of the one-sided 95 % interval of a rate after `hits` in `trials` (Clopper and Pearson 1934).
///
/// 1 without trials. No hit in 40 trials leaves 7.2 %.
#[must_use]
pub fn upper_bound95(hits: usize, trials: usize) -> f64 {
    if hits >= trials {
        return 1.0;
    }
    if hits == 0 {
        return 1.0 - 0.05_f64.powf(1.0 / trials as f64);
    }
    inv_beta_reg((hits + 1) as f64, (trials - hits) as f64, 0.95)
}

/// Summarises the controls; the flags say which cases and units the rules would have called different.
pub(crate) fn summarise(
    analysis: &Analysis,
    cases_called: &[bool],
    units_called: &[bool],
) -> ControlsSummary {
    let cases = case_controls(analysis);
    let units = unit_controls(analysis);
    if units.is_empty() && cases.is_empty() {
        let worst = worst(readings(analysis));
        return ControlsSummary { worst, upper95: 1.0, upper95_operators: 1.0, ..ControlsSummary::default() };
    }
    let false_positives = number_called(&cases, cases_called);
    let false_positive_operators = number_called(&units, units_called);
    ControlsSummary {
        cases: cases.len(),
        operators: units.len(),
        processes: processes(analysis, &units),
        floor: floor(&cases),
        worst: worst(cases.iter().map(|control| control.effect).collect())
            .or_else(|| worst(readings(analysis))),
        largest: largest(units.iter().chain(&cases)),
        tau: tau_of(&units.iter().collect::<Vec<_>>()).squared.sqrt(),
        false_positives,
        false_positive_operators,
        upper95: upper_bound95(false_positives, cases.len()),
        upper95_operators: upper_bound95(false_positive_operators, units.len()),
        bands: bands(analysis, &cases, &units, cases_called, units_called),
    }
}

fn number_called(controls: &[Control], flags: &[bool]) -> usize {
    controls.iter().filter(|control| flags[control.place]).count()
}

/// A round is a process, or two where the sides have processes of their own.
fn processes(analysis: &Analysis, units: &[Control]) -> usize {
    let of_unit = |control: &Control| {
        let a_round = if control.group.process_paired { 2 } else { 1 };
        analysis.units[control.place].effects.len() * a_round
    };
    units.iter().map(of_unit).sum()
}

fn floor(controls: &[Control]) -> Option<f64> {
    let sizes_pct: Vec<f64> = controls.iter().map(|control| percent(control.effect).abs()).collect();
    quantile(&sizes_pct, 0.95).map(from_percent)
}

/// What all cases with identical code read, complete or not.
fn readings(analysis: &Analysis) -> Vec<f64> {
    let cases = analysis.cases.iter().filter(|case| reads_noise(analysis, case));
    cases.filter_map(|case| mean(&case.effects())).collect()
}

/// The reading furthest from zero as it is printed: `-ln 2` is 50 %, `ln 2` is 100 %.
fn worst(effects: Vec<f64>) -> Option<f64> {
    effects.into_iter().max_by(|one, two| percent(*one).abs().total_cmp(&percent(*two).abs()))
}

fn bands(
    analysis: &Analysis,
    cases: &[Control],
    units: &[Control],
    cases_called: &[bool],
    units_called: &[bool],
) -> Vec<ControlBand> {
    let mut groups: Vec<&Group> = cases.iter().chain(units).map(|control| &control.group).collect();
    groups.sort();
    groups.dedup();
    let mut bands = Vec::new();
    for group in groups {
        for band in 0..BAND_EDGES_US.len() - 1 {
            let within = |controls: &[Control]| -> Vec<Control> {
                let here = |it: &&Control| it.group == *group && band_of(it.latency_us) == band;
                controls.iter().filter(here).cloned().collect()
            };
            let (cases, operators) = (within(cases), within(units));
            if cases.is_empty() && operators.is_empty() {
                continue;
            }
            bands.push(ControlBand {
                process_paired: group.process_paired,
                timer: group.timer.clone(),
                from_us: BAND_EDGES_US[band],
                below_us: Some(BAND_EDGES_US[band + 1]).filter(|edge| edge.is_finite()),
                cases: cases.len(),
                floor: floor(&cases),
                false_positives: number_called(&cases, cases_called),
                upper95: upper_bound95(number_called(&cases, cases_called), cases.len()),
                operators: operators.len(),
                processes: processes(analysis, &operators),
                false_positive_operators: number_called(&operators, units_called),
                upper95_operators: upper_bound95(number_called(&operators, units_called), operators.len()),
                tau: tau_at(units, group, BAND_EDGES_US[band], None).squared.sqrt(),
            });
        }
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_controls_cannot_bound_the_rate_below_seven_percent() {
        assert!((upper_bound95(0, 40) - 0.072_157).abs() < 1e-6);
        assert_eq!(upper_bound95(0, 0), 1.0);
        assert_eq!(upper_bound95(3, 3), 1.0);
    }

    #[test]
    fn bias_is_what_scatter_does_not_explain() {
        // Effects of +-3e-3 with errors of 2e-3 leave sqrt(9 - 4) e-3.
        let it = tau_squared(&[3e-3, -3e-3, 3e-3], &[4e-6; 3]);
        assert!((it.sqrt() - 5e-6_f64.sqrt()).abs() < 1e-12);
        assert_eq!(tau_squared(&[1e-3], &[4e-6]), 0.0);
    }

    #[test]
    fn what_controls_read_is_kept_where_it_shows_no_bias() {
        let group = Group { process_paired: false, timer: "gated".into(), host_bound: false };
        let it =
            Control { place: 0, operator_idx: 0, group, latency_us: 5.0, effect: 0.02, error_squared: 2e-4 };
        let tau = tau_of(&[&it; 6]);
        assert!((tau.squared - 2e-4).abs() < 1e-12 && (tau.control_square - 4e-4).abs() < 1e-12);
        let calm = Control { effect: 0.01, ..it };
        let tau = tau_of(&[&calm; 6]);
        assert_eq!((tau.squared, tau.n_controls), (0.0, 6.0));
        assert!((tau.control_square - 1e-4).abs() < 1e-12);
        assert_eq!(tau_of(&[]), Tau::default());
    }

    #[test]
    fn bands_with_eight_controls_speak_for_themselves() {
        let group = Group { process_paired: false, timer: "gated".into(), host_bound: false };
        let at = |latency_us: f64, effect: f64| Control {
            place: 0,
            operator_idx: 0,
            group: group.clone(),
            latency_us,
            effect,
            error_squared: 0.0,
        };
        let mut controls: Vec<Control> = (0..8).map(|_| at(5.0, 0.02)).collect();
        controls.extend((0..3).map(|_| at(50.0, 0.001)));
        assert!((tau_at(&controls, &group, 6.0, None).squared - 4e-4).abs() < 1e-12);
        // Three controls beyond 10 us are too few to stand alone: all eleven speak.
        assert!((tau_at(&controls, &group, 50.0, None).n_controls - 11.0).abs() < 1e-9);
        controls.extend((0..6).map(|_| at(500.0, 0.001)));
        assert!((tau_at(&controls, &group, 5_000.0, None).n_controls - 9.0).abs() < 1e-9);
        assert!((tau_at(&controls, &group, 50.0, None).squared - 1e-6).abs() < 1e-12);
    }
}
