//! Canonical form of MLIR's textual form: `ttir`, `ttgir`.
//!
//! Out: locations (`loc(…)`, `#loc… = …`), comments, stamps, resource sections of tools, the input's own
//! spacing. Renamed by order of appearance: values and block labels (per function, a name means what it
//! means in its region) and aliases, whose definitions follow at the end in the order of first use.
//! Sorted: the attributes of a module. Everything else stays: operations, types, attributes, symbols,
//! strings, the order of operations and of arguments.
//!
//! Invariants: the result depends on tokens only, never on spacing; every definition is written once, so
//! the canonical text is never much longer than the text.

use rustc_hash::FxHashMap;

use super::Numbering;
use super::mlir_token::{Kind, Lexer, Token, contains, holds_dialect_data};
use crate::output::Output;
use crate::stamps;

/// Operations whose region arguments are named before the region without parentheses.
const LOOPS: [&[u8]; 3] = [b".for", b".parallel", b".forall"];

/// Writes the canonical form of `text`.
pub(crate) fn write(text: &[u8], output: &mut Output) {
    let mut writer = Writer::new(text);
    writer.run(0, text.len(), output);
    writer.aliases_at_end(output);
    output.newline();
    if let Some(name) = writer.duplicate {
        let name = String::from_utf8_lossy(name).into_owned();
        output.raw(text);
        output.warn(format!(
            "alias `{name}` is defined twice with different bodies: the text is compared as it stands"
        ));
    }
    output.incomplete |= writer.open_ended || !writer.frames.is_empty() || writer.parentheses > 0;
}

/// What an alias stands for.
struct Definition {
    start: usize,
    end: usize,
}

/// One open brace.
struct Frame {
    /// Opens a region rather than a dictionary.
    region: bool,
    /// Number of the region, unique in the text; a dictionary carries the one around it.
    region_id: u32,
    /// Open parentheses outside of the brace.
    parentheses: usize,
    /// Length of the log of bindings when the brace was opened.
    mark: usize,
    /// The function that `mark` counts in.
    function: u32,
}

struct Writer<'a> {
    text: &'a [u8],
    definitions: FxHashMap<&'a [u8], Definition>,
    duplicate: Option<&'a [u8]>,
    aliases: Numbering<'a>,
    alias_order: Vec<&'a [u8]>,
    values: FxHashMap<&'a [u8], u32>,
    next_value: u32,
    /// Bindings of the open regions, with what each name meant before.
    log: Vec<(&'a [u8], Option<u32>)>,
    /// Where the names of the coming region begin in the log.
    header: Option<usize>,
    labels: FxHashMap<(u32, &'a [u8]), u32>,
    function: u32,
    frames: Vec<Frame>,
    regions: u32,
    parentheses: usize,
    in_module_header: bool,
    in_dictionary: bool,
    open_ended: bool,
}

impl<'a> Writer<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            definitions: FxHashMap::default(),
            duplicate: None,
            aliases: Numbering::default(),
            alias_order: Vec::new(),
            values: FxHashMap::default(),
            next_value: 0,
            log: Vec::new(),
            header: None,
            labels: FxHashMap::default(),
            function: 0,
            frames: Vec::new(),
            regions: 0,
            parentheses: 0,
            in_module_header: false,
            in_dictionary: false,
            open_ended: false,
        }
    }

    /// Writes the tokens between two places.
    fn run(&mut self, start: usize, end: usize, output: &mut Output) {
        let mut lexer = Lexer::new(self.text, start, end);
        // The token before, to tell what begins an operation.
        let mut before: &[u8] = b"";
        while let Some(token) = lexer.next_token() {
            let bytes = lexer.bytes(token);
            match token.kind {
                Kind::Word => {
                    if bytes == b"loc" && lexer.peek_byte() == Some(b'(') {
                        if !lexer.skip_group() {
                            self.open_ended = true;
                        }
                        continue;
                    }
                    if bytes == b"attributes"
                        && self.in_module_header
                        && self.in_region()
                        && lexer.peek_byte() == Some(b'{')
                    {
                        self.module_attributes(&mut lexer, output);
                        before = b"}";
                        continue;
                    }
                    self.word(bytes, token, before, output);
                }
                Kind::Value => self.value(&lexer, token, before, output),
                Kind::Label => self.label(bytes, token, output),
                Kind::Attribute | Kind::Type => {
                    if self.is_definition(bytes, &lexer) {
                        self.definition(bytes, &mut lexer);
                        before = b"";
                        continue;
                    }
                    let defines = self.in_region()
                        && self.frames.is_empty()
                        && matches!(lexer.peek_byte(), Some(b'=' | b':'));
                    self.alias_or_dialect(bytes, token, defines, output);
                }
                Kind::Resources => {
                    self.resources(bytes, token, output);
                    continue;
                }
                Kind::Mark => self.mark(bytes, token, &lexer, output),
                Kind::Text => {
                    if self.at_operation_start(before) && bytes.len() > 2 && lexer.peek_byte() == Some(b'(') {
                        output.newline();
                    }
                    output.token(bytes, token.start);
                }
                Kind::Number | Kind::Symbol | Kind::Foreign => output.token(bytes, token.start),
            }
            before = bytes;
        }
        self.open_ended |= lexer.open_ended;
    }

    fn in_region(&self) -> bool {
        !self.in_dictionary && self.parentheses == 0 && self.frames.last().is_none_or(|frame| frame.region)
    }

    fn at_operation_start(&self, before: &[u8]) -> bool {
        self.in_region() && !matches!(before, b"=" | b"," | b":" | b"<" | b"[" | b"->" | b"")
    }

    fn word(&mut self, bytes: &[u8], token: Token, before: &[u8], output: &mut Output) {
        if matches!(bytes, b"module" | b"builtin.module") && self.in_region() {
            self.in_module_header = true;
            output.newline();
        } else if bytes.contains(&b'.') && self.in_region() && before != b"=" {
            if bytes.ends_with(b".func") {
                self.begin_function();
            }
            if self.at_operation_start(before) {
                output.newline();
            }
        }
        output.token(bytes, token.start);
    }

    /// A function sees no value from outside of itself.
    fn begin_function(&mut self) {
        self.values.clear();
        self.next_value = 0;
        self.log.clear();
        self.header = None;
        self.labels.clear();
        self.function = self.function.wrapping_add(1);
    }

    fn value(&mut self, lexer: &Lexer<'a>, token: Token, before: &[u8], output: &mut Output) {
        let bytes = lexer.bytes(token);
        let (name, result) = match bytes.iter().position(|&byte| byte == b'#') {
            Some(at) => bytes.split_at(at),
            None => (bytes, &b""[..]),
        };
        let assigned = lexer.peek_byte() == Some(b'=');
        let names_region = self.parentheses > 0
            || before == b"unsigned"
            || LOOPS.iter().any(|suffix| before.ends_with(suffix));
        let known = self.values.get(name).copied();
        let number = match known {
            Some(number) if !(assigned && names_region) => number,
            _ => {
                if names_region {
                    self.header.get_or_insert(self.log.len());
                } else if assigned {
                    self.header = None;
                }
                let number = self.next_value;
                self.next_value = self.next_value.wrapping_add(1);
                self.values.insert(name, number);
                self.log.push((name, known));
                number
            }
        };
        if self.in_region()
            && !names_region
            && !matches!(before, b"," | b"=" | b":")
            && self.begins_results(lexer)
        {
            output.newline();
        }
        output.numbered(b"%", number, result, token.start);
    }

    /// Whether a value that was just read begins `%a, %b:2 = `. Looks ahead no further than the list.
    fn begins_results(&self, lexer: &Lexer<'a>) -> bool {
        match lexer.peek_byte() {
            Some(b'=') => true,
            Some(b':') => {
                let mut ahead = *lexer;
                ahead.next_token();
                ahead.next_token().is_some_and(|token| token.kind == Kind::Number)
                    && ahead.peek_byte() == Some(b'=')
            }
            Some(b',') => {
                let mut ahead = *lexer;
                // Two results are common, longer lists are packed; a bound keeps long operand lists cheap.
                for _ in 0..16 {
                    ahead.next_token();
                    if ahead.next_token().is_none_or(|token| token.kind != Kind::Value) {
                        return false;
                    }
                    match ahead.peek_byte() {
                        Some(b'=') => return true,
                        Some(b',') => {}
                        _ => return false,
                    }
                }
                false
            }
            _ => false,
        }
    }

    fn label(&mut self, bytes: &'a [u8], token: Token, output: &mut Output) {
        let region = self.frames.last().map_or(0, |frame| frame.region_id);
        let next = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        let number = *self.labels.entry((region, bytes)).or_insert(next);
        output.numbered(b"^", number, b"", token.start);
    }

    fn is_definition(&self, bytes: &[u8], lexer: &Lexer<'a>) -> bool {
        self.frames.is_empty()
            && self.parentheses == 0
            && !self.in_dictionary
            && is_alias_name(bytes)
            && lexer.peek_byte() == Some(b'=')
    }

    fn definition(&mut self, name: &'a [u8], lexer: &mut Lexer<'a>) {
        lexer.next_token();
        let start = lexer.at;
        let mut first = *lexer;
        let location = first.next_token().is_some_and(|token| {
            token.kind == Kind::Word && first.bytes(token) == b"loc" && first.peek_byte() == Some(b'(')
        });
        if location {
            *lexer = first;
            if !lexer.skip_group() {
                self.open_ended = true;
            }
            self.open_ended |= lexer.open_ended;
            return;
        }
        lexer.skip_attribute();
        let definition = Definition { start, end: lexer.at };
        let Some(earlier) = self.definitions.get(name) else {
            self.definitions.insert(name, definition);
            return;
        };
        if !self.same_tokens(earlier, &definition) {
            self.duplicate.get_or_insert(name);
        }
    }

    fn same_tokens(&self, one: &Definition, other: &Definition) -> bool {
        let mut left = Lexer::new(self.text, one.start, one.end);
        let mut right = Lexer::new(self.text, other.start, other.end);
        loop {
            match (left.next_token(), right.next_token()) {
                (None, None) => return true,
                (Some(a), Some(b)) if left.bytes(a) == right.bytes(b) => {}
                _ => return false,
            }
        }
    }

    fn alias_or_dialect(&mut self, bytes: &'a [u8], token: Token, defines: bool, output: &mut Output) {
        if !is_alias_name(bytes) {
            // A canonical text read again: its definitions begin lines too.
            if defines && bytes[1].is_ascii_digit() {
                output.newline();
            }
            output.token(bytes, token.start);
            return;
        }
        let next = self.aliases.next();
        let number = self.aliases.number(bytes);
        if number == next {
            self.alias_order.push(bytes);
        }
        output.numbered(&bytes[..1], number, b"", token.start);
    }

    /// Definitions of the aliases in use, in order of first use; they may use further ones.
    fn aliases_at_end(&mut self, output: &mut Output) {
        let mut done = 0;
        self.in_dictionary = true;
        while let Some(&name) = self.alias_order.get(done) {
            let number = u32::try_from(done).unwrap_or(u32::MAX);
            done += 1;
            output.newline();
            match self.definitions.get(name) {
                Some(definition) => {
                    let (start, end) = (definition.start, definition.end);
                    output.numbered(&name[..1], number, b"", start);
                    output.token(b"=", start);
                    self.run(start, end, output);
                }
                // A location outside of `loc(…)`, in an attribute: it stays a location, whichever.
                None if name.starts_with(b"#loc") => {
                    output.numbered(&name[..1], number, b"", 0);
                    output.token(b": loc", 0);
                }
                // Unknown here: the name itself is all there is.
                None => {
                    output.numbered(&name[..1], number, b"", 0);
                    output.token(b":", 0);
                    output.token(&name[1..], 0);
                }
            }
        }
    }

    fn resources(&mut self, bytes: &[u8], token: Token, output: &mut Output) {
        if holds_dialect_data(bytes) {
            output.newline();
            output.token(bytes, token.start);
            output.newline();
            output
                .warn("a resource section holds data of the module: it is compared as it stands".to_owned());
        } else {
            output.warn("a resource section after the module is left out".to_owned());
            if contains(bytes, b"mlir_reproducer") {
                output.crash_reproducer = true;
                output.warn("crash reproducer present: the kernel failed to compile".to_owned());
            }
        }
    }

    fn mark(&mut self, bytes: &[u8], token: Token, lexer: &Lexer<'a>, output: &mut Output) {
        match bytes {
            b"(" => self.parentheses += 1,
            b")" => {
                if self.parentheses == 0 {
                    self.open_ended = true;
                }
                self.parentheses = self.parentheses.saturating_sub(1);
            }
            b"{" => {
                self.open_brace(lexer);
                output.token(bytes, token.start);
                if self.in_region() {
                    output.newline();
                }
                return;
            }
            b"}" => {
                if self.in_region() && !self.frames.is_empty() {
                    output.newline();
                }
                self.close_brace();
            }
            _ => {}
        }
        output.token(bytes, token.start);
    }

    fn open_brace(&mut self, lexer: &Lexer<'a>) {
        let region = !self.in_dictionary && !begins_dictionary(*lexer);
        let around = self.frames.last().map_or(0, |frame| frame.region_id);
        let region_id = if region {
            self.regions = self.regions.wrapping_add(1);
            self.in_module_header = false;
            self.regions
        } else {
            around
        };
        let mark = if region { self.header.take().unwrap_or(self.log.len()) } else { self.log.len() };
        self.frames.push(Frame {
            region,
            region_id,
            parentheses: self.parentheses,
            mark,
            function: self.function,
        });
        self.parentheses = 0;
    }

    fn close_brace(&mut self) {
        let Some(frame) = self.frames.pop() else {
            self.open_ended = true;
            return;
        };
        self.parentheses = frame.parentheses;
        if !frame.region {
            return;
        }
        self.header = None;
        let mark = if frame.function == self.function { frame.mark } else { 0 };
        while self.log.len() > mark {
            let Some((name, earlier)) = self.log.pop() else { break };
            match earlier {
                Some(number) => self.values.insert(name, number),
                None => self.values.remove(name),
            };
        }
    }

    /// Writes a module's dictionary sorted by key, without stamps; nothing at all if none is left.
    fn module_attributes(&mut self, lexer: &mut Lexer<'a>, output: &mut Output) {
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

/// An alias has no dot in its name, an attribute or type of a dialect has one.
fn is_alias_name(bytes: &[u8]) -> bool {
    bytes.len() > 1 && !bytes[1].is_ascii_digit() && !bytes.contains(&b'.')
}

fn unquoted(key: &[u8]) -> &[u8] {
    match key {
        [b'"', inner @ .., b'"'] => inner,
        _ => key,
    }
}

/// Whether the brace that was just read opens `{key = …}`, `{unit}` or `{}` rather than a region.
fn begins_dictionary(mut lexer: Lexer<'_>) -> bool {
    let Some(first) = lexer.next_token() else { return false };
    match first.kind {
        Kind::Word | Kind::Text => matches!(lexer.peek_byte(), Some(b'=' | b',' | b'}')),
        Kind::Mark => lexer.bytes(first) == b"}",
        _ => false,
    }
}
