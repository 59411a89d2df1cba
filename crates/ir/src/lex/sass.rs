//! Canonical form of NVIDIA's disassembled machine code: `sass`.
//!
//! Out: addresses (`/*0010*/`, they follow from the order), source comments, the lines about host and
//! file around the code, debug sections, blank space. Kept: the encodings (`/* 0x… */`), because they
//! hold what the text does not show (stall counts, barriers, reuse flags). Renamed per function by order
//! of appearance: labels `.L…`. Registers are physical and stay.

use super::Numbering;
use super::line::{Kind, Lexer, Rules, word_bytes};
use crate::output::Output;

static RULES: Rules = Rules {
    word: word_bytes(b"_.$"),
    sigils: b"",
    quoted_names: false,
    line_comments: &[b"//"],
    block_comments: true,
    comment_tokens: true,
    double_colon: false,
    backslash: true,
};

/// How the lines begin that tell about the file rather than the code.
const FILE_LINES: [&[u8]; 6] =
    [b"Fatbin", b"host", b"compile_size", b"identifier", b"producer", b"compressed"];

/// Writes the canonical form of `text`.
pub(crate) fn write(text: &[u8], output: &mut Output) {
    let mut lexer = Lexer::new(text, &RULES);
    let mut labels = Numbering::default();
    let mut at_line_start = true;
    let mut in_debug_section = false;
    while let Some(token) = lexer.next_token() {
        let bytes = lexer.bytes(token);
        if token.kind == Kind::LineEnd {
            output.newline();
            at_line_start = true;
            continue;
        }
        if at_line_start && token.kind == Kind::Word {
            if bytes == b".section" {
                in_debug_section = names_debug_section(&lexer);
            }
            if FILE_LINES.contains(&bytes) && matches!(lexer.peek_byte(), Some(b'=' | b'e')) {
                lexer.skip_line();
                continue;
            }
            if bytes == b"Function" {
                in_debug_section = false;
                labels.clear();
            }
        }
        if in_debug_section || (at_line_start && bytes == b"=") {
            lexer.skip_line();
            continue;
        }
        at_line_start = false;
        match token.kind {
            Kind::Comment => {
                let inside = bytes.get(2..bytes.len().saturating_sub(2)).unwrap_or(b"").trim_ascii();
                if inside.starts_with(b"0x") && inside.iter().all(u8::is_ascii_alphanumeric) {
                    output.token(b"/*", token.start);
                    output.token(inside, token.start);
                    output.token(b"*/", token.start);
                } else {
                    // An address leaves the line at its start.
                    at_line_start = output.last_byte() == b'\n';
                }
            }
            Kind::Word if bytes.starts_with(b".L") => {
                let number = labels.number(bytes);
                output.numbered(b".L", number, b"", token.start);
            }
            _ => output.token(bytes, token.start),
        }
    }
    output.newline();
    output.incomplete |= lexer.open_ended;
}

fn names_debug_section(lexer: &Lexer<'_>) -> bool {
    let mut ahead = *lexer;
    ahead.next_token().is_some_and(|name| {
        let bytes = ahead.bytes(name);
        let bytes = bytes.strip_prefix(b"\"").unwrap_or(bytes);
        [&b".debug"[..], b".nv_debug", b".nv.debug"].iter().any(|prefix| bytes.starts_with(prefix))
    })
}
