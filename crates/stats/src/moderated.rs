//! Moderated variances: many variances of few rounds each borrow strength from one another.
//!
//! The model is that of Smyth (2004), "Linear models and empirical Bayes methods", equations 3 to 5 and section 6.2:
//! true variances are scattered around a prior one as `s0^2 d0 / chi^2(d0)`; `d0` and `s0^2` are estimated from the
//! log variances by their first two moments. As in limma's `fitFDist` the prior may follow a trend. What the caller
//! does with an infinite `d0` is left to it: [`Prior::capped`] is this product's rule.

use statrs::function::gamma::digamma;

use crate::special::{trigamma, trigamma_inverse};
use crate::trend::{self, Trend};

/// Where the true variances lie before the data of one of them are looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    /// Prior variance of each.
    pub variances: Vec<f64>,
    /// Prior degrees of freedom; infinite when the variances scatter no more than chance makes them.
    pub df: f64,
}

impl Prior {
    /// The prior with its degrees of freedom at most `residual_df` (all residual ones together), then halved.
    ///
    /// limma caps at the same total. Half of it because operators measured in one campaign are not independent draws,
    /// and because an estimate of `d0` from a few dozen variances is infinite too often.
    #[must_use]
    pub fn capped(mut self, residual_df: f64) -> Self {
        self.df = 0.5 * self.df.min(residual_df);
        self
    }

    /// Posterior variance of number `idx`, whose own is `variance` with `df` degrees of freedom (Smyth 2004, 6.1).
    #[must_use]
    pub fn squeeze(&self, idx: usize, variance: f64, df: f64) -> f64 {
        if self.df.is_infinite() {
            return self.variances[idx];
        }
        if df == 0.0 {
            return self.variances[idx];
        }
        (self.df * self.variances[idx] + df * variance) / (self.df + df)
    }
}

/// Estimates the prior from `variances[i]` with `df[i]` degrees of freedom each, along `covariate`.
///
/// Entries without degrees of freedom, or whose variance is not finite, are predicted only. Variances below 1e-5 of
/// the median one are raised to that. `None` when fewer than two can be used, when the trend leaves no residual, or
/// when more than half of the variances are zero (there is nothing to learn a scale from).
#[must_use]
pub fn fit_prior(variances: &[f64], df: &[f64], covariate: &[f64], trend: Trend) -> Option<Prior> {
    let used: Vec<bool> = variances
        .iter()
        .zip(df)
        .map(|(variance, df)| variance.is_finite() && *variance >= 0.0 && *df > 0.0)
        .collect();
    let chosen: Vec<f64> = (0..used.len()).filter(|&i| used[i]).map(|i| variances[i]).collect();
    if chosen.len() < 2 {
        return None;
    }
    let median = crate::effect::median(&chosen)?;
    if median <= 0.0 {
        return None;
    }
    let raised: Vec<f64> = variances.iter().map(|variance| variance.max(1e-5 * median)).collect();
    let logs: Vec<f64> = (0..used.len())
        .map(|i| if used[i] { raised[i].ln() - digamma(0.5 * df[i]) + (0.5 * df[i]).ln() } else { 0.0 })
        .collect();
    let fit = trend::fit(&logs, covariate, &used, trend);
    if chosen.len() <= fit.rank {
        return None;
    }
    let expected: f64 = (0..used.len()).filter(|&i| used[i]).map(|i| trigamma(0.5 * df[i])).sum::<f64>()
        / chosen.len() as f64;
    let excess = fit.residual_sum / (chosen.len() - fit.rank) as f64 - expected;
    if excess > 0.0 {
        let prior_df = 2.0 * trigamma_inverse(excess);
        let shift = digamma(0.5 * prior_df) - (0.5 * prior_df).ln();
        return Some(Prior {
            variances: fit.fitted.iter().map(|log| (log + shift).exp()).collect(),
            df: prior_df,
        });
    }
    let variances = if trend == Trend::Constant {
        let sum: f64 = (0..used.len()).filter(|&i| used[i]).map(|i| raised[i]).sum();
        vec![sum / chosen.len() as f64; used.len()]
    } else {
        fit.fitted.iter().map(|log| log.exp()).collect()
    };
    Some(Prior { variances, df: f64::INFINITY })
}
