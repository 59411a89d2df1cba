//! Verdicts: what screening says of an operator's code, and what judging says of its speed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What screening says of an operator (column `verdict` of `screen.tsv`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ScreenVerdict {
    /// Canonical IR differs between the sides: measure.
    #[serde(rename = "IR_CHANGED")]
    IrChanged,
    /// Identical at every stage, config locked: skip; a number measured here is the noise floor.
    #[serde(rename = "NO_IR_DIFF")]
    NoIrDiff,
    /// Rows, but nothing went through the compiler under test.
    #[serde(rename = "NOT_COMPILED", alias = "NO_TRITON")]
    NotCompiled,
    /// Nothing was measured: fix runnability first.
    #[serde(rename = "NO_ROWS")]
    NoRows,
}

impl ScreenVerdict {
    /// All four, in the order reports count them.
    pub const ALL: [Self; 4] = [Self::IrChanged, Self::NoIrDiff, Self::NotCompiled, Self::NoRows];
}

impl fmt::Display for ScreenVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::IrChanged => "IR_CHANGED",
            Self::NoIrDiff => "NO_IR_DIFF",
            Self::NotCompiled => "NOT_COMPILED",
            Self::NoRows => "NO_ROWS",
        })
    }
}

/// A word that is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no verdict")]
pub struct VerdictError(pub String);

impl FromStr for ScreenVerdict {
    type Err = VerdictError;

    /// Reads the names above, and `NO_TRITON` as `NOT_COMPILED`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "IR_CHANGED" => Ok(Self::IrChanged),
            "NO_IR_DIFF" => Ok(Self::NoIrDiff),
            "NOT_COMPILED" | "NO_TRITON" => Ok(Self::NotCompiled),
            "NO_ROWS" => Ok(Self::NoRows),
            _ => Err(VerdictError(text.into())),
        }
    }
}

/// What judging says of an operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// B is faster by at least the margin.
    Faster,
    /// B is slower by at least the margin.
    Slower,
    /// The effect lies inside the margin.
    Equivalent,
    /// The data do not tell yet.
    Inconclusive,
    /// B's outputs are worse than A's beyond what rounding explains.
    Wrong,
    /// Not measured; the screening verdict says why.
    #[default]
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Faster => "FASTER",
            Self::Slower => "SLOWER",
            Self::Equivalent => "EQUIVALENT",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Wrong => "WRONG",
            Self::NotMeasured => "NOT_MEASURED",
        })
    }
}

impl FromStr for Verdict {
    type Err = VerdictError;

    /// Reads the names above in any case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_uppercase().as_str() {
            "FASTER" => Ok(Self::Faster),
            "SLOWER" => Ok(Self::Slower),
            "EQUIVALENT" => Ok(Self::Equivalent),
            "INCONCLUSIVE" => Ok(Self::Inconclusive),
            "WRONG" => Ok(Self::Wrong),
            "NOT_MEASURED" => Ok(Self::NotMeasured),
            _ => Err(VerdictError(text.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_equal_their_json() {
        for verdict in ScreenVerdict::ALL {
            assert_eq!(verdict.to_string().parse(), Ok(verdict));
            assert_eq!(serde_json::to_string(&verdict).unwrap(), format!("\"{verdict}\""));
        }
        for verdict in [
            Verdict::Faster,
            Verdict::Slower,
            Verdict::Equivalent,
            Verdict::Inconclusive,
            Verdict::Wrong,
            Verdict::NotMeasured,
        ] {
            assert_eq!(verdict.to_string().parse(), Ok(verdict));
            assert_eq!(serde_json::to_string(&verdict).unwrap(), format!("\"{verdict}\""));
        }
        assert_eq!("NO_TRITON".parse(), Ok(ScreenVerdict::NotCompiled));
    }
}
