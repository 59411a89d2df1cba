//! Canonical form of LLVM IR: `llir`.
//!
//! Out: comments, `source_filename`, debug attachments and records (`!dbg`, `!srcloc`, `#dbg_…`,
//! `llvm.dbg.*`), debug metadata, `!llvm.ident`, blank space. Renamed by order of appearance: values and
//! labels (per function, the entry block right after the arguments as LLVM numbers it, named or not),
//! attribute groups and metadata nodes, whose definitions follow at the end in order of first use.
//! Everything else stays: target, globals, types, instructions, flags, attributes, strings.
//!
//! Invariant: every definition is written once, so the canonical text is never much longer than the text.

use rustc_hash::{FxHashMap, FxHashSet};

use super::line::{Kind, Lexer, Rules, Token, unquoted, word_bytes};
use super::{Numbering, contains};
use crate::output::Output;

static RULES: Rules = Rules {
    word: word_bytes(b"_.$-+"),
    sigils: b"%@!#^",
    quoted_names: true,
    line_comments: &[b";"],
    block_comments: false,
    comment_tokens: false,
    double_colon: false,
    backslash: false,
};

/// Writes the canonical form of `text`.
pub(crate) fn write(text: &[u8], output: &mut Output) {
    let mut writer = Writer {
        place: Place::Module,
        names: Numbering::default(),
        entry: None,
        types: FxHashSet::default(),
        groups: FxHashMap::default(),
        group_numbers: Numbering::default(),
        group_order: Vec::new(),
        nodes: FxHashMap::default(),
        node_numbers: Numbering::default(),
        node_order: Vec::new(),
        named: Vec::new(),
    };
    let mut lexer = Lexer::new(text, &RULES);
    writer.module(&mut lexer, output);
    writer.definitions_at_end(&lexer, output);
    output.newline();
    output.incomplete |= lexer.open_ended || writer.place != Place::Module;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Module,
    /// From `define` to the brace that opens the body.
    Header,
    Body,
}

/// The implicit name of an entry block without a label, and the number it is given.
struct Entry {
    implicit: u32,
    number: u32,
}

/// The definition of a metadata node.
struct Node {
    start: usize,
    end: usize,
    debug: bool,
}

struct Writer<'a> {
    place: Place,
    names: Numbering<'a>,
    entry: Option<Entry>,
    types: FxHashSet<&'a [u8]>,
    groups: FxHashMap<&'a [u8], (usize, usize)>,
    group_numbers: Numbering<'a>,
    group_order: Vec<&'a [u8]>,
    nodes: FxHashMap<&'a [u8], Node>,
    node_numbers: Numbering<'a>,
    node_order: Vec<&'a [u8]>,
    named: Vec<(&'a [u8], usize, usize)>,
}

impl<'a> Writer<'a> {
    fn module(&mut self, lexer: &mut Lexer<'a>, output: &mut Output) {
        let mut at_line_start = true;
        let mut comma: Option<usize> = None;
        let mut unnamed_arguments = 0;
        while let Some(token) = lexer.next_token() {
            let bytes = lexer.bytes(token);
            if at_line_start && token.kind != Kind::LineEnd {
                at_line_start = false;
                if self.begins_left_out_line(bytes, token, lexer) {
                    lexer.skip_line();
                    continue;
                }
                if matches!(token.kind, Kind::Word | Kind::Text)
                    && self.place == Place::Body
                    && lexer.next_byte() == Some(b':')
                {
                    lexer.at += 1;
                    let number = self.local(unquoted(bytes));
                    output.numbered(b"", number, b":", token.start);
                    output.newline();
                    continue;
                }
                match bytes {
                    b"define" => {
                        self.place = Place::Header;
                        self.names.clear();
                        self.entry = None;
                        unnamed_arguments = 0;
                    }
                    b"}" if self.place == Place::Body => self.place = Place::Module,
                    _ => {}
                }
            }
            if bytes == b"," && token.kind == Kind::Mark {
                comma = Some(token.start);
                continue;
            }
            if matches!(bytes, b"!dbg" | b"!srcloc") {
                comma = None;
                skip_node(lexer);
                continue;
            }
            if let Some(at) = comma.take() {
                output.token(b",", at);
            }
            match token.kind {
                Kind::LineEnd => {
                    output.newline();
                    at_line_start = true;
                }
                Kind::Name => {
                    if self.place == Place::Header
                        && bytes[0] == b'%'
                        && let Some(number) = decimal(&bytes[1..])
                    {
                        unnamed_arguments = unnamed_arguments.max(number.saturating_add(1));
                    }
                    self.name(bytes, token, output);
                }
                _ => {
                    output.token(bytes, token.start);
                    if bytes == b"{" && self.place == Place::Header && ends_line(lexer) {
                        self.place = Place::Body;
                        self.open_body(unnamed_arguments, lexer);
                        output.newline();
                        at_line_start = true;
                    }
                }
            }
        }
    }

    /// Lines that are debug information, name the source, or are definitions written at the end.
    fn begins_left_out_line(&mut self, bytes: &'a [u8], token: Token, lexer: &Lexer<'a>) -> bool {
        match token.kind {
            Kind::Word => match bytes {
                b"source_filename" => self.place == Place::Module,
                b"attributes" if self.place == Place::Module => {
                    let mut ahead = *lexer;
                    let Some(group) = ahead.next_token() else { return false };
                    if group.kind != Kind::Name || !ahead.bytes(group).starts_with(b"#") {
                        return false;
                    }
                    ahead.next_token();
                    let mut rest = ahead;
                    rest.skip_line();
                    self.groups.insert(ahead.bytes(group), (ahead.at, rest.at));
                    true
                }
                b"call" | b"tail" | b"notail" | b"musttail" | b"declare" => {
                    let mut rest = *lexer;
                    rest.skip_line();
                    let line = &lexer.text[token.start..rest.at];
                    let callee = line.split(|&byte| byte == b'(').next().unwrap_or(line);
                    contains(callee, b"@llvm.dbg.")
                }
                _ => false,
            },
            Kind::Name if bytes.starts_with(b"#dbg_") => self.place == Place::Body,
            Kind::Name
                if bytes[0] == b'!' && self.place == Place::Module && lexer.peek_byte() == Some(b'=') =>
            {
                let mut rest = *lexer;
                rest.next_token();
                let start = rest.at;
                rest.skip_line();
                if bytes[1].is_ascii_digit() {
                    let debug = is_debug(lexer.part(start, rest.at));
                    self.nodes.insert(bytes, Node { start, end: rest.at, debug });
                } else if !bytes.starts_with(b"!llvm.dbg.") && bytes != b"!llvm.ident" {
                    self.named.push((bytes, start, rest.at));
                }
                true
            }
            Kind::Name
                if bytes[0] == b'%' && self.place == Place::Module && lexer.peek_byte() == Some(b'=') =>
            {
                self.types.insert(bytes);
                false
            }
            _ => false,
        }
    }

    /// Numbers the entry block, and moves past its label if it has one.
    fn open_body(&mut self, unnamed_arguments: u32, lexer: &mut Lexer<'a>) {
        let mut ahead = *lexer;
        let first = loop {
            match ahead.next_token() {
                Some(token) if token.kind == Kind::LineEnd => {}
                other => break other,
            }
        };
        match first {
            Some(token)
                if matches!(token.kind, Kind::Word | Kind::Text) && ahead.next_byte() == Some(b':') =>
            {
                self.names.number(unquoted(ahead.bytes(token)));
                ahead.at += 1;
                *lexer = ahead;
            }
            _ => {
                let number = self.names.next();
                // Takes the number; no name can be a sigil.
                self.names.number(b"%");
                self.entry = Some(Entry { implicit: unnamed_arguments, number });
            }
        }
    }

    fn local(&mut self, name: &'a [u8]) -> u32 {
        if let Some(entry) = &self.entry
            && decimal(name) == Some(entry.implicit)
        {
            return entry.number;
        }
        self.names.number(name)
    }

    fn name(&mut self, bytes: &'a [u8], token: Token, output: &mut Output) {
        match bytes[0] {
            b'%' if self.place != Place::Module && !self.types.contains(bytes) => {
                let number = self.local(unquoted(&bytes[1..]));
                output.numbered(b"%", number, b"", token.start);
            }
            b'#' if bytes[1].is_ascii_digit() => {
                let next = self.group_numbers.next();
                let number = self.group_numbers.number(bytes);
                if number == next {
                    self.group_order.push(bytes);
                }
                output.numbered(b"#", number, b"", token.start);
            }
            b'!' if bytes[1].is_ascii_digit() => {
                let next = self.node_numbers.next();
                let number = self.node_numbers.number(bytes);
                if number == next {
                    self.node_order.push(bytes);
                }
                output.numbered(b"!", number, b"", token.start);
            }
            _ => output.token(bytes, token.start),
        }
    }

    fn definitions_at_end(&mut self, lexer: &Lexer<'a>, output: &mut Output) {
        self.place = Place::Module;
        let mut done = 0;
        while let Some(&group) = self.group_order.get(done) {
            output.newline();
            output.token(b"attributes", 0);
            output.numbered(b"#", u32::try_from(done).unwrap_or(u32::MAX), b"", 0);
            output.token(b"=", 0);
            done += 1;
            match self.groups.get(group) {
                Some(&(start, end)) => self.definition(lexer.part(start, end), output),
                None => output.token(group, 0),
            }
        }
        for (name, start, end) in std::mem::take(&mut self.named) {
            if self.lists_debug_only(lexer.part(start, end)) {
                continue;
            }
            output.newline();
            output.token(name, start);
            output.token(b"=", start);
            self.definition(lexer.part(start, end), output);
        }
        let mut done = 0;
        while let Some(&node) = self.node_order.get(done) {
            output.newline();
            output.numbered(b"!", u32::try_from(done).unwrap_or(u32::MAX), b"", 0);
            output.token(b"=", 0);
            done += 1;
            match self.nodes.get(node) {
                Some(&Node { start, end, .. }) => self.definition(lexer.part(start, end), output),
                None => output.token(node, 0),
            }
        }
    }

    /// Writes a definition without references to debug nodes.
    fn definition(&mut self, mut lexer: Lexer<'a>, output: &mut Output) {
        let mut comma = false;
        while let Some(token) = lexer.next_token() {
            let bytes = lexer.bytes(token);
            if token.kind == Kind::Name && self.is_debug_node(bytes) {
                comma = false;
                continue;
            }
            if bytes == b"," {
                comma = output.last_byte() != b'{';
                continue;
            }
            if comma {
                output.token(b",", token.start);
                comma = false;
            }
            if token.kind == Kind::Name {
                self.name(bytes, token, output);
            } else {
                output.token(bytes, token.start);
            }
        }
    }

    fn is_debug_node(&self, name: &[u8]) -> bool {
        self.nodes.get(name).is_some_and(|node| node.debug)
    }

    /// Whether a list holds references, and only such to debug nodes.
    fn lists_debug_only(&self, mut lexer: Lexer<'a>) -> bool {
        let mut found = false;
        while let Some(token) = lexer.next_token() {
            if token.kind == Kind::Name {
                if !self.is_debug_node(lexer.bytes(token)) {
                    return false;
                }
                found = true;
            }
        }
        found
    }
}

/// Whether a node is debug information, or a module flag about it: `!{i32 2, !"Debug Info Version", i32 3}`.
fn is_debug(mut lexer: Lexer<'_>) -> bool {
    for _ in 0..8 {
        let Some(token) = lexer.next_token() else { break };
        let bytes = lexer.bytes(token);
        if bytes.starts_with(b"!DI") {
            return true;
        }
        if bytes.starts_with(b"!\"") {
            return matches!(bytes, b"!\"Debug Info Version\"" | b"!\"Dwarf Version\"");
        }
    }
    false
}

/// Moves past the metadata that follows a debug attachment: `!7` or `!DILocation(…)`.
fn skip_node(lexer: &mut Lexer<'_>) {
    let mut ahead = *lexer;
    let Some(token) = ahead.next_token() else { return };
    if token.kind != Kind::Name || !ahead.bytes(token).starts_with(b"!") {
        return;
    }
    *lexer = ahead;
    if lexer.next_byte() == Some(b'(') {
        lexer.skip_group(b'(', b')');
    }
}

/// Whether nothing but blanks and a comment follows on this line.
fn ends_line(lexer: &Lexer<'_>) -> bool {
    let mut ahead = *lexer;
    ahead.next_token().is_none_or(|token| token.kind == Kind::LineEnd)
}

fn decimal(name: &[u8]) -> Option<u32> {
    if name.is_empty() || !name.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(name).ok()?.parse().ok()
}
