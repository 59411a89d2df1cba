//! Tokens of the languages in which a line end means something: LLVM IR, assemblies, Cranelift IR.
//!
//! One lexer with a table of rules per language. Comments and blanks are skipped, line ends are tokens.

use super::{is_blank, line_end, run_end};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name, number, mnemonic or directive.
    Word,
    /// A name with its sigil: `%r1`, `@f`, `!dbg`, `#0`; the name may be quoted.
    Name,
    /// A quoted string, quotes included.
    Text,
    /// A block comment, in languages that keep them apart from blanks.
    Comment,
    /// The end of a line.
    LineEnd,
    /// `->`, or one byte of anything else.
    Mark,
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Letters, digits, and `more`: the bytes that a word is made of.
pub(crate) const fn word_bytes(more: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut index = 0;
    while index < more.len() {
        table[more[index] as usize] = true;
        index += 1;
    }
    table
}

/// What differs between the languages.
pub(crate) struct Rules {
    /// Bytes that a word is made of.
    pub(crate) word: [bool; 256],
    /// Bytes that begin a name when a word byte (or a quote, if `quoted_names`) follows.
    pub(crate) sigils: &'static [u8],
    /// Whether a name may be a quoted string.
    pub(crate) quoted_names: bool,
    /// What begins a comment that reaches to the end of the line.
    pub(crate) line_comments: &'static [&'static [u8]],
    /// Whether `/* … */` is a comment.
    pub(crate) block_comments: bool,
    /// Whether block comments are tokens.
    pub(crate) comment_tokens: bool,
    /// Whether `::` between word bytes belongs to the word, as in `shared::cta`.
    pub(crate) double_colon: bool,
    /// Whether a backslash protects the byte after it inside a string.
    pub(crate) backslash: bool,
}

/// Reads tokens from `at` on.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) at: usize,
    pub(crate) end: usize,
    pub(crate) rules: &'static Rules,
    /// A string or comment that does not end was seen.
    pub(crate) open_ended: bool,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a [u8], rules: &'static Rules) -> Self {
        Self { text, at: 0, end: text.len(), rules, open_ended: false }
    }

    /// The same rules on a part of the text.
    pub(crate) fn part(&self, start: usize, end: usize) -> Self {
        Self { at: start, end, open_ended: false, ..*self }
    }

    /// The bytes of a token.
    pub(crate) fn bytes(&self, token: Token) -> &'a [u8] {
        &self.text[token.start..token.end]
    }

    /// The byte right after the last token.
    pub(crate) fn next_byte(&self) -> Option<u8> {
        self.text[..self.end].get(self.at).copied()
    }

    /// The next byte that is not blank, line ends included, without moving.
    pub(crate) fn peek_byte(&self) -> Option<u8> {
        let text = &self.text[..self.end];
        text.get(run_end(text, self.at, is_blank)).copied()
    }

    /// Moves to the end of this line; its line end is the next token.
    pub(crate) fn skip_line(&mut self) {
        self.at = line_end(&self.text[..self.end], self.at);
    }

    /// The next token, or `None` at the end.
    pub(crate) fn next_token(&mut self) -> Option<Token> {
        let text = &self.text[..self.end];
        let rules = self.rules;
        loop {
            let start = run_end(text, self.at, is_blank);
            let rest = &text[start..];
            let Some(&first) = rest.first() else {
                self.at = self.end;
                return None;
            };
            if rules.word[first as usize] {
                self.at = word_end(text, start, rules);
                return Some(Token { kind: Kind::Word, start, end: self.at });
            }
            if rules.line_comments.iter().any(|mark| rest.starts_with(mark)) {
                self.at = line_end(text, start);
                continue;
            }
            if rules.block_comments && rest.starts_with(b"/*") {
                self.at = super::after(text, start + 2, b"*/").unwrap_or_else(|| {
                    self.open_ended = true;
                    text.len()
                });
                if rules.comment_tokens {
                    return Some(Token { kind: Kind::Comment, start, end: self.at });
                }
                continue;
            }
            let (kind, end) = if first == b'\n' {
                (Kind::LineEnd, start + 1)
            } else if first == b'"' {
                (Kind::Text, self.text_end(start))
            } else if rest.starts_with(b"->") {
                (Kind::Mark, start + 2)
            } else if rules.sigils.contains(&first) {
                match rest.get(1) {
                    Some(b'"') if rules.quoted_names => (Kind::Name, self.text_end(start + 1)),
                    Some(&second) if rules.word[second as usize] => {
                        (Kind::Name, run_end(text, start + 1, |byte| rules.word[byte as usize]))
                    }
                    _ => (Kind::Mark, start + 1),
                }
            } else {
                (Kind::Mark, start + 1)
            };
            self.at = end;
            return Some(Token { kind, start, end });
        }
    }

    fn text_end(&mut self, quote: usize) -> usize {
        let text = &self.text[..self.end];
        let mut at = quote + 1;
        while let Some(&byte) = text.get(at) {
            match byte {
                b'"' => return at + 1,
                b'\\' if self.rules.backslash => at += 2,
                _ => at += 1,
            }
        }
        self.open_ended = true;
        text.len()
    }

    /// Moves past the group whose opening bracket comes next; `false` if it does not end.
    pub(crate) fn skip_group(&mut self, open: u8, close: u8) -> bool {
        let mut depth = 0_usize;
        while let Some(token) = self.next_token() {
            if token.kind == Kind::Mark {
                let byte = self.text[token.start];
                if byte == open {
                    depth += 1;
                } else if byte == close {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return true;
                    }
                }
            }
        }
        false
    }
}

fn word_end(text: &[u8], start: usize, rules: &Rules) -> usize {
    let mut end = run_end(text, start, |byte| rules.word[byte as usize]);
    while rules.double_colon
        && text[end..].starts_with(b"::")
        && text.get(end + 2).is_some_and(|&byte| rules.word[byte as usize])
    {
        end = run_end(text, end + 2, |byte| rules.word[byte as usize]);
    }
    end
}

/// The name without its quotes.
pub(crate) fn unquoted(name: &[u8]) -> &[u8] {
    match name {
        [b'"', inner @ .., b'"'] => inner,
        _ => name,
    }
}

/// Splits a word into what comes before its last digits, and those digits.
pub(crate) fn split_digits(word: &[u8]) -> (&[u8], &[u8]) {
    let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    word.split_at(word.len() - digits)
}
