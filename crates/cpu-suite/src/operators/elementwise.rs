//! Operators that treat each element by itself.

use super::{Code, Operator};
use crate::dtype::Dtype::{self, F32, F32x4, F64, F64x2, I32, I32x4};
use crate::lang::{Body, LibraryFunction};
use crate::operands::{Fill, Layout};
use crate::reference::functions;

const SHAPES: &[&[usize]] = &[&[4096], &[32768]];
const FLOATS: &[Dtype] = &[F32, F32x4, F64];

fn layout(shape: &[usize], inputs: usize, low: f64, high: f64) -> Layout {
    let scalars = shape[0];
    Layout {
        output: scalars,
        inputs: vec![(scalars, Fill::Uniform(low, high)); inputs],
        sizes: shape.to_vec(),
    }
}

fn add(k: &Body) {
    k.each_element(|i| k.load(k.input(0), i) + k.load(k.input(1), i));
}

pub(super) const ADD: Operator = Operator {
    name: "add",
    about: "x + y",
    dtypes: &[F32, F32x4, F64, F64x2, I32, I32x4],
    sweep: &[F32, F32x4, F64, I32],
    shapes: SHAPES,
    layout: |shape| layout(shape, 2, -1000.0, 1000.0),
    code: Code::Kernel(add),
    reference: functions::add,
    roundings: |_| 1,
};

/// Scalars of single precision in a cache line.
const A_LINE: usize = 16;

pub(super) const ADD_64MB: Operator = Operator {
    name: "add_64MB",
    about: "x + y on one number of each cache line of 64 MiB: the memory decides the time, not the code",
    dtypes: &[F32],
    sweep: &[F32],
    shapes: &[&[(64 << 20) / 64 / 2, A_LINE]],
    layout: |shape| {
        let (lines, scalars) = (shape[0], shape[0] * shape[1]);
        let fill = Fill::FirstOfLine(-1000.0, 1000.0);
        Layout { output: lines, inputs: vec![(scalars, fill); 2], sizes: shape.to_vec() }
    },
    code: Code::Kernel(|k| {
        k.repeat(k.size(0), 1, [], |line, []| {
            let first = line * k.size(1);
            k.store(k.output(), line, k.load(k.input(0), first) + k.load(k.input(1), first));
            []
        });
    }),
    reference: functions::add_first_of_line,
    roundings: |_| 1,
};

pub(super) const MUL_ADD: Operator = Operator {
    name: "mul_add",
    about: "x * y + z, rounded once",
    dtypes: &[F32, F32x4, F64, F64x2, I32, I32x4],
    sweep: &[F32, F32x4, I32],
    shapes: SHAPES,
    layout: |shape| layout(shape, 3, -1000.0, 1000.0),
    code: Code::Kernel(|k| {
        k.each_element(|i| k.load(k.input(0), i).multiply_add(k.load(k.input(1), i), k.load(k.input(2), i)));
    }),
    reference: functions::mul_add,
    roundings: |_| 1,
};

pub(super) const RELU: Operator = Operator {
    name: "relu",
    about: "x where it is positive, else 0",
    dtypes: &[F32, F32x4, F64, F64x2, I32],
    sweep: &[F32, F32x4, I32],
    shapes: SHAPES,
    layout: |shape| layout(shape, 1, -4.0, 4.0),
    code: Code::Kernel(|k| k.each_element(|i| k.load(k.input(0), i).larger(k.element(0.0)))),
    reference: functions::relu,
    roundings: |_| 0,
};

pub(super) const GELU: Operator = Operator {
    name: "gelu",
    about: "x / (1 + exp(-2u)) with u = 0.797885 (x + 0.044715 x^3), the tanh form",
    dtypes: &[F32, F32x4, F64, F64x2],
    sweep: FLOATS,
    shapes: &[&[1024], &[4096]],
    layout: |shape| layout(shape, 1, -4.0, 4.0),
    code: Code::Kernel(|k| {
        k.each_element(|i| {
            let x = k.load(k.input(0), i);
            let u = (x + x * x * x * functions::GELU_CUBIC) * functions::GELU_SCALE;
            x / ((u * -2.0).exp() + 1.0)
        });
    }),
    reference: functions::gelu,
    // The exponential turns an absolute error of its argument, at most 11 here after five roundings, into a relative one.
    roundings: |_| 80,
};

pub(super) const EXP: Operator = Operator {
    name: "exp",
    about: "e^x by a polynomial",
    dtypes: &[F32, F32x4, F64, F64x2],
    sweep: FLOATS,
    shapes: &[&[1024], &[4096]],
    layout: |shape| layout(shape, 1, -8.0, 8.0),
    code: Code::Kernel(|k| k.each_element(|i| k.load(k.input(0), i).exp())),
    reference: functions::exp,
    roundings: |_| 8,
};

pub(super) const TANH: Operator = Operator {
    name: "tanh",
    about: "tanh x, a call of the C library an element",
    dtypes: &[F32, F64],
    sweep: &[F32, F64],
    shapes: &[&[512], &[2048]],
    layout: |shape| layout(shape, 1, -3.0, 3.0),
    code: Code::Kernel(|k| {
        let callee = if k.dtype() == F64 { LibraryFunction::TanhF64 } else { LibraryFunction::TanhF32 };
        k.each_element(|i| k.call(callee, k.load(k.input(0), i)));
    }),
    reference: functions::tanh,
    roundings: |_| 6,
};
