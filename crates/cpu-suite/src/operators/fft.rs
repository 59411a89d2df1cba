//! The Fourier transform of complex numbers, the one operator that refuses `f32`.

use super::{Code, Operator};
use crate::dtype::Dtype::C64;
use crate::lang::{Body, Value};
use crate::operands::{Fill, Layout};
use crate::reference::functions;

/// A complex number under construction.
#[derive(Clone, Copy)]
struct Complex<'k> {
    re: Value<'k>,
    im: Value<'k>,
}

fn load<'k>(k: &'k Body, buffer: Value<'k>, index: Value<'k>) -> Complex<'k> {
    Complex { re: k.load(buffer, index * 2), im: k.load(buffer, index * 2 + 1) }
}

fn store<'k>(k: &'k Body, index: Value<'k>, number: Complex<'k>) {
    k.store(k.output(), index * 2, number.re);
    k.store(k.output(), index * 2 + 1, number.im);
}

/// Cooley and Tukey (1965), radix 2: inputs in bit-reversed order, then a pass over the output for each power of 2.
fn fft(k: &Body) {
    let points = k.size(0);
    let levels = points.trailing_zeros();
    k.repeat(points, 1, [], |i, []| {
        let source = i.reversed_bits() >> (k.index(64) - levels);
        store(k, i, load(k, k.input(0), source));
        []
    });
    k.repeat(levels, 1, [], |level, []| {
        let half = k.index(1) << level;
        let groups = points >> (level + 1);
        k.repeat(groups, 1, [], |group, []| {
            let start = group * half * 2;
            k.repeat(half, 1, [], |i, []| {
                let turn = load(k, k.input(1), i * groups);
                let even = load(k, k.output(), start + i);
                let odd = load(k, k.output(), start + i + half);
                let turned = Complex {
                    re: odd.re * turn.re - odd.im * turn.im,
                    im: odd.re * turn.im + odd.im * turn.re,
                };
                store(k, start + i, Complex { re: even.re + turned.re, im: even.im + turned.im });
                store(k, start + i + half, Complex { re: even.re - turned.re, im: even.im - turned.im });
                []
            });
            []
        });
        []
    });
}

pub(super) const FFT: Operator = Operator {
    name: "fft",
    about: "discrete Fourier transform, radix 2; complex numbers only",
    dtypes: &[C64],
    sweep: &[C64],
    shapes: &[&[256], &[1024]],
    layout: |shape| {
        let points = shape[0];
        Layout {
            output: 2 * points,
            inputs: vec![(2 * points, Fill::Uniform(-1.0, 1.0)), (points, Fill::Twiddles(points))],
            sizes: shape.to_vec(),
        }
    },
    code: Code::Kernel(fft),
    reference: functions::fft,
    roundings: |shape| 8 * shape[0].ilog2() as usize + 8,
};
