//! The table of a single measured run, without a comparison.

use anstyle::{AnsiColor, Style};
use serde::{Deserialize, Serialize};
use switchback_model::case::CaseKey;
use switchback_model::event::Timer;

use super::grid::{Column, Row, table};
use super::{FAINT, TerminalStyle, benchmark};
use crate::number;
use crate::text::{count, one_line, printable};

/// One operator's measured run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The operator's name.
    pub operator: String,
    /// The benchmark's mode and level, of a suite whose own tables people know; none for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<(String, String)>,
    /// Its rows, in the order they were measured.
    pub rows: Vec<RunRow>,
    /// Why there is none although some were measured, in a sentence that is printed as it is, for what it tells to copy; none
    /// where that is not so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<String>,
}

/// One case of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The case.
    pub case: CaseKey,
    /// The timer that really timed it; none if it never was.
    pub timer: Option<Timer>,
    /// Latency, microseconds.
    pub latency_us: Option<f64>,
    /// Samples that the latency summarises.
    pub samples: u64,
    /// Latency of the benchmark's own baseline, where it was asked for.
    pub baseline_us: Option<f64>,
    /// Spread of the samples: half of what lies between the 5th and the 95th percentile, percent of the latency.
    pub spread_pct: Option<f64>,
    /// False if the case raised an error instead of a latency.
    pub ok: bool,
    /// The error's text.
    pub error: Option<String>,
}

/// Lists a run's rows: as the benchmark's own table where it has one that people know, else in microseconds, `speedup`
/// being baseline over latency.
#[must_use]
pub fn run_table(run: &RunReport, style: &TerminalStyle) -> String {
    let name = printable(&run.operator);
    if run.rows.is_empty() {
        let why = run.cut_off.as_deref().map_or_else(|| "no row was measured".to_owned(), one_line);
        return format!("{}\n{why}\n", crate::text::cut(&name, style.columns()));
    }
    if let Some((mode, level)) = &run.benchmark {
        return benchmark::tables(run, mode, level, *style);
    }
    let failed = run.rows.iter().filter(|row| !row.ok).count();
    let mut title = format!("{name}: {}", count(run.rows.len() as u64, "row", "rows"));
    if failed > 0 {
        title.push_str(&format!(", {failed} failed"));
    }
    let mut out = crate::text::wrap(&title, style.columns()).join("\n");
    out.push('\n');
    let baseline = run.rows.iter().any(|row| row.baseline_us.is_some());
    let mut columns = vec![
        Column::left("case"),
        Column::left("timer"),
        Column::right("us"),
        Column::right("spread"),
        Column::right("samples"),
    ];
    if baseline {
        columns.extend([Column::right("baseline us"), Column::right("speedup")]);
    }
    let rows: Vec<Row> = run.rows.iter().map(|row| line(row, baseline)).collect();
    table(&mut out, *style, &columns, &rows);
    out
}

fn line(row: &RunRow, baseline: bool) -> Row {
    let start = Row::default().cell(printable(&row.case.to_string()), Style::new());
    if !row.ok {
        let error = row.error.as_deref().map(one_line).filter(|error| !error.is_empty());
        return start
            .cell("failed", AnsiColor::Red.on_default())
            .remark(error.unwrap_or_else(|| "no reason was given".into()));
    }
    let or_none = |it: Option<String>| it.unwrap_or_else(|| number::NONE.into());
    let start = start
        .cell(or_none(row.timer.map(|timer| timer.to_string())), FAINT)
        .cell(or_none(row.latency_us.map(number::latency_us)), Style::new())
        .cell(or_none(row.spread_pct.map(number::size_percent)), FAINT)
        .cell(row.samples.to_string(), FAINT);
    if !baseline {
        return start;
    }
    let ratio = row.baseline_us.zip(row.latency_us).map(|(baseline, latency)| baseline / latency);
    let ratio = ratio.filter(|ratio| ratio.is_finite()).map(|ratio| format!("{ratio:.3}"));
    start
        .cell(or_none(row.baseline_us.map(number::latency_us)), Style::new())
        .cell(or_none(ratio), Style::new())
}
