//! The table of a run as the benchmark itself heads it, with what all its rows share said once.
//!
//! Column names, `SUCCESS` and `FAILED` are the benchmark's own, each row begins with its status and has its numbers
//! where they were, so that what people search for in such tables is found in this one. A row is never cut: its last
//! column is Python's notation, and half a shape is none.

use anstyle::{AnsiColor, Style};

use super::{FAINT, LABEL, RunReport, RunRow, TerminalStyle};
use crate::input::fold;
use crate::number;
use crate::text::{count, one_line, printable, width, wrap};

/// Width of the status, and of each number, as the benchmark prints them.
const STATUS: usize = 10;
const NUMBER: usize = 20;
/// Between the last number and the input.
const GAP: usize = 2;

/// Lists a run's rows, a table a dtype; latencies are milliseconds, as the benchmark has them.
pub(super) fn tables(run: &RunReport, mode: &str, level: &str, style: TerminalStyle) -> String {
    let mut dtypes: Vec<&str> = Vec::new();
    for row in &run.rows {
        if !dtypes.contains(&row.case.dtype.as_str()) {
            dtypes.push(&row.case.dtype);
        }
    }
    let mut out = String::new();
    for dtype in dtypes {
        let rows: Vec<&RunRow> = run.rows.iter().filter(|row| row.case.dtype == dtype).collect();
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!(
            "Operator: {}  Performance Test (dtype={}, mode={},level={})\n",
            printable(&run.operator),
            printable(dtype),
            printable(mode),
            printable(level)
        ));
        table(&mut out, &rows, style);
    }
    out
}

fn table(out: &mut String, rows: &[&RunRow], style: TerminalStyle) {
    let header = format!(
        "{:<STATUS$} {:>NUMBER$} {:>NUMBER$} {:>NUMBER$}{:GAP$}Size Detail",
        "Status", "Torch Latency (ms)", "Gems Latency (ms)", "Gems Speedup", ""
    );
    out.push_str(&format!("{}\n{}\n", style.paint(&header, LABEL), "-".repeat(width(&header))));
    // An input that could not be made has no arguments; it takes no part in what the others share.
    let made: Vec<&&RunRow> = rows.iter().filter(|row| row.case.input.starts_with(['[', '(', '{'])).collect();
    let folded = fold(&made.iter().map(|row| row.case.input.as_str()).collect::<Vec<_>>());
    if !folded.legend.is_empty() {
        let said: Vec<String> = folded
            .legend
            .iter()
            .map(|(place, text)| format!("{}: {}", printable(place), printable(text)))
            .collect();
        for line in wrap(&format!("in every row {}", said.join(", ")), style.columns()) {
            out.push_str(&format!("{}\n", style.paint(&line, FAINT)));
        }
    }
    if let Some(line) = timed(rows) {
        out.push_str(&format!("{}\n", style.paint(&line, FAINT)));
    }
    let usual = usual_timer(rows);
    let mut rest = folded.rest.iter();
    for row in rows {
        let input = if made.iter().any(|it| std::ptr::eq(**it, *row)) {
            rest.next().cloned().unwrap_or_default()
        } else {
            format!("[{}]", row.case.input)
        };
        line(out, row, &input, usual.as_deref(), style);
    }
}

fn line(out: &mut String, row: &RunRow, input: &str, usual: Option<&str>, style: TerminalStyle) {
    let milliseconds =
        |us: Option<f64>| us.map_or_else(|| "N/A".to_owned(), |us| format!("{:.6}", us / 1000.0));
    let speedup = row.baseline_us.zip(row.latency_us).map(|(baseline, latency)| baseline / latency);
    let speedup =
        speedup.filter(|it| it.is_finite()).map_or_else(|| "N/A".to_owned(), |it| format!("{it:.3}"));
    let (status, colour) = if row.ok {
        ("SUCCESS", AnsiColor::Green.on_default())
    } else {
        ("FAILED", AnsiColor::Red.on_default())
    };
    let mut text = format!(
        "{}{} {:>NUMBER$} {:>NUMBER$} {:>NUMBER$}{:GAP$}{}",
        style.paint(status, colour),
        " ".repeat(STATUS - status.len()),
        milliseconds(row.baseline_us),
        milliseconds(row.latency_us),
        speedup,
        "",
        printable(input)
    );
    if row.case.occurrence > 0 {
        text.push_str(&format!(" #{}", row.case.occurrence + 1));
    }
    if let Some(timer) =
        row.timer.map(|timer| timer.to_string()).filter(|timer| Some(timer.as_str()) != usual)
    {
        text.push_str(&style.paint(&format!("  timed {timer}"), FAINT));
    }
    out.push_str(&text);
    out.push('\n');
    if !row.ok {
        let error = row.error.as_deref().map(one_line).filter(|error| !error.is_empty());
        for part in wrap(error.as_deref().unwrap_or("no reason was given"), style.columns() - 4) {
            out.push_str(&format!("    {}\n", style.paint(&part, Style::new())));
        }
    }
}

/// The timer of most rows.
fn usual_timer(rows: &[&RunRow]) -> Option<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for timer in rows.iter().filter_map(|row| row.timer).map(|timer| timer.to_string()) {
        match counts.iter_mut().find(|(name, _)| *name == timer) {
            Some((_, count)) => *count += 1,
            None => counts.push((timer, 1)),
        }
    }
    // The first of equals.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(name, _)| name)
}

/// How the rows were timed; none where nothing is known of it.
fn timed(rows: &[&RunRow]) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(timer) = usual_timer(rows) {
        parts.push(format!("timed {timer}"));
    }
    let samples = rows.iter().filter(|row| row.ok).map(|row| row.samples);
    if let (Some(least), Some(most)) = (samples.clone().min(), samples.max())
        && most > 0
    {
        parts.push(if least == most {
            count(most, "sample a row", "samples a row")
        } else {
            format!("{least} to {most} samples a row")
        });
    }
    if let Some(spread) =
        rows.iter().filter_map(|row| row.spread_pct).filter(|it| it.is_finite()).reduce(f64::max)
    {
        parts.push(format!("spread at most {}", number::size_percent(spread)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}
