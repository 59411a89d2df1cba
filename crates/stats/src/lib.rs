//! Effects, intervals and verdicts: pure functions from latencies to conclusions.
//!
//! [`judge()`] takes every operator of a campaign and says what may be concluded; [`summarise`] makes a row's latency
//! of its samples before that, [`rounds_wanted`] says who needs another round. Effects are `ln(A/B)`: positive means
//! that B is faster. The rules, their sources and their limits are described in `docs/statistics.md`.
//!
//! No clock, no randomness, no file, no environment: the same inputs give the same judgement.

mod analysis;
pub mod controls;
pub mod effect;
pub mod input;
pub mod interval;
pub mod judge;
pub mod judgement;
pub mod moderated;
mod moderation;
pub mod multiplicity;
pub mod special;
pub mod stopping;
pub mod student;
pub mod summary;
pub mod trend;
mod verdict;

pub use effect::{Interval, percent};
pub use input::{CaseInput, CaseRound, OperatorInput, Settings};
pub use judge::judge;
pub use judgement::{CaseJudgement, ControlBand, ControlsSummary, Judgement, OperatorJudgement, RoundEffect};
pub use stopping::{Precision, RoundNeed, rounds_wanted};
pub use summary::{Sample, SideSummary, Unmeasurable, in_blocks, summarise};
