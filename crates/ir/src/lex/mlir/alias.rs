//! Aliases of MLIR texts: `#blocked = …`, `!type = …`.
//!
//! A use is replaced by what the alias stands for, aliases inside it too. Where that would make the text
//! far longer (aliases that stand for several others, in chains) the whole text is written again with
//! aliases numbered by first use and each definition once, at the end. Both forms are exact; which one a
//! text gets follows from its meaning and length.

use rustc_hash::FxHashMap;

use super::Writer;
use super::token::{Kind, Lexer, Token};
use crate::lex::Numbering;
use crate::output::Output;

/// Aliases inside aliases that are replaced; compilers nest two or three.
const DEEPEST: usize = 32;
/// What replacing may add to a text, as a multiple of its length; a layout is about 14 times its alias.
const LONGEST_FACTOR: usize = 16;
/// What replacing may add to any text, in bytes.
const LONGEST_FREE: usize = 1 << 20;

/// Where the body of an alias stands.
struct Definition {
    start: usize,
    end: usize,
}

/// The aliases of one text.
pub(super) struct Aliases<'a> {
    definitions: FxHashMap<&'a [u8], Definition>,
    /// An alias with two bodies.
    pub(super) duplicate: Option<&'a [u8]>,
    /// The canonical bodies of aliases used so far.
    bodies: FxHashMap<&'a [u8], Vec<u8>>,
    /// Bytes that may still be added by replacing.
    budget: usize,
    depth: usize,
    /// The whole text was searched for definitions.
    surveyed: bool,
    /// Replacing adds too much.
    pub(super) too_long: bool,
    numbers: Option<Numbering<'a>>,
    order: Vec<&'a [u8]>,
}

impl Aliases<'_> {
    pub(super) fn new(length: usize) -> Self {
        Self {
            definitions: FxHashMap::default(),
            duplicate: None,
            bodies: FxHashMap::default(),
            budget: length.saturating_mul(LONGEST_FACTOR).saturating_add(LONGEST_FREE),
            depth: 0,
            surveyed: false,
            too_long: false,
            numbers: None,
            order: Vec::new(),
        }
    }

    /// Numbers aliases from now on.
    pub(super) fn number(&mut self) {
        self.numbers = Some(Numbering::default());
    }

    /// Takes from the budget.
    fn spend(&mut self, bytes: usize) {
        match self.budget.checked_sub(bytes) {
            Some(left) => self.budget = left,
            None => self.too_long = true,
        }
    }
}

impl<'a> Writer<'a> {
    pub(super) fn is_definition(&self, bytes: &[u8], lexer: &Lexer<'a>) -> bool {
        self.frames.is_empty()
            && self.parentheses == 0
            && !self.in_dictionary
            && is_alias_name(bytes)
            && lexer.peek_byte() == Some(b'=')
    }

    pub(super) fn definition(&mut self, name: &'a [u8], lexer: &mut Lexer<'a>) {
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
        let Some(earlier) = self.aliases.definitions.get(name) else {
            self.aliases.definitions.insert(name, definition);
            return;
        };
        if earlier.start != start && !self.same_tokens(earlier, &definition) {
            self.aliases.duplicate.get_or_insert(name);
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

    /// Writes what an alias stands for; an alias without definition stays.
    pub(super) fn alias(&mut self, name: &'a [u8], token: Token, output: &mut Output) {
        if let Some(numbers) = &mut self.aliases.numbers {
            let next = numbers.next();
            let number = numbers.number(name);
            if number == next {
                self.aliases.order.push(name);
            }
            output.numbered(&name[..1], number, b"", token.start);
            return;
        }
        if !self.aliases.bodies.contains_key(name) {
            self.replace(name);
        }
        match self.aliases.bodies.get(name) {
            Some(body) => {
                output.tokens(body, token.start);
                let length = body.len();
                self.aliases.spend(length);
            }
            None => output.token(name, token.start),
        }
    }

    /// Finds the canonical body of an alias.
    fn replace(&mut self, name: &'a [u8]) {
        if !self.aliases.definitions.contains_key(name) && !self.aliases.surveyed {
            self.survey();
        }
        let Some(&Definition { start, end }) = self.aliases.definitions.get(name) else { return };
        if self.aliases.depth == DEEPEST {
            self.aliases.too_long = true;
            return;
        }
        let mut body = Output::text(end - start);
        let nested = std::mem::replace(&mut self.in_dictionary, true);
        self.aliases.depth += 1;
        self.run(start, end, &mut body);
        self.aliases.depth -= 1;
        self.in_dictionary = nested;
        let (body, _) = body.into_text();
        self.aliases.spend(body.len());
        self.aliases.bodies.insert(name, body);
    }

    /// Searches the whole text: a definition may stand behind the use.
    fn survey(&mut self) {
        self.aliases.surveyed = true;
        let mut lexer = Lexer::new(self.text, 0, self.text.len());
        let mut depth = 0_usize;
        while let Some(token) = lexer.next_token() {
            match (token.kind, lexer.bytes(token)) {
                (Kind::Mark, b"(" | b"{") => depth += 1,
                (Kind::Mark, b")" | b"}") => depth = depth.saturating_sub(1),
                (Kind::Attribute | Kind::Type, name)
                    if depth == 0 && is_alias_name(name) && lexer.peek_byte() == Some(b'=') =>
                {
                    self.definition(name, &mut lexer);
                }
                _ => {}
            }
        }
    }

    /// Definitions of the aliases in use, in order of first use; they may use further ones.
    pub(super) fn numbered_aliases_at_end(&mut self, output: &mut Output) {
        let mut done = 0;
        self.in_dictionary = true;
        while let Some(&name) = self.aliases.order.get(done) {
            let number = u32::try_from(done).unwrap_or(u32::MAX);
            done += 1;
            output.newline();
            match self.aliases.definitions.get(name) {
                Some(definition) => {
                    let (start, end) = (definition.start, definition.end);
                    output.numbered(&name[..1], number, b"", start);
                    output.token(b"=", start);
                    self.run(start, end, output);
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
}

/// An alias has no dot in its name, an attribute or type of a dialect has one.
pub(super) fn is_alias_name(bytes: &[u8]) -> bool {
    bytes.len() > 1 && !bytes[1].is_ascii_digit() && !bytes.contains(&b'.')
}
