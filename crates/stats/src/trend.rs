//! Least squares of a value on a smooth function of one covariate: constant, a line, or a natural cubic spline.
//!
//! Used for the trend of log variances only. The basis is that of Hastie, Tibshirani and Friedman (2009), equation
//! 5.4; only the space it spans matters, and it is orthonormalised before use.

use crate::effect::quantile;

/// Which functions of the covariate are fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// The same value everywhere.
    Constant,
    /// A line.
    Linear,
    /// A natural cubic spline with 2, 3 or 4 parameters from 3, 6 and 30 points on (the numbers that limma takes).
    Spline,
}

/// A fitted trend.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Fitted value at each covariate, those that were not used for the fit included.
    pub fitted: Vec<f64>,
    /// Residual sum of squares over the points used.
    pub residual_sum: f64,
    /// Number of parameters that the points could tell apart.
    pub rank: usize,
}

/// Fits `values[i]` on `covariate[i]` over the points with `used[i]`, and predicts at all of them.
///
/// All three have the same length; at least one point is used. A covariate that takes fewer distinct values than the
/// trend has parameters gets the largest trend that it supports.
#[must_use]
pub fn fit(values: &[f64], covariate: &[f64], used: &[bool], trend: Trend) -> Fit {
    let columns = basis(covariate, used, trend);
    let inner = |left: &[f64], right: &[f64]| -> f64 {
        (0..used.len()).filter(|&i| used[i]).map(|i| left[i] * right[i]).sum()
    };
    let mut orthonormal: Vec<Vec<f64>> = Vec::new();
    for mut column in columns {
        let before = inner(&column, &column).sqrt();
        // Twice is enough (Kahan, Parlett): one pass leaves rounding of the size of the cancelled part.
        for _ in 0..2 {
            for earlier in &orthonormal {
                let share = inner(earlier, &column);
                for (value, other) in column.iter_mut().zip(earlier) {
                    *value -= share * other;
                }
            }
        }
        let after = inner(&column, &column).sqrt();
        if after > 1e-9 * before {
            orthonormal.push(column.into_iter().map(|value| value / after).collect());
        }
    }
    let mut fitted = vec![0.0; values.len()];
    for column in &orthonormal {
        let share = inner(column, values);
        for (value, other) in fitted.iter_mut().zip(column) {
            *value += share * other;
        }
    }
    let residual_sum = (0..used.len()).filter(|&i| used[i]).map(|i| (values[i] - fitted[i]).powi(2)).sum();
    Fit { fitted, residual_sum, rank: orthonormal.len() }
}

fn basis(covariate: &[f64], used: &[bool], trend: Trend) -> Vec<Vec<f64>> {
    let mut columns = vec![vec![1.0; covariate.len()]];
    let mut points: Vec<f64> =
        covariate.iter().zip(used).filter(|(_, used)| **used).map(|(x, _)| *x).collect();
    let n_points = points.len();
    let all_points = points.clone();
    points.sort_by(f64::total_cmp);
    points.dedup();
    let n_parameters = match trend {
        Trend::Constant => 1,
        Trend::Linear => 2,
        Trend::Spline => {
            1 + usize::from(n_points >= 3) + usize::from(n_points >= 6) + usize::from(n_points >= 30)
        }
    }
    .min(points.len());
    if n_parameters < 2 {
        return columns;
    }
    let (first, last) = (points[0], points[points.len() - 1]);
    let scaled: Vec<f64> = covariate.iter().map(|x| (x - first) / (last - first)).collect();
    columns.push(scaled.clone());

    let n_inner = n_parameters - 2;
    let mut knots = vec![0.0];
    for idx in 1..=n_inner {
        if let Some(knot) = quantile(&all_points, idx as f64 / (n_inner + 1) as f64) {
            knots.push((knot - first) / (last - first));
        }
    }
    knots.push(1.0);
    knots.dedup_by(|right, left| (*right - *left).abs() < 1e-9);
    let top = knots.len() - 1;
    let cube = |x: f64| x.max(0.0).powi(3);
    let ramp =
        |x: f64, knot: usize| (cube(x - knots[knot]) - cube(x - knots[top])) / (knots[top] - knots[knot]);
    for knot in 0..top.saturating_sub(1) {
        columns.push(scaled.iter().map(|&x| ramp(x, knot) - ramp(x, top - 1)).collect());
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_predicted_outside() {
        let covariate: Vec<f64> = (0..9).map(f64::from).collect();
        let values: Vec<f64> = covariate.iter().map(|x| 3.0 - 2.0 * x).collect();
        let mut used = vec![true; 9];
        used[8] = false;
        for trend in [Trend::Linear, Trend::Spline] {
            let it = fit(&values, &covariate, &used, trend);
            assert!(it.residual_sum < 1e-20);
            assert!((it.fitted[8] + 13.0).abs() < 1e-9, "{trend:?}");
        }
    }

    #[test]
    fn one_distinct_covariate_leaves_a_constant() {
        let it = fit(&[1.0, 2.0, 6.0], &[5.0; 3], &[true; 3], Trend::Spline);
        assert_eq!(it.rank, 1);
        assert!((it.fitted[1] - 3.0).abs() < 1e-12);
    }
}
