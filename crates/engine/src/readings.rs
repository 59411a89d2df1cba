//! The campaign's `telemetry.tsv`: the readings of all attempts in one table, the scripts' columns first.
//!
//! Derived from the attempts' own tables. It grows with each cell that ends; what a killed coordinator left out is there
//! again when the table is written anew.

use std::collections::BTreeMap;
use std::io::Write;

use switchback_device::telemetry::tsv;
use switchback_model::cell::CellKey;
use switchback_store::StoreError;

use crate::campaign::Campaign;
use crate::state::Attempt;

/// The table's name.
pub const FILE: &str = "telemetry.tsv";

/// Columns behind those of an attempt's own table.
const COLUMNS: [&str; 4] = ["uuid", "operator", "cell", "attempt"];

/// What there is of telemetry over a whole campaign.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watched {
    /// Attempts that have ended.
    pub attempts: u64,
    /// Those of them with a reading.
    pub attempts_read: u64,
    /// Readings in all.
    pub readings: u64,
    /// Processor time of the sampling threads, seconds.
    pub cpu_s: f64,
    /// Time of the attempts, seconds.
    pub elapsed_s: f64,
    /// Attempts by what they were read with; empty for nothing.
    pub samplers: BTreeMap<String, u64>,
    /// Attempts by what was said of their telemetry.
    pub remarks: BTreeMap<String, u64>,
}

/// Adds up what there is of telemetry.
#[must_use]
pub fn watched(campaign: &Campaign) -> Watched {
    let mut it = Watched::default();
    for (_, attempts) in campaign.state.cells() {
        for outcome in attempts.iter().filter_map(|attempt| attempt.outcome.as_ref()) {
            it.attempts += 1;
            it.elapsed_s += outcome.elapsed_s;
            let Some(telemetry) = &outcome.telemetry else { continue };
            it.attempts_read += u64::from(telemetry.readings > 0);
            it.readings += telemetry.readings;
            it.cpu_s += telemetry.cpu_s;
            *it.samplers.entry(telemetry.sampler.clone()).or_default() += 1;
            if !telemetry.remark.is_empty() {
                *it.remarks.entry(telemetry.remark.clone()).or_default() += 1;
            }
        }
    }
    it
}

/// Writes the table anew, if there is a reading; one attempt at a time is in memory.
///
/// # Errors
/// An attempt's table is there and cannot be read, or the folder cannot be written.
pub fn write(campaign: &Campaign) -> Result<(), StoreError> {
    if watched(campaign).readings == 0 {
        return Ok(());
    }
    campaign.dir.write_top_with(FILE, |file| {
        file.write_all(header().as_bytes())?;
        for (cell, attempts) in campaign.state.cells() {
            for (number, attempt) in (1u32..).zip(attempts) {
                let lines = lines(cell, number, attempt).map_err(std::io::Error::other)?;
                file.write_all(lines.as_bytes())?;
            }
        }
        Ok(())
    })
}

/// Appends the readings of a cell's latest attempt.
///
/// # Errors
/// As [`write()`].
pub fn append(campaign: &Campaign, cell: &CellKey) -> Result<(), StoreError> {
    let attempts = campaign.state.attempts(&cell.operator, cell.purpose);
    let (Some(attempt), Ok(number)) = (attempts.last(), u32::try_from(attempts.len())) else { return Ok(()) };
    let lines = lines(cell, number, attempt)?;
    if lines.is_empty() {
        return Ok(());
    }
    if !campaign.dir.top(FILE).exists() {
        campaign.dir.write_top(FILE, &header())?;
    }
    campaign.dir.append_top(FILE, &lines)
}

fn header() -> String {
    format!("{}\t{}\n", tsv::header().trim_end(), COLUMNS.join("\t"))
}

fn lines(cell: &CellKey, number: u32, attempt: &Attempt) -> Result<String, StoreError> {
    let uuid = attempt.outcome.as_ref().and_then(|outcome| outcome.card.uuid.as_deref()).unwrap_or_default();
    let plain = |text: &str| text.replace(|c: char| c.is_control(), " ");
    let tail = format!("\t{}\t{}\t{}\t{number}\n", plain(uuid), plain(&cell.operator), cell.purpose);
    // Read and written again rather than copied: a line that a crash tore, or an older version's columns, come out whole.
    let samples = tsv::read(&attempt.dir.telemetry()?);
    Ok(samples.iter().map(|sample| tsv::row(sample).trim_end_matches('\n').to_owned() + &tail).collect())
}
