//! The rows of a cell as a table for people, in `run.log`; nothing reads it.

use std::io::{self, Write};

use switchback_model::event::Row;

use super::timing::interquartile_mean;

/// Prints a header and a line for every row.
pub(super) fn print(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let width = rows.iter().map(|row| row.case.to_string().len()).max().unwrap_or_default().max(4);
    writeln!(out, "{:width$}  side  {:>12}  {:>7}", "case", "us", "samples")?;
    for row in rows {
        write!(out, "{:width$}  {:4}  ", row.case.to_string(), row.side.to_string())?;
        match (&row.error, interquartile_mean(&row.samples_us)) {
            (Some(error), _) => writeln!(out, "{error}")?,
            (None, None) => writeln!(out, "{:>12}", "ran")?,
            (None, Some(latency_us)) => {
                let samples: usize = row.samples_us.iter().map(Vec::len).sum();
                writeln!(out, "{latency_us:12.3}  {samples:7}")?;
            }
        }
    }
    Ok(())
}
