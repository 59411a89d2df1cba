//! The table of `screen` alone: which operators the switch touches.

use anstyle::{AnsiColor, Style};
use switchback_model::report::Report;
use switchback_model::verdict::ScreenVerdict;

use super::grid::{Column, Row, labelled, table};
use super::report::{screen_phase, sides, warnings};
use super::{FAINT, TerminalStyle};
use crate::facts::{self, OutputsTally};
use crate::number;
use crate::text::{cut, printable};

/// Says what screening found, an operator a line.
#[must_use]
pub fn screen_table(report: &Report, style: &TerminalStyle) -> String {
    let style = *style;
    let mut out = String::new();
    sides(&mut out, style, report);
    screen_phase(&mut out, style, report);
    warnings(&mut out, style, report);
    if report.operators.is_empty() {
        return out;
    }
    out.push('\n');
    let columns = [
        Column::left("operator"),
        Column::left("verdict"),
        Column::left("code"),
        Column::right("changed kernels"),
    ];
    let mut operators: Vec<_> = report.operators.iter().collect();
    // Those not screened yet come last; within a verdict the order asked for stays.
    operators.sort_by_key(|it| it.screen.map_or(ScreenVerdict::ALL.len(), |verdict| verdict as usize));
    let rows: Vec<Row> = operators
        .into_iter()
        .map(|operator| {
            let (word, colour) = match operator.screen {
                Some(ScreenVerdict::IrChanged) => ("IR_CHANGED", AnsiColor::Green.on_default()),
                Some(ScreenVerdict::NoIrDiff) => ("NO_IR_DIFF", FAINT),
                Some(ScreenVerdict::NotCompiled) => ("NOT_COMPILED", FAINT),
                Some(ScreenVerdict::NoRows) => ("NO_ROWS", AnsiColor::Yellow.on_default()),
                None => ("not screened", AnsiColor::Yellow.on_default()),
            };
            let row = Row::default()
                .cell(printable(&operator.operator), Style::new())
                .cell(word, colour)
                .cell(cut(&printable(facts::code(operator)), 8), FAINT);
            match operator.screen {
                Some(ScreenVerdict::IrChanged | ScreenVerdict::NoIrDiff) => {
                    let changed = operator.kernels.iter().filter(|it| it.changed > 0).count();
                    let kernels = if operator.kernels.is_empty() {
                        number::NONE.to_owned()
                    } else {
                        format!("{changed} of {}", operator.kernels.len())
                    };
                    row.cell(kernels, Style::new())
                }
                Some(ScreenVerdict::NotCompiled | ScreenVerdict::NoRows) | None => {
                    row.remark(facts::why_no_figure_and_hint(report, operator))
                }
            }
        })
        .collect();
    table(&mut out, style, &columns, &rows);
    let tally = OutputsTally::total(report);
    if tally.compared > 0 {
        labelled(&mut out, style, "outputs", &tally.sentence());
    }
    out
}
