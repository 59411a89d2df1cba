//! A value of a kernel under construction, with arithmetic on it.
//!
//! Integers and floating point share their operators: the instruction follows from the value's type.

use std::ops::{Add, Div, Mul, Shl, Shr, Sub};

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Type, types};

use super::body::Body;

/// A value of a kernel: a scalar, a vector or an index.
#[derive(Clone, Copy)]
pub struct Value<'k> {
    pub(super) body: &'k Body,
    pub(super) raw: ir::Value,
}

impl<'k> Value<'k> {
    pub(super) fn type_of(self) -> Type {
        self.body.type_of(self.raw)
    }

    pub(super) fn is_float(self) -> bool {
        self.type_of().lane_type().is_float()
    }

    /// A number of this value's type.
    #[must_use]
    pub fn like(self, number: f64) -> Self {
        self.body.number(self.type_of(), number)
    }

    /// `self * factor + term`, rounded once.
    #[must_use]
    pub fn multiply_add(self, factor: Self, term: Self) -> Self {
        if self.is_float() {
            self.body.wrap(self.body.ins(|ins| ins.fma(self.raw, factor.raw, term.raw)))
        } else {
            self * factor + term
        }
    }

    /// The square root.
    #[must_use]
    pub fn sqrt(self) -> Self {
        self.body.wrap(self.body.ins(|ins| ins.sqrt(self.raw)))
    }

    /// The larger of two, lane by lane; `other` where one is not a number.
    ///
    /// Written as comparison and choice, not as `fmax`, so that canonicalising NaNs leaves it alone.
    #[must_use]
    pub fn larger(self, other: Self) -> Self {
        if self.is_float() {
            self.chosen_if_less(other, self, other)
        } else {
            self.body.wrap(self.body.ins(|ins| ins.smax(self.raw, other.raw)))
        }
    }

    /// The smaller of two, lane by lane; `other` where one is not a number.
    #[must_use]
    pub fn smaller(self, other: Self) -> Self {
        if self.is_float() {
            self.chosen_if_less(self, other, other)
        } else {
            self.body.wrap(self.body.ins(|ins| ins.smin(self.raw, other.raw)))
        }
    }

    /// `self` where `left < right`, else `otherwise`.
    fn chosen_if_less(self, left: Self, right: Self, otherwise: Self) -> Self {
        let of = self.type_of();
        let is_less = self.body.ins(|ins| ins.fcmp(FloatCC::LessThan, left.raw, right.raw));
        self.body.wrap(if of.is_vector() {
            let mask = self.body.ins(|ins| ins.bitcast(of, MemFlagsData::new(), is_less));
            self.body.ins(|ins| ins.bitselect(mask, self.raw, otherwise.raw))
        } else {
            self.body.ins(|ins| ins.select(is_less, self.raw, otherwise.raw))
        })
    }

    /// Folds the lanes of a vector, the first one first; a scalar is its own fold.
    #[must_use]
    pub fn across(self, fold: impl Fn(Self, Self) -> Self) -> Self {
        if !self.type_of().is_vector() {
            return self;
        }
        let lanes = u8::try_from(self.type_of().lane_count()).expect("128 bits hold few lanes");
        (0..lanes)
            .map(|lane| self.body.wrap(self.body.ins(|ins| ins.extractlane(self.raw, lane))))
            .reduce(fold)
            .expect("a vector has lanes")
    }

    /// The same bits as another type of the same width.
    #[must_use]
    pub(super) fn bits_as(self, of: Type) -> Self {
        self.body.wrap(self.body.ins(|ins| ins.bitcast(of, MemFlagsData::new(), self.raw)))
    }

    /// An index's bits in reverse order.
    #[must_use]
    pub fn reversed_bits(self) -> Self {
        self.body.wrap(self.body.ins(|ins| ins.bitrev(self.raw)))
    }

    /// How many zeros an index ends in.
    #[must_use]
    pub fn trailing_zeros(self) -> Self {
        self.body.wrap(self.body.ins(|ins| ins.ctz(self.raw)))
    }

    pub(super) fn shifted_left(self, bits: i64) -> Self {
        let amount = self.body.ins(|ins| ins.iconst(types::I32, bits));
        self.body.wrap(self.body.ins(|ins| ins.ishl(self.raw, amount)))
    }
}

macro_rules! arithmetic {
    ($operator:ident $method:ident, $float:ident, $integer:ident) => {
        impl<'k> $operator for Value<'k> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                let is_float = self.is_float();
                self.body.wrap(self.body.ins(|ins| {
                    if is_float { ins.$float(self.raw, other.raw) } else { ins.$integer(self.raw, other.raw) }
                }))
            }
        }

        impl<'k> $operator<f64> for Value<'k> {
            type Output = Self;

            fn $method(self, number: f64) -> Self {
                let other = self.like(number);
                $operator::$method(self, other)
            }
        }

        impl<'k> $operator<i64> for Value<'k> {
            type Output = Self;

            fn $method(self, number: i64) -> Self {
                let other = self.body.index(number);
                $operator::$method(self, other)
            }
        }
    };
}

arithmetic!(Add add, fadd, iadd);
arithmetic!(Sub sub, fsub, isub);
arithmetic!(Mul mul, fmul, imul);
arithmetic!(Div div, fdiv, sdiv);

macro_rules! on_indices {
    ($($operator:ident $method:ident, $instruction:ident;)*) => {$(
        impl<'k> $operator for Value<'k> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                self.body.wrap(self.body.ins(|ins| ins.$instruction(self.raw, other.raw)))
            }
        }
    )*};
}

on_indices! {
    Shl shl, ishl;
    Shr shr, ushr;
}
