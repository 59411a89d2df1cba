//! The table of one operator's cases.

use anstyle::Style;
use switchback_model::event::OutputsVerdict;
use switchback_model::report::{CaseReport, OperatorReport};

use super::grid::{Column, Row, table};
use super::{FAINT, TerminalStyle};
use crate::facts;
use crate::number;
use crate::text::{one_line, printable};

/// Q-value up to which a case counts as different (Benjamini-Hochberg).
pub(crate) const SIGNIFICANT_Q: f64 = 0.05;

/// Lists an operator's cases in the order they were measured; latencies are microseconds.
#[must_use]
pub fn cases_table(operator: &OperatorReport, style: &TerminalStyle) -> String {
    let mut out = String::new();
    if operator.cases.is_empty() {
        return "no case was measured\n".into();
    }
    let columns = [
        Column::left("case"),
        Column::left("timer"),
        Column::right("A us"),
        Column::right("B us"),
        Column::right("B against A"),
        Column::left("95 % interval"),
    ];
    let rows: Vec<Row> = operator
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
    table(&mut out, *style, &columns, &rows);
    out
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
    match case.outputs {
        Some(OutputsVerdict::Wrong) => out.push("outputs WRONG".into()),
        Some(OutputsVerdict::Differs) => out.push("outputs differ within rounding".into()),
        Some(OutputsVerdict::NotComparable) => out.push("outputs not comparable".into()),
        Some(OutputsVerdict::Equal) | None => {}
    }
    out.extend(case.notes.iter().map(|note| one_line(note)).filter(|note| !note.is_empty()));
    out
}
