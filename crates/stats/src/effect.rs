//! Effects: `ln(latency A / latency B)`, positive where B is faster, and their forms in percent.
//!
//! Everything inside this crate is on the log scale, where faster and slower are symmetric; percent is for people.
//! The rules that turn effects into verdicts are left to `verdict`.

/// An interval on the log scale, `low <= high`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Interval {
    /// Lower end, `ln(A/B)`.
    pub low: f64,
    /// Upper end, `ln(A/B)`.
    pub high: f64,
}

impl Interval {
    /// Both ends in percent, [`percent`] of each.
    #[must_use]
    pub fn percent(self) -> [f64; 2] {
        [percent(self.low), percent(self.high)]
    }
}

/// `ln(a_us / b_us)` of two latencies in the same unit; `None` unless both are finite and above zero.
#[must_use]
pub fn effect(a_us: f64, b_us: f64) -> Option<f64> {
    let usable = |latency: f64| latency.is_finite() && latency > 0.0;
    (usable(a_us) && usable(b_us)).then(|| a_us.ln() - b_us.ln())
}

/// The effect in percent, `100 (time A / time B - 1)`: positive means that B is faster.
#[must_use]
pub fn percent(effect: f64) -> f64 {
    100.0 * effect.exp_m1()
}

/// The effect whose percentage is `percent`; the inverse of [`percent`], `NaN` at -100 and below.
#[must_use]
pub fn from_percent(percent: f64) -> f64 {
    (percent / 100.0).ln_1p()
}

/// Arithmetic mean; `None` of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Unbiased variance, divisor `n - 1`; `None` below two values.
///
/// Values that differ only by rounding (a standard deviation below 1e-12) count as equal: their variance is zero.
#[must_use]
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values)?;
    let sum: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let variance = sum / (values.len() - 1) as f64;
    Some(if variance < 1e-24 { 0.0 } else { variance })
}

/// Median, the mean of the two middle values where their number is even; `None` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Quantile at `probability` in 0..=1, linear between order statistics (type 7 of Hyndman and Fan 1996, the default
/// of R and numpy); `None` of nothing.
#[must_use]
pub fn quantile(values: &[f64], probability: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = probability.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (position - below as f64) * (sorted[above] - sorted[below]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_is_time_a_over_time_b() {
        let it = effect(131.0, 100.0).unwrap();
        assert!((percent(it) - 31.0).abs() < 1e-12);
        assert!((from_percent(31.0) - it).abs() < 1e-15);
        assert!(effect(100.0, 131.0).unwrap() < 0.0);
    }

    #[test]
    fn no_effect_of_what_is_no_latency() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(effect(bad, 1.0), None);
            assert_eq!(effect(1.0, bad), None);
        }
    }

    #[test]
    fn equal_values_have_no_variance() {
        let step = (10.0_f64 / 8.0).ln();
        assert_eq!(variance(&[step, step, step + 1e-16]), Some(0.0));
        assert_eq!(variance(&[1.0]), None);
        assert_eq!(median(&[]), None);
    }
}
