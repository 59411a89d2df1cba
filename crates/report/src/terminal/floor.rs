//! What a calibration found: how far identical code reads from zero, by timer and latency.

use anstyle::Style;
use switchback_model::report::Report;
use switchback_model::side::Pairing;

use super::grid::{Column, LABEL_COLUMNS, Row, labelled, table};
use super::{FAINT, LABEL, TerminalStyle};
use crate::facts::{self, Standing};
use crate::number;
use crate::text::{count, one_line, printable, width};

/// A calibration, as values.
#[derive(Debug, Clone, PartialEq)]
pub struct FloorReport {
    /// The machine's name.
    pub machine: String,
    /// How the sides were brought together; none if nothing was measured.
    pub pairing: Option<Pairing>,
    /// One row a timer and band of latencies.
    pub rows: Vec<FloorRow>,
}

/// Identical code of one timer and band of latencies.
#[derive(Debug, Clone, PartialEq)]
pub struct FloorRow {
    /// The timer that really timed.
    pub timer: String,
    /// The band's latencies, in words.
    pub latencies: String,
    /// Cases.
    pub cases: u32,
    /// Operators that they belong to.
    pub operators: u32,
    /// Processes that they were measured in.
    pub processes: u32,
    /// 95 % of |effect|, percent.
    pub floor_pct: Option<f64>,
    /// Error of an operator that more rounds do not remove, percent.
    pub tau_pct: f64,
    /// Operators that would have been called different.
    pub operators_called: u32,
    /// Upper 95 % bound of that rate, 0 to 1.
    pub upper95: f64,
}

/// Says what identical code read; `next` lines are printed as they are, a label and a text each.
#[must_use]
pub fn floor_table(
    report: &Report,
    floor: &FloorReport,
    style: &TerminalStyle,
    next: &[(&str, &str)],
) -> String {
    let style = *style;
    let mut out = String::new();
    let pairing = floor.pairing.map_or_else(|| "nothing measured".to_owned(), |it| it.to_string());
    let measured = report.operators.iter().filter(|it| facts::standing(it) == Standing::Control).count();
    labelled(&mut out, style, "machine", &one_line(&floor.machine));
    labelled(
        &mut out,
        style,
        "measured",
        &format!(
            "{} of {}, A against A, {pairing}, {}",
            measured,
            count(report.operators.len() as u64, "operator", "operators"),
            facts::rounds_measured(report)
        ),
    );
    super::report::warnings(&mut out, style, report);
    out.push('\n');
    if floor.rows.is_empty() {
        labelled(&mut out, style, "floor", "none: no case has every round");
    } else {
        rows(&mut out, style, &floor.rows);
    }
    out.push('\n');
    for (label, text) in next {
        let gap = " ".repeat(LABEL_COLUMNS.saturating_sub(width(label)).max(1));
        out.push_str(&format!("{}{gap}{}\n", style.paint(&printable(label), LABEL), printable(text)));
    }
    out
}

fn rows(out: &mut String, style: TerminalStyle, rows: &[FloorRow]) {
    let columns = [
        Column::left("latency"),
        Column::left("timer"),
        Column::right("95 % within"),
        Column::right("bias"),
        Column::right("cases"),
        Column::left("called different"),
    ];
    let rows: Vec<Row> = rows
        .iter()
        .map(|row| {
            let floor = row
                .floor_pct
                .map_or_else(|| number::NONE.to_owned(), |floor| format!("±{}", number::size_percent(floor)));
            let bound = if row.operators == 0 {
                "no operator".to_owned()
            } else {
                format!(
                    "{} of {} (up to {})",
                    row.operators_called,
                    count(row.operators, "operator", "operators"),
                    number::bound_percent(row.upper95)
                )
            };
            Row::default()
                .cell(printable(&row.latencies), Style::new())
                .cell(printable(&row.timer), FAINT)
                .cell(floor, Style::new())
                .cell(number::size_percent(row.tau_pct), Style::new())
                .cell(row.cases.to_string(), Style::new())
                .cell(bound, Style::new())
        })
        .collect();
    table(out, style, &columns, &rows);
    labelled(
        out,
        style,
        "",
        "bias: what more rounds do not remove; called different: by the rules, had they not known better, with the \
         most that the rate may be (95 %)",
    );
}
