//! The two sides of a comparison, and which of them a cell measures.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One side of the comparison: A is the baseline, B has the switch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Side {
    /// The baseline; by default the switch at `0`.
    A,
    /// The treatment; by default the switch at `1`.
    B,
}

impl Side {
    /// Both sides, A first.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// The sides that one cell measures: one in process pairing, both in duet pairing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CellSides {
    /// Side A alone.
    A,
    /// Side B alone.
    B,
    /// Both sides in one process.
    #[serde(rename = "AB")]
    Both,
}

impl CellSides {
    /// The sides as a list, A first.
    #[must_use]
    pub fn sides(self) -> &'static [Side] {
        match self {
            Self::A => &[Side::A],
            Self::B => &[Side::B],
            Self::Both => &Side::BOTH,
        }
    }
}

impl From<Side> for CellSides {
    fn from(side: Side) -> Self {
        match side {
            Side::A => Self::A,
            Side::B => Self::B,
        }
    }
}

impl fmt::Display for CellSides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
            Self::Both => "AB",
        })
    }
}

/// How the two sides are brought together: in processes of their own or interleaved in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// One process a side; the order of the sides alternates from round to round.
    Process,
    /// Both sides in one process, interleaved in small blocks.
    Duet,
}

impl fmt::Display for Pairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "process",
            Self::Duet => "duet",
        })
    }
}
