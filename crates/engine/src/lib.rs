//! From a request to verdicts.
//!
//! ```text
//! request → schedule → orders → executor → (attempts on disk) → state → screen / measure → judge → report
//! ```
//! The engine decides what is run and when; it measures nothing itself, and all that it knows of a campaign it reads
//! from the disk.

pub mod calibration;
pub mod campaign;
pub mod cards;
pub mod clocks;
pub mod code;
pub mod compare;
pub mod controls;
pub mod doctor;
mod drive;
pub mod error;
pub mod evidence;
pub mod executor;
pub mod export;
mod health;
pub mod judge;
pub mod measure;
pub mod observer;
pub mod orders;
pub mod outputs;
mod parts;
pub mod plan;
pub mod preflight;
pub mod prepare;
pub mod program;
pub mod readings;
pub mod recompile;
pub mod recordings;
pub mod request;
pub mod rescore;
pub mod rounds;
pub mod runs;
pub mod schedule;
pub mod screen;
pub mod scripts;
mod seats;
pub mod state;
mod told;
mod turns;
pub mod unset;
pub mod watch;

pub use error::EngineError;
pub use switchback_stats::Precision;
pub use switchback_suites::suite::SuiteOptions;

/// Names of the suites, as `--suite` takes them.
pub use switchback_suites::registry::NAMES as SUITES;
