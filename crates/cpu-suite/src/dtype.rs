//! Element types of the suite's operators, by the names that cases and `OP::DTYPES` carry.
//!
//! A vector form (`f32x4`) is the same data as its scalar form, read and written so many lanes at a time: it gives
//! another kernel for the same operator. Keeps one invariant: sizes of operands count scalars, never vectors.

use std::fmt;

use cranelift_codegen::ir::{Type, types};

/// An element type and the width in which a kernel handles it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dtype {
    /// IEEE single precision, one at a time.
    F32,
    /// IEEE single precision, four lanes.
    F32x4,
    /// IEEE double precision, one at a time.
    F64,
    /// IEEE double precision, two lanes.
    F64x2,
    /// 32-bit integers that wrap, one at a time.
    I32,
    /// 32-bit integers that wrap, four lanes.
    I32x4,
    /// Complex numbers of two singles, real part first.
    C64,
}

impl Dtype {
    /// All of them, in the order they are listed.
    pub const ALL: [Self; 7] =
        [Self::F32, Self::F32x4, Self::F64, Self::F64x2, Self::I32, Self::I32x4, Self::C64];

    /// The name in cases and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F32x4 => "f32x4",
            Self::F64 => "f64",
            Self::F64x2 => "f64x2",
            Self::I32 => "i32",
            Self::I32x4 => "i32x4",
            Self::C64 => "c64",
        }
    }

    /// The dtype of a name; none if there is no such.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Cranelift's type of what a kernel handles at a time; of a complex number's part for `c64`.
    #[must_use]
    pub fn clif(self) -> Type {
        match self {
            Self::F32 | Self::C64 => types::F32,
            Self::F32x4 => types::F32X4,
            Self::F64 => types::F64,
            Self::F64x2 => types::F64X2,
            Self::I32 => types::I32,
            Self::I32x4 => types::I32X4,
        }
    }

    /// Scalars handled at a time.
    #[must_use]
    pub fn lanes(self) -> usize {
        self.clif().lane_count() as usize
    }

    /// Bytes of one scalar.
    #[must_use]
    pub fn scalar_bytes(self) -> usize {
        self.clif().lane_type().bytes() as usize
    }

    /// The scalar that memory holds.
    #[must_use]
    pub fn scalar(self) -> Scalar {
        match self.clif().lane_type() {
            types::F64 => Scalar::F64,
            types::I32 => Scalar::I32,
            _ => Scalar::F32,
        }
    }

    /// Unit roundoff: half the distance from 1 to the next number; 0 for integers, which do not round.
    #[must_use]
    pub fn unit_roundoff(self) -> f64 {
        match self.scalar() {
            Scalar::F32 => f64::from(f32::EPSILON) / 2.0,
            Scalar::F64 => f64::EPSILON / 2.0,
            Scalar::I32 => 0.0,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What memory holds, whatever the width of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// 32-bit two's complement.
    I32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_widths_are_those_in_the_name() {
        for dtype in Dtype::ALL {
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
            let lanes = dtype.name().split_once('x').map_or(1, |(_, lanes)| lanes.parse().unwrap());
            assert_eq!(dtype.lanes(), lanes);
        }
        assert_eq!(Dtype::from_name("f16"), None);
    }

    #[test]
    fn the_unit_roundoff_is_the_largest_that_one_absorbs() {
        assert_eq!(1.0 + Dtype::F64.unit_roundoff(), 1.0);
        assert!(1.0 + Dtype::F64.unit_roundoff() * 1.0001 > 1.0);
        assert_eq!(Dtype::F32.unit_roundoff(), 2f64.powi(-24));
    }
}
