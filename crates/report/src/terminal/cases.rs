//! The table of one operator's cases, each interval as a small bar where the width allows.

use anstyle::Style;
use switchback_model::event::OutputsVerdict;
use switchback_model::report::{CaseReport, OperatorReport};

use super::bars::{LEAST_COLUMNS, MOST_COLUMNS, Scale};
use super::grid::{Column, REMARK_COLUMNS, Row, table};
use super::{FAINT, LABEL, TerminalStyle};
use crate::facts;
use crate::number;
use crate::text::{cut, one_line, printable, width, wrap};

/// Q-value up to which a case counts as different (Benjamini-Hochberg).
pub(crate) const SIGNIFICANT_Q: f64 = 0.05;

/// Columns between two columns of the table.
const GAP: usize = 2;

/// Lists an operator's cases in the order they were measured; latencies are microseconds.
///
/// Bars share one scale. They are left out where they would take the room of the figures or the remarks.
#[must_use]
pub fn cases_table(operator: &OperatorReport, style: &TerminalStyle) -> String {
    let mut out = String::new();
    if operator.cases.is_empty() {
        return "no case was measured\n".into();
    }
    let mut columns = vec![
        Column::left("case"),
        Column::left("timer"),
        Column::right("A us"),
        Column::right("B us"),
        Column::right("B against A"),
        Column::left("95 % interval"),
    ];
    let mut rows: Vec<Row> = operator
        .cases
        .iter()
        .map(|case| {
            let (a, b) = facts::case_latencies(operator, case);
            let latency = |it: Option<f64>| it.map_or_else(|| number::NONE.into(), number::latency_us);
            let timer = case.timer.map_or_else(|| number::NONE.to_owned(), |timer| timer.to_string());
            let row = Row::default()
                .cell(printable(&case.case), Style::new())
                .cell(timer, FAINT)
                .cell(latency(a), Style::new())
                .cell(latency(b), Style::new());
            let row = match facts::case_effect(operator, case) {
                Some((effect, interval)) => row
                    .cell(number::percent_within(effect, interval), Style::new())
                    .cell(interval.map_or_else(|| number::NONE.into(), number::interval), Style::new()),
                None => row.cell(number::NONE, FAINT).cell(number::NONE, FAINT),
            };
            row.remark(case_remarks(case).join(", "))
        })
        .collect();
    let scale = scale(operator, style, &columns, &rows);
    if let Some(scale) = scale {
        columns.push(Column::left("interval"));
        for (row, case) in rows.iter_mut().zip(&operator.cases) {
            let bar = facts::case_effect(operator, case)
                .map_or_else(String::new, |(effect, interval)| scale.bar(effect, interval));
            row.cells.push((bar, Style::new()));
        }
    }
    table(&mut out, *style, &columns, &rows);
    if let Some(scale) = scale {
        out.push_str(&wrap(&scale.legend(), style.columns()).join("\n"));
        out.push('\n');
    }
    out
}

/// The same below the operator's name, for several of them one after another.
#[must_use]
pub fn named_cases_table(operator: &OperatorReport, style: &TerminalStyle) -> String {
    let name = cut(&printable(&operator.operator), style.columns());
    format!("\n{}\n{}", style.paint(&name, LABEL), cases_table(operator, style))
}

/// A scale on the columns that figures and remarks leave, if those suffice for bars.
fn scale(
    operator: &OperatorReport,
    style: &TerminalStyle,
    columns: &[Column],
    rows: &[Row],
) -> Option<Scale> {
    let effects: Vec<_> =
        operator.cases.iter().filter_map(|case| facts::case_effect(operator, case)).collect();
    let natural = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.cells.get(index)).map(|(text, _)| width(text));
        cells.max().unwrap_or(0).max(width(&columns[index].title))
    };
    let figures: usize = (0..columns.len()).map(|index| natural(index) + GAP).sum();
    let remarks = rows.iter().map(|row| width(&row.remark)).max().unwrap_or(0).min(REMARK_COLUMNS);
    let room = style.columns().saturating_sub(figures + remarks + GAP).min(MOST_COLUMNS);
    (room >= LEAST_COLUMNS).then(|| Scale::of(&effects, room)).flatten()
}

/// What is to be said beside a case.
pub(crate) fn case_remarks(case: &CaseReport) -> Vec<String> {
    let mut out = Vec::new();
    if case.untouched {
        out.push("identical code: noise".into());
    } else if case.q.is_some_and(|q| q > SIGNIFICANT_Q) {
        out.push("not told from noise".into());
    }
    if case.host_bound {
        out.push("host-bound: not averaged in".into());
    }
    out.extend(case.left_out.as_deref().map(|why| format!("left out: {}", one_line(why))));
    match case.outputs {
        Some(OutputsVerdict::Wrong) => out.push("outputs WRONG".into()),
        Some(OutputsVerdict::Differs) => out.push("outputs differ within rounding".into()),
        Some(OutputsVerdict::Beyond) => {
            out.push("outputs differ beyond rounding, B under 4 times as far off as A".into());
        }
        Some(OutputsVerdict::Unreferenced) => out.push("outputs differ, without a reference".into()),
        Some(OutputsVerdict::NotComparable) => out.push("outputs not comparable".into()),
        Some(OutputsVerdict::Equal) | None => {}
    }
    out.extend(case.notes.iter().map(|note| one_line(note)).filter(|note| !note.is_empty()));
    out
}
