//! Many switches screened from one recording: a table operator × switch, and the same as TSV.
//!
//! A cell names the first stage that differs. What such a screen cannot see is printed with it: without that, `same`
//! would say more than was seen.

use anstyle::{AnsiColor, Style};
use std::borrow::Cow;
use switchback_model::verdict::ScreenVerdict;

use crate::number;
use crate::terminal::grid::{Column, Row, labelled, table};
use crate::terminal::{FAINT, TerminalStyle};
use crate::text::{count, printable, width};
use crate::tsv::Table;

/// Columns that the first columns of the table need.
const OPERATOR_COLUMNS: usize = 36;

/// What recompiling a recording said.
#[derive(Debug, Clone, Default)]
pub struct SwitchTable {
    /// Where the recording comes from.
    pub origin: String,
    /// What recorded it.
    pub recorded_by: String,
    /// What compiled it again.
    pub compiled_by: String,
    /// Kernels, and how many of them came out as recorded.
    pub proof: (usize, usize),
    /// Stages that were held against the recording.
    pub proof_stages: Vec<String>,
    /// Kernels that did not come out as recorded, and in what.
    pub differing: Vec<(String, String)>,
    /// Stages that are no evidence, and why.
    pub unseen: Vec<(String, String)>,
    /// The switches: a short name, and both sides in words.
    pub switches: Vec<(String, String)>,
    /// Operators.
    pub operators: Vec<OperatorRow>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Processes at once.
    pub workers: usize,
    /// Seconds it took.
    pub elapsed_s: f64,
}

/// One operator.
#[derive(Debug, Clone, Default)]
pub struct OperatorRow {
    /// Its name.
    pub operator: String,
    /// Kernels that it launches.
    pub kernels: usize,
    /// A cell a switch.
    pub cells: Vec<Cell>,
}

/// What a switch does to an operator.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The verdict.
    pub verdict: ScreenVerdict,
    /// The first stage that differs.
    pub first_stage: Option<String>,
    /// Kernels that differ.
    pub changed: usize,
    /// Kernels that do not compile.
    pub failed: usize,
    /// Why not.
    pub error: Option<String>,
}

/// Prints the table, the proof before it and the limits behind it.
#[must_use]
pub fn render(it: &SwitchTable, style: &TerminalStyle) -> String {
    let style = *style;
    let mut out = String::new();
    proof(&mut out, style, it);
    if it.switches.is_empty() {
        return out;
    }
    let names: usize = it.switches.iter().map(|(name, _)| width(name).max(9) + 2).sum();
    let by_name = names + OPERATOR_COLUMNS <= style.columns();
    out.push('\n');
    for (index, (name, sides)) in it.switches.iter().enumerate() {
        let label = if by_name { printable(name) } else { format!("[{}]", index + 1) };
        let text = printable(sides);
        let gap = if width(&label) >= 10 { ": " } else { "" };
        labelled(&mut out, style, &format!("{label}{gap}"), &text);
    }
    out.push('\n');
    let mut columns = vec![Column::left("operator"), Column::right("kernels")];
    columns.extend(it.switches.iter().enumerate().map(|(index, (name, _))| Column {
        title: Cow::Owned(if by_name { printable(name) } else { format!("[{}]", index + 1) }),
        right: false,
    }));
    let rows: Vec<Row> = it
        .operators
        .iter()
        .map(|row| {
            let start = Row::default()
                .cell(printable(&row.operator), Style::new())
                .cell(row.kernels.to_string(), Style::new());
            row.cells.iter().fold(start, |line, cell| {
                let (text, colour) = cell_text(cell, row.kernels);
                line.cell(text, colour)
            })
        })
        .collect();
    table(&mut out, style, &columns, &rows);
    out.push('\n');
    let mut touched = Vec::new();
    for (index, (name, _)) in it.switches.iter().enumerate() {
        let cells = it.operators.iter().filter_map(|row| row.cells.get(index));
        let changed =
            cells.filter(|cell| matches!(cell.verdict, ScreenVerdict::IrChanged | ScreenVerdict::NoRows));
        touched.push(format!("{} {}", printable(name), changed.count()));
    }
    let all = count(it.operators.len() as u64, "operator", "operators");
    labelled(&mut out, style, "touched", &format!("of {all}: {}", touched.join(", ")));
    for error in errors(it) {
        labelled(&mut out, style, "fails", &printable(&error));
    }
    limits(&mut out, style, it);
    out
}

fn proof(out: &mut String, style: TerminalStyle, it: &SwitchTable) {
    labelled(out, style, "recording", &printable(&it.origin));
    labelled(out, style, "recorded", &format!("by {}", printable(&it.recorded_by)));
    labelled(out, style, "compiled", &format!("again by {}", printable(&it.compiled_by)));
    let (kernels, equal) = it.proof;
    let stages = printable(&it.proof_stages.join(", "));
    let text = format!(
        "{equal} of {} came out as recorded ({stages}); {} with {} at once",
        count(kernels as u64, "kernel", "kernels"),
        number::seconds(it.elapsed_s),
        count(it.workers as u64, "process", "processes")
    );
    labelled(out, style, "proof", &text);
    for (kernel, what) in &it.differing {
        labelled(out, style, "differs", &format!("`{}`: {}", printable(kernel), printable(what)));
    }
    if it.switches.is_empty() {
        for note in &it.notes {
            labelled(out, style, "note", &printable(note));
        }
        for (stage, reason) in &it.unseen {
            labelled(out, style, "unseen", &format!("`{}`: {}", printable(stage), printable(reason)));
        }
    }
}

fn cell_text(cell: &Cell, kernels: usize) -> (String, Style) {
    let yellow = AnsiColor::Yellow.on_default();
    let part = |number: usize| if number == kernels { String::new() } else { format!(" {number}") };
    let fails = match cell.failed {
        0 => String::new(),
        failed => format!("fails{}", part(failed)),
    };
    let stage =
        cell.first_stage.as_deref().map(|stage| format!("{}{}", printable(stage), part(cell.changed)));
    match (cell.verdict, stage) {
        (ScreenVerdict::NotCompiled, _) => ("no kernel".into(), FAINT),
        (ScreenVerdict::NoIrDiff, _) => ("same".into(), FAINT),
        (_, Some(stage)) if fails.is_empty() => (stage, yellow),
        (_, Some(stage)) => (format!("{stage}, {fails}"), AnsiColor::Red.on_default()),
        (_, None) if fails.is_empty() => ("differs".into(), yellow),
        (_, None) => (fails, AnsiColor::Red.on_default()),
    }
}

/// The first error of each switch.
fn errors(it: &SwitchTable) -> Vec<String> {
    it.switches
        .iter()
        .enumerate()
        .filter_map(|(index, (name, _))| {
            it.operators.iter().find_map(|row| {
                let error = row.cells.get(index)?.error.as_deref()?;
                Some(format!("{name}: {} in `{}`: {error}", row.cells[index].failed, row.operator))
            })
        })
        .collect()
}

fn limits(out: &mut String, style: TerminalStyle, it: &SwitchTable) {
    for (stage, reason) in &it.unseen {
        let text = format!(
            "`{}`: {}; a switch that acts there alone reads `same`",
            printable(stage),
            printable(reason)
        );
        labelled(out, style, "unseen", &text);
    }
    for note in &it.notes {
        labelled(out, style, "note", &printable(note));
    }
    labelled(
        out,
        style,
        "limits",
        "what acts before `ttir` (the front end, options that the launcher reads) and what decides which kernels are \
         launched cannot be seen from a recording; machine code only where the assembler gives one output for one input",
    );
}

/// Writes one line an operator and switch.
#[must_use]
pub fn tsv(it: &SwitchTable) -> String {
    let mut table = Table::new(&[
        "op",
        "switch",
        "sides",
        "verdict",
        "first_stage",
        "kernels",
        "changed",
        "failed",
        "error",
    ]);
    for row in &it.operators {
        for ((name, sides), cell) in it.switches.iter().zip(&row.cells) {
            table.row([row.operator.as_str(), name, sides]);
            table.more([cell.verdict.to_string(), cell.first_stage.clone().unwrap_or_default()]);
            table.more([row.kernels, cell.changed, cell.failed].map(|number| number.to_string()));
            table.more([cell.error.as_deref().unwrap_or_default()]);
        }
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(verdict: ScreenVerdict, stage: Option<&str>, changed: usize, failed: usize) -> Cell {
        let error = (failed > 0).then(|| "RuntimeError: no".to_owned());
        Cell { verdict, first_stage: stage.map(str::to_owned), changed, failed, error }
    }

    fn two_switches(long: bool) -> SwitchTable {
        let name = |text: &str| if long { format!("{text}_{}", "X".repeat(40)) } else { text.to_owned() };
        SwitchTable {
            origin: "runs/x".into(),
            recorded_by: "triton 3.6.0".into(),
            compiled_by: "triton 3.6.0".into(),
            proof: (3, 3),
            proof_stages: vec!["ttgir".into(), "ptx".into()],
            unseen: vec![("sass".into(), "two compilations of side A differ in 1 of 3 kernels".into())],
            switches: vec![
                (name("ONE"), "A: ONE=0; B: ONE=1".into()),
                (name("TWO"), "A: TWO=0; B: TWO=1".into()),
            ],
            operators: vec![
                OperatorRow {
                    operator: "mm".into(),
                    kernels: 3,
                    cells: vec![
                        cell(ScreenVerdict::IrChanged, Some("ttgir"), 2, 0),
                        cell(ScreenVerdict::NoIrDiff, None, 0, 0),
                    ],
                },
                OperatorRow {
                    operator: "fill".into(),
                    kernels: 1,
                    cells: vec![
                        cell(ScreenVerdict::NotCompiled, None, 0, 0),
                        cell(ScreenVerdict::NoRows, None, 0, 1),
                    ],
                },
            ],
            workers: 2,
            ..SwitchTable::default()
        }
    }

    #[test]
    fn the_table_names_stages_failures_and_limits() {
        let out = render(&two_switches(false), &TerminalStyle::plain(100));
        for line in [
            "proof     3 of 3 kernels came out as recorded (ttgir, ptx); 0.0 s with 2 processes at once",
            "operator  kernels  ONE        TWO",
            "mm              3  ttgir 2    same",
            "fill            1  no kernel  fails",
            "touched   of 2 operators: ONE 1, TWO 1",
            "fails     TWO: 1 in `fill`: RuntimeError: no",
        ] {
            assert!(out.lines().any(|there| there == line), "`{line}` is not in:\n{out}");
        }
        assert!(
            out.contains("unseen    `sass`: two compilations") && out.contains("limits    what acts before")
        );
    }

    #[test]
    fn long_names_become_numbers_and_no_line_is_wider() {
        let out = render(&two_switches(true), &TerminalStyle::plain(100));
        assert!(out.contains("operator  kernels  [1]"), "{out}");
        assert!(out.lines().all(|line| width(line) <= 100), "{out}");
    }

    #[test]
    fn the_tsv_has_a_line_an_operator_and_switch() {
        let text = tsv(&two_switches(false));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[1], "mm\tONE\tA: ONE=0; B: ONE=1\tIR_CHANGED\tttgir\t3\t2\t0\t");
        assert_eq!(lines[4], "fill\tTWO\tA: TWO=0; B: TWO=1\tNO_ROWS\t\t1\t0\t1\tRuntimeError: no");
    }
}
