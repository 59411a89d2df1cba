//! Operators that put numbers in order.

use super::{Code, Operator};
use crate::dtype::Dtype::{F32, F64, I32};
use crate::operands::{Fill, Layout, Operands};
use crate::reference::functions;

/// How many `topk` keeps; each is a value carried along its loop.
pub(crate) const KEPT: usize = 8;

fn layout(shape: &[usize], output: usize) -> Layout {
    Layout { output, inputs: vec![(shape[0], Fill::Uniform(-1e6, 1e6))], sizes: shape.to_vec() }
}

pub(super) const TOPK: Operator = Operator {
    name: "topk",
    about: "the 8 largest, the largest first, by comparison and choice",
    dtypes: &[F32, F64, I32],
    sweep: &[F32, I32],
    shapes: &[&[1024], &[4096]],
    layout: |shape| layout(shape, KEPT),
    code: Code::Kernel(|k| {
        let start = [k.scalar(f64::NEG_INFINITY); KEPT];
        let largest = k.repeat(k.size(0), 1, start, |i, kept| {
            let mut sinking = k.load(k.input(0), i);
            kept.map(|here| {
                let stays = here.larger(sinking);
                sinking = here.smaller(sinking);
                stays
            })
        });
        for (position, value) in (0..).zip(largest) {
            k.store(k.output(), k.index(position), value);
        }
    }),
    reference: functions::topk,
    roundings: |_| 0,
};

fn sort(operands: &mut Operands) {
    let (output, input) = operands.output_and_first_input();
    // Every scalar of the suite is a double without loss.
    let mut numbers = input.numbers();
    numbers.sort_unstable_by(f64::total_cmp);
    let mut next = numbers.into_iter();
    output.write(|| next.next().expect("the output is as long as the input"));
}

pub(super) const SORT: Operator = Operator {
    name: "sort",
    about: "ascending order, in plain Rust: no kernel is compiled",
    dtypes: &[F32, F64, I32],
    sweep: &[F32, I32],
    shapes: &[&[1024], &[4096]],
    layout: |shape| layout(shape, shape[0]),
    code: Code::Plain(sort),
    reference: functions::sort,
    roundings: |_| 0,
};
