//! One effect with all that makes it uncertain, and what follows: standard error, interval, test.
//!
//! Three sources are kept apart because only the first shrinks with rounds: scatter between rounds, the timer's
//! quantisation, and `tau`, the bias that controls show. Verdicts are left to `verdict`.

use crate::effect::Interval;
use crate::student;

/// Fewer controls than this say too little of how uncertain the bias is that they do not show.
const FEWEST_CONTROLS: f64 = 8.0;

/// An effect and the variances of its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Mean over rounds, `ln(A/B)`.
    pub effect: f64,
    /// Variance of one round's effect, moderated where it could be.
    pub round_variance: f64,
    /// Degrees of freedom of [`Self::round_variance`]: those of the rounds and those of the prior.
    pub round_df: f64,
    /// Those of them that came from the prior.
    pub prior_df: f64,
    /// Number of rounds.
    pub n_rounds: u32,
    /// Variance due to the timer's resolution; rounds do not reduce it.
    pub quantisation: f64,
    /// Variance of the bias that controls show; rounds do not reduce it.
    pub tau_squared: f64,
    /// Mean of the squared effects of the controls that [`Self::tau_squared`] comes from: their bias and their scatter.
    pub control_square: f64,
    /// Number of those controls; 0 without any.
    pub n_controls: f64,
}

/// Variance that a timer of resolution `resolution_us` puts on `ln(A/B)`: `r^2 (1/A^2 + 1/B^2) / 12`.
///
/// Each latency is uniform within one step, variance `r^2 / 12`, and `ln` divides by the latency.
#[must_use]
pub fn quantisation(resolution_us: f64, a_us: f64, b_us: f64) -> f64 {
    resolution_us * resolution_us * (1.0 / (a_us * a_us) + 1.0 / (b_us * b_us)) / 12.0
}

impl Estimate {
    /// Variance of the mean over rounds, without what rounds do not reduce.
    #[must_use]
    pub fn sampling_variance(&self) -> f64 {
        self.round_variance / f64::from(self.n_rounds)
    }

    /// Standard error, all three sources together.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        (self.sampling_variance() + self.quantisation + self.tau_squared).sqrt()
    }

    /// Degrees of freedom of the standard error (Satterthwaite 1946): the quantisation counts as known exactly.
    ///
    /// A bias that came out at zero is not known to be zero: the mean square of `n` controls scatters by
    /// `2 square^2 / n` whatever is taken off it, and so does the bias. Two things keep few or noisy controls from
    /// deciding everything: fewer than eight count as eight unless they show bias, and their mean
    /// square counts up to the variance of this estimate, so that the result is never below the number of controls.
    #[must_use]
    pub fn df(&self) -> f64 {
        let sampling = self.sampling_variance();
        let total = sampling + self.quantisation + self.tau_squared;
        let mut uncertain = 0.0;
        if sampling > 0.0 {
            uncertain += sampling * sampling / self.round_df;
        }
        if self.n_controls > 0.0 {
            let known = self.control_square.min(total);
            let unknown = known * known / self.n_controls.max(FEWEST_CONTROLS);
            uncertain += unknown.max(self.tau_squared * self.control_square / self.n_controls);
        }
        if uncertain > 0.0 { total * total / uncertain } else { f64::INFINITY }
    }

    /// Half the width of the interval that leaves `tail` out at either end.
    #[must_use]
    pub fn half_width(&self, tail: f64) -> f64 {
        let error = self.standard_error();
        if error == 0.0 { 0.0 } else { student::upper(tail, self.df()) * error }
    }

    /// Two-sided interval that covers `level`, such as 0.95.
    #[must_use]
    pub fn interval(&self, level: f64) -> Interval {
        let half = self.half_width(0.5 * (1.0 - level));
        Interval { low: self.effect - half, high: self.effect + half }
    }

    /// Two-sided p-value of no effect.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        let error = self.standard_error();
        if error > 0.0 {
            student::two_sided(self.effect / error, self.df())
        } else if self.effect == 0.0 {
            1.0
        } else {
            0.0
        }
    }

    /// What this would be after `n_rounds` rounds of the same scatter.
    #[must_use]
    pub fn after_rounds(&self, n_rounds: u32) -> Self {
        Self { n_rounds, round_df: self.prior_df + f64::from(n_rounds.saturating_sub(1)), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(effect: f64, round_variance: f64, n_rounds: u32) -> Estimate {
        let round_df = f64::from(n_rounds - 1);
        Estimate {
            effect,
            round_variance,
            round_df,
            prior_df: 0.0,
            n_rounds,
            quantisation: 0.0,
            tau_squared: 0.0,
            control_square: 0.0,
            n_controls: 0.0,
        }
    }

    #[test]
    fn rounds_do_not_reduce_bias_or_resolution() {
        let mut it = plain(0.01, 1e-4, 4);
        it.quantisation = 4e-6;
        it.tau_squared = 5e-6;
        (it.control_square, it.n_controls) = (5e-6, 10.0);
        let many = it.after_rounds(1_000_000_000);
        assert!((many.standard_error() - 3e-3).abs() < 1e-7);
        assert!((many.df() / (81.0 / 25.0 * 10.0) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_bias_of_zero_is_not_known_to_be_zero() {
        let mut it = plain(0.01, 4e-4, 4);
        let alone = it.df();
        // Controls that scatter as this estimate does: a twelfth of its variance squared each.
        (it.control_square, it.n_controls) = (1e-4, 12.0);
        assert!((it.df() - 1.0 / (1.0 / alone + 1.0 / 12.0)).abs() < 1e-12);
        // However noisy they are, no more than that is taken away.
        it.control_square = 1.0;
        assert!((it.df() - 1.0 / (1.0 / alone + 1.0 / 12.0)).abs() < 1e-12);
        // Three that show nothing count as eight.
        (it.control_square, it.n_controls) = (1e-4, 3.0);
        assert!((it.df() - 1.0 / (1.0 / alone + 1.0 / 8.0)).abs() < 1e-12);
        // Three that show as much bias as scatter count as three, half of each.
        (it.tau_squared, it.control_square) = (1e-4, 2e-4);
        assert!((it.df() - 4.0 / (1.0 / alone + 2.0 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn later_rounds_bring_their_degrees_of_freedom() {
        let mut it = plain(0.01, 1e-4, 4);
        it.prior_df = 5.0;
        assert_eq!(it.after_rounds(7).round_df, 11.0);
        assert!((it.after_rounds(7).standard_error() - (1e-4_f64 / 7.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn without_scatter_the_effect_is_exact() {
        assert_eq!(plain(0.1, 0.0, 3).p_value(), 0.0);
        assert_eq!(plain(0.0, 0.0, 3).p_value(), 1.0);
    }
}
