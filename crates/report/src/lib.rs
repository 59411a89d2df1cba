//! Reports: values in, text out.
//!
//! Takes a [`switchback_model::report::Report`] and says it in the form that a reader needs: a terminal, a page to
//! publish (markdown), JSON, or tables for other programs. Colour and width are arguments; where the text goes is
//! left to the caller. What the formats share is decided once, in [`facts`]: which figures may be printed at all,
//! what counts as a control, how the outputs add up.
//!
//! Two invariants hold in every format but JSON, which keeps the values as they are: a number is printed only where
//! it is a conclusion (`NO_ROWS`, `NOT_COMPILED`, `NOT_MEASURED` and `WRONG` have none), and no control character of
//! a name from outside gets out.

pub mod explain;
pub mod facts;
mod input;
pub mod ir_diff;
pub mod ir_fingerprint;
pub mod json;
pub mod markdown;
pub mod number;
pub mod switches;
pub mod terminal;
pub mod text;
pub mod tsv;
