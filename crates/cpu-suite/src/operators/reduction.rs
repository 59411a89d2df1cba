//! Operators that carry a value along: sums, the largest, running sums.

use super::{Code, Operator};
use crate::dtype::Dtype::{F32, F32x4, F64, F64x2, I32, I32x4};
use crate::lang::Value;
use crate::operands::{Fill, Layout};
use crate::reference::functions;

const SHAPES: &[&[usize]] = &[&[4096], &[32768]];

fn layout(shape: &[usize], output: usize, inputs: usize) -> Layout {
    Layout { output, inputs: vec![(shape[0], Fill::Uniform(-1000.0, 1000.0)); inputs], sizes: shape.to_vec() }
}

pub(super) const SUM: Operator = Operator {
    name: "sum",
    about: "the sum of all, one carried value a lane",
    dtypes: &[F32, F32x4, F64, F64x2, I32, I32x4],
    sweep: &[F32, F32x4, F64, I32],
    shapes: SHAPES,
    layout: |shape| layout(shape, 1, 1),
    code: Code::Kernel(|k| {
        let [sum] =
            k.repeat(k.size(0), k.lanes(), [k.element(0.0)], |i, [sum]| [sum + k.load(k.input(0), i)]);
        k.store(k.output(), k.index(0), sum.across(|one, other| one + other));
    }),
    reference: functions::sum,
    roundings: |shape| shape[0],
};

pub(super) const MAX: Operator = Operator {
    name: "max",
    about: "the largest of all, by comparison and choice",
    dtypes: &[F32, F32x4, F64, F64x2, I32, I32x4],
    sweep: &[F32, F32x4, I32],
    shapes: SHAPES,
    layout: |shape| layout(shape, 1, 1),
    code: Code::Kernel(|k| {
        let lowest = k.element(f64::NEG_INFINITY);
        let [largest] =
            k.repeat(k.size(0), k.lanes(), [lowest], |i, [largest]| [largest.larger(k.load(k.input(0), i))]);
        k.store(k.output(), k.index(0), largest.across(Value::larger));
    }),
    reference: functions::max,
    roundings: |_| 0,
};

pub(super) const DOT: Operator = Operator {
    name: "dot",
    about: "the sum of x * y, rounded once a step",
    dtypes: &[F32, F32x4, F64, F64x2, I32, I32x4],
    sweep: &[F32, F32x4, F64],
    shapes: SHAPES,
    layout: |shape| layout(shape, 1, 2),
    code: Code::Kernel(|k| {
        let [sum] = k.repeat(k.size(0), k.lanes(), [k.element(0.0)], |i, [sum]| {
            [k.load(k.input(0), i).multiply_add(k.load(k.input(1), i), sum)]
        });
        k.store(k.output(), k.index(0), sum.across(|one, other| one + other));
    }),
    reference: functions::dot,
    roundings: |shape| shape[0],
};

pub(super) const SCAN: Operator = Operator {
    name: "scan",
    about: "running sums; each waits for the one before it",
    dtypes: &[F32, F64, I32],
    sweep: &[F32, F64, I32],
    shapes: &[&[4096], &[16384]],
    layout: |shape| layout(shape, shape[0], 1),
    code: Code::Kernel(|k| {
        k.repeat(k.size(0), 1, [k.scalar(0.0)], |i, [sum]| {
            let next = sum + k.load(k.input(0), i);
            k.store(k.output(), i, next);
            [next]
        });
    }),
    reference: functions::scan,
    roundings: |shape| shape[0],
};
