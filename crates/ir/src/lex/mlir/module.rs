//! The attributes of a module: without stamps, in the order of their names.

use super::Writer;
use super::token::Lexer;
use crate::output::Output;
use crate::stamps;

impl<'a> Writer<'a> {
    /// Writes a module's dictionary sorted by key, without stamps; nothing at all if none is left.
    pub(super) fn module_attributes(&mut self, lexer: &mut Lexer<'a>, output: &mut Output) {
        self.in_module_header = false;
        let word_at = lexer.at;
        let Some(brace) = lexer.next_token() else { return };
        let mut entries: Vec<(&'a [u8], usize, usize)> = Vec::new();
        let mut depth = 0_usize;
        let mut start = lexer.at;
        let mut key: &'a [u8] = b"";
        let closed = loop {
            let Some(token) = lexer.next_token() else { break false };
            let bytes = lexer.bytes(token);
            if key.is_empty() {
                key = bytes;
            }
            let end_of_entry = match bytes {
                b"(" | b"[" | b"{" | b"<" => {
                    depth += 1;
                    false
                }
                b")" | b"]" | b">" => {
                    depth = depth.saturating_sub(1);
                    false
                }
                b"}" if depth > 0 => {
                    depth -= 1;
                    false
                }
                b"}" => true,
                b"," => depth == 0,
                _ => false,
            };
            if end_of_entry {
                if start < token.start && key != bytes {
                    entries.push((unquoted(key), start, token.start));
                }
                start = token.end;
                key = b"";
                if bytes == b"}" {
                    break true;
                }
            }
        };
        if !closed {
            entries.push((unquoted(key), start, lexer.at));
            self.open_ended = true;
        }
        entries.retain(|(name, _, _)| match stamps::matching(name) {
            Some(pattern) => {
                output.stamp(pattern);
                false
            }
            None => true,
        });
        entries.sort_by(|one, other| one.0.cmp(other.0));
        if entries.is_empty() {
            return;
        }
        output.token(b"attributes", word_at);
        output.token(b"{", brace.start);
        let nested = std::mem::replace(&mut self.in_dictionary, true);
        for (index, (_, start, end)) in entries.into_iter().enumerate() {
            if index > 0 {
                output.token(b",", start);
            }
            self.run(start, end, output);
        }
        self.in_dictionary = nested;
        output.token(b"}", lexer.at);
    }
}

fn unquoted(key: &[u8]) -> &[u8] {
    match key {
        [b'"', inner @ .., b'"'] => inner,
        _ => key,
    }
}
