//! What the scripts before switchback left, read as if it were ours: single runs, rounds, screenings, recordings.
//!
//! Their folders hold less than ours: latencies as a benchmark printed them, code by run and not by case, conditions in
//! a file that grew over time. What is there is judged by the same rules; what is missing is said and never guessed. The
//! folders are only read; `rescore` alone writes, a table anew with the former one kept beside it.

use std::collections::BTreeSet;

use switchback_model::report::Report;

mod code;
mod recording;
mod rounds;
mod run;
mod screening;

pub use recording::{ConvertedRecording, convert, recording_of};
pub use rounds::report as rounds_report;
pub use run::{RunOf, read as read_run, report as run_report, runs};
pub use screening::{Rescored, report as screen_report, rescore, table as screen_table};
pub use switchback_store::script_dir::{ScriptDir, ScriptScreen};

pub(crate) use code::screened;
pub(crate) use recording::back_end as back_end_of;
pub(crate) use run::read_log;

use crate::error::EngineError;

/// Recognises a folder of the scripts; none for anything else.
///
/// # Errors
/// A folder that cannot be read.
pub fn recognise(path: &std::path::Path) -> Result<Option<ScriptDir>, EngineError> {
    Ok(switchback_store::script_dir::recognise(path)?)
}

/// Judges whatever the scripts left in a folder.
///
/// # Errors
/// Runs under different conditions, a damaged table, or the disk.
pub fn report(
    folder: &ScriptDir,
    allowed: &BTreeSet<String>,
    margin_pct: f64,
    version: &str,
) -> Result<Report, EngineError> {
    match folder {
        ScriptDir::Run(run) => {
            let (it, rows) = runs(run)?;
            Ok(run_report(&it, &rows, &run.name(), version))
        }
        ScriptDir::Rounds(rounds) => rounds_report(rounds, allowed, margin_pct, version),
        ScriptDir::Screen(screen) => screen_report(screen, allowed, margin_pct, version),
    }
}
