//! Effects, intervals and verdicts: pure functions from latencies to conclusions.
//!
//! [`judge()`] takes every operator of a campaign and says what may be concluded; [`summarise`] makes a row's latency
//! of its samples before that, [`rounds_wanted`] says who needs another round. Effects are `ln(A/B)`: positive means
//! that B is faster. The rules, their sources and their limits are described in `docs/statistics.md`.
//!
//! ```
//! use switchback_model::verdict::Verdict;
//! use switchback_stats::{CaseInput, CaseRound, OperatorInput, Settings, judge, percent};
//!
//! let pairs = [(13.11, 10.0), (13.09, 10.01), (13.12, 9.99), (13.08, 10.0)];
//! let softmax = OperatorInput {
//!     operator: "softmax".into(),
//!     cases: vec![CaseInput {
//!         case: "f32 [4096,1024]".into(),
//!         timer: "gated".into(),
//!         rounds: pairs.iter().zip(1..).map(|((a_us, b_us), round)| CaseRound::pair(round, *a_us, *b_us)).collect(),
//!         ..CaseInput::default()
//!     }],
//!     ..OperatorInput::default()
//! };
//! let judgement = judge(&[softmax], &Settings::default());
//! let it = &judgement.operators[0];
//! assert_eq!(it.verdict, Verdict::Faster);
//! assert!((percent(it.effect.unwrap()) - 31.0).abs() < 0.1);
//! assert!(it.reasons[0].starts_with("B is faster by at least the margin of 0.500 %"));
//! ```
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
