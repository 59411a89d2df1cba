//! Canonical form of Cranelift IR: `clif`, `clif_opt`.
//!
//! Out: comments, source locations (`@0012` before an instruction), blank space. Renamed per function by
//! order of appearance: values `v12`, blocks `block3`. Everything else stays: function names, signatures,
//! stack slots, flags, instructions, aliases (`v3 -> v2`).

use super::Numbering;
use super::line::{Kind, Lexer, Rules, split_digits, word_bytes};
use crate::output::Output;

static RULES: Rules = Rules {
    word: word_bytes(b"_."),
    sigils: b"%@",
    quoted_names: false,
    line_comments: &[b";"],
    block_comments: false,
    comment_tokens: false,
    double_colon: false,
    backslash: true,
};

/// Writes the canonical form of `text`.
pub(crate) fn write(text: &[u8], output: &mut Output) {
    let mut lexer = Lexer::new(text, &RULES);
    let mut values = Numbering::default();
    let mut blocks = Numbering::default();
    let mut at_line_start = true;
    let mut depth = 0_usize;
    while let Some(token) = lexer.next_token() {
        let bytes = lexer.bytes(token);
        if token.kind == Kind::LineEnd {
            output.newline();
            at_line_start = true;
            continue;
        }
        let first = std::mem::replace(&mut at_line_start, false);
        match token.kind {
            Kind::Name if first && bytes[0] == b'@' && bytes[1..].iter().all(u8::is_ascii_hexdigit) => {}
            Kind::Word => {
                if bytes == b"function" && depth == 0 {
                    values.clear();
                    blocks.clear();
                }
                let (prefix, digits) = split_digits(bytes);
                match prefix {
                    b"v" if !digits.is_empty() => {
                        let number = values.number(bytes);
                        output.numbered(b"v", number, b"", token.start);
                    }
                    b"block" if !digits.is_empty() => {
                        let number = blocks.number(bytes);
                        output.numbered(b"block", number, b"", token.start);
                    }
                    _ => output.token(bytes, token.start),
                }
            }
            Kind::Mark => {
                match bytes {
                    b"{" => depth += 1,
                    b"}" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                output.token(bytes, token.start);
            }
            _ => output.token(bytes, token.start),
        }
    }
    output.newline();
    output.incomplete |= lexer.open_ended || depth > 0;
}
