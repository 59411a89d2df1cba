//! Canonical form of MLIR's textual form: `ttir`, `ttgir`.
//!
//! Out: locations (`loc(…)`, `#loc… = …`), comments, stamps, resource sections of tools, the input's own
//! spacing. Renamed by order of appearance: values and block labels (per function, a name means what it
//! means in its region). Replaced: aliases by what they stand for. Sorted: the attributes of a module.
//! Everything else stays: operations, types, attributes, symbols, strings, the order of operations and of
//! arguments.
//!
//! Invariants: the result depends on tokens only, never on spacing; the canonical text is bounded by a
//! multiple of the text, whatever aliases stand for.

mod alias;
mod module;
pub(crate) mod token;

use rustc_hash::FxHashMap;

use self::alias::{Aliases, is_alias_name};
use self::token::{Kind, Lexer, Token, holds_dialect_data};
use super::contains;
use crate::output::Output;

/// Operations whose region arguments are named before the region without parentheses.
const LOOPS: [&[u8]; 3] = [b".for", b".parallel", b".forall"];

/// Writes the canonical form of `text`.
pub(crate) fn write(text: &[u8], output: &mut Output) {
    let mut writer = Writer::new(text);
    writer.run(0, text.len(), output);
    if writer.aliases.too_long {
        output.restart();
        writer = Writer::new(text);
        writer.aliases.number();
        writer.run(0, text.len(), output);
        writer.numbered_aliases_at_end(output);
    }
    output.newline();
    if let Some(name) = writer.aliases.duplicate {
        let name = String::from_utf8_lossy(name).into_owned();
        output.raw(text);
        output.warn(format!(
            "alias `{name}` is defined twice with different bodies: the text is compared as it stands"
        ));
    }
    output.incomplete |= writer.open_ended || !writer.frames.is_empty() || writer.parentheses > 0;
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
    aliases: Aliases<'a>,
    values: FxHashMap<&'a [u8], u32>,
    next_value: u32,
    /// Names of the open regions, in order of appearance.
    log: Vec<&'a [u8]>,
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
            aliases: Aliases::new(text.len()),
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
                    if is_alias_name(bytes) {
                        self.alias(bytes, token, output);
                        if self.aliases.too_long {
                            return;
                        }
                    } else {
                        output.token(bytes, token.start);
                    }
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
        let number = match self.values.get(name) {
            Some(&number) => number,
            None => {
                if names_region {
                    self.header.get_or_insert(self.log.len());
                } else if assigned {
                    self.header = None;
                }
                let number = self.next_value;
                self.next_value = self.next_value.wrapping_add(1);
                self.values.insert(name, number);
                self.log.push(name);
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
        for name in self.log.drain(mark.min(self.log.len())..) {
            self.values.remove(name);
        }
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
