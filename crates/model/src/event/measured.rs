//! What a child measured of a case: its rows and their timer, its outputs, its graph's capture, its duet's proof.
//!
//! What follows from the samples is left to the reader. Invariant: all samples are there in the order taken, and a row names the
//! timer that really timed it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::capture::CaptureErrorClass;
use crate::case::CaseKey;
use crate::side::Side;

/// How a row was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    /// Events around a call that was queued whole before the card reached it.
    Gated,
    /// Replay of a captured graph.
    Graph,
    /// The benchmark's own event timing around the call.
    Direct,
    /// Wall clock around the call (no accelerator).
    Wall,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gated => "gated",
            Self::Graph => "graph",
            Self::Direct => "direct",
            Self::Wall => "wall",
        })
    }
}

/// Body of a `row` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The operator as the benchmark names it; it can differ from the one that was asked for.
    pub operator: String,
    /// The side.
    pub side: Side,
    /// The case.
    pub case: CaseKey,
    /// False if the case raised an error instead of a latency.
    pub ok: bool,
    /// The error's text, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The timer that really timed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer: Option<Timer>,
    /// Why it is not the timer that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_reason: Option<String>,
    /// All samples, microseconds, in blocks as they were taken: a block is a run of consecutive calls on one side
    /// (duet), or one call of the benchmark's timing function (process pairing; as many as `direct_repeat`).
    #[serde(default, deserialize_with = "crate::samples::deserialize")]
    pub samples_us: Vec<Vec<f64>>,
    /// The latency as the benchmark itself summarised it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<f64>,
    /// The benchmark's baseline (torch), where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_us: Option<f64>,
    /// Host time of one call, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_us: Option<f64>,
    /// True if the host, not the card, decided the time.
    #[serde(default)]
    pub host_bound: bool,
    /// Samples that were taken and dropped (the gate did not hold).
    #[serde(default)]
    pub dropped: u64,
    /// Median clock of the card before this side's blocks, MHz, as the gate read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Standard error of the case's effect (one side: of its latency) within the process, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error_pct: Option<f64>,
    /// What state the card was measured in.
    #[serde(default)]
    pub regime: crate::order::Regime,
}

/// How both sides' outputs compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputsVerdict {
    /// Bit for bit.
    Equal,
    /// Different, and both sides as close to the reference as rounding explains, or a few times that.
    Differs,
    /// Different by more than that, and B less than four times as far from the reference as A: it may be A that is
    /// wrong, or the reference.
    Beyond,
    /// Different, and no reference says how much of it is rounding.
    Unreferenced,
    /// B is worse than A beyond what rounding explains.
    Wrong,
    /// A differs from itself, or nothing could be compared.
    NotComparable,
}

impl fmt::Display for OutputsVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Equal => "equal",
            Self::Differs => "differs",
            Self::Beyond => "beyond",
            Self::Unreferenced => "unreferenced",
            Self::Wrong => "wrong",
            Self::NotComparable => "not_comparable",
        })
    }
}

/// B is wrong if its error is more than so many times A's, and beyond what rounding explains.
const WORSE: f64 = 4.0;

impl OutputsVerdict {
    /// Outputs that differ, by both sides' largest relative errors against one reference; `bound` is what rounding explains.
    #[must_use]
    pub fn of_errors(error_a: f64, error_b: f64, bound: f64) -> Self {
        if error_b > WORSE * error_a && error_b > bound {
            Self::Wrong
        } else if error_a.max(error_b) <= WORSE * bound {
            // The bound knows no rounding in between, to half precision say, and knows it of neither side.
            Self::Differs
        } else {
            Self::Beyond
        }
    }
}

/// Body of an `outputs` event: of a case in a duet cell, or a digest to be compared with the other side's cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outputs {
    /// The case.
    pub case: CaseKey,
    /// The side whose outputs `digest` is of; none where both were compared in the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// Digest of the outputs' bits; what stands before a colon names how it was made, nothing a plain SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// False if a second call on the same inputs gave another digest (random operators).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeatable: Option<bool>,
    /// What the comparison said, where the cell made one: `differs` without a `bound` had no reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<OutputsVerdict>,
    /// Largest relative error of A against the reference; none beside a `bound` is an infinite one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_a: Option<f64>,
    /// The same of B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_b: Option<f64>,
    /// What rounding explains for this dtype and reduction length, relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// In words, where something is to be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Body of a `capture` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// The side.
    pub side: Side,
    /// The case.
    pub case: CaseKey,
    /// True if the graph was captured and replayed.
    pub captured: bool,
    /// True if it was not even tried (a denied operator, or a poisoned process).
    #[serde(default)]
    pub skipped: bool,
    /// How far the error reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<CaptureErrorClass>,
    /// The error, or why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Body of a `proof` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The case.
    pub case: CaseKey,
    /// True if every kernel equals the one of the isolated cell, at every stage.
    pub holds: bool,
    /// What differs.
    #[serde(default)]
    pub detail: String,
}
