//! Canonical form of NVIDIA's virtual assembly: `ptx`.
//!
//! Out: comments (the generator's header and build stamp are comments), `.file`, `.loc`, debug sections,
//! labels that only debug sections use, blank space. Renamed per function by order of appearance:
//! registers declared with a count (`.reg .b32 %r<45>`) within their prefix, and labels `$L…`. The count
//! itself goes: it is one more than the highest number, which says how registers were numbered, and
//! `ptxas` allocates them anew. Everything else stays: `.version`, `.target`, parameters, special
//! registers, names inside inline assembly, instructions.

use rustc_hash::FxHashMap;

use super::Numbering;
use super::line::{Kind, Lexer, Rules, Token, split_digits, word_bytes};
use crate::output::Output;

static RULES: Rules = Rules {
    word: word_bytes(b"_.$"),
    sigils: b"%@",
    quoted_names: false,
    line_comments: &[b"//", b"@@DWARF"],
    block_comments: true,
    comment_tokens: false,
    double_colon: true,
    backslash: true,
};

/// Labels that only line tables and debug sections refer to.
const DEBUG_LABELS: [&[u8]; 5] =
    [b"$L__tmp", b"$L__func_begin", b"$L__func_end", b"$L__info_string", b"$L__pc"];

/// Writes the canonical form of `text`.
pub(crate) fn write(text: &[u8], output: &mut Output) {
    let mut writer = Writer {
        depth: 0,
        prefixes: FxHashMap::default(),
        registers: FxHashMap::default(),
        labels: Numbering::default(),
    };
    let mut lexer = Lexer::new(text, &RULES);
    writer.run(&mut lexer, output);
    output.newline();
    output.incomplete |= lexer.open_ended || writer.depth > 0;
}

struct Writer<'a> {
    depth: usize,
    /// Prefixes declared in this function, and how many registers of each have been seen.
    prefixes: FxHashMap<&'a [u8], u32>,
    registers: FxHashMap<&'a [u8], u32>,
    labels: Numbering<'a>,
}

impl<'a> Writer<'a> {
    fn run(&mut self, lexer: &mut Lexer<'a>, output: &mut Output) {
        let mut at_line_start = true;
        let mut declares = false;
        while let Some(token) = lexer.next_token() {
            let bytes = lexer.bytes(token);
            if token.kind == Kind::LineEnd {
                output.newline();
                at_line_start = true;
                continue;
            }
            if at_line_start && token.kind == Kind::Word {
                at_line_start = false;
                if matches!(bytes, b".file" | b".loc") {
                    lexer.skip_line();
                    continue;
                }
                if bytes == b".section" && is_debug_section(lexer) {
                    if !lexer.skip_group(b'{', b'}') {
                        output.incomplete = true;
                    }
                    continue;
                }
                if self.is_label(lexer) && DEBUG_LABELS.iter().any(|prefix| bytes.starts_with(prefix)) {
                    lexer.next_token();
                    at_line_start = true;
                    continue;
                }
            }
            at_line_start = false;
            match token.kind {
                Kind::Word => {
                    if self.depth == 0 && matches!(bytes, b".entry" | b".func") {
                        self.prefixes.clear();
                        self.registers.clear();
                        self.labels.clear();
                    }
                    declares = bytes == b".reg" || (declares && bytes.starts_with(b"."));
                    if bytes.starts_with(b"$L") {
                        let number = self.labels.number(bytes);
                        output.numbered(b"$L", number, b"", token.start);
                    } else {
                        output.token(bytes, token.start);
                    }
                }
                Kind::Name => {
                    if declares && lexer.peek_byte() == Some(b'<') {
                        self.declare(bytes, lexer, token, output);
                    } else {
                        self.register(bytes, token, output);
                    }
                }
                Kind::Mark => {
                    match bytes {
                        b"{" => self.depth += 1,
                        b"}" => self.depth = self.depth.saturating_sub(1),
                        b";" => declares = false,
                        _ => {}
                    }
                    output.token(bytes, token.start);
                }
                _ => output.token(bytes, token.start),
            }
        }
    }

    fn is_label(&self, lexer: &Lexer<'a>) -> bool {
        lexer.next_byte() == Some(b':')
    }

    /// `%r<45>`: the prefix is declared, the count dropped.
    fn declare(&mut self, bytes: &'a [u8], lexer: &mut Lexer<'a>, token: Token, output: &mut Output) {
        self.prefixes.entry(bytes).or_insert(0);
        output.token(bytes, token.start);
        lexer.next_token();
        output.token(b"<", token.start);
        let here = *lexer;
        let counted = lexer.next_token().is_some_and(|count| {
            count.kind == Kind::Word && lexer.bytes(count).iter().all(u8::is_ascii_digit)
        });
        if !counted {
            *lexer = here;
        }
    }

    fn register(&mut self, bytes: &'a [u8], token: Token, output: &mut Output) {
        let (prefix, digits) = split_digits(bytes);
        if digits.is_empty() {
            output.token(bytes, token.start);
            return;
        }
        match self.prefixes.get_mut(prefix) {
            Some(seen) => {
                let number = *self.registers.entry(bytes).or_insert_with(|| {
                    let number = *seen;
                    *seen = seen.wrapping_add(1);
                    number
                });
                output.numbered(prefix, number, b"", token.start);
            }
            None => output.token(bytes, token.start),
        }
    }
}

fn is_debug_section(lexer: &Lexer<'_>) -> bool {
    let mut ahead = *lexer;
    ahead.next_token().is_some_and(|name| ahead.bytes(name).starts_with(b".debug"))
}
