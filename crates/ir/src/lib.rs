//! Canonical IR, fingerprints and diffs: text in, values out.
//!
//! A compiler leaves a text behind at every stage. This crate says when two such texts are the same code
//! ([`canonical()`], [`digest()`]), when two runs compiled the same kernels ([`compare`],
//! [`Fingerprint`]), and, when they did not, what changed. It reads no file and knows no clock: whoever
//! calls brings the bytes.

mod canonical;
mod fingerprint;
mod lex;
mod output;
mod stage;
mod stamps;
mod variant;

pub use canonical::{
    Canonical, CanonicalLine, Digest, NotADigest, StageDigest, canonical, canonical_lines, digest,
};
pub use fingerprint::{Comparison, Difference, Fingerprint, IrVerdict, KernelComparison, KernelIr, compare};
pub use stage::Stage;
pub use stamps::{STAMP_PATTERNS, StampPattern, StampUse};
pub use variant::variant_of_metadata;
