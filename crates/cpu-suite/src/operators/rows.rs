//! Operators that normalise the rows of a matrix.

use super::{Code, Operator};
use crate::dtype::Dtype::{F32, F32x4, F64, F64x2};
use crate::lang::Value;
use crate::operands::{Fill, Layout};
use crate::reference::functions;

const SHAPES: &[&[usize]] = &[&[8, 256], &[32, 256]];

/// A matrix and so many vectors of a row's length.
fn layout(shape: &[usize], vectors: usize) -> Layout {
    let (rows, columns) = (shape[0], shape[1]);
    let mut inputs = vec![(rows * columns, Fill::Uniform(-4.0, 4.0))];
    inputs.extend(std::iter::repeat_n((columns, Fill::Uniform(0.5, 1.5)), vectors));
    Layout { output: rows * columns, inputs, sizes: shape.to_vec() }
}

pub(super) const SOFTMAX: Operator = Operator {
    name: "softmax",
    about: "exp(x - max) over its sum, row by row",
    dtypes: &[F32, F32x4, F64, F64x2],
    sweep: &[F32, F32x4, F64],
    shapes: SHAPES,
    layout: |shape| layout(shape, 0),
    code: Code::Kernel(|k| {
        k.repeat(k.size(0), 1, [], |row, []| {
            let start = row * k.size(1);
            let lowest = k.element(f64::NEG_INFINITY);
            let [largest] = k.repeat(k.size(1), k.lanes(), [lowest], |i, [largest]| {
                [largest.larger(k.load(k.input(0), start + i))]
            });
            let largest = k.spread(largest.across(Value::larger));
            let [sum] = k.repeat(k.size(1), k.lanes(), [k.element(0.0)], |i, [sum]| {
                let power = (k.load(k.input(0), start + i) - largest).exp();
                k.store(k.output(), start + i, power);
                [sum + power]
            });
            let share = k.spread(k.scalar(1.0) / sum.across(|one, other| one + other));
            k.repeat(k.size(1), k.lanes(), [], |i, []| {
                k.store(k.output(), start + i, k.load(k.output(), start + i) * share);
                []
            });
            []
        });
    }),
    reference: functions::softmax,
    roundings: |shape| shape[1] + 30,
};

pub(super) const LAYER_NORM: Operator = Operator {
    name: "layer_norm",
    about: "(x - mean) / deviation * gain + shift, row by row",
    dtypes: &[F32, F32x4, F64, F64x2],
    sweep: &[F32, F32x4, F64],
    shapes: SHAPES,
    layout: |shape| layout(shape, 2),
    code: Code::Kernel(|k| {
        k.repeat(k.size(0), 1, [], |row, []| {
            let start = row * k.size(1);
            let [sum] = k.repeat(k.size(1), k.lanes(), [k.element(0.0)], |i, [sum]| {
                [sum + k.load(k.input(0), start + i)]
            });
            let mean = k.spread(sum.across(|one, other| one + other) / k.scalar_of(k.size(1)));
            let [squares] = k.repeat(k.size(1), k.lanes(), [k.element(0.0)], |i, [squares]| {
                let distance = k.load(k.input(0), start + i) - mean;
                [distance.multiply_add(distance, squares)]
            });
            let variance = squares.across(|one, other| one + other) / k.scalar_of(k.size(1));
            let factor = k.spread(k.scalar(1.0) / (variance + functions::NORM_EPSILON).sqrt());
            k.repeat(k.size(1), k.lanes(), [], |i, []| {
                let normal = (k.load(k.input(0), start + i) - mean) * factor;
                let result = normal.multiply_add(k.load(k.input(1), i), k.load(k.input(2), i));
                k.store(k.output(), start + i, result);
                []
            });
            []
        });
    }),
    reference: functions::layer_norm,
    roundings: |shape| 2 * shape[1] + 20,
};

pub(super) const RMS_NORM: Operator = Operator {
    name: "rms_norm",
    about: "x / root mean square * gain, in loops that the optimiser makes slower",
    dtypes: &[F32, F32x4, F64, F64x2],
    sweep: &[F32, F32x4],
    shapes: SHAPES,
    layout: |shape| layout(shape, 1),
    code: Code::Kernel(|k| {
        k.repeat_while(k.size(0), 1, [], |row, []| {
            let start = row * k.size(1);
            let [squares] = k.repeat_while(k.size(1), k.lanes(), [k.element(0.0)], |i, [squares]| {
                let x = k.load(k.input(0), start + i);
                [x.multiply_add(x, squares)]
            });
            let square = squares.across(|one, other| one + other) / k.scalar_of(k.size(1));
            let factor = k.spread(k.scalar(1.0) / (square + functions::NORM_EPSILON).sqrt());
            k.repeat_while(k.size(1), k.lanes(), [], |i, []| {
                let normal = k.load(k.input(0), start + i) * factor;
                k.store(k.output(), start + i, normal * k.load(k.input(1), i));
                []
            });
            []
        });
    }),
    reference: functions::rms_norm,
    roundings: |shape| shape[1] + 20,
};
