//! The vocabulary of switchback: values, their text forms and their JSON forms.
//!
//! Type names here are the words of the glossary (`docs/glossary.md`). Nothing in this crate reads a clock, an
//! environment variable, a process or a file; every other crate may use this one, and this one uses none of them.

pub mod capture;
pub mod card;
pub mod case;
pub mod cell;
pub mod conditions;
pub mod event;
pub mod exit_code;
pub mod finding;
pub mod marker;
pub mod operator;
pub mod order;
pub mod outcome;
pub mod report;
mod samples;
pub mod side;
pub mod switch;
pub mod telemetry;
pub mod verdict;
