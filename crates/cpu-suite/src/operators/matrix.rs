//! Operators on matrices, row-major.

use super::{Code, Operator};
use crate::dtype::Dtype::{F32, F32x4, F64, F64x2, I32};
use crate::operands::{Fill, Layout};
use crate::reference::functions;

pub(super) const MATMUL: Operator = Operator {
    name: "matmul",
    about: "the product of m x k and k x n, one carried value a result",
    dtypes: &[F32, F32x4, F64, F64x2],
    sweep: &[F32, F32x4, F64],
    shapes: &[&[16, 16, 16], &[32, 32, 32]],
    layout: |shape| {
        let (m, k, n) = (shape[0], shape[1], shape[2]);
        let fill = Fill::Uniform(-1.0, 1.0);
        Layout { output: m * n, inputs: vec![(m * k, fill), (k * n, fill)], sizes: shape.to_vec() }
    },
    code: Code::Kernel(|k| {
        k.repeat(k.size(0), 1, [], |row, []| {
            k.repeat(k.size(2), k.lanes(), [], |column, []| {
                let [sum] = k.repeat(k.size(1), 1, [k.element(0.0)], |i, [sum]| {
                    let left = k.spread(k.load_scalar(k.input(0), row * k.size(1) + i));
                    [left.multiply_add(k.load(k.input(1), i * k.size(2) + column), sum)]
                });
                k.store(k.output(), row * k.size(2) + column, sum);
                []
            });
            []
        });
    }),
    reference: functions::matmul,
    roundings: |shape| shape[1],
};

pub(super) const TRANSPOSE: Operator = Operator {
    name: "transpose",
    about: "rows become columns",
    dtypes: &[F32, F64, I32],
    sweep: &[F32, F64, I32],
    shapes: &[&[64, 64], &[128, 256]],
    layout: |shape| {
        let scalars = shape[0] * shape[1];
        Layout {
            output: scalars,
            inputs: vec![(scalars, Fill::Uniform(-1000.0, 1000.0))],
            sizes: shape.to_vec(),
        }
    },
    code: Code::Kernel(|k| {
        k.repeat(k.size(0), 1, [], |row, []| {
            k.repeat(k.size(1), 1, [], |column, []| {
                let x = k.load(k.input(0), row * k.size(1) + column);
                k.store(k.output(), column * k.size(0) + row, x);
                []
            });
            []
        });
    }),
    reference: functions::transpose,
    roundings: |_| 0,
};
