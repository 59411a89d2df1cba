//! Student's t with any positive degrees of freedom, infinity included: tail probabilities and quantiles.
//!
//! `statrs` has the special functions; its quantile is not used because the inverse beta loses digits where the
//! degrees of freedom are many. Very many degrees of freedom are mapped onto the normal by an expansion, as the
//! continued fraction of the incomplete beta needs more terms there than are taken.

use statrs::function::beta::beta_reg;
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::ln_gamma;

/// Above this the expansion of Hill (1970) is exact to the last digits.
const EXPANSION_FROM: f64 = 10_000.0;

/// Probability that a t with `df` degrees of freedom is at least `|t|` away from zero, on either side.
///
/// `df` above zero or infinite; `NaN` of anything else.
#[must_use]
pub fn two_sided(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    if df > EXPANSION_FROM {
        return erfc(normal_equivalent(t.abs(), df) / std::f64::consts::SQRT_2);
    }
    let square = t * t;
    if square < 3.0 {
        // The complement is taken where it costs no digits, so that the small argument is exact.
        1.0 - beta_reg(0.5, 0.5 * df, square / (df + square))
    } else {
        beta_reg(0.5 * df, 0.5, df / (df + square))
    }
}

/// The normal deviate with the same tail as `t >= 0` (Hill 1970, algorithm 395, equation 2).
fn normal_equivalent(t: f64, df: f64) -> f64 {
    if df.is_infinite() {
        return t;
    }
    let a = df - 0.5;
    let b = 48.0 * a * a;
    let z = (a * (t * t / df).ln_1p()).sqrt();
    let s = z * z;
    let outer = ((((-0.4 * s - 3.3) * s - 24.0) * s - 85.5) / (0.8 * s * s + 100.0 + b) + s + 3.0) / b + 1.0;
    z * outer
}

/// The `t` exceeded with probability `1 - probability`: the quantile at `probability` in 0..1 (exclusive).
///
/// # Panics
/// Never; outside of the range the result is infinite or `NaN`.
#[must_use]
pub fn quantile(probability: f64, df: f64) -> f64 {
    if probability < 0.5 {
        return -upper(probability, df);
    }
    upper(1.0 - probability, df)
}

/// The `t >= 0` with `tail` (at most 1/2) above it.
#[must_use]
pub fn upper(tail: f64, df: f64) -> f64 {
    if tail.is_nan() || df.is_nan() || df <= 0.0 || !(0.0..=0.5).contains(&tail) {
        return f64::NAN;
    }
    if tail == 0.0 {
        return f64::INFINITY;
    }
    let normal = std::f64::consts::SQRT_2 * erfc_inv(2.0 * tail);
    if df.is_infinite() || tail == 0.5 {
        return normal;
    }
    // The tail is convex above the mode and heavier than the normal's: Newton on its logarithm, kept in a bracket.
    let (mut low, mut high) = (normal, normal.max(1.0) * 2.0);
    while 0.5 * two_sided(high, df) > tail {
        low = high;
        high *= 4.0;
    }
    let mut t = low;
    for _ in 0..200 {
        let here = 0.5 * two_sided(t, df);
        if here > tail {
            low = t;
        } else {
            high = t;
        }
        let newton = t + here * (here / tail).ln() / density(t, df);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - t).abs() <= 1e-15 * t.abs().max(1e-15) {
            return next;
        }
        t = next;
    }
    t
}

/// Density of Student's t.
fn density(t: f64, df: f64) -> f64 {
    let log = ln_gamma(0.5 * (df + 1.0)) - ln_gamma(0.5 * df) - 0.5 * (df * std::f64::consts::PI).ln();
    (log - 0.5 * (df + 1.0) * (t * t / df).ln_1p()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_degree_of_freedom_is_cauchy() {
        for t in [0.01_f64, 0.5, 1.0, 3.0, 40.0] {
            let exact = 2.0 * (0.5 - t.atan() / std::f64::consts::PI);
            assert!((two_sided(t, 1.0) - exact).abs() < 1e-13, "{t}");
        }
    }

    #[test]
    fn quantiles_read_back() {
        for df in [0.7, 1.0, 2.0, 3.3, 17.0, 400.0, 1e5, f64::INFINITY] {
            for tail in [1e-12, 1e-6, 0.001, 0.025, 0.2, 0.49] {
                let t = upper(tail, df);
                assert!((0.5 * two_sided(t, df) / tail - 1.0).abs() < 1e-10, "{df} {tail}");
                assert!((quantile(tail, df) + t).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn no_jump_where_the_expansion_takes_over() {
        for t in [0.1, 1.0, 2.5, 6.0] {
            let (below, above) = (two_sided(t, EXPANSION_FROM), two_sided(t, EXPANSION_FROM * (1.0 + 1e-9)));
            assert!((below / above - 1.0).abs() < 1e-9, "{t}: {below} {above}");
        }
    }
}
