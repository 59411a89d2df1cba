//! Lines and tables of a terminal report: alignment first, colour afterwards.
//!
//! No table crate: none of them lets a row end early and its remark run on over the columns that it does not use,
//! which is what keeps "not measured" rows free of anything that looks like a figure.

use std::borrow::Cow;

use anstyle::Style;

use super::{LABEL, TerminalStyle};
use crate::text::{cut, pad_left, pad_right, width, wrap};

/// Columns of a label such as `screen`.
pub(crate) const LABEL_COLUMNS: usize = 10;

/// Narrowest a remark gets beside its row; below that it has lines of its own.
pub(crate) const REMARK_COLUMNS: usize = 24;

/// Most columns of the first column.
const FIRST_COLUMNS: usize = 44;

/// A column's title and side.
pub(crate) struct Column {
    pub title: Cow<'static, str>,
    pub right: bool,
}

impl Column {
    pub(crate) const fn left(title: &'static str) -> Self {
        Self { title: Cow::Borrowed(title), right: false }
    }

    pub(crate) const fn right(title: &'static str) -> Self {
        Self { title: Cow::Borrowed(title), right: true }
    }
}

/// A row: cells for the first columns, then a remark that begins where the next column would.
#[derive(Default)]
pub(crate) struct Row {
    pub cells: Vec<(String, Style)>,
    pub remark: String,
}

impl Row {
    pub(crate) fn cell(mut self, text: impl Into<String>, style: Style) -> Self {
        self.cells.push((text.into(), style));
        self
    }

    pub(crate) fn remark(mut self, text: impl Into<String>) -> Self {
        self.remark = text.into();
        self
    }
}

/// `label     text`, wrapped under itself.
pub(crate) fn labelled(out: &mut String, style: TerminalStyle, label: &str, text: &str) {
    let lines = wrap(text, style.columns() - LABEL_COLUMNS);
    for (index, line) in lines.iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        let gap = " ".repeat(LABEL_COLUMNS.saturating_sub(width(label)).max(1));
        out.push_str(&format!("{}{gap}{line}\n", style.paint(label, LABEL)));
    }
}

/// A table with a header line; the first column is cut where the width asks for it.
pub(crate) fn table(out: &mut String, style: TerminalStyle, columns: &[Column], rows: &[Row]) {
    let natural = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.cells.get(index)).map(|(text, _)| width(text));
        cells.max().unwrap_or(0).max(width(&columns[index].title))
    };
    let mut widths: Vec<usize> = (0..columns.len()).map(natural).collect();
    let others: usize = widths.iter().skip(1).sum();
    let room = |gap: usize| style.columns().saturating_sub(others + gap * (columns.len() - 1));
    let gap = if room(2) >= 8.min(widths[0]) { 2 } else { 1 };
    widths[0] = widths[0].min(room(gap).min(FIRST_COLUMNS)).max(4);

    let header = columns.iter().map(|column| (column.title.clone().into_owned(), LABEL)).collect();
    line(out, style, columns, &widths, gap, &Row { cells: header, remark: String::new() });
    for row in rows {
        line(out, style, columns, &widths, gap, row);
    }
}

fn line(out: &mut String, style: TerminalStyle, columns: &[Column], widths: &[usize], gap: usize, row: &Row) {
    let mut text = String::new();
    let mut pending = 0;
    for ((cell, colour), (column, columns)) in row.cells.iter().zip(columns.iter().zip(widths)) {
        let cell = cut(cell, *columns);
        let padded = if column.right { pad_left(&cell, *columns) } else { pad_right(&cell, *columns) };
        // Spaces stay outside the colours, and none end a line.
        let body = padded.trim_matches(' ');
        let before = padded.len() - padded.trim_start_matches(' ').len();
        if !body.is_empty() {
            text.push_str(&" ".repeat(pending + before));
            text.push_str(&style.paint(body, *colour));
            pending = padded.len() - before - body.len() + gap;
        } else {
            pending += padded.len() + gap;
        }
    }
    let start: usize = widths.iter().take(row.cells.len()).map(|columns| columns + gap).sum();
    let room = style.columns().saturating_sub(start);
    if row.remark.is_empty() {
        out.push_str(&text);
        out.push('\n');
    } else if room >= REMARK_COLUMNS || width(&row.remark) <= room {
        for (index, part) in wrap(&row.remark, room).iter().enumerate() {
            if index == 0 {
                out.push_str(&format!("{text}{}{part}\n", " ".repeat(pending)));
            } else {
                out.push_str(&format!("{}{part}\n", " ".repeat(start)));
            }
        }
    } else {
        out.push_str(&text);
        out.push('\n');
        for part in wrap(&row.remark, style.columns() - 4) {
            out.push_str(&format!("    {part}\n"));
        }
    }
}

/// As many names as fit, and how many more there are: `relu, topk +10`.
pub(crate) fn names(all: &[String], columns: usize) -> String {
    let joined = all.join(", ");
    if width(&joined) <= columns {
        return joined;
    }
    let mut best = None;
    let mut shown = String::new();
    for (index, name) in all.iter().enumerate() {
        shown.push_str(if index == 0 { "" } else { ", " });
        shown.push_str(name);
        // Each name makes the text longer, whatever it does to the count behind it.
        if width(&shown) > columns {
            break;
        }
        let text = format!("{shown} +{}", all.len() - index - 1);
        if width(&text) <= columns {
            best = Some(text);
        }
    }
    if let Some(text) = best {
        return text;
    }
    let more = if all.len() > 1 { format!(" +{}", all.len() - 1) } else { String::new() };
    let first = all.first().map(String::as_str).unwrap_or_default();
    format!("{}{more}", cut(first, columns.saturating_sub(width(&more))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_or_are_counted() {
        let all: Vec<String> = ["relu", "topk", "cumsum"].map(String::from).into();
        assert_eq!(names(&all, 20), "relu, topk, cumsum");
        assert_eq!(names(&all, 14), "relu, topk +1");
        assert_eq!(names(&all, 8), "relu +2");
        assert_eq!(names(&all, 6), "re… +2");
    }

    #[test]
    fn a_remark_runs_over_the_columns_that_a_row_leaves_free() {
        let columns = [Column::left("operator"), Column::right("effect")];
        let rows = [
            Row::default().cell("mm", Style::new()).cell("+6.5 %", Style::new()).remark("x"),
            Row::default().cell("fft", Style::new()).remark("nothing was measured"),
        ];
        let mut out = String::new();
        table(&mut out, TerminalStyle::plain(60), &columns, &rows);
        assert_eq!(out, "operator  effect\nmm        +6.5 %  x\nfft       nothing was measured\n");
    }

    #[test]
    fn gaps_give_way_before_names_do() {
        let columns = [Column::left("operator"), Column::left("interval")];
        let row = Row::default().cell("a_long_name", Style::new()).cell("x".repeat(51), Style::new());
        let mut out = String::new();
        table(&mut out, TerminalStyle::plain(60), &columns, &[row]);
        let last = out.lines().last().unwrap();
        assert_eq!(last, format!("a_long_… {}", "x".repeat(51)));
    }
}
