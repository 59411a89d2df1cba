//! Canonical IR, fingerprints and diffs: text in, values out.
//!
//! A compiler leaves a text behind at every stage. This crate says when two such texts are the same code
//! ([`canonical()`], [`digest()`]), when two runs compiled the same kernels ([`compare`],
//! [`Fingerprint`]), and, when they did not, what changed. It reads no file and knows no clock: whoever
//! calls brings the bytes.
//!
//! ```
//! use switchback_ir::{Stage, digest};
//!
//! let here = b"%start_n = arith.constant 0 : i32 loc(\"/opt/a/k.py\":10:5)";
//! let there = b"%c0_i32 = arith.constant 0 : i32 // compiled elsewhere";
//! let other = b"%c0_i32 = arith.constant 1 : i32";
//! assert_eq!(digest(&Stage::Ttgir, here).digest, digest(&Stage::Ttgir, there).digest);
//! assert_ne!(digest(&Stage::Ttgir, here).digest, digest(&Stage::Ttgir, other).digest);
//! ```

mod canonical;
mod diff;
mod fingerprint;
mod lex;
mod names;
mod operations;
mod output;
mod source;
mod stage;
mod stamps;
mod variant;

/// The most registers a thread of any kernel in a cubin takes; none if the bytes are no cubin with code.
#[must_use]
pub fn registers_of_cubin(bytes: &[u8]) -> Option<u64> {
    lex::cubin::registers(bytes)
}

pub use canonical::{
    Canonical, CanonicalLine, Digest, NotADigest, StageDigest, canonical, canonical_lines, digest,
};
pub use diff::{Row, RowKind, ShownLine, side_by_side};
pub use fingerprint::{Comparison, Difference, Fingerprint, IrVerdict, KernelComparison, KernelIr, compare};
pub use names::{IndexRow, ReadableNames, VariantDescription, readable_names};
pub use operations::{OperationChange, OperationGroup, operation_changes, operations};
pub use source::SourcePlace;
pub use stage::Stage;
pub use stamps::{STAMP_PATTERNS, StampPattern, StampUse};
pub use variant::variant_of_metadata;
