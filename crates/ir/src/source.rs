//! From a line of compiler output back to the line of the user's program, and to readable text.
//!
//! The canonical form throws locations away; this is where a view gets them back. Only views may use it:
//! nothing here decides whether two texts are the same.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::lex::mlir::token::{Kind, Lexer};
use crate::stage::Stage;

/// Aliases of aliases followed before giving up; real chains have fewer than 10.
const LONGEST_CHAIN: usize = 64;

/// A line of the user's program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourcePlace {
    /// File name without folders.
    pub file: String,
    /// Line, counted from 1; 0 where the compiler knows none.
    pub line: u32,
}

/// Knows for each line of one text where it comes from.
pub(crate) enum Places<'a> {
    /// `#loc7` and what it stands for.
    Mlir(FxHashMap<&'a [u8], &'a [u8]>),
    /// `!7` and what it stands for.
    Llvm(FxHashMap<&'a [u8], &'a [u8]>),
    /// The place in force on each line.
    Directives(Vec<Option<SourcePlace>>),
    Unknown,
}

impl<'a> Places<'a> {
    pub(crate) fn of(stage: &Stage, text: &'a [u8]) -> Self {
        let definitions = |sigil: u8| {
            text.split(|&byte| byte == b'\n')
                .filter(|line| line.first() == Some(&sigil))
                .filter_map(|line| {
                    let equals = line.windows(3).position(|window| window == b" = ")?;
                    Some((&line[..equals], &line[equals + 3..]))
                })
                .collect()
        };
        match stage {
            Stage::Ttir | Stage::Ttgir => Self::Mlir(definitions(b'#')),
            Stage::Llir => Self::Llvm(definitions(b'!')),
            Stage::Ptx | Stage::Amdgcn => Self::Directives(directives(text)),
            _ => Self::Unknown,
        }
    }

    /// Where a line comes from: `number` counts from 1, `line` is its text.
    pub(crate) fn place(&self, number: usize, line: &[u8]) -> Option<SourcePlace> {
        match self {
            Self::Mlir(aliases) => mlir_place(aliases, last_location(line)?),
            Self::Llvm(nodes) => {
                let attachment = line.windows(6).rposition(|window| window == b"!dbg !")?;
                llvm_place(nodes, word_at(line, attachment + 5))
            }
            Self::Directives(places) => places.get(number - 1)?.clone(),
            Self::Unknown => None,
        }
    }
}

/// The inside of the last `loc(…)` of a line.
fn last_location(line: &[u8]) -> Option<&[u8]> {
    let mut lexer = Lexer::new(line, 0, line.len());
    let mut found = None;
    while let Some(token) = lexer.next_token() {
        if token.kind == Kind::Word && lexer.bytes(token) == b"loc" && lexer.peek_byte() == Some(b'(') {
            let start = lexer.at;
            lexer.skip_group();
            found = Some(&line[start..lexer.at]);
        }
    }
    found
}

/// The first `"file":line` of a location, through aliases: for a call, the place in the callee.
fn mlir_place(aliases: &FxHashMap<&[u8], &[u8]>, location: &[u8]) -> Option<SourcePlace> {
    let mut location = location;
    for _ in 0..LONGEST_CHAIN {
        let mut lexer = Lexer::new(location, 0, location.len());
        let mut next = None;
        while let Some(token) = lexer.next_token() {
            match token.kind {
                Kind::Text if lexer.peek_byte() == Some(b':') => {
                    let file = base_name(&location[token.start..token.end]);
                    lexer.next_token();
                    let line = lexer.next_token().and_then(|line| number(lexer.bytes(line)))?;
                    return Some(SourcePlace { file, line });
                }
                Kind::Attribute => {
                    next = aliases.get(lexer.bytes(token)).copied();
                    break;
                }
                _ => {}
            }
        }
        location = next?;
    }
    None
}

fn llvm_place(nodes: &FxHashMap<&[u8], &[u8]>, location: &[u8]) -> Option<SourcePlace> {
    let body = nodes.get(location)?;
    let line = number(field(body, b"line: ")?)?;
    let mut scope = field(body, b"scope: ")?;
    for _ in 0..LONGEST_CHAIN {
        let body = nodes.get(scope)?;
        if let Some(file) = field(body, b"file: ") {
            let name = field(nodes.get(file)?, b"filename: ")?;
            return Some(SourcePlace { file: base_name(name), line });
        }
        scope = field(body, b"scope: ")?;
    }
    None
}

/// The value behind `name` in a metadata node.
fn field<'a>(body: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let start = body.windows(name.len()).position(|window| window == name)? + name.len();
    if body.get(start) == Some(&b'"') {
        let length = body[start + 1..].iter().position(|&byte| byte == b'"')?;
        return Some(&body[start..start + length + 2]);
    }
    Some(word_at(body, start))
}

fn word_at(text: &[u8], start: usize) -> &[u8] {
    let rest = &text[start..];
    let length = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'!');
    &rest[..length.unwrap_or(rest.len())]
}

/// `.file 1 "name"` or `.file 1 "folder" "name"`, and `.loc 1 249 0` for the lines that follow it.
fn directives(text: &[u8]) -> Vec<Option<SourcePlace>> {
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).collect();
    // PTX lists its files at the end.
    let files: FxHashMap<u32, String> = lines
        .iter()
        .filter_map(|line| {
            let rest = line.strip_prefix(b".file")?.trim_ascii_start();
            let name = rest.split(|&byte| byte == b'"').rfind(|part| !part.trim_ascii().is_empty())?;
            Some((number(word_at(rest, 0))?, base_name(name)))
        })
        .collect();
    let mut place = None;
    lines
        .iter()
        .map(|line| {
            if let Some(rest) = line.strip_prefix(b".loc") {
                let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
                place = words
                    .next()
                    .and_then(number)
                    .zip(words.next().and_then(number))
                    .and_then(|(file, line)| Some(SourcePlace { file: files.get(&file)?.clone(), line }));
            }
            place.clone()
        })
        .collect()
}

fn number(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn base_name(path: &[u8]) -> String {
    let path = path.strip_prefix(b"\"").unwrap_or(path);
    let path = path.strip_suffix(b"\"").unwrap_or(path);
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    String::from_utf8_lossy(name).into_owned()
}

/// A line as a reader wants it: with its own names, without locations, debug attachments and comments.
pub(crate) fn readable(stage: &Stage, line: &[u8]) -> String {
    let kept = match stage {
        Stage::Ttir | Stage::Ttgir => without_locations(line),
        Stage::Llir => {
            let end = line.windows(8).rposition(|window| window == b", !dbg !").unwrap_or(line.len());
            let tail =
                line[end..].iter().position(|&byte| byte == b'{').map_or(&b""[..], |at| &line[end + at..]);
            [&line[..end], tail].concat()
        }
        Stage::Ptx | Stage::Amdgcn => {
            let end = line.windows(2).position(|window| window == b"//").unwrap_or(line.len());
            line[..end].to_vec()
        }
        _ => line.to_vec(),
    };
    String::from_utf8_lossy(kept.trim_ascii()).replace('\t', " ")
}

fn without_locations(line: &[u8]) -> Vec<u8> {
    let mut lexer = Lexer::new(line, 0, line.len());
    let mut kept = Vec::with_capacity(line.len());
    let mut written = 0;
    while let Some(token) = lexer.next_token() {
        if token.kind == Kind::Word && lexer.bytes(token) == b"loc" && lexer.peek_byte() == Some(b'(') {
            kept.extend_from_slice(line[written..token.start].trim_ascii_end());
            lexer.skip_group();
            written = lexer.at;
        } else {
            kept.extend_from_slice(&line[written..token.end]);
            written = token.end;
        }
    }
    kept
}
