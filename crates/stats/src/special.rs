//! Derivatives of the log gamma function that `statrs` does not have: trigamma, its inverse, and tetragamma.
//!
//! Needed by the estimate of prior degrees of freedom (Smyth 2004). Series after Abramowitz and Stegun 1964, 6.4.11
//! and 6.4.12, reached by the recurrence 6.4.6. Arguments are above zero; nothing else is asked of these.

/// Where the asymptotic series take over; their first neglected term is below 1e-15 relative there.
const SERIES_FROM: f64 = 16.0;

/// Second derivative of `ln gamma` at `x > 0`; `NaN` elsewhere.
#[must_use]
pub fn trigamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let mut argument = x;
    let mut sum = 0.0;
    while argument < SERIES_FROM {
        sum += 1.0 / (argument * argument);
        argument += 1.0;
    }
    let r = 1.0 / argument;
    let s = r * r;
    let tail = 1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s * (1.0 / 30.0 - s * 5.0 / 66.0)));
    sum + r * (1.0 + r * (0.5 + r * tail))
}

/// Third derivative of `ln gamma` at `x > 0`; `NaN` elsewhere.
#[must_use]
pub fn tetragamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let mut argument = x;
    let mut sum = 0.0;
    while argument < SERIES_FROM {
        sum -= 2.0 / (argument * argument * argument);
        argument += 1.0;
    }
    let r = 1.0 / argument;
    let s = r * r;
    let tail = 0.5 - s * (1.0 / 6.0 - s * (1.0 / 6.0 - s * (0.3 - s * 5.0 / 6.0)));
    sum - s * (1.0 + r * (1.0 + r * tail))
}

/// The `y > 0` with `trigamma(y) = x`, for `x > 0`; `NaN` elsewhere.
///
/// Newton's method on `1 / trigamma`, which is nearly linear, from `0.5 + 1/x` (Smyth 2004, appendix): it converges
/// from below, monotonically.
#[must_use]
pub fn trigamma_inverse(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    if x > 1e7 {
        return 1.0 / x.sqrt();
    }
    if x < 1e-6 {
        return 1.0 / x;
    }
    let mut y = 0.5 + 1.0 / x;
    for _ in 0..50 {
        let value = trigamma(y);
        let step = value * (1.0 - value / x) / tetragamma(y);
        y += step;
        if -step / y < 1e-12 {
            break;
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn known_values() {
        // Abramowitz and Stegun 6.4.2: trigamma(1) = pi^2 / 6, trigamma(1/2) = pi^2 / 2.
        assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-14);
        assert!((trigamma(0.5) - PI * PI / 2.0).abs() < 1e-13);
        // tetragamma(1) = -2 zeta(3).
        assert!((tetragamma(1.0) + 2.0 * 1.202_056_903_159_594).abs() < 1e-13);
    }

    #[test]
    fn the_inverse_inverts() {
        for y in [1e-3, 0.1, 0.5, 1.0, 3.7, 25.0, 1e3, 1e5] {
            assert!((trigamma_inverse(trigamma(y)) / y - 1.0).abs() < 1e-9, "{y}");
        }
        assert!(trigamma_inverse(-1.0).is_nan());
    }
}
