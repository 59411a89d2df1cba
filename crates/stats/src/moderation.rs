//! Which variances borrow strength from which: cases from cases and operators from operators, of the same pairing and
//! timer. The estimate itself is [`crate::moderated`]; what is done with the result is left to [`crate::verdict`].

use std::collections::BTreeSet;

use crate::analysis::{CaseStat, Group, Unit};
use crate::interval::Estimate;
use crate::moderated::{Prior, fit_prior};
use crate::trend::Trend;

/// Below this many, variances are not moderated: a prior from a handful is worse than none.
const MODERATED_FROM: usize = 8;

/// Every distinct group among `groups`, in order.
fn distinct<'a>(groups: impl Iterator<Item = &'a Group>) -> Vec<Group> {
    groups.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Moderates the variances of cases, with a trend over the logarithm of the latency.
pub(crate) fn moderate_cases(cases: &mut [CaseStat]) {
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

/// Moderates the variances of units, with a line over the log variance that their cases' trend predicts.
pub(crate) fn moderate_units(units: &mut [Unit], cases: &[CaseStat]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(main: bool, round_variance: f64) -> Unit {
        Unit {
            operator_idx: 0,
            group: Group { process_paired: false, timer: "gated".into(), host_bound: false },
            control: !main,
            main,
            case_idxs: Vec::new(),
            effects: Vec::new(),
            latency_us: 50.0,
            no_scatter: false,
            estimate: Some(Estimate {
                effect: 0.0,
                round_variance,
                round_df: 3.0,
                prior_df: 0.0,
                n_rounds: 4,
                quantisation: 0.0,
                tau_squared: 0.0,
                control_square: 0.0,
                n_controls: 0.0,
            }),
        }
    }

    #[test]
    fn untouched_cases_beside_touched_ones_are_predicted_and_do_not_speak() {
        let mut alone: Vec<Unit> = (1..=9).map(|size| unit(true, f64::from(size) * 1e-6)).collect();
        let mut joined: Vec<Unit> = (1..=9).map(|size| unit(true, f64::from(size) * 1e-6)).collect();
        joined.push(unit(false, 1.0));
        moderate_units(&mut alone, &[]);
        moderate_units(&mut joined, &[]);
        for (alone, joined) in alone.iter().zip(&joined) {
            assert_eq!(alone.estimate, joined.estimate);
            assert!(alone.estimate.is_some_and(|it| it.prior_df > 0.0));
        }
        assert!(joined[9].estimate.is_some_and(|it| it.round_variance < 1.0 && it.prior_df > 0.0));
    }
}
