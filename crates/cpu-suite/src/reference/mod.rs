//! What operators should give: plain Rust in double precision, and how far rounding may lead away from it.
//!
//! Used by tests and, in a duet, where the sides' outputs differ. Knows nothing of Cranelift.

pub(crate) mod functions;

use crate::dtype::{Dtype, Scalar};
use crate::operands::Operands;
use crate::operators::{Case, Operator};

/// A case's inputs as doubles, which hold every scalar of the suite without loss.
pub struct Given<'a> {
    /// The shape.
    pub shape: &'a [usize],
    /// The inputs.
    pub inputs: Vec<Vec<f64>>,
}

/// What a result should be, and the magnitude that its error is relative to.
pub struct Expected {
    /// The results.
    pub values: Vec<f64>,
    /// For each, the sum of the absolute values of what is added up in it; its own absolute value where nothing is.
    pub magnitudes: Vec<f64>,
}

impl Expected {
    /// Results whose error is relative to themselves.
    #[must_use]
    pub fn exact(values: Vec<f64>) -> Self {
        let magnitudes = values.iter().map(|value| value.abs()).collect();
        Self { values, magnitudes }
    }

    /// The largest error of an output, relative to the magnitudes; infinite where a result is not a number, or
    /// differs where its magnitude is 0.
    #[must_use]
    pub fn largest_error(&self, output: &[f64], dtype: Dtype) -> f64 {
        let wraps = dtype.scalar() == Scalar::I32;
        let errors =
            output.iter().zip(self.values.iter().zip(&self.magnitudes)).map(|(got, (value, magnitude))| {
                let value = if wraps { f64::from((*value as i64) as i32) } else { *value };
                let distance = (got - value).abs();
                if distance == 0.0 {
                    0.0
                } else if distance.is_nan() || *magnitude == 0.0 {
                    f64::INFINITY
                } else {
                    distance / magnitude
                }
            });
        let shorter = if output.len() == self.values.len() { 0.0 } else { f64::INFINITY };
        errors.fold(shorter, f64::max)
    }
}

/// What a case's output should be.
#[must_use]
pub fn expected(operator: &Operator, case: Case, operands: &Operands) -> Expected {
    let inputs = operands.inputs().iter().map(crate::operands::Buffer::numbers).collect();
    (operator.reference)(&Given { shape: case.shape, inputs })
}

/// Relative error that rounding explains for a case.
///
/// With `n` roundings in a chain and unit roundoff `u`: the smaller of the worst case `n u / (1 - n u)` (Higham,
/// Accuracy and Stability of Numerical Algorithms, 2002, lemma 3.1) and the bound that holds with probability close
/// to 1, `exp(6 sqrt(n) u + n u^2 / (1 - u)) - 1` (Higham and Mary, SIAM J. Sci. Comput. 41, 2019, theorem 2.4 with
/// lambda 6). 0 for integers and for operators that only move numbers.
#[must_use]
pub fn rounding_bound(operator: &Operator, case: Case) -> f64 {
    let roundoff = case.dtype.unit_roundoff();
    let chain = (operator.roundings)(case.shape) as f64;
    let worst = chain * roundoff / (1.0 - chain * roundoff);
    let likely = (6.0 * chain.sqrt() * roundoff + chain * roundoff * roundoff / (1.0 - roundoff)).exp_m1();
    worst.min(likely)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::find;

    #[test]
    fn errors_are_relative_to_what_was_added_up() {
        let expected = Expected { values: vec![1.0, 0.0], magnitudes: vec![4.0, 0.0] };
        assert_eq!(expected.largest_error(&[1.5, 0.0], Dtype::F32), 0.125);
        assert_eq!(expected.largest_error(&[1.0, 1e-9], Dtype::F32), f64::INFINITY);
        assert_eq!(expected.largest_error(&[f64::NAN, 0.0], Dtype::F32), f64::INFINITY);
        assert_eq!(expected.largest_error(&[1.0], Dtype::F32), f64::INFINITY, "a result is missing");
    }

    #[test]
    fn integers_wrap() {
        let expected = Expected::exact(vec![4_294_967_301.0]);
        assert_eq!(expected.largest_error(&[5.0], Dtype::I32), 0.0);
    }

    #[test]
    fn the_bound_grows_with_the_chain_and_is_nothing_for_what_does_not_round() {
        let bound = |name: &str, dtype, shape| rounding_bound(find(name).unwrap(), Case { dtype, shape });
        let (short, long) = (bound("sum", Dtype::F32, &[4096]), bound("sum", Dtype::F32, &[32768]));
        // 6 sqrt(4096) 2^-24 = 384 * 2^-24 and sqrt(8) times that.
        assert!((short / (384.0 * 2f64.powi(-24)) - 1.0).abs() < 1e-3, "{short}");
        assert!((long / short - 8f64.sqrt()).abs() < 1e-3, "{long}");
        assert_eq!(bound("add", Dtype::I32, &[4096]), 0.0);
        assert_eq!(bound("transpose", Dtype::F32, &[64, 64]), 0.0);
        // One rounding: the worst case, half a unit in the last place.
        assert!((bound("add", Dtype::F64, &[4096]) / 2f64.powi(-53) - 1.0).abs() < 1e-9);
    }
}
