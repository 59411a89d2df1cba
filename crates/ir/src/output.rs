//! Where canonical tokens go: into a text, or piece by piece into a hash.
//!
//! Keeps one invariant: the bytes are the same in both forms, so a [`crate::Digest`] is the SHA-256 of
//! [`crate::Canonical::text`]. Spacing is decided here from the tokens alone, never from the input's own.

use sha2::{Digest as _, Sha256};

use crate::stamps::{STAMP_PATTERNS, StampUse};

/// Bytes gathered before they are fed to the hash.
const PIECE_BYTES: usize = 1 << 16;

/// The class of the token written last, as far as spacing asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Open,
    Word,
    Other,
}

/// Receives canonical tokens and what was noticed on the way.
pub(crate) struct Output {
    buffer: Vec<u8>,
    hasher: Option<Sha256>,
    last: Last,
    last_byte: u8,
    lines: Option<Vec<Line>>,
    stamp_counts: [usize; STAMP_PATTERNS.len()],
    pub(crate) warnings: Vec<String>,
    pub(crate) raw: bool,
    pub(crate) incomplete: bool,
    pub(crate) crash_reproducer: bool,
}

/// Where one canonical line begins, in the canonical text and in the original.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) canonical_start: usize,
    pub(crate) original_start: usize,
}

impl Output {
    /// Keeps the text.
    pub(crate) fn text(capacity: usize) -> Self {
        Self::new(Vec::with_capacity(capacity), None, None)
    }

    /// Keeps the text, and for each of its lines where it came from.
    pub(crate) fn lines(capacity: usize) -> Self {
        Self::new(Vec::with_capacity(capacity), None, Some(Vec::new()))
    }

    /// Keeps the hash only; memory does not grow with the text.
    pub(crate) fn hash(capacity: usize) -> Self {
        let capacity = capacity.min(PIECE_BYTES + 4096);
        Self::new(Vec::with_capacity(capacity), Some(Sha256::new()), None)
    }

    fn new(buffer: Vec<u8>, hasher: Option<Sha256>, lines: Option<Vec<Line>>) -> Self {
        Self {
            buffer,
            hasher,
            last: Last::Nothing,
            last_byte: b'\n',
            lines,
            stamp_counts: [0; STAMP_PATTERNS.len()],
            warnings: Vec::new(),
            raw: false,
            incomplete: false,
            crash_reproducer: false,
        }
    }

    /// Ends the line, unless it is empty.
    pub(crate) fn newline(&mut self) {
        if self.last != Last::Nothing {
            self.buffer.push(b'\n');
            self.last = Last::Nothing;
            self.flush_if_full();
        }
    }

    /// Writes one token, made of `head` and `tail`, with a space before it where one belongs.
    ///
    /// `origin` is the token's place in the original text.
    pub(crate) fn token_of(&mut self, head: &[u8], tail: &[u8], origin: usize) {
        let Some(&first) = head.first().or(tail.first()) else {
            return;
        };
        if self.last == Last::Nothing {
            if let Some(lines) = &mut self.lines {
                lines.push(Line { canonical_start: self.buffer.len(), original_start: origin });
            }
        } else if !self.glued(first) {
            self.buffer.push(b' ');
        }
        self.buffer.extend_from_slice(head);
        self.buffer.extend_from_slice(tail);
        let length = head.len() + tail.len();
        self.last_byte = tail.last().or(head.last()).copied().unwrap_or(first);
        self.last = match first {
            b'(' | b'[' | b'<' if length == 1 => Last::Open,
            b'%' | b'#' | b'!' | b'@' | b'^' | b'$' | b'.' | b'_' if length > 1 => Last::Word,
            _ if first.is_ascii_alphanumeric() || first == b'_' => Last::Word,
            _ => Last::Other,
        };
        self.flush_if_full();
    }

    /// Writes one token as it stands.
    pub(crate) fn token(&mut self, bytes: &[u8], origin: usize) {
        self.token_of(bytes, b"", origin);
    }

    /// Writes one token with a space before it unless it begins the line, whatever it is.
    pub(crate) fn word(&mut self, bytes: &[u8], origin: usize) {
        if self.last != Last::Nothing && !bytes.is_empty() {
            self.buffer.push(b' ');
            self.buffer.extend_from_slice(bytes);
            self.last = Last::Other;
            self.flush_if_full();
        } else {
            self.token(bytes, origin);
        }
    }

    /// Writes `sigil`, a number and `tail` as one token: a renamed value, label or alias.
    pub(crate) fn numbered(&mut self, sigil: &[u8], number: u32, tail: &[u8], origin: usize) {
        let mut digits = [0_u8; 10];
        let mut at = digits.len();
        let mut rest = number;
        loop {
            at -= 1;
            // A remainder of 10 fits a byte.
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.token_of(sigil, &digits[at..], origin);
        if let Some(&last) = tail.last() {
            self.buffer.extend_from_slice(tail);
            self.last_byte = last;
        }
    }

    /// The last byte written on this line, `\n` when the line is empty.
    pub(crate) fn last_byte(&self) -> u8 {
        if self.last == Last::Nothing { b'\n' } else { self.last_byte }
    }

    fn glued(&self, first: u8) -> bool {
        match first {
            b',' | b')' | b']' | b';' => true,
            b'>' => self.last_byte != b'-',
            b'(' | b'[' | b'<' => matches!(self.last, Last::Word | Last::Open),
            _ => self.last == Last::Open,
        }
    }

    /// Writes tokens that were written elsewhere, spaces between them included.
    pub(crate) fn tokens(&mut self, bytes: &[u8], origin: usize) {
        if bytes.is_empty() {
            return;
        }
        self.token(bytes, origin);
        let word = self.last_byte.is_ascii_alphanumeric() || self.last_byte == b'_';
        self.last = if word { Last::Word } else { Last::Other };
    }

    /// Forgets everything written, to begin again.
    pub(crate) fn restart(&mut self) {
        self.buffer.clear();
        self.last = Last::Nothing;
        self.stamp_counts = [0; STAMP_PATTERNS.len()];
        if let Some(hasher) = &mut self.hasher {
            *hasher = Sha256::new();
        }
        if let Some(lines) = &mut self.lines {
            lines.clear();
        }
    }

    /// Counts one removed stamp.
    pub(crate) fn stamp(&mut self, pattern: usize) {
        self.stamp_counts[pattern] += 1;
    }

    /// Notes what a reader of the result must know.
    pub(crate) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) && self.warnings.len() < 100 {
            self.warnings.push(warning);
        }
    }

    /// Forgets all tokens and takes the text as it is: for input that has no canonical form.
    pub(crate) fn raw(&mut self, text: &[u8]) {
        self.restart();
        self.raw = true;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(text);
        } else {
            self.buffer.extend_from_slice(text);
        }
        if let Some(lines) = &mut self.lines {
            let mut start = 0;
            for piece in text.split_inclusive(|&byte| byte == b'\n') {
                lines.push(Line { canonical_start: start, original_start: start });
                start += piece.len();
            }
        }
    }

    fn flush_if_full(&mut self) {
        if self.buffer.len() >= PIECE_BYTES
            && let Some(hasher) = &mut self.hasher
        {
            hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    /// The patterns used, in the order of the list.
    pub(crate) fn stamp_uses(&self) -> Vec<StampUse> {
        STAMP_PATTERNS
            .iter()
            .zip(self.stamp_counts)
            .filter(|(_, count)| *count > 0)
            .map(|(pattern, count)| StampUse { pattern: pattern.shown.to_owned(), count })
            .collect()
    }

    /// The text, in the forms that keep it.
    pub(crate) fn into_text(self) -> (Vec<u8>, Vec<Line>) {
        (self.buffer, self.lines.unwrap_or_default())
    }

    /// SHA-256 of the text.
    pub(crate) fn into_sha256(self) -> [u8; 32] {
        let mut hasher = self.hasher.unwrap_or_default();
        hasher.update(&self.buffer);
        hasher.finalize().into()
    }
}
