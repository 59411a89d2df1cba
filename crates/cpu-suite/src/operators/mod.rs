//! The operators: a kernel of a few lines each, its cases, and what its results are checked against.
//!
//! Keeps two invariants: a kernel stays within the buffers that its layout gives it, and no shape has a size of 0
//! or one that is no multiple of the widest vector where the operator takes vectors.

mod elementwise;
mod fft;
mod matrix;
mod order;
mod reduction;
mod rows;

pub(crate) use order::KEPT;
use switchback_model::case::CaseKey;

use crate::dtype::Dtype;
use crate::lang::Body;
use crate::operands::{Layout, Operands};
use crate::reference::{Expected, Given};

/// What an operator runs.
#[derive(Clone, Copy)]
pub enum Code {
    /// A kernel, compiled under the side's settings; the function writes its body.
    Kernel(fn(&Body)),
    /// Plain Rust, compiled with the suite: the compiler under test has no part in it.
    Plain(fn(&mut Operands)),
}

/// An operator of the suite.
pub struct Operator {
    /// Its name.
    pub name: &'static str,
    /// What it computes, in a few words.
    pub about: &'static str,
    /// Dtypes that it takes.
    pub dtypes: &'static [Dtype],
    /// Dtypes that are measured unless others are asked for.
    pub sweep: &'static [Dtype],
    /// Shapes, each measured with each dtype.
    pub shapes: &'static [&'static [usize]],
    /// The buffers of a shape.
    pub layout: fn(&[usize]) -> Layout,
    /// What it runs.
    pub code: Code,
    /// The same in plain Rust and double precision.
    pub reference: fn(&Given<'_>) -> Expected,
    /// Roundings on the longest chain that leads to a result: reduction length, or an approximation's error in units
    /// of the roundoff.
    pub roundings: fn(&[usize]) -> usize,
}

/// An operator on one dtype and shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The dtype.
    pub dtype: Dtype,
    /// The shape.
    pub shape: &'static [usize],
}

impl Case {
    /// The case as events name it.
    #[must_use]
    pub fn key(self) -> CaseKey {
        CaseKey { dtype: self.dtype.name().into(), input: shape_text(self.shape), occurrence: 0 }
    }
}

/// A shape as cases print it: `[64,256]`.
#[must_use]
pub fn shape_text(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", sizes.join(","))
}

impl Operator {
    /// Its cases for some dtypes, in the order of the list.
    pub fn cases<'a>(&'a self, dtypes: &'a [Dtype]) -> impl Iterator<Item = Case> + 'a {
        dtypes.iter().flat_map(|dtype| self.shapes.iter().map(|shape| Case { dtype: *dtype, shape }))
    }

    /// Operands of a case.
    #[must_use]
    pub fn operands(&self, case: Case) -> Operands {
        // A vector form is another kernel for the same data, so the scalar names the data.
        let name = format!("{} {:?} {}", self.name, case.dtype.scalar(), shape_text(case.shape));
        Operands::new(&(self.layout)(case.shape), case.dtype, &name)
    }

    /// How many inputs it has.
    #[must_use]
    pub fn inputs(&self) -> usize {
        (self.layout)(self.shapes[0]).inputs.len()
    }

    /// Name of its kernel for a dtype.
    #[must_use]
    pub fn kernel_name(&self, dtype: Dtype) -> String {
        format!("{}_{dtype}", self.name)
    }
}

/// All operators, in the order they are listed.
pub const ALL: &[&Operator] = &[
    &elementwise::ADD,
    &elementwise::MUL_ADD,
    &elementwise::RELU,
    &elementwise::GELU,
    &elementwise::EXP,
    &elementwise::TANH,
    &elementwise::ADD_64MB,
    &reduction::SUM,
    &reduction::MAX,
    &reduction::DOT,
    &reduction::SCAN,
    &rows::SOFTMAX,
    &rows::LAYER_NORM,
    &rows::RMS_NORM,
    &matrix::MATMUL,
    &matrix::TRANSPOSE,
    &order::TOPK,
    &order::SORT,
    &fft::FFT,
];

/// The operator of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Operator> {
    ALL.iter().copied().find(|operator| operator.name == name)
}
