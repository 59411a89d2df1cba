//! Compares outputs: sides with each other bit for bit, and where they differ both with the reference.

use switchback_model::event::{Outputs, OutputsVerdict};
use switchback_model::side::Side;

use crate::operands::{Buffer, Operands};
use crate::operators::{Case, Operator};
use crate::reference::{expected, rounding_bound};

/// What one side's outputs are, to be compared with the other side's cell; with the reference at hand, how far they are
/// from it.
pub(super) fn of_one_side(
    case: Case,
    side: Side,
    output: &Buffer,
    again: &Buffer,
    reference: Option<(&Operator, &Operands)>,
) -> Outputs {
    let mut outputs = Outputs {
        side: Some(side),
        digest: Some(output.digest()),
        repeatable: Some(output.same_bits(again)),
        ..nothing_compared(case)
    };
    if let Some((operator, operands)) = reference {
        let error = expected(operator, case, operands).largest_error(&output.numbers(), case.dtype);
        match side {
            Side::A => outputs.error_a = Some(error),
            Side::B => outputs.error_b = Some(error),
        }
        outputs.bound = Some(rounding_bound(operator, case));
    }
    outputs
}

/// How both sides' outputs compare.
///
/// `WRONG` is B's error above both four times A's and the case's rounding bound: different sums are not wrong sums.
pub(super) fn of_both_sides(
    operator: &Operator,
    case: Case,
    operands: &Operands,
    a: &Buffer,
    b: &Buffer,
    a_again: &Buffer,
) -> Outputs {
    let mut outputs = nothing_compared(case);
    if !a.same_bits(a_again) {
        outputs.verdict = Some(OutputsVerdict::NotComparable);
        outputs.detail = Some("side A gave other outputs on a second call".into());
        return outputs;
    }
    if a.same_bits(b) {
        outputs.verdict = Some(OutputsVerdict::Equal);
        return outputs;
    }
    let expected = expected(operator, case, operands);
    let (numbers_a, numbers_b) = (a.numbers(), b.numbers());
    let error_a = expected.largest_error(&numbers_a, case.dtype);
    let error_b = expected.largest_error(&numbers_b, case.dtype);
    let bound = rounding_bound(operator, case);
    let differing = numbers_a.iter().zip(&numbers_b).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    outputs.verdict = Some(OutputsVerdict::of_errors(error_a, error_b, bound));
    outputs.error_a = Some(error_a);
    outputs.error_b = Some(error_b);
    outputs.bound = Some(bound);
    outputs.detail = Some(format!("{differing} of {} numbers differ", numbers_a.len()));
    outputs
}

fn nothing_compared(case: Case) -> Outputs {
    Outputs {
        case: case.key(),
        side: None,
        digest: None,
        repeatable: None,
        verdict: None,
        error_a: None,
        error_b: None,
        bound: None,
        detail: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::operators::find;

    #[test]
    fn outputs_are_compared_by_bits_then_with_the_reference() {
        let operator = find("add").unwrap();
        let case = Case { dtype: Dtype::F32, shape: &[4096] };
        let operands = operator.operands(case);
        let mut right = operands.output().clone();
        let sums = expected(operator, case, &operands).values;
        let mut next = sums.iter();
        right.write(|| *next.next().unwrap());
        let mut nearly = right.clone();
        // One number a unit in the last place off: its error is two roundings, its bound one.
        let mut next = sums.iter().enumerate();
        nearly.write(|| {
            let (position, sum) = next.next().unwrap();
            if position == 17 { f64::from((*sum as f32).next_up()) } else { *sum }
        });
        let compare =
            |a: &Buffer, b: &Buffer, again: &Buffer| of_both_sides(operator, case, &operands, a, b, again);
        assert_eq!(compare(&right, &right, &right).verdict, Some(OutputsVerdict::Equal));
        assert_eq!(compare(&right, &nearly, &nearly).verdict, Some(OutputsVerdict::NotComparable));
        let differs = compare(&right, &nearly, &right);
        assert_eq!(differs.verdict, Some(OutputsVerdict::Differs), "{differs:?}");
        assert_eq!(differs.detail.as_deref(), Some("1 of 4096 numbers differ"));
        let zeros = operands.output();
        let wrong = compare(&right, zeros, &right);
        assert_eq!(wrong.verdict, Some(OutputsVerdict::Wrong));
        assert_eq!(wrong.error_b, Some(1.0), "nothing of the sums is there");
        assert_eq!(of_one_side(case, Side::B, &right, &right, None).repeatable, Some(true));
        assert_eq!(of_one_side(case, Side::B, &right, &nearly, None).repeatable, Some(false));
        let alone = of_one_side(case, Side::B, zeros, zeros, Some((operator, &operands)));
        assert_eq!((alone.error_a, alone.error_b, alone.bound), (None, wrong.error_b, wrong.bound));
    }
}
