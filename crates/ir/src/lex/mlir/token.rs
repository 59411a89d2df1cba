//! Tokens of MLIR's textual form.
//!
//! Follows the lexical part of MLIR's language reference (identifiers, suffix-ids, strings with
//! backslash escapes, `//` comments, `{-# … #-}`). Leaves their meaning to [`super::mlir`].

use crate::lex::{line_end, run_end};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A bare identifier, keyword or operation name.
    Word,
    /// A number, or a run that begins with a digit, such as `128x256xf32`.
    Number,
    /// A quoted string, quotes included.
    Text,
    /// `%name` with an optional `#3`.
    Value,
    /// `^name`.
    Label,
    /// `@name` or `@"name"`.
    Symbol,
    /// `#name`: an alias, or an attribute of a dialect when it holds a dot.
    Attribute,
    /// `!name`: an alias, or a type of a dialect when it holds a dot.
    Type,
    /// A resource section, whole.
    Resources,
    /// One or two punctuation bytes.
    Mark,
    /// A run of bytes that belong to no MLIR text.
    Foreign,
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Reads tokens from `at` up to `end`.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) at: usize,
    pub(crate) end: usize,
    /// A string or resource section that does not end was seen.
    pub(crate) open_ended: bool,
}

const WORD: u8 = 1;
const NAME: u8 = 2;
const SPACE: u8 = 4;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let class = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'$' => WORD | NAME,
            b'-' => NAME,
            b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => SPACE,
            _ => 0,
        };
        classes[byte] = class;
        byte += 1;
    }
    classes
};

const fn is(byte: u8, class: u8) -> bool {
    CLASSES[byte as usize] & class != 0
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a [u8], at: usize, end: usize) -> Self {
        Self { text, at, end, open_ended: false }
    }

    /// The bytes of a token.
    pub(crate) fn bytes(&self, token: Token) -> &'a [u8] {
        &self.text[token.start..token.end]
    }

    /// The first byte that is neither blank nor comment from here on, without moving.
    pub(crate) fn peek_byte(&self) -> Option<u8> {
        let at = self.skip_space();
        self.text[..self.end].get(at).copied()
    }

    fn skip_space(&self) -> usize {
        let text = &self.text[..self.end];
        let mut at = self.at;
        while at < text.len() {
            if is(text[at], SPACE) {
                at += 1;
            } else if text[at] == b'/' && text.get(at + 1) == Some(&b'/') {
                at = line_end(text, at);
            } else {
                break;
            }
        }
        at
    }

    /// The next token, or `None` at the end.
    pub(crate) fn next_token(&mut self) -> Option<Token> {
        let start = self.skip_space();
        let text = &self.text[..self.end];
        let Some(&first) = text.get(start) else {
            self.at = self.end;
            return None;
        };
        let second = text.get(start + 1).copied().unwrap_or(0);
        let (kind, end) = match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => (Kind::Word, run_end(text, start, |byte| is(byte, WORD))),
            b'0'..=b'9' => (Kind::Number, number_end(text, start)),
            b'%' => (Kind::Value, value_end(text, start)),
            b'#' if is(second, NAME) => (Kind::Attribute, name_end(text, start + 1)),
            b'!' if is(second, NAME) => (Kind::Type, name_end(text, start + 1)),
            b'^' if is(second, NAME) => (Kind::Label, name_end(text, start + 1)),
            b'@' if second == b'"' => (Kind::Symbol, self.text_end(start + 1)),
            b'@' if is(second, WORD) => (Kind::Symbol, run_end(text, start + 1, |byte| is(byte, NAME))),
            b'"' => (Kind::Text, self.text_end(start)),
            b'{' if second == b'-' && text.get(start + 2) == Some(&b'#') => {
                (Kind::Resources, self.resources_end(start + 3))
            }
            b'-' if second == b'>' => (Kind::Mark, start + 2),
            b'>' | b'=' if second == b'=' => (Kind::Mark, start + 2),
            b':' if second == b':' => (Kind::Mark, start + 2),
            0x21..=0x7e => (Kind::Mark, start + 1),
            _ => {
                (Kind::Foreign, run_end(text, start, |byte| !matches!(byte, 0x21..=0x7e) && !is(byte, SPACE)))
            }
        };
        self.at = end;
        Some(Token { kind, start, end })
    }

    fn text_end(&mut self, quote: usize) -> usize {
        let text = &self.text[..self.end];
        let mut at = quote + 1;
        while let Some(&byte) = text.get(at) {
            match byte {
                b'"' => return at + 1,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.open_ended = true;
        self.end
    }

    /// The end of a resource section; a `#-}` inside a string does not end it.
    fn resources_end(&mut self, inside: usize) -> usize {
        let text = &self.text[..self.end];
        let mut at = inside;
        while let Some(&byte) = text.get(at) {
            match byte {
                b'"' => at = self.text_end(at),
                b'#' if text[at..].starts_with(b"#-}") => return at + 3,
                _ => at += 1,
            }
        }
        self.open_ended = true;
        self.end
    }

    /// Moves past the bracket group whose opening bracket comes next; `false` if it does not end.
    ///
    /// Only strings, brackets, arrows and comments matter inside, so this reads bytes, not tokens.
    pub(crate) fn skip_group(&mut self) -> bool {
        let text = &self.text[..self.end];
        let mut depth = 0_usize;
        let mut at = self.at;
        while let Some(&byte) = text.get(at) {
            match byte {
                b'(' | b'[' | b'{' | b'<' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b'>' if text[at - 1] != b'-' && text.get(at + 1) != Some(&b'=') => {
                    depth = depth.saturating_sub(1);
                }
                b'"' => {
                    at = self.text_end(at);
                    continue;
                }
                b'/' if text.get(at + 1) == Some(&b'/') => {
                    at = line_end(text, at);
                    continue;
                }
                _ => {
                    at += 1;
                    continue;
                }
            }
            at += 1;
            if depth == 0 {
                self.at = at;
                return true;
            }
        }
        self.at = self.end;
        false
    }

    /// Moves past one attribute or type as it stands to the right of `#alias =`.
    ///
    /// A value is a token with the bracket groups that follow it, then `: type` or `-> type` any number
    /// of times.
    pub(crate) fn skip_attribute(&mut self) {
        loop {
            match self.peek_byte() {
                Some(b'(' | b'[' | b'{' | b'<') => {}
                Some(b'-') => {
                    self.next_token();
                    self.next_token();
                }
                _ => {
                    self.next_token();
                }
            }
            while let Some(b'(' | b'[' | b'{' | b'<') = self.peek_byte() {
                if !self.skip_group() {
                    return;
                }
            }
            let here = *self;
            match self.next_token() {
                Some(mark) if matches!(self.bytes(mark), b":" | b"->") => {}
                _ => {
                    *self = here;
                    return;
                }
            }
        }
    }
}

fn name_end(text: &[u8], at: usize) -> usize {
    // A suffix-id is either all digits or begins with something else; `-` belongs to the latter only,
    // and never before `>`, where it begins an arrow.
    if text[at].is_ascii_digit() {
        return run_end(text, at, |byte| byte.is_ascii_digit());
    }
    let end = run_end(text, at, |byte| is(byte, NAME));
    if text.get(end) == Some(&b'>') && text[end - 1] == b'-' { end - 1 } else { end }
}

fn value_end(text: &[u8], start: usize) -> usize {
    let Some(&second) = text.get(start + 1) else { return start + 1 };
    if !is(second, NAME) {
        return start + 1;
    }
    let end = name_end(text, start + 1);
    if text.get(end) == Some(&b'#') && text.get(end + 1).is_some_and(u8::is_ascii_digit) {
        return run_end(text, end + 1, |byte| byte.is_ascii_digit());
    }
    end
}

fn number_end(text: &[u8], start: usize) -> usize {
    let end = run_end(text, start, |byte| is(byte, WORD));
    let exponent = matches!(text[end - 1], b'e' | b'E')
        && matches!(text.get(end), Some(b'+' | b'-'))
        && text.get(end + 1).is_some_and(u8::is_ascii_digit)
        && text[start..end - 1].iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    if exponent { run_end(text, end + 1, |byte| is(byte, WORD)) } else { end }
}

/// Whether a resource section holds data that the code reads, rather than notes of a tool.
pub(crate) fn holds_dialect_data(section: &[u8]) -> bool {
    let needle = b"dialect_resources";
    let mut at = 0;
    while let Some(&byte) = section.get(at) {
        if byte == b'"' {
            let mut lexer = Lexer::new(section, at, section.len());
            lexer.next_token();
            at = lexer.at;
        } else if section[at..].starts_with(needle) {
            return true;
        } else {
            at += 1;
        }
    }
    false
}
