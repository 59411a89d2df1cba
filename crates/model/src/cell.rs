//! A cell: one process that measures one operator, and the names of the folders that hold it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::side::{CellSides, Side};

/// What a cell is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Tuning: autotuned operators choose their configs, which all other cells replay.
    Tune(Side),
    /// Screening: compile and launch once a side, to compare the code.
    Screen(Side),
    /// A side compiled a second time, in caches of its own: what differs from its screening is no evidence of a switch.
    Again(Side),
    /// One round of measuring, numbered from 1.
    Round(u32, CellSides),
    /// A single measured run without a comparison.
    Run,
    /// A process-paired round measured beside duet rounds, to show what the naive way would have read.
    Naive(u32, Side),
}

impl Purpose {
    /// The sides that the cell runs.
    #[must_use]
    pub fn sides(self) -> CellSides {
        match self {
            Self::Tune(side) | Self::Screen(side) | Self::Again(side) | Self::Naive(_, side) => side.into(),
            Self::Round(_, sides) => sides,
            Self::Run => CellSides::A,
        }
    }

    /// The round that the cell belongs to, if it belongs to one.
    #[must_use]
    pub fn round(self) -> Option<u32> {
        match self {
            Self::Round(round, _) | Self::Naive(round, _) => Some(round),
            Self::Tune(_) | Self::Screen(_) | Self::Again(_) | Self::Run => None,
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tune(side) => write!(f, "tune_{side}"),
            Self::Screen(side) => write!(f, "screen_{side}"),
            Self::Again(side) => write!(f, "again_{side}"),
            Self::Round(round, sides) => write!(f, "r{round}_{sides}"),
            Self::Run => f.write_str("run"),
            Self::Naive(round, side) => write!(f, "naive{round}_{side}"),
        }
    }
}

/// A folder or an order names no purpose of a cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no cell: `tune_A`, `screen_B`, `r1_A`, `r2_AB` and `run` are")]
pub struct PurposeError(pub String);

impl FromStr for Purpose {
    type Err = PurposeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || PurposeError(text.into());
        if text == "run" {
            return Ok(Self::Run);
        }
        let (head, side) = text.rsplit_once('_').ok_or_else(fault)?;
        let sides = match side {
            "A" => CellSides::A,
            "B" => CellSides::B,
            "AB" => CellSides::Both,
            _ => return Err(fault()),
        };
        let one = match sides {
            CellSides::A => Some(Side::A),
            CellSides::B => Some(Side::B),
            CellSides::Both => None,
        };
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|round| *round > 0).ok_or_else(fault);
        match (head, one) {
            ("tune", Some(side)) => Ok(Self::Tune(side)),
            ("screen", Some(side)) => Ok(Self::Screen(side)),
            ("again", Some(side)) => Ok(Self::Again(side)),
            (head, one) => {
                if let Some(digits) = head.strip_prefix("naive") {
                    Ok(Self::Naive(number(digits)?, one.ok_or_else(fault)?))
                } else if let Some(digits) = head.strip_prefix('r') {
                    Ok(Self::Round(number(digits)?, sides))
                } else {
                    Err(fault())
                }
            }
        }
    }
}

impl Serialize for Purpose {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Purpose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A cell within a campaign.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellKey {
    /// The operator's name.
    pub operator: String,
    /// What the cell is for.
    pub purpose: Purpose,
}

impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operator, self.purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_read_back() {
        for text in ["tune_A", "screen_B", "again_A", "r1_A", "r12_B", "r2_AB", "run", "naive1_B"] {
            assert_eq!(text.parse::<Purpose>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_names_are_refused() {
        for text in ["", "r_A", "r0_A", "r1_C", "tune_AB", "screen", "r1", "rx_A", "naive1_AB", "r-1_A"] {
            assert_eq!(text.parse::<Purpose>(), Err(PurposeError(text.into())), "{text}");
        }
    }
}
