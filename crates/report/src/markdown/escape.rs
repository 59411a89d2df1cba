//! Text from outside, within markdown.
//!
//! Names stand in code spans and sentences are escaped: neither can begin a table's cell, a link, a mention or a tag.

use crate::number;
use crate::text::{one_line, printable};

/// A code span; `–` for an empty text.
///
/// What a span cannot hold everywhere (a backtick; a `|`, which ends a table's cell) is written as HTML.
pub(super) fn code(text: &str) -> String {
    let text = printable(text.trim());
    if text.is_empty() || text == number::NONE {
        number::NONE.into()
    } else if text.contains(['`', '|']) {
        format!("<code>{}</code>", html(&text))
    } else {
        format!("`{text}`")
    }
}

/// A sentence: pairs of backticks become code spans, the rest is escaped.
pub(super) fn prose(text: &str) -> String {
    let text = one_line(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('`') {
        let Some((inside, behind)) = after.split_once('`') else { break };
        out.push_str(&escape(before));
        if inside.trim().is_empty() {
            out.push_str("\\`\\`");
        } else {
            out.push_str(&code(inside));
        }
        rest = behind;
    }
    out.push_str(&escape(rest));
    out
}

/// Escapes what markdown or HTML would take for its own.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (before, character, after) in neighbours(text) {
        match character {
            '_' if within_word(before, after) => out.push('_'),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '|' => out.push_str("&#124;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

/// Characters with those beside them.
fn neighbours(text: &str) -> Vec<(Option<char>, char, Option<char>)> {
    let characters: Vec<char> = text.chars().collect();
    let before = std::iter::once(None).chain(characters.iter().copied().map(Some));
    let after = characters.iter().copied().skip(1).map(Some).chain([None]);
    before.zip(&characters).zip(after).map(|((before, it), after)| (before, *it, after)).collect()
}

/// True for a place where `_` emphasises nothing.
fn within_word(before: Option<char>, after: Option<char>) -> bool {
    let word = |it: Option<char>| it.is_some_and(|it| it.is_ascii_alphanumeric());
    word(before) && word(after)
}

/// Text within HTML.
pub(super) fn html(text: &str) -> String {
    let mut out = String::new();
    for (before, character, after) in neighbours(&printable(text)) {
        match character {
            '_' if within_word(before, after) => out.push('_'),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Inline markdown is read within HTML too.
            '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '!' | '@' | '|' => {
                out.push_str(&format!("&#{};", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_ends_where_it_should() {
        assert_eq!(code("mm"), "`mm`");
        assert_eq!(code("a`b"), "<code>a&#96;b</code>");
        assert_eq!(code("<script>"), "`<script>`");
        assert_eq!(code(" "), "–");
        assert_eq!(code("a\\|b"), "<code>a&#92;&#124;b</code>");
    }

    #[test]
    fn prose_keeps_its_code_and_loses_its_power() {
        assert_eq!(prose("takes c64: `fft::c64`"), "takes c64: `fft::c64`");
        assert_eq!(prose("<b>*x*</b> `"), "&lt;b&gt;\\*x\\*&lt;/b&gt; \\`");
        assert_eq!(prose("[a](b) @you"), "\\[a\\](b) &#64;you");
        assert_eq!(html("a<b>_c_d"), "a&lt;b&gt;&#95;c_d");
    }
}
