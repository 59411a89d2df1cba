//! One line of a log: cleaned of colours, and read as a row or a heading of a table.
//!
//! Columns are never cut by position: the heading's do not lie over the data, and a row may have a column that the heading
//! lacks. A row is its status, three numbers, what numbers follow, and the input from its first bracket to the matching one.

use super::input;

/// A line without escape sequences, NUL bytes and the carriage return at its end.
pub(super) fn clean(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut cleaned = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\0' => {}
            '\u{1b}' => match characters.next() {
                // ECMA-48: a control sequence ends with a byte from `@` to `~`.
                Some('[') => while characters.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // An operating system command ends with BEL or with ESC and a backslash.
                Some(']') => {
                    while let Some(c) = characters.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && characters.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some(_) | None => {}
            },
            other => cleaned.push(other),
        }
    }
    cleaned
}

/// True for what pytest prints of its progress, which may stand straight before other output.
pub(super) fn is_progress(text: &str) -> bool {
    text.trim().chars().all(|c| matches!(c, '.' | 'F' | 'E' | 's' | 'x' | 'X'))
}

/// A heading: `Operator: mm  Performance Test (dtype=torch.float16, mode=kernel,level=core)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) operator: String,
    pub(super) dtype: String,
    pub(super) mode: String,
    pub(super) level: String,
}

pub(super) fn heading(line: &str) -> Option<Heading> {
    const TITLE: &str = "Performance Test (";
    let (before, fields) = line.split_once(TITLE)?;
    let operator = before.rsplit_once("Operator:")?.1.trim();
    let fields = fields.split(')').next().unwrap_or_default();
    let field = |key: &str| {
        fields
            .split(',')
            .find_map(|part| part.trim().strip_prefix(key)?.strip_prefix('='))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    Some(Heading {
        operator: operator.to_owned(),
        dtype: field("dtype"),
        mode: field("mode"),
        level: field("level"),
    })
}

/// Number of columns between speedup and input that a line of column names announces.
pub(super) fn extra_columns(line: &str) -> Option<usize> {
    if !(line.contains("Status") && line.contains("Latency") && line.contains("Size Detail")) {
        return None;
    }
    Some(usize::from(line.contains("TFLOPS")) + line.matches("GBPS").count())
}

/// A cell of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    /// `N/A`.
    Missing,
    /// A number as it was printed.
    Number(String),
}

impl Cell {
    fn parse(token: &str) -> Option<Self> {
        if token == "N/A" {
            return Some(Self::Missing);
        }
        let bare = token.strip_prefix('-').unwrap_or(token);
        // Plain decimals and what Python prints for the others; Rust would also take `infinity`, `+1` and `1e5`.
        let plain = bare.chars().all(|c| c.is_ascii_digit() || c == '.')
            && bare.starts_with(|c: char| c.is_ascii_digit());
        (matches!(bare, "inf" | "nan") || plain && bare.parse::<f64>().is_ok())
            .then(|| Self::Number(token.to_owned()))
    }

    /// Its value.
    pub(super) fn value(&self) -> Option<f64> {
        match self {
            Self::Missing => None,
            Self::Number(text) => text.parse().ok(),
        }
    }

    /// Its value times 1,000: the exact double of the shifted decimal, not that of a rounded product.
    pub(super) fn thousandfold(&self) -> Option<f64> {
        match self {
            Self::Missing => None,
            Self::Number(text) => format!("{text}e3").parse().ok().or_else(|| self.value()),
        }
    }

    /// Width of its last digit times 1,000.
    pub(super) fn resolution_thousandfold(&self) -> f64 {
        let Self::Number(text) = self else { return 0.0 };
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        i32::try_from(decimals).map_or(0.0, |decimals| 10f64.powi(3 - decimals))
    }
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TableRow {
    /// `SUCCESS`.
    pub(super) ok: bool,
    /// Baseline, latency, speedup, and what follows.
    pub(super) cells: Vec<Cell>,
    /// The input, white space normalised.
    pub(super) input: String,
    /// What stood before and behind the row on its line, other than pytest's progress.
    pub(super) beside: Option<String>,
}

/// Why a line that begins like a row is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowFault {
    /// The line ends before its input does.
    CutOff,
    /// There are more numbers than columns.
    Columns(usize),
}

/// Reads a line as a row; none if nothing in it begins like one.
pub(super) fn row(line: &str) -> Option<Result<TableRow, RowFault>> {
    for (status, ok) in [("SUCCESS", true), ("FAILED", false)] {
        for (at, _) in line.match_indices(status) {
            let (before, rest) = (&line[..at], &line[at + status.len()..]);
            let joined = before.ends_with(|c: char| c.is_alphanumeric() || c == '_') && !is_progress(before);
            if joined || !rest.starts_with(char::is_whitespace) {
                continue;
            }
            if let Some(read) = row_after(rest) {
                return Some(read.map(|(cells, input, after)| TableRow {
                    ok,
                    cells,
                    input,
                    beside: beside(before, after),
                }));
            }
        }
    }
    None
}

type RowParts<'a> = (Vec<Cell>, String, &'a str);

/// The part of a row behind its status; none if three numbers do not follow.
fn row_after(text: &str) -> Option<Result<RowParts<'_>, RowFault>> {
    let mut cells = Vec::new();
    let mut rest = text.trim_start();
    while let Some(token) = rest.split_whitespace().next() {
        let Some(cell) = Cell::parse(token) else { break };
        cells.push(cell);
        rest = rest[token.len()..].trim_start();
    }
    if cells.len() < 3 {
        return None;
    }
    if rest.is_empty() {
        // An input that is not there is printed as `N/A` too.
        if cells.len() == 3 || cells.last() != Some(&Cell::Missing) {
            return Some(Err(RowFault::CutOff));
        }
        cells.pop();
        return Some(checked(cells, "N/A".into(), ""));
    }
    Some(match input::split(rest) {
        Some((input, after)) => checked(cells, input::normalise(input), after),
        None => Err(RowFault::CutOff),
    })
}

fn checked(cells: Vec<Cell>, input: String, after: &str) -> Result<RowParts<'_>, RowFault> {
    if cells.len() > 6 { Err(RowFault::Columns(cells.len())) } else { Ok((cells, input, after)) }
}

fn beside(before: &str, after: &str) -> Option<String> {
    let before = if is_progress(before) { "" } else { before.trim() };
    let text =
        [before, after.trim()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" … ");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_nul_and_carriage_returns_go() {
        assert_eq!(clean("\u{1b}[31mFAILED\u{1b}[0m: x\0y\r"), "FAILED: xy");
        assert_eq!(clean("\u{1b}]0;title\u{7}a\u{1b}]8;;u\u{1b}\\b"), "ab");
        assert_eq!(clean("a\u{1b}"), "a");
        assert_eq!(clean("a\u{1b}[31"), "a");
    }

    #[test]
    fn a_heading_is_found_anywhere_in_a_line() {
        let it = heading(".test_x.py::test_y Operator: mm_out  Performance Test (dtype=torch.float16, mode=kernel,level=core)").unwrap();
        assert_eq!(
            it,
            Heading {
                operator: "mm_out".into(),
                dtype: "torch.float16".into(),
                mode: "kernel".into(),
                level: "core".into()
            }
        );
        assert_eq!(heading("Operator name   |  mm"), None);
    }

    #[test]
    fn a_number_keeps_its_decimals_exactly() {
        let cell = Cell::parse("0.169376").unwrap();
        assert_eq!(cell.thousandfold(), Some(169.376));
        assert!((cell.resolution_thousandfold() - 0.001).abs() < 1e-18);
        for (text, number) in [
            ("-0.000512", true),
            ("nan", true),
            ("-inf", true),
            ("1e5", false),
            ("+1", false),
            ("1.2.3", false),
            ("-", false),
            ("", false),
        ] {
            assert_eq!(Cell::parse(text).is_some(), number, "{text}");
        }
    }

    #[test]
    fn rows_are_told_from_what_only_looks_like_one() {
        assert!(row("FAILED test_abs.py::test_abs - Failed: float division by zero").is_none());
        assert!(row("ALL SUCCESS 3 tests").is_none());
        assert!(row("UNSUCCESS 1 2 3 [a]").is_none());
        assert_eq!(row("SUCCESS  0.1  0.2  0.5  [torch.Size([64"), Some(Err(RowFault::CutOff)));
        assert_eq!(row("SUCCESS  0.1  0.2  0.5"), Some(Err(RowFault::CutOff)));
        assert_eq!(row("SUCCESS 1 2 3 4 5 6 7 [1]"), Some(Err(RowFault::Columns(7))));
    }

    #[test]
    fn progress_before_a_row_is_nothing_other_text_is_told() {
        let it = row("..F.SUCCESS  0.1  0.2  0.5  [1]").unwrap().unwrap();
        assert_eq!((it.ok, it.beside), (true, None));
        let it = row("note: SUCCESS  0.1  0.2  0.5  [1]WARNING 07-13 x").unwrap().unwrap();
        assert_eq!((it.input.as_str(), it.beside.as_deref()), ("[1]", Some("note: … WARNING 07-13 x")));
    }
}
