//! Each operator in plain Rust, written from its definition and not from its kernel.

use super::{Expected, Given};
use crate::operators::KEPT;

/// Coefficient of the cube in the tanh form of GELU (Hendrycks and Gimpel, 2016).
pub(crate) const GELU_CUBIC: f64 = 0.044715;
/// `sqrt(2 / pi)`.
pub(crate) const GELU_SCALE: f64 = 0.797_884_560_802_865_4;
/// Added to a variance before its root is taken.
pub(crate) const NORM_EPSILON: f64 = 1e-5;

fn map(given: &Given<'_>, value: impl Fn(f64) -> f64) -> Expected {
    Expected::exact(given.inputs[0].iter().map(|x| value(*x)).collect())
}

fn rows<'a>(given: &'a Given<'_>) -> impl Iterator<Item = &'a [f64]> {
    given.inputs[0].chunks(given.shape[1])
}

pub(crate) fn add(given: &Given<'_>) -> Expected {
    Expected::exact(given.inputs[0].iter().zip(&given.inputs[1]).map(|(x, y)| x + y).collect())
}

pub(crate) fn add_first_of_line(given: &Given<'_>) -> Expected {
    let lines = |input: usize| given.inputs[input].chunks(given.shape[1]).map(|line| line[0]);
    Expected::exact(lines(0).zip(lines(1)).map(|(x, y)| x + y).collect())
}

pub(crate) fn mul_add(given: &Given<'_>) -> Expected {
    let [x, y, z] = given.inputs.as_slice() else { unreachable!("the layout has three inputs") };
    Expected::exact(x.iter().zip(y).zip(z).map(|((x, y), z)| x.mul_add(*y, *z)).collect())
}

pub(crate) fn relu(given: &Given<'_>) -> Expected {
    map(given, |x| if x > 0.0 { x } else { 0.0 })
}

/// As a logistic function: `1 + tanh u` loses all digits where `u` is below -5.
pub(crate) fn gelu(given: &Given<'_>) -> Expected {
    map(given, |x| x / (1.0 + (-2.0 * GELU_SCALE * (x + GELU_CUBIC * x.powi(3))).exp()))
}

pub(crate) fn exp(given: &Given<'_>) -> Expected {
    map(given, f64::exp)
}

pub(crate) fn tanh(given: &Given<'_>) -> Expected {
    map(given, f64::tanh)
}

pub(crate) fn sum(given: &Given<'_>) -> Expected {
    let x = &given.inputs[0];
    Expected { values: vec![x.iter().sum()], magnitudes: vec![x.iter().map(|x| x.abs()).sum()] }
}

pub(crate) fn max(given: &Given<'_>) -> Expected {
    Expected::exact(vec![given.inputs[0].iter().copied().fold(f64::NEG_INFINITY, f64::max)])
}

pub(crate) fn dot(given: &Given<'_>) -> Expected {
    let products = || given.inputs[0].iter().zip(&given.inputs[1]).map(|(x, y)| x * y);
    Expected { values: vec![products().sum()], magnitudes: vec![products().map(f64::abs).sum()] }
}

pub(crate) fn scan(given: &Given<'_>) -> Expected {
    let running = |term: fn(f64) -> f64| {
        given.inputs[0]
            .iter()
            .scan(0.0, |sum, x| {
                *sum += term(*x);
                Some(*sum)
            })
            .collect()
    };
    Expected { values: running(|x| x), magnitudes: running(f64::abs) }
}

pub(crate) fn softmax(given: &Given<'_>) -> Expected {
    Expected::exact(
        rows(given)
            .flat_map(|row| {
                let sum: f64 = row.iter().map(|x| x.exp()).sum();
                row.iter().map(move |x| x.exp() / sum)
            })
            .collect(),
    )
}

pub(crate) fn layer_norm(given: &Given<'_>) -> Expected {
    let (gain, shift) = (&given.inputs[1], &given.inputs[2]);
    let mut expected = Expected { values: Vec::new(), magnitudes: Vec::new() };
    for row in rows(given) {
        let count = row.len() as f64;
        let mean = row.iter().sum::<f64>() / count;
        let size = row.iter().map(|x| x.abs()).sum::<f64>() / count;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let deviation = (variance + NORM_EPSILON).sqrt();
        for ((x, gain), shift) in row.iter().zip(gain).zip(shift) {
            expected.values.push((x - mean) / deviation * gain + shift);
            expected.magnitudes.push((x.abs() + size) / deviation * gain.abs() + shift.abs());
        }
    }
    expected
}

pub(crate) fn rms_norm(given: &Given<'_>) -> Expected {
    Expected::exact(
        rows(given)
            .flat_map(|row| {
                let square = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
                let root = (square + NORM_EPSILON).sqrt();
                row.iter().zip(&given.inputs[1]).map(move |(x, gain)| x / root * gain)
            })
            .collect(),
    )
}

pub(crate) fn matmul(given: &Given<'_>) -> Expected {
    let [_, inner, columns] = given.shape else { unreachable!("a product has three sizes") };
    let mut expected = Expected { values: Vec::new(), magnitudes: Vec::new() };
    for row in given.inputs[0].chunks(*inner) {
        for column in 0..*columns {
            let products =
                || row.iter().zip(given.inputs[1][column..].iter().step_by(*columns)).map(|(x, y)| x * y);
            expected.values.push(products().sum());
            expected.magnitudes.push(products().map(f64::abs).sum());
        }
    }
    expected
}

pub(crate) fn transpose(given: &Given<'_>) -> Expected {
    let columns = given.shape[1];
    Expected::exact(
        (0..columns).flat_map(|column| given.inputs[0][column..].iter().step_by(columns).copied()).collect(),
    )
}

pub(crate) fn sort(given: &Given<'_>) -> Expected {
    let mut values = given.inputs[0].clone();
    values.sort_by(f64::total_cmp);
    Expected::exact(values)
}

pub(crate) fn topk(given: &Given<'_>) -> Expected {
    let mut sorted = sort(given).values;
    sorted.reverse();
    sorted.truncate(KEPT);
    Expected::exact(sorted)
}

/// By the definition, `X(k) = sum of x(j) e^(-2 pi i j k / n)`; errors are relative to the input's Euclidean norm.
pub(crate) fn fft(given: &Given<'_>) -> Expected {
    let points = given.shape[0];
    let turns: Vec<(f64, f64)> =
        (0..points).map(|k| (-std::f64::consts::TAU * k as f64 / points as f64).sin_cos()).collect();
    let x = &given.inputs[0];
    let mut values = Vec::with_capacity(2 * points);
    for k in 0..points {
        let (mut re, mut im) = (0.0, 0.0);
        for (j, number) in x.chunks(2).enumerate() {
            let (sin, cos) = turns[j * k % points];
            re += number[0] * cos - number[1] * sin;
            im += number[0] * sin + number[1] * cos;
        }
        values.extend([re, im]);
    }
    let norm = x.iter().map(|part| part * part).sum::<f64>().sqrt();
    Expected { magnitudes: vec![norm; values.len()], values }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given<'a>(shape: &'a [usize], inputs: &[&[f64]]) -> Given<'a> {
        Given { shape, inputs: inputs.iter().map(|input| input.to_vec()).collect() }
    }

    #[test]
    fn gelu_is_its_tanh_form() {
        let x: Vec<f64> = (-40..=40).map(|tenth| f64::from(tenth) / 10.0).collect();
        for (x, value) in x.iter().zip(gelu(&given(&[81], &[&x])).values) {
            let tanh = 0.5 * x * (1.0 + (GELU_SCALE * (x + GELU_CUBIC * x.powi(3))).tanh());
            assert!((value - tanh).abs() < 1e-15, "{x}: {value}, {tanh}");
        }
    }

    #[test]
    fn small_results_are_those_found_by_hand() {
        assert_eq!(matmul(&given(&[2, 2, 1], &[&[1.0, 2.0, 3.0, 4.0], &[5.0, -6.0]])).values, [-7.0, -9.0]);
        assert_eq!(
            matmul(&given(&[2, 2, 1], &[&[1.0, 2.0, 3.0, 4.0], &[5.0, -6.0]])).magnitudes,
            [17.0, 39.0]
        );
        assert_eq!(
            transpose(&given(&[2, 3], &[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])).values,
            [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
        );
        assert_eq!(scan(&given(&[3], &[&[1.0, -3.0, 5.0]])).values, [1.0, -2.0, 3.0]);
        assert_eq!(scan(&given(&[3], &[&[1.0, -3.0, 5.0]])).magnitudes, [1.0, 4.0, 9.0]);
        assert_eq!(softmax(&given(&[1, 2], &[&[0.0, 3f64.ln()]])).values.map_near(), [0.25, 0.75]);
        // Mean 2, variance 1.
        let normal = layer_norm(&given(&[1, 2], &[&[1.0, 3.0], &[2.0, 2.0], &[0.5, 0.5]])).values;
        assert!((normal[0] + 1.5).abs() < 1e-4 && (normal[1] - 2.5).abs() < 1e-4, "{normal:?}");
        // Root mean square 5.
        let normal = rms_norm(&given(&[1, 2], &[&[1.0, 7.0], &[10.0, 10.0]])).values;
        assert!((normal[0] - 2.0).abs() < 1e-4 && (normal[1] - 14.0).abs() < 1e-4, "{normal:?}");
        // A unit impulse has a flat spectrum; one turn later, a turning one.
        let impulse = fft(&given(&[4], &[&[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])).values;
        assert_eq!(impulse.map_near(), [1.0, 0.0, 0.0, -1.0, -1.0, 0.0, 0.0, 1.0]);
        assert_eq!(
            topk(&given(&[9], &[&[3.0, 9.0, 1.0, 4.0, 8.0, 2.0, 7.0, 5.0, 6.0]])).values[..2],
            [9.0, 8.0]
        );
    }

    trait Near {
        fn map_near(&self) -> Vec<f64>;
    }

    impl Near for Vec<f64> {
        /// Without the last digits, and without the sign of 0.
        fn map_near(&self) -> Vec<f64> {
            self.iter().map(|value| (value * 1e12).round() / 1e12 + 0.0).collect()
        }
    }
}
