//! Two texts of one stage side by side, with their own names and the user's source lines.
//!
//! Lines are aligned by their canonical form with the numbers of values, labels and aliases blanked, so
//! that one operation more does not make every later line read "changed". Two aligned lines then count
//! as the same only if the names in them correspond throughout the text. This is a view: whether two
//! texts are the same is said by [`crate::digest()`] alone.

use imara_diff::{Algorithm, Diff, InternedInput};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::canonical::{CanonicalLine, canonical_lines};
use crate::source::{Places, SourcePlace, readable};
use crate::stage::Stage;

/// Bytes of a line that are shown; a text without line ends must not be shown whole in every row.
const LONGEST_SHOWN: usize = 4096;

/// How a line of A and a line of B stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// The same operation on the same values.
    Same,
    /// One stands in the other's place.
    Changed,
    /// Only side A has it.
    OnlyA,
    /// Only side B has it.
    OnlyB,
}

/// One line as a reader wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownLine {
    /// The line with its own names, without locations.
    pub text: String,
    /// The line of the compiler's text, counted from 1.
    pub line: usize,
    /// The line of the user's program, where the text tells it.
    pub source: Option<SourcePlace>,
}

/// One row of a side by side; at least one side is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// How the two stand to each other.
    pub kind: RowKind,
    /// Side A's line.
    pub a: Option<ShownLine>,
    /// Side B's line.
    pub b: Option<ShownLine>,
}

/// Two texts of `stage`, line by line.
///
/// Every canonical line of either text stands in exactly one row, in order. If no row differs although
/// the digests do, the difference lies in the order in which names first appear.
#[must_use]
pub fn side_by_side(stage: &Stage, a: &[u8], b: &[u8]) -> Vec<Row> {
    let (left, right) = (Side::new(stage, a), Side::new(stage, b));
    let mut input: InternedInput<&str> = InternedInput::default();
    input.update_before(left.keys.iter().map(|key| key.text.as_str()));
    input.update_after(right.keys.iter().map(|key| key.text.as_str()));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let mut rows = Vec::with_capacity(left.keys.len().max(right.keys.len()));
    let mut names = Names::default();
    let (mut at_a, mut at_b) = (0, 0);
    let end = (left.keys.len(), right.keys.len());
    let hunks = diff.hunks().map(|hunk| {
        (
            hunk.before.start as usize..hunk.before.end as usize,
            hunk.after.start as usize..hunk.after.end as usize,
        )
    });
    for (before, after) in hunks.chain([(end.0..end.0, end.1..end.1)]) {
        while at_a < before.start && at_b < after.start {
            let correspond = names.correspond(&left.keys[at_a].names, &right.keys[at_b].names);
            let kind = if correspond { RowKind::Same } else { RowKind::Changed };
            rows.push(Row { kind, a: left.shown(at_a), b: right.shown(at_b) });
            at_a += 1;
            at_b += 1;
        }
        while at_a < before.end && at_b < after.end {
            rows.push(Row { kind: RowKind::Changed, a: left.shown(at_a), b: right.shown(at_b) });
            at_a += 1;
            at_b += 1;
        }
        while at_a < before.end {
            rows.push(Row { kind: RowKind::OnlyA, a: left.shown(at_a), b: None });
            at_a += 1;
        }
        while at_b < after.end {
            rows.push(Row { kind: RowKind::OnlyB, a: None, b: right.shown(at_b) });
            at_b += 1;
        }
    }
    rows
}

struct Side<'a> {
    stage: &'a Stage,
    original: Vec<&'a [u8]>,
    places: Places<'a>,
    lines: Vec<CanonicalLine>,
    keys: Vec<Key>,
}

/// What lines are aligned by, and the names that were blanked in it.
struct Key {
    text: String,
    names: Vec<String>,
}

impl<'a> Side<'a> {
    fn new(stage: &'a Stage, text: &'a [u8]) -> Self {
        let lines = canonical_lines(stage, text);
        let renames = !matches!(stage, Stage::Vcode | Stage::Bytes | Stage::Other(_));
        let keys = lines
            .iter()
            .map(|line| {
                if renames { blanked(&line.text) } else { Key { text: line.text.clone(), names: Vec::new() } }
            })
            .collect();
        Self {
            stage,
            original: text.split(|&byte| byte == b'\n').collect(),
            places: Places::of(stage, text),
            lines,
            keys,
        }
    }

    fn shown(&self, index: usize) -> Option<ShownLine> {
        let line = self.lines[index].original_line;
        let original = self.original.get(line - 1).copied().unwrap_or(b"");
        let original = &original[..original.len().min(LONGEST_SHOWN)];
        Some(ShownLine {
            text: readable(self.stage, original),
            line,
            source: self.places.place(line, original),
        })
    }
}

/// Which name of A is which name of B.
#[derive(Default)]
struct Names {
    to_b: FxHashMap<String, String>,
    to_a: FxHashMap<String, String>,
}

impl Names {
    /// Whether two lines' names correspond; pairs seen for the first time do from now on.
    fn correspond(&mut self, a: &[String], b: &[String]) -> bool {
        let mut all = a.len() == b.len();
        for (name_a, name_b) in a.iter().zip(b) {
            match (self.to_b.get(name_a), self.to_a.get(name_b)) {
                (None, None) => {
                    self.to_b.insert(name_a.clone(), name_b.clone());
                    self.to_a.insert(name_b.clone(), name_a.clone());
                }
                (Some(known_b), Some(known_a)) if known_b == name_b && known_a == name_a => {}
                _ => all = false,
            }
        }
        all
    }
}

/// Blanks the numbers of canonical names outside of strings: `%12`, `^3`, `#0`, `!4`, `$L2`, `.L2`, `%r5`, `v7`,
/// `block3`, and labels `12:`.
fn blanked(line: &str) -> Key {
    let mut text = String::with_capacity(line.len());
    let mut names = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' {
            string_length(rest)
        } else if is_name_part(first) || matches!(first, '%' | '^' | '#' | '!') {
            first.len_utf8()
                + rest[first.len_utf8()..]
                    .find(|next: char| !is_name_part(next))
                    .unwrap_or(rest.len() - first.len_utf8())
        } else {
            first.len_utf8()
        };
        let (word, behind) = rest.split_at(length);
        let (head, digits) = word.split_at(word.trim_end_matches(|byte: char| byte.is_ascii_digit()).len());
        let label = head.is_empty() && text.is_empty() && behind.starts_with(':');
        let name = !digits.is_empty()
            && (label
                || matches!(head, "^" | "#" | "!" | "$L" | ".L" | "v" | "block")
                || (head.starts_with('%') && head.len() <= 4));
        if name {
            text.push_str(head);
            text.push('_');
            names.push(word.to_owned());
        } else {
            text.push_str(word);
        }
        rest = behind;
    }
    Key { text, names }
}

fn is_name_part(byte: char) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, '_' | '.' | '$')
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.char_indices().skip(1) {
        match byte {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}
