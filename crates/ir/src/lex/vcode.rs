//! Canonical form of Cranelift's machine code in text: `vcode`.
//!
//! Registers are assigned and labels numbered by position here, so nothing is renamed: white space is
//! normalised, blank lines go, all else stays.

use super::{is_blank, run_end};
use crate::output::Output;

/// Writes the canonical form of `text`.
pub(crate) fn write(text: &[u8], output: &mut Output) {
    let mut at = 0;
    while at < text.len() {
        let start = run_end(text, at, is_blank);
        if text.get(start) == Some(&b'\n') {
            output.newline();
            at = start + 1;
            continue;
        }
        let end = run_end(text, start, |byte| byte != b'\n' && !is_blank(byte));
        output.word(&text[start..end], start);
        at = end;
    }
    output.newline();
}
