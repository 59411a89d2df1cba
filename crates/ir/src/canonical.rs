//! One text per meaning: what stays when paths, names and marks are taken out.
//!
//! Two texts of one stage are *the same* when their canonical texts are equal. The rules per stage live
//! in [`crate::lex`]; here is the choice among them, in two forms: [`canonical()`] keeps the text,
//! [`digest()`] only its hash. No input panics, and work and memory grow linearly with the text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::lex;
use crate::output::{Line, Output};
use crate::stage::Stage;
use crate::stamps::StampUse;

/// SHA-256 of a canonical text, shown as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

/// A text that should be a digest and is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a digest: 64 hexadecimal digits expected")]
pub struct NotADigest {
    /// What was given.
    pub text: String,
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let refused = || NotADigest { text: text.to_owned() };
        let bytes = text.as_bytes();
        if bytes.len() != 64 {
            return Err(refused());
        }
        let mut digest = [0; 32];
        for (place, pair) in digest.iter_mut().zip(bytes.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16).ok_or_else(refused)?;
            let low = char::from(pair[1]).to_digit(16).ok_or_else(refused)?;
            // Two hexadecimal digits fit a byte.
            *place = (high * 16 + low) as u8;
        }
        Ok(Self(digest))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The canonical text of one stage, and what was noticed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    /// The canonical text: equal for two inputs exactly when they are the same code.
    pub text: Vec<u8>,
    /// Stamp patterns that took something out.
    pub stamps: Vec<StampUse>,
    /// What a reader of the result must know; empty for a healthy text of a known stage.
    pub warnings: Vec<String>,
    /// No canonical form exists, and `text` is the input itself.
    pub raw: bool,
    /// Brackets or strings are open at the end: the file is probably cut off.
    pub incomplete: bool,
    /// The text carries a compiler's crash reproducer: the kernel failed to compile.
    pub crash_reproducer: bool,
}

/// The digest of one stage's canonical text, and what was noticed on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageDigest {
    /// SHA-256 of the canonical text.
    pub digest: Digest,
    /// Stamp patterns that took something out.
    pub stamps: Vec<StampUse>,
    /// What a reader of the result must know; empty for a healthy text of a known stage.
    pub warnings: Vec<String>,
    /// No canonical form exists, and the digest is of the input itself.
    pub raw: bool,
    /// Brackets or strings are open at the end: the file is probably cut off.
    pub incomplete: bool,
    /// The text carries a compiler's crash reproducer: the kernel failed to compile.
    pub crash_reproducer: bool,
}

/// The canonical text of `text`, read by the rules of `stage`.
///
/// Any bytes are accepted; what cannot be read by the rules is kept as it stands and warned about.
///
/// | stage | goes | is renamed by order of appearance | stays, though one might think otherwise |
/// |---|---|---|---|
/// | `ttir`, `ttgir` | locations, comments, stamps, tools' resource sections | values and blocks per function; aliases become what they stand for; a module's attributes are sorted | symbols, order of arguments, data resources, other dictionaries' order |
/// | `llir` | comments, source name, debug metadata, records and attachments, `!llvm.ident` | values and labels per function, metadata nodes, attribute groups | target, every attribute and flag, strings of inline assembly |
/// | `ptx` | comments, `.file`, `.loc`, debug sections and their labels | registers within their prefix and `$L` labels per function; the count in `.reg .b32 %r<45>` goes with the numbers | `.version`, `.target`, names inside inline assembly |
/// | `amdgcn` | comments, `.file`, `.loc`, `.ident`, `.cfi_*`, debug sections and their labels | `.L` labels | physical registers, metadata |
/// | `sass` | addresses, source comments, lines about host and file, debug sections | `.L` labels per function | encodings: they hold stall counts and barriers that the text does not show |
/// | `sass` as a cubin | line tables, symbol and string tables, notes | nothing | instructions, constants, resources, relocations |
/// | `clif`, `clif_opt` | comments, source locations | values and blocks per function | function names, signatures, stack slots |
/// | `vcode` | spare white space | nothing | labels, registers, comments |
/// | `bytes`, unknown | nothing | nothing | everything |
#[must_use]
pub fn canonical(stage: &Stage, text: &[u8]) -> Canonical {
    let mut output = Output::text(text.len());
    write(stage, text, &mut output);
    let stamps = output.stamp_uses();
    let warnings = std::mem::take(&mut output.warnings);
    let (raw, incomplete, crash_reproducer) = (output.raw, output.incomplete, output.crash_reproducer);
    let (text, _) = output.into_text();
    Canonical { text, stamps, warnings, raw, incomplete, crash_reproducer }
}

/// SHA-256 of the canonical text of `bytes`, without keeping that text.
///
/// The same as hashing [`Canonical::text`], in memory that does not grow with the text.
#[must_use]
pub fn digest(stage: &Stage, bytes: &[u8]) -> StageDigest {
    let mut output = Output::hash(bytes.len());
    write(stage, bytes, &mut output);
    let stamps = output.stamp_uses();
    let warnings = std::mem::take(&mut output.warnings);
    let (raw, incomplete, crash_reproducer) = (output.raw, output.incomplete, output.crash_reproducer);
    let digest = Digest(output.into_sha256());
    StageDigest { digest, stamps, warnings, raw, incomplete, crash_reproducer }
}

/// One line of a canonical text and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanonicalLine {
    /// The line without its end; bytes that are no UTF-8 are replaced.
    pub text: String,
    /// The line of the original text on which it begins, counted from 1.
    pub original_line: usize,
}

/// The lines of [`Canonical::text`], each with its place in the original text.
#[must_use]
pub fn canonical_lines(stage: &Stage, text: &[u8]) -> Vec<CanonicalLine> {
    let mut output = Output::lines(text.len());
    write(stage, text, &mut output);
    let (canonical, starts) = output.into_text();
    let original_lines = line_numbers(text, &starts);
    let ends = starts.iter().skip(1).map(|line| line.canonical_start).chain([canonical.len()]);
    starts
        .iter()
        .zip(ends)
        .zip(original_lines)
        .map(|((line, end), original_line)| CanonicalLine {
            text: String::from_utf8_lossy(&canonical[line.canonical_start..end]).trim_end().to_owned(),
            original_line,
        })
        .collect()
}

/// The line numbers of places in a text; definitions at the end may lead back.
fn line_numbers(text: &[u8], lines: &[Line]) -> Vec<usize> {
    let ends: Vec<usize> =
        text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    lines.iter().map(|line| ends.partition_point(|end| *end < line.original_start) + 1).collect()
}

/// Whether NUL bytes are to be expected.
fn is_binary(stage: &Stage, bytes: &[u8]) -> bool {
    match stage {
        Stage::Bytes | Stage::Other(_) => true,
        Stage::Sass => bytes.starts_with(lex::cubin::MAGIC),
        _ => false,
    }
}

fn write(stage: &Stage, text: &[u8], output: &mut Output) {
    match stage {
        Stage::Ttir | Stage::Ttgir => lex::mlir::write(text, output),
        Stage::Llir => lex::llvm::write(text, output),
        Stage::Ptx => lex::ptx::write(text, output),
        Stage::Amdgcn => lex::amdgcn::write(text, output),
        Stage::Sass if text.starts_with(lex::cubin::MAGIC) => lex::cubin::write(text, output),
        Stage::Sass => lex::sass::write(text, output),
        Stage::Clif | Stage::ClifOpt => lex::clif::write(text, output),
        Stage::Vcode => lex::vcode::write(text, output),
        Stage::Bytes => {
            output.raw(text);
            output.raw = false;
        }
        Stage::Other(name) => {
            output.raw(text);
            output.warn(format!("unknown stage `{name}`: compared byte by byte"));
        }
    }
    if text.is_empty() {
        output.warn(format!("`{stage}` is empty"));
    } else if text.contains(&0) && !is_binary(stage, text) {
        output.warn(format!("`{stage}` contains NUL bytes: the file is probably damaged"));
    }
    if output.incomplete {
        output.warn(format!(
            "`{stage}` ends inside brackets, a string or a comment: the file is probably cut off"
        ));
    }
}
