//! Fingerprints of compiled code for a terminal: per kernel, variant and stage, and one over everything.

use std::collections::BTreeMap;

use anstyle::Style;

use crate::terminal::grid::{Column, Row, labelled, table};
use crate::terminal::{FAINT, LABEL, TerminalStyle};
use crate::text::{count, printable};

/// Digits of a stage's digest that a table shows.
const SHOWN_DIGITS: usize = 12;

/// One side's code.
#[derive(Debug, Clone, Default)]
pub struct IrFingerprint {
    /// Where it comes from.
    pub origin: String,
    /// The fingerprint over all; none without a single text.
    pub fingerprint: Option<String>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
    /// Abbreviations in variants' names.
    pub legend: BTreeMap<String, String>,
    /// Patterns of stamps that were taken out, and how often.
    pub stamps: BTreeMap<String, u64>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// One compiled kernel.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    /// A readable name of kernel and variant.
    pub name: String,
    /// Launches; 0 where they are not known.
    pub launches: u64,
    /// Stage and digest, in pipeline order.
    pub stages: Vec<(String, String)>,
}

/// Prints fingerprints.
#[must_use]
pub fn render(it: &IrFingerprint, style: &TerminalStyle) -> String {
    let style = *style;
    let mut out = String::new();
    out.push_str(&style.paint(&printable(&it.origin), LABEL));
    out.push('\n');
    let mut names: Vec<&str> = Vec::new();
    for (stage, _) in it.kernels.iter().flat_map(|kernel| &kernel.stages) {
        if !names.contains(&stage.as_str()) {
            names.push(stage);
        }
    }
    let with_launches = it.kernels.iter().any(|kernel| kernel.launches > 0);
    let mut columns = vec![Column::left("kernel")];
    if with_launches {
        columns.push(Column::right("launches"));
    }
    let rows: Vec<Row> = it
        .kernels
        .iter()
        .map(|kernel| {
            let mut row = Row::default().cell(printable(&kernel.name), Style::new());
            if with_launches {
                row = row.cell(kernel.launches.to_string(), Style::new());
            }
            let digests: Vec<String> = names
                .iter()
                .filter_map(|name| {
                    let (_, digest) = kernel.stages.iter().find(|(stage, _)| stage == name)?;
                    let short: String = digest.chars().take(SHOWN_DIGITS).collect();
                    Some(format!("{} {short}", printable(name)))
                })
                .collect();
            row.remark(if digests.is_empty() { "no text".to_owned() } else { digests.join("  ") })
        })
        .collect();
    if !rows.is_empty() {
        table(&mut out, style, &columns, &rows);
    }
    for (pattern, number) in &it.stamps {
        let text = format!("`{}` was taken out, {}", printable(pattern), count(*number, "time", "times"));
        labelled(&mut out, style, "stamps", &text);
    }
    if !it.legend.is_empty() {
        let legend: Vec<String> = it.legend.iter().map(|(short, long)| format!("{short} = {long}")).collect();
        labelled(&mut out, style, "names", &printable(&legend.join(", ")));
    }
    for note in &it.notes {
        labelled(&mut out, style, "note", &printable(note));
    }
    let whole = it.fingerprint.as_deref().map_or_else(
        || style.paint("none: no text of any stage, which is not \"identical\"", FAINT),
        printable,
    );
    out.push_str(&format!("{}     {whole}\n", style.paint("whole", LABEL)));
    out
}
