//! Reads what FlagGems' benchmark prints and records, for runs made without the probe (`compare`, `report`).
//!
//! Two formats: tables on standard output (six decimals, Python's own notation for inputs) and records of `--record log`
//! and `--record json` (unrounded, inputs as plain lists). Text in, values and warnings out; what to conclude from a
//! missing or unmeasurable row is left to whoever judges. Invariants: no bytes make it panic or run on; each row of the
//! text is kept or a warning says at which line it was not; nothing in a row is ever made up.

use std::collections::{BTreeMap, BTreeSet};

use switchback_model::event::{Config, Row};
use switchback_model::side::Side;

mod closing;
pub mod input;
mod line;
mod pytest;
mod reader;
mod record;

/// What a log holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlagGemsLog {
    /// Rows in the order of their appearance.
    pub rows: Vec<LogRow>,
    /// Failures that are no rows: inputs that could not be built, tests that failed.
    pub failures: Vec<LogFailure>,
    /// What tuners chose in this run (`TRITON_PRINT_AUTOTUNING`).
    pub tuned: Vec<Config>,
    /// What pytest counted at its end, if it came so far.
    pub summary: Option<PytestSummary>,
    /// How often each word of [`switchback_model::marker`] occurs, if it does.
    pub markers: BTreeMap<&'static str, u64>,
    /// What could not be read, or should not be trusted.
    pub warnings: Vec<Warning>,
}

/// A row, and what an event has no place for.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRow {
    /// The row as an event would say it; it has no samples, only the benchmark's own summary.
    pub row: Row,
    /// Line of the text, from 1.
    pub line: usize,
    /// Which of the two formats it was in; inputs are spelt differently.
    pub format: Format,
    /// The benchmark's mode; empty if unknown.
    pub mode: String,
    /// The benchmark's level; empty if unknown.
    pub level: String,
    /// Why its latency is no latency (zero, negative, not a number); such a row counts, and enters no ratio.
    pub unmeasurable: Option<String>,
    /// Width of the last printed digit in microseconds; 0 if unrounded.
    pub resolution_us: f64,
    /// Baseline over latency, as printed.
    pub speedup: Option<f64>,
    /// Arithmetic rate, as printed.
    pub tflops: Option<f64>,
    /// Bandwidth of the baseline, as printed.
    pub gbps_baseline: Option<f64>,
    /// Bandwidth, as printed.
    pub gbps: Option<f64>,
}

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A line of a table.
    Table,
    /// An entry of a JSON record.
    Record,
}

/// A failure that is no row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogFailure {
    /// Line of the text, from 1.
    pub line: usize,
    /// The benchmark's name of the operator, where it is told.
    pub operator: Option<String>,
    /// The dtype, where it is told.
    pub dtype: Option<String>,
    /// The test, `file::function`, where it is told.
    pub test: Option<String>,
    /// The message; several lines are kept.
    pub error: Option<String>,
}

/// What pytest counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PytestSummary {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were skipped.
    pub skipped: u64,
    /// Errors outside of tests.
    pub errors: u64,
}

/// A remark on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Line of the text, from 1; 0 for the whole.
    pub line: usize,
    /// What is odd there.
    pub message: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

/// Reads a log; `side` goes into its rows.
#[must_use]
pub fn read(bytes: &[u8], side: Side) -> FlagGemsLog {
    reader::read(bytes, side)
}

impl FlagGemsLog {
    /// The conditions that a log tells: mode, level, dtypes, metrics, timer. A field with several values has them all,
    /// joined, so that it differs from a run with one.
    #[must_use]
    pub fn conditions(&self) -> BTreeMap<String, String> {
        let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for it in &self.rows {
            let mut add = |field, value: &str| {
                if !value.is_empty() {
                    values.entry(field).or_default().insert(value.to_owned());
                }
            };
            add("mode", &it.mode);
            add("bench_level", &it.level);
            add("dtypes", it.row.case.dtype.strip_prefix("torch.").unwrap_or(&it.row.case.dtype));
            add("timer", &it.row.timer.map(|timer| timer.to_string()).unwrap_or_default());
            add("metrics", "latency");
            if it.row.baseline_us.is_some() {
                add("metrics", "latency_base");
            }
        }
        values
            .into_iter()
            .map(|(field, values)| (field.to_owned(), values.into_iter().collect::<Vec<_>>().join(",")))
            .collect()
    }

    /// Rows with a latency that can enter a ratio.
    pub fn measured(&self) -> impl Iterator<Item = &LogRow> {
        self.rows.iter().filter(|it| it.row.ok && it.row.latency_us.is_some() && it.unmeasurable.is_none())
    }
}

/// Why a latency is none; a missing one is not judged here.
fn unmeasurable(latency_us: Option<f64>) -> Option<String> {
    let latency_us = latency_us?;
    if !latency_us.is_finite() {
        Some("not a finite number".into())
    } else if latency_us < 0.0 {
        Some("negative: a fault of the timer".into())
    } else if latency_us == 0.0 {
        Some("zero: below what the timer or the print can resolve".into())
    } else {
        None
    }
}
