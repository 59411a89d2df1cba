//! Effects and intervals: pure functions from latencies to estimates.

pub mod effect;
pub mod interval;
pub mod moderated;
pub mod multiplicity;
pub mod special;
pub mod student;
pub mod summary;
pub mod trend;
