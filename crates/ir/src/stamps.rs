//! The marks that a switch leaves in a module to say that it was on.
//!
//! They differ between the sides by design, whatever the code does: unremoved, 23 of 24 operators read
//! "changed", removed 16. This file is the only place that lists them; every removal is counted, so a
//! report can print which pattern it used and how often.

use serde::{Deserialize, Serialize};

/// A mark to be taken out of module attributes before texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampPattern {
    /// How the attribute's name begins, without quotes.
    pub prefix: &'static str,
    /// The pattern as reports print it.
    pub shown: &'static str,
    /// Who writes it.
    pub origin: &'static str,
}

/// Every pattern that [`crate::canonical()`] removes from module attributes.
pub const STAMP_PATTERNS: &[StampPattern] = &[StampPattern {
    prefix: "ttg.rlc-",
    shown: "ttg.rlc-*",
    origin: "FlagTree's remove-layout-conversion policy, set on the module whenever the switch is on",
}];

/// That a pattern was used on one text, and how many attributes it took out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StampUse {
    /// The pattern as in [`StampPattern::shown`].
    pub pattern: String,
    /// Attributes removed, at least 1.
    pub count: usize,
}

/// Index in [`STAMP_PATTERNS`] of the pattern that an attribute name matches.
pub(crate) fn matching(name: &[u8]) -> Option<usize> {
    STAMP_PATTERNS.iter().position(|pattern| name.starts_with(pattern.prefix.as_bytes()))
}
