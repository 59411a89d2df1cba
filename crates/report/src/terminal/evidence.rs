//! What each operator's figures rest on, a line an operator; and one operator with that line and its cases.

use anstyle::Style;
use switchback_model::report::{OperatorReport, Report};

use super::cases::cases_table;
use super::grid::{LABEL_COLUMNS, labelled};
use super::{LABEL, TerminalStyle, colour_of};
use crate::facts;
use crate::number;
use crate::text::{cut, printable, wrap};

/// Columns by which evidence is set in below its operator.
const INDENT: usize = 2;

/// Lists the evidence of all operators that have figures, in the order of the report; empty where none has.
#[must_use]
pub fn evidence(report: &Report, style: &TerminalStyle) -> String {
    let style = *style;
    let mut out = String::new();
    for (standing, operator) in facts::in_order(report) {
        if !standing.has_figures() {
            continue;
        }
        if out.is_empty() {
            out.push_str(&format!("\n{}\n", style.paint("evidence", LABEL)));
        }
        out.push_str(&format!("{}\n", cut(&printable(&operator.operator), style.columns())));
        for line in wrap(&facts::evidence(report, operator), style.columns() - INDENT) {
            out.push_str(&format!("{}{line}\n", " ".repeat(INDENT)));
        }
    }
    out
}

/// An operator: its verdict, what that rests on, and its cases.
#[must_use]
pub fn operator_with_cases(report: &Report, operator: &OperatorReport, style: &TerminalStyle) -> String {
    let standing = facts::standing(operator);
    let mut out = String::new();
    let name = cut(&printable(&operator.operator), style.columns() - LABEL_COLUMNS);
    out.push_str(&format!(
        "{}: {}",
        style.paint(&name, LABEL),
        style.paint(standing.word(), colour_of(standing))
    ));
    match facts::effect(operator) {
        Some((effect, interval)) => {
            let figures = number::percent_within(effect, interval);
            let within = interval.map_or_else(String::new, |it| format!(" ({} %)", number::interval(it)));
            out.push_str(&format!(" {}{within}\n", style.paint(&figures, Style::new())));
            labelled(&mut out, *style, "evidence", &facts::evidence(report, operator));
        }
        None => {
            out.push('\n');
            labelled(&mut out, *style, "why", &facts::why_no_figure_and_hint(report, operator));
        }
    }
    out.push('\n');
    out.push_str(&cases_table(operator, style));
    out
}
