//! Lines of two texts side by side, in two columns where the width allows it, else one under the other.
//!
//! `|` one line stands in the other's place, `<` only A has it, `>` only B has it. Lines that differ are wrapped, never
//! cut; of lines that are the same a few are shown around each difference.

use anstyle::{AnsiColor, Style};

use super::{ADDED, REMOVED};
use crate::terminal::{FAINT, LABEL, TerminalStyle};
use crate::text::{count, cut, pad_right, printable, wrap};

/// Lines that are the same, shown before and behind each difference.
const CONTEXT: usize = 2;
/// Narrower than this, two columns would be too narrow to read.
const NARROWEST: usize = 100;

/// How two lines stand to each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LineKind {
    /// The same.
    #[default]
    Same,
    /// One in the other's place.
    Changed,
    /// Only side A has it.
    OnlyA,
    /// Only side B has it.
    OnlyB,
}

/// One line of a side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// How the two stand to each other.
    pub kind: LineKind,
    /// A's line, with its own names.
    pub a: Option<String>,
    /// B's line.
    pub b: Option<String>,
    /// The line of the user's program, `file.py:12`.
    pub source: Option<String>,
}

/// Prints the lines that differ and what is around them.
pub(super) fn side_by_side(out: &mut String, style: TerminalStyle, stage: &str, lines: &[Line]) {
    if lines.iter().all(|line| line.kind == LineKind::Same) {
        return;
    }
    let shown = shown(lines);
    out.push('\n');
    let columns = style.columns();
    let wide = columns >= NARROWEST;
    let half = (columns - 3) / 2;
    if wide {
        let head = pad_right(&format!("A: {}", printable(stage)), half);
        out.push_str(&style.paint(&format!("{head}   B: {}", printable(stage)), LABEL));
        out.push('\n');
    }
    let mut left_out = 0;
    let mut source: Option<&str> = None;
    for (line, shown) in lines.iter().zip(shown) {
        if !shown {
            left_out += 1;
            continue;
        }
        gap(out, style, &mut left_out);
        if line.source.is_some() && line.source.as_deref() != source {
            source = line.source.as_deref();
            out.push_str(&style.paint(&format!("@ {}", printable(source.unwrap_or_default())), FAINT));
            out.push('\n');
        }
        if wide {
            two_columns(out, style, line, half);
        } else {
            one_column(out, style, line, columns);
        }
    }
    gap(out, style, &mut left_out);
}

fn gap(out: &mut String, style: TerminalStyle, left_out: &mut u64) {
    if *left_out > 0 {
        let text = format!("⋮ {} the same on both sides", count(*left_out, "line", "lines"));
        out.push_str(&style.paint(&text, FAINT));
        out.push('\n');
        *left_out = 0;
    }
}

/// Which lines are shown: those that differ, and some around them.
fn shown(lines: &[Line]) -> Vec<bool> {
    let mut shown = vec![false; lines.len()];
    for (at, line) in lines.iter().enumerate() {
        if line.kind != LineKind::Same {
            let end = (at + CONTEXT + 1).min(lines.len());
            shown[at.saturating_sub(CONTEXT)..end].fill(true);
        }
    }
    shown
}

fn colours(kind: LineKind) -> (char, Style, Style) {
    match kind {
        LineKind::Same => (' ', FAINT, FAINT),
        LineKind::Changed => ('|', REMOVED, ADDED),
        LineKind::OnlyA => ('<', REMOVED, Style::new()),
        LineKind::OnlyB => ('>', Style::new(), ADDED),
    }
}

fn two_columns(out: &mut String, style: TerminalStyle, line: &Line, half: usize) {
    let (mark, colour_a, colour_b) = colours(line.kind);
    let parts = |text: &Option<String>| -> Vec<String> {
        let text = text.as_deref().map(printable).unwrap_or_default();
        if line.kind == LineKind::Same { vec![cut(&text, half)] } else { wrap(&text, half) }
    };
    let (a, b) = (parts(&line.a), parts(&line.b));
    for at in 0..a.len().max(b.len()).max(1) {
        let (a, b) = (a.get(at).map_or("", String::as_str), b.get(at).map_or("", String::as_str));
        let mark = if at == 0 { mark } else { ' ' };
        let padding = pad_right(a, half)[a.len()..].to_owned();
        let text = format!(
            "{}{padding} {} {}",
            style.paint(a, colour_a),
            style.paint(&mark.to_string(), AnsiColor::Yellow.on_default()),
            style.paint(b, colour_b)
        );
        out.push_str(text.trim_end_matches(' '));
        out.push('\n');
    }
}

fn one_column(out: &mut String, style: TerminalStyle, line: &Line, columns: usize) {
    let (_, colour_a, colour_b) = colours(line.kind);
    let mut print = |sign: char, text: &str, colour: Style, whole: bool| {
        let room = columns - 2;
        let text = printable(text);
        let parts = if whole { wrap(&text, room) } else { vec![cut(&text, room)] };
        for (at, part) in parts.iter().enumerate() {
            let sign = if at == 0 { sign } else { ' ' };
            out.push_str(style.paint(&format!("{sign} {part}"), colour).trim_end_matches(' '));
            out.push('\n');
        }
    };
    if line.kind == LineKind::Same {
        print(' ', line.a.as_deref().unwrap_or_default(), FAINT, false);
        return;
    }
    if let Some(a) = &line.a {
        print('-', a, colour_a, true);
    }
    if let Some(b) = &line.b {
        print('+', b, colour_b, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(text: &str) -> Line {
        Line { a: Some(text.into()), b: Some(text.into()), ..Line::default() }
    }

    fn lines() -> Vec<Line> {
        let mut lines: Vec<Line> = (1..=6).map(|number| same(&format!("line {number}"))).collect();
        lines.push(Line {
            kind: LineKind::Changed,
            a: Some("old".into()),
            b: Some("new".into()),
            source: Some("k.py:7".into()),
        });
        lines.push(Line { kind: LineKind::OnlyB, b: Some("more".into()), ..Line::default() });
        lines.extend((8..=12).map(|number| same(&format!("line {number}"))));
        lines
    }

    #[test]
    fn differences_come_with_their_neighbours_and_gaps_are_counted() {
        let mut out = String::new();
        side_by_side(&mut out, TerminalStyle::plain(80), "ttgir", &lines());
        let expected = "\n⋮ 4 lines the same on both sides\n  line 5\n  line 6\n@ k.py:7\n- old\n+ new\n+ more\n  line 8\n  line 9\n⋮ 3 lines the same on both sides\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn wide_terminals_get_columns_no_line_is_wider_and_no_difference_is_cut() {
        let mut lines = lines();
        let long: String = (0..400).map(|at| char::from(b'a' + at as u8 % 26)).collect();
        lines[6].a = Some(long.clone());
        let mut out = String::new();
        side_by_side(&mut out, TerminalStyle::plain(120), "ttgir", &lines);
        assert!(out.lines().all(|line| crate::text::width(line) <= 120), "{out}");
        let left: String = out
            .lines()
            .skip_while(|line| !line.starts_with("abc"))
            .take_while(|line| line.chars().next().is_some_and(|first| first.is_ascii_lowercase()))
            .map(|line| line.split(' ').next().unwrap_or_default())
            .take(400_usize.div_ceil(58))
            .collect();
        assert_eq!(left, long);
        assert!(out.contains("| new") && out.contains("> more"), "{out}");
    }

    #[test]
    fn without_a_difference_nothing_is_printed() {
        let mut out = String::new();
        side_by_side(&mut out, TerminalStyle::plain(120), "ttgir", &[same("x")]);
        assert_eq!(out, "");
    }
}
