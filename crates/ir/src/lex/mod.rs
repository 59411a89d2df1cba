//! The lexers, one room per language, and what they share.
//!
//! Each room reads one family of texts token by token (strings, comments, names are tokens, never
//! searched for inside a line) and writes canonical tokens. Invariant of all rooms: every step moves
//! forward, and nothing recurses with the depth of the input.

pub(crate) mod amdgcn;
pub(crate) mod clif;
pub(crate) mod cubin;
pub(crate) mod line;
pub(crate) mod llvm;
pub(crate) mod mlir;
pub(crate) mod ptx;
pub(crate) mod sass;
pub(crate) mod vcode;

use rustc_hash::FxHashMap;

/// Bytes that separate tokens on a line.
pub(crate) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// The place after the last byte from `at` on for which `keep` holds.
pub(crate) fn run_end(text: &[u8], at: usize, keep: impl Fn(u8) -> bool) -> usize {
    text[at..].iter().position(|&byte| !keep(byte)).map_or(text.len(), |length| at + length)
}

/// The place of the next line end from `at` on, or the end of the text.
pub(crate) fn line_end(text: &[u8], at: usize) -> usize {
    run_end(text, at, |byte| byte != b'\n')
}

/// The place after `needle`, searched from `at` on.
pub(crate) fn after(text: &[u8], at: usize, needle: &[u8; 2]) -> Option<usize> {
    text[at..].windows(2).position(|pair| pair == needle).map(|found| at + found + 2)
}

/// Whether `name` is in `text`, anywhere.
pub(crate) fn contains(text: &[u8], name: &[u8]) -> bool {
    text.windows(name.len()).any(|window| window == name)
}

/// Numbers names in order of appearance.
#[derive(Default)]
pub(crate) struct Numbering<'a> {
    numbers: FxHashMap<&'a [u8], u32>,
}

impl<'a> Numbering<'a> {
    /// The number of `name`, a new one if it is seen for the first time.
    pub(crate) fn number(&mut self, name: &'a [u8]) -> u32 {
        let next = self.next();
        *self.numbers.entry(name).or_insert(next)
    }

    /// The number that the next new name gets.
    pub(crate) fn next(&self) -> u32 {
        u32::try_from(self.numbers.len()).unwrap_or(u32::MAX)
    }

    /// Starts again.
    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
    }
}
