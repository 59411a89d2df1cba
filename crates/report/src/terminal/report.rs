//! The report of a comparison.

use anstyle::Style;
use switchback_model::finding::Severity;
use switchback_model::report::Report;
use switchback_model::switch::describe;
use switchback_model::verdict::ScreenVerdict;

use super::grid::{Column, LABEL_COLUMNS, Row, labelled, names, table};
use super::{FAINT, LABEL, TerminalStyle, colour_of};
use crate::facts::{self, OutputsTally, Standing};
use crate::number;
use crate::text::{count, cut, one_line, pad_left, pad_right, printable, width};

/// Columns up to which the seconds of a phase are set.
const PHASE_COLUMNS: usize = 62;

/// Widest that a list of skipped operators makes the first column.
const NAMES_COLUMNS: usize = 24;

/// Widest name of a stage.
const CODE_COLUMNS: usize = 8;

/// Says what a comparison found.
///
/// `next` is what the caller wants said at the end, a label and a text each (where the report lies, what to try
/// next); it is printed as it is, save control characters, and never wrapped, because people copy it.
#[must_use]
pub fn render(report: &Report, style: &TerminalStyle, next: &[(&str, &str)]) -> String {
    let style = *style;
    let mut out = String::new();
    sides(&mut out, style, report);
    phases(&mut out, style, report);
    warnings(&mut out, style, report);
    if !report.operators.is_empty() {
        out.push('\n');
        operators(&mut out, style, report);
        let tally = OutputsTally::total(report);
        if report.operators.iter().any(|it| facts::standing(it) <= Standing::Control) {
            labelled(&mut out, style, "outputs", &tally.sentence());
        }
        out.push('\n');
        noise(&mut out, style, report);
    }
    for (label, text) in next {
        let gap = " ".repeat(LABEL_COLUMNS.saturating_sub(width(label)).max(1));
        out.push_str(&format!("{}{gap}{}\n", style.paint(&printable(label), LABEL), printable(text)));
    }
    out
}

/// Lines `A` and `B`, and an empty one. Two runs that no switch tells apart are told by their names.
pub(super) fn sides(out: &mut String, style: TerminalStyle, report: &Report) {
    if report.switch.is_empty() {
        labelled(out, style, "runs", &one_line(&report.campaign));
        out.push('\n');
        return;
    }
    for (side, variables) in [("A", &report.switch.a), ("B", &report.switch.b)] {
        let text = printable(&describe(variables));
        for (index, line) in crate::text::wrap(&text, style.columns() - 3).iter().enumerate() {
            let side = if index == 0 { style.paint(side, LABEL) } else { " ".into() };
            out.push_str(&format!("{side}  {line}\n"));
        }
    }
    out.push('\n');
}

/// A phase's line: what was done, and the seconds it took at the right.
fn phase(out: &mut String, style: TerminalStyle, report: &Report, name: &str, text: &str) {
    let spent = report.elapsed_s.iter().filter(|(phase, _)| phase == name).map(|(_, seconds)| seconds);
    let Some(spent) = spent.copied().reduce(|sum, it| sum + it).map(number::seconds) else {
        labelled(out, style, name, text);
        return;
    };
    let room = style.columns().min(PHASE_COLUMNS) - LABEL_COLUMNS;
    if width(text) + 2 + width(&spent) <= room {
        let text = format!("{}{}", pad_right(text, room - width(&spent)), spent);
        // Not through `labelled`, which would fold the spaces.
        out.push_str(&format!(
            "{}{}{text}\n",
            style.paint(name, LABEL),
            pad_left("", LABEL_COLUMNS - width(name))
        ));
    } else {
        labelled(out, style, name, &format!("{text}, {spent}"));
    }
}

fn phases(out: &mut String, style: TerminalStyle, report: &Report) {
    screen_phase(out, style, report);
    let standings: Vec<Standing> = report.operators.iter().map(facts::standing).collect();
    let judged = standings.iter().filter(|it| it.is_judged()).count();
    let controls = standings.iter().filter(|it| **it == Standing::Control).count();
    let text = if judged + controls == 0 {
        "nothing".to_owned()
    } else {
        let mut measured = report.operators.iter().filter(|it| facts::standing(it).is_judged());
        let screened = measured.all(|it| it.screen == Some(ScreenVerdict::IrChanged));
        let mut parts = Vec::new();
        if judged > 0 && screened {
            parts.push(format!("{judged} changed"));
        } else if judged > 0 {
            parts.push(count(judged as u64, "operator", "operators"));
        }
        if controls > 0 {
            parts.push(count(controls as u64, "control", "controls"));
        }
        let mut text = parts.join(" + ");
        if let Some(pairing) = report.pairing {
            text.push_str(&format!(", {}", facts::pairing(report, pairing)));
        }
        format!("{text}, {}", facts::rounds_measured(report))
    };
    phase(out, style, report, "measure", &text);
}

/// The screening's line, and the counts of its verdicts.
pub(super) fn screen_phase(out: &mut String, style: TerminalStyle, report: &Report) {
    let (counts, unscreened) = facts::screen_counts(report);
    let total = report.operators.len();
    if total == 0 {
        phase(out, style, report, "screen", "no operator");
        return;
    }
    let operators = count(total as u64, "operator", "operators");
    if unscreened == total {
        phase(out, style, report, "screen", &format!("{operators}, none screened"));
        return;
    }
    let compiled = report
        .operators
        .iter()
        .any(|it| matches!(it.screen, Some(ScreenVerdict::IrChanged | ScreenVerdict::NoIrDiff)));
    let how = if compiled { ", both sides compiled" } else { "" };
    phase(out, style, report, "screen", &format!("{operators}{how}"));
    let mut words: Vec<String> = counts
        .iter()
        .filter(|(_, number)| *number > 0)
        .map(|(verdict, number)| format!("{number} {verdict}"))
        .collect();
    if unscreened > 0 {
        words.push(format!("{unscreened} not screened yet"));
    }
    let line = words.join("  ");
    if width(&line) <= style.columns() - LABEL_COLUMNS {
        out.push_str(&format!("{}{line}\n", " ".repeat(LABEL_COLUMNS)));
    } else {
        labelled(out, style, "", &line);
    }
}

/// What the whole run should be read with.
pub(super) fn warnings(out: &mut String, style: TerminalStyle, report: &Report) {
    if !report.allowed.is_empty() {
        let fields: Vec<String> = report.allowed.iter().map(|it| format!("`{}`", printable(it))).collect();
        labelled(
            out,
            style,
            "allowed",
            &format!("rows are compared although these conditions differ: {}", fields.join(", ")),
        );
    }
    for finding in &report.findings {
        let label = match finding.severity {
            Severity::Ok => continue,
            Severity::Warning => "warning",
            Severity::Failure => "failure",
        };
        let text = format!("{}: {}", one_line(&finding.check), one_line(&finding.detail));
        labelled(out, style, label, &text);
        if let Some(hint) = &finding.hint {
            labelled(out, style, "hint", &one_line(hint));
        }
    }
}

fn operators(out: &mut String, style: TerminalStyle, report: &Report) {
    let columns = [
        Column::left("operator"),
        Column::left("code"),
        Column::left("verdict"),
        Column::right("B against A"),
        Column::left("95 % interval"),
    ];
    let ordered = facts::in_order(report);
    let mut rows = Vec::new();
    let mut grouped = Vec::new();
    for (standing, operator) in &ordered {
        let standing = *standing;
        let start = |name: String| {
            Row::default()
                .cell(name, Style::new())
                .cell(cut(&printable(facts::code(operator)), CODE_COLUMNS), FAINT)
                .cell(standing.word(), colour_of(standing))
        };
        if matches!(standing, Standing::Same | Standing::NotCompiled) {
            let why = facts::why_no_figure(operator).unwrap_or_default();
            let group = (standing, why.clone());
            if grouped.contains(&group) {
                continue;
            }
            grouped.push(group);
            let all: Vec<String> = ordered
                .iter()
                .filter(|(other, it)| {
                    *other == standing && facts::why_no_figure(it).unwrap_or_default() == why
                })
                .map(|(_, it)| printable(&it.operator))
                .collect();
            rows.push(start(names(&all, NAMES_COLUMNS)).remark(why));
            continue;
        }
        let name = printable(&operator.operator);
        let Some((effect, interval)) = facts::effect(operator) else {
            let remark = facts::why_no_figure_and_hint(report, operator);
            rows.push(start(name).remark(remark));
            continue;
        };
        let row = start(name)
            .cell(number::percent_within(effect, interval), colour_of(standing))
            .cell(interval.map_or_else(|| number::NONE.into(), number::interval), Style::new());
        rows.push(row.remark(facts::remarks(report, operator).join(", ")));
    }
    table(out, style, &columns, &rows);
}

fn noise(out: &mut String, style: TerminalStyle, report: &Report) {
    let measured = report.operators.iter().any(|it| facts::standing(it).has_figures());
    if !measured && report.controls.cases == 0 && report.naive.is_none() {
        return;
    }
    let mut label = "noise";
    for sentence in facts::noise_of(report) {
        labelled(out, style, label, &sentence);
        label = "";
    }
}
