//! Text from outside, made safe and brought to a width.
//!
//! Names of operators, kernels and cases, and errors of benchmarks, come from outside. Before one is printed its
//! unprintable characters are spelled out, so that it can neither move a cursor nor turn the direction of a line.
//! Widths are columns of a terminal: a CJK character takes two.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Spells out what does not print: control characters, format characters, combining marks, odd spaces.
///
/// `\t`, `\r`, `\n` and `\u{1b}`, as Rust writes them. Quotes and backslashes stay.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            ' '..='~' => out.push(character),
            _ => out.extend(character.escape_debug()),
        }
    }
    out
}

/// The same on one line of several: line ends become ` / `, runs of white space one space.
#[must_use]
pub fn one_line(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.split_whitespace().map(printable).collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" / ")
}

/// Columns that a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text itself where it fits into `columns`, else its beginning and `…`.
#[must_use]
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = take(text, columns.saturating_sub(1)).0.to_owned();
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Splits a text where `columns` are full; the first part may be empty.
fn take(text: &str, columns: usize) -> (&str, &str) {
    let mut used = 0;
    for (position, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > columns {
            return text.split_at(position);
        }
    }
    (text, "")
}

/// Fills up with spaces on the right.
#[must_use]
pub fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Fills up with spaces on the left.
#[must_use]
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Breaks a text into lines of at most `columns` (at least 2), at spaces where it has them.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() && width(&line) + 1 + width(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        while width(&line) > columns {
            let (head, tail) = take(&line, columns);
            let tail = tail.to_owned();
            lines.push(head.to_owned());
            line = tail;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// `1 case`, `2 cases`.
#[must_use]
pub fn count(number: impl Into<u64>, one: &str, many: &str) -> String {
    let number = number.into();
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_is_spelled_out() {
        assert_eq!(printable("a\u{1b}[31mb\tc\u{9b}d"), "a\\u{1b}[31mb\\tc\\u{9b}d");
        assert_eq!(printable("x\u{202e}y\u{200b}z"), "x\\u{202e}y\\u{200b}z");
        assert_eq!(printable("torch.Size([2]), 'out' \\ 矩阵 é"), "torch.Size([2]), 'out' \\ 矩阵 é");
    }

    #[test]
    fn an_error_of_several_lines_takes_one() {
        assert_eq!(one_line("RuntimeError:\r\n   bad \t dtype\n\n"), "RuntimeError: / bad dtype");
        assert_eq!(one_line(""), "");
    }

    #[test]
    fn a_cut_text_never_takes_more_than_it_may() {
        assert_eq!(cut("softmax", 7), "softmax");
        assert_eq!(cut("softmax", 6), "softm…");
        assert_eq!(cut("矩阵乘法", 6), "矩阵…");
        assert_eq!(cut("softmax", 0), "");
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("矩阵乘法", 3), ["矩", "阵", "乘", "法"]);
        assert!(wrap("", 10).is_empty());
    }
}
