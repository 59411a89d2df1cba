//! Two sides' compiled code for a terminal: which kernels differ, from where on, what they take, and how it looks.
//!
//! The kernel that carries most time comes first. Of each kernel the heaviest variant that differs is shown side by
//! side; of the others what changed is counted. Invariant: nothing that differs is cut away; only lines that are the
//! same on both sides are, and how many are left out is said.

mod rows;

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};

use crate::terminal::grid::{Column, Row, labelled, table};
use crate::terminal::{FAINT, LABEL, TerminalStyle};
use crate::text::{count, pad_left, pad_right, printable, width};

pub use rows::{Line, LineKind};

/// Two sides' code, compared.
#[derive(Debug, Clone, Default)]
pub struct IrDiff {
    /// Where A comes from.
    pub a: String,
    /// Where B comes from.
    pub b: String,
    /// What it comes to.
    pub outcome: Outcome,
    /// The first stage at which any kernel differs.
    pub first_stage: Option<String>,
    /// What kernels are in order of: `time`, `launches`; none for names.
    pub ranked_by: Option<&'static str>,
    /// Kernels in the order in which they are to be shown.
    pub kernels: Vec<Kernel>,
    /// Abbreviations in variants' names.
    pub legend: BTreeMap<String, String>,
    /// Patterns of stamps that were taken out, and how often.
    pub stamps: BTreeMap<String, u64>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// What a comparison comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Every kernel is the same at every stage.
    Same,
    /// Something differs.
    Changed,
    /// A side has no text: nothing can be said.
    #[default]
    NoEvidence,
}

/// One kernel.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its part of time or launches, 0 to 1.
    pub share: Option<f64>,
    /// The first stage that differs in any variant.
    pub first_stage: Option<String>,
    /// Variants in the order in which they are to be shown.
    pub variants: Vec<Variant>,
}

/// What one side of a variant takes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Takes {
    /// Registers a thread.
    pub registers: Option<u64>,
    /// Spilled registers a thread.
    pub spills: Option<u64>,
    /// Shared memory a block, bytes.
    pub shared_bytes: Option<u64>,
    /// Instructions.
    pub instructions: Option<u64>,
    /// Time to compile, milliseconds.
    pub compile_ms: Option<f64>,
}

/// One variant.
#[derive(Debug, Clone, Default)]
pub struct Variant {
    /// A readable name.
    pub name: String,
    /// How the sides differ: `same`, a stage, `only in A`, …
    pub difference: String,
    /// True if they differ.
    pub changed: bool,
    /// Launches in one call of each case; 0 where they are not known.
    pub launches: u64,
    /// Where the texts come from, A and B.
    pub places: (Option<String>, Option<String>),
    /// Stages in pipeline order, and whether both sides have the same text; none if one side has none.
    pub stages: Vec<(String, Option<bool>)>,
    /// What each side takes.
    pub takes: (Takes, Takes),
    /// The stage in which instructions were counted.
    pub instruction_stage: Option<String>,
    /// Operations that occur a different number of times: name, A, B.
    pub operations: Vec<(String, u64, u64)>,
    /// The stage that is shown side by side.
    pub shown_stage: Option<String>,
    /// Its lines.
    pub lines: Vec<Line>,
    /// Names in the lines that stand for something else on the other side: the name, its meaning in A and B.
    pub aliases: Vec<(String, Option<String>, Option<String>)>,
    /// Said in place of lines, or above them.
    pub remark: Option<String>,
}

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// Prints a comparison; with `every_variant` all that differ are shown side by side, not the heaviest alone.
#[must_use]
pub fn render(diff: &IrDiff, style: &TerminalStyle, every_variant: bool) -> String {
    let style = *style;
    let mut out = String::new();
    labelled(&mut out, style, "A", &printable(&diff.a));
    labelled(&mut out, style, "B", &printable(&diff.b));
    labelled(&mut out, style, "code", &verdict(diff));
    for (pattern, number) in &diff.stamps {
        labelled(
            &mut out,
            style,
            "stamps",
            &format!(
                "`{}` was taken out before comparing, {}",
                printable(pattern),
                count(*number, "time", "times")
            ),
        );
    }
    for note in &diff.notes {
        labelled(&mut out, style, "note", &printable(note));
    }
    if diff.kernels.is_empty() {
        return out;
    }
    out.push('\n');
    overview(&mut out, style, diff);
    if !diff.legend.is_empty() {
        let legend: Vec<String> =
            diff.legend.iter().map(|(short, long)| format!("{short} = {long}")).collect();
        out.push('\n');
        labelled(&mut out, style, "names", &printable(&legend.join(", ")));
    }
    for kernel in &diff.kernels {
        let mut shown = false;
        for variant in &kernel.variants {
            if !variant.changed && variant.shown_stage.is_none() {
                continue;
            }
            details(&mut out, style, variant, every_variant || !shown);
            shown = true;
        }
    }
    out
}

fn verdict(diff: &IrDiff) -> String {
    let variants = || diff.kernels.iter().flat_map(|kernel| &kernel.variants);
    let (all, changed) =
        (variants().count() as u64, variants().filter(|variant| variant.changed).count() as u64);
    match diff.outcome {
        Outcome::Same => {
            format!("identical: {} at every stage that was kept", count(all, "variant", "variants"))
        }
        Outcome::Changed => {
            let first = diff.first_stage.as_deref().map_or_else(
                || "other kernels".to_owned(),
                |stage| format!("differs first at `{}`", printable(stage)),
            );
            format!("{first}: {changed} of {}", count(all, "variant", "variants"))
        }
        Outcome::NoEvidence => {
            "no text to compare on one side or on both: this is not \"identical\"".to_owned()
        }
    }
}

fn overview(out: &mut String, style: TerminalStyle, diff: &IrDiff) {
    let share_title = match diff.ranked_by {
        Some("time") => "of time",
        Some(_) => "launches",
        None => "",
    };
    let mut columns = vec![
        Column::left("kernel"),
        Column::right("variants"),
        Column::right("differ"),
        Column::left("first stage"),
    ];
    if diff.ranked_by.is_some() {
        columns.push(Column::right(share_title));
    }
    let rows: Vec<Row> = diff
        .kernels
        .iter()
        .map(|kernel| {
            let changed = kernel.variants.iter().filter(|variant| variant.changed).count();
            let colour = if changed > 0 { AnsiColor::Yellow.on_default() } else { FAINT };
            let first = match (&kernel.first_stage, changed) {
                (Some(stage), _) => printable(stage),
                (None, 0) => "same".to_owned(),
                (None, _) => kernel
                    .variants
                    .iter()
                    .find(|variant| variant.changed)
                    .map(|variant| printable(&variant.difference))
                    .unwrap_or_default(),
            };
            let mut row = Row::default()
                .cell(printable(&kernel.name), Style::new())
                .cell(kernel.variants.len().to_string(), Style::new())
                .cell(changed.to_string(), colour)
                .cell(first, colour);
            if diff.ranked_by.is_some() {
                let share = kernel.share.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share));
                row = row.cell(share, Style::new());
            }
            row
        })
        .collect();
    table(out, style, &columns, &rows);
}

fn details(out: &mut String, style: TerminalStyle, variant: &Variant, with_lines: bool) {
    out.push('\n');
    let launched = match variant.launches {
        0 => String::new(),
        launches => format!("  launched {}", count(launches, "time", "times")),
    };
    let head = format!("{}  {}", printable(&variant.name), printable(&variant.difference));
    out.push_str(&format!("{}{}\n", style.paint(&head, LABEL), style.paint(&launched, FAINT)));
    let mut stages = Vec::new();
    for (stage, same) in &variant.stages {
        let word = match same {
            Some(true) => "same",
            Some(false) => "differs",
            None => "on one side only",
        };
        stages.push(format!("{} {word}", printable(stage)));
    }
    labelled(out, style, "stages", &stages.join(", "));
    let places = match &variant.places {
        (Some(a), Some(b)) if a == b => a.clone(),
        (Some(a), Some(b)) => format!("{a} (A), {b} (B)"),
        (Some(a), None) => format!("{a} (A)"),
        (None, Some(b)) => format!("{b} (B)"),
        (None, None) => String::new(),
    };
    if !places.is_empty() {
        labelled(out, style, "texts", &printable(&places));
    }
    takes(out, style, variant);
    operations(out, style, variant);
    if let Some(stage) = &variant.shown_stage {
        if let Some(remark) = &variant.remark {
            labelled(out, style, &printable(stage), &printable(remark));
        }
        if with_lines {
            for (name, a, b) in &variant.aliases {
                for (side, meaning) in [("A", a), ("B", b)] {
                    let meaning = meaning.as_deref().unwrap_or("nothing of this name");
                    let text = format!("{side} {meaning}");
                    labelled(out, style, &printable(if side == "A" { name } else { "" }), &printable(&text));
                }
            }
            rows::side_by_side(out, style, stage, &variant.lines);
        } else if !variant.lines.is_empty() {
            let differ = variant.lines.iter().filter(|line| line.kind != LineKind::Same).count();
            labelled(out, style, &printable(stage), &format!("{differ} lines differ; `--kernel` shows them"));
        }
    }
}

fn takes(out: &mut String, style: TerminalStyle, variant: &Variant) {
    let (a, b) = variant.takes;
    let instructions = variant
        .instruction_stage
        .as_ref()
        .map_or_else(|| "instructions".to_owned(), |stage| format!("instructions ({})", printable(stage)));
    let whole = |value: Option<u64>| value.map(|value| value.to_string());
    let rows = [
        ("registers".to_owned(), whole(a.registers), whole(b.registers)),
        ("spilled registers".to_owned(), whole(a.spills), whole(b.spills)),
        ("shared memory, bytes".to_owned(), whole(a.shared_bytes), whole(b.shared_bytes)),
        (instructions, whole(a.instructions), whole(b.instructions)),
        (
            "time to compile".to_owned(),
            a.compile_ms.map(|ms| format!("{ms:.1} ms")),
            b.compile_ms.map(|ms| format!("{ms:.1} ms")),
        ),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(_, a, b)| a.is_some() || b.is_some()).collect();
    if rows.is_empty() {
        return;
    }
    let values =
        rows.iter().flat_map(|(_, a, b)| [a, b]).flatten().map(|value| width(value)).max().unwrap_or(1);
    let titles = rows.iter().map(|(title, ..)| width(title)).max().unwrap_or(0);
    out.push_str(&format!(
        "{:10}{}  {}  {}\n",
        "",
        " ".repeat(titles),
        style.paint(&pad_left("A", values), LABEL),
        style.paint(&pad_left("B", values), LABEL)
    ));
    for (title, a, b) in rows {
        let differs = a != b;
        let shown = |value: Option<String>| pad_left(value.as_deref().unwrap_or("?"), values);
        let (a, b) = (shown(a), shown(b));
        let b = if differs { style.paint(&b, AnsiColor::Yellow.on_default()) } else { b };
        out.push_str(&format!("{:10}{}  {a}  {b}\n", "", pad_right(&title, titles)));
    }
}

fn operations(out: &mut String, style: TerminalStyle, variant: &Variant) {
    let stage = variant.shown_stage.as_deref().unwrap_or_default();
    if variant.operations.is_empty() {
        if variant.changed && !variant.lines.is_empty() {
            labelled(
                out,
                style,
                "counts",
                &format!("every operation of `{}` as often on both sides", printable(stage)),
            );
        }
        return;
    }
    let names = variant.operations.iter().map(|(name, ..)| width(name)).max().unwrap_or(0);
    for (index, (name, a, b)) in variant.operations.iter().enumerate() {
        let label = if index == 0 { "counts" } else { "" };
        let (sign, colour) = if b > a { ('+', ADDED) } else { ('−', REMOVED) };
        let change = format!("{sign}{}", a.abs_diff(*b));
        out.push_str(&format!(
            "{}{}{}  {}  {a} → {b}\n",
            style.paint(label, LABEL),
            " ".repeat(10 - label.len()),
            pad_right(&printable(name), names),
            style.paint(&pad_left(&change, 6), colour),
        ));
    }
}
