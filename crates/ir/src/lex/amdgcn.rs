//! Canonical form of AMD's assembly: `amdgcn`.
//!
//! Out: comments, `.file`, `.loc`, `.ident` (the compiler's build), `.cfi_*`, debug sections and the
//! labels that only they use, blank space. Renamed by order of appearance: local labels `.L…`.
//! Everything else stays, physical registers and metadata too.

use super::Numbering;
use super::line::{Kind, Lexer, Rules, word_bytes};
use crate::output::Output;

static RULES: Rules = Rules {
    word: word_bytes(b"_.$@"),
    sigils: b"",
    quoted_names: false,
    line_comments: &[b";", b"//"],
    block_comments: true,
    comment_tokens: false,
    double_colon: false,
    backslash: true,
};

const DEBUG_LABELS: [&[u8]; 6] =
    [b".Ltmp", b".Lfunc_begin", b".Lfunc_end", b".Ldebug", b".Linfo_string", b".Lline_table"];

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
            match bytes {
                b".section" | b".pushsection" => in_debug_section = names_debug_section(&lexer),
                b".text" | b".data" | b".bss" | b".popsection" | b".previous" | b".amdgpu_metadata" => {
                    in_debug_section = false;
                }
                _ => {}
            }
            let left_out = matches!(bytes, b".file" | b".loc" | b".ident") || bytes.starts_with(b".cfi_");
            if in_debug_section || left_out {
                lexer.skip_line();
                continue;
            }
            if lexer.next_byte() == Some(b':') && DEBUG_LABELS.iter().any(|prefix| bytes.starts_with(prefix))
            {
                lexer.next_token();
                continue;
            }
        }
        if in_debug_section {
            lexer.skip_line();
            continue;
        }
        at_line_start = false;
        if token.kind == Kind::Word && bytes.starts_with(b".L") {
            let number = labels.number(bytes);
            output.numbered(b".L", number, b"", token.start);
        } else {
            output.token(bytes, token.start);
        }
    }
    output.newline();
    output.incomplete |= lexer.open_ended;
}

fn names_debug_section(lexer: &Lexer<'_>) -> bool {
    let mut ahead = *lexer;
    ahead.next_token().is_some_and(|name| {
        let bytes = ahead.bytes(name);
        bytes.strip_prefix(b"\"").unwrap_or(bytes).starts_with(b".debug")
    })
}
