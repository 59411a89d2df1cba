//! Where operators come from; a suite starts nothing, it returns commands as data.
//!
//! [`registry`] knows the suites by name and is the one place that looks at the surroundings; [`cpu`], [`triton`],
//! [`flaggems`] and [`command`] are values made from options. What they share: [`embedded`] (the Python probe, and
//! the digest of all that touches a measurement), [`python`] (interpreter and its check), [`resolve`] (names),
//! [`symptom`] (why there are no rows). [`flaggems_log`] reads logs of runs made without the probe.

pub mod command;
pub mod cpu;
pub mod embedded;
pub mod flaggems;
pub mod flaggems_log;
pub mod python;
pub mod registry;
pub mod resolve;
pub mod suite;
pub mod symptom;
pub mod triton;

pub use registry::{NAMES, Surroundings, suite, suite_in};
