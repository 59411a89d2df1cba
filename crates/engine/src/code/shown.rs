//! What a reader gets to see of one stage on both sides: its lines, its operations, how many instructions.
//!
//! A view: whether two texts are the same was decided before. Machine code has no lines; what differs in it is counted.

use std::collections::{BTreeMap, BTreeSet};

use switchback_ir::{RowKind, Stage, operation_changes, operations, side_by_side};

use super::disassembly::Disassembler;
use super::{CompiledKernel, StageText};
use crate::error::EngineError;

/// An operation that occurs a different number of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Occurrences on side A.
    pub a: u64,
    /// Occurrences on side B.
    pub b: u64,
}

/// Number of instructions in the last stage that has some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    /// The stage.
    pub stage: String,
    /// On side A.
    pub a: Option<u64>,
    /// On side B.
    pub b: Option<u64>,
}

/// How two lines stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownKind {
    /// The same.
    Same,
    /// One in the other's place.
    Changed,
    /// Only side A has it.
    OnlyA,
    /// Only side B has it.
    OnlyB,
}

/// One row of a side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRow {
    /// How the two stand to each other.
    pub kind: ShownKind,
    /// A's line, with its own names.
    pub a: Option<String>,
    /// B's line.
    pub b: Option<String>,
    /// The line of the user's program, `file.py:12`.
    pub source: Option<String>,
}

/// A side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The stage.
    pub stage: String,
    /// Its rows; empty where the stage has no text to show.
    pub rows: Vec<ShownRow>,
    /// Names in the rows that stand for something else on the other side: the name, what it stands for in A and B.
    pub aliases: Vec<(String, Option<String>, Option<String>)>,
    /// Said in place of rows.
    pub remark: Option<String>,
}

/// Operations that occur a different number of times, the largest difference first.
pub(super) fn changed_operations(stage: &Stage, a: &[u8], b: &[u8]) -> Vec<Operation> {
    operation_changes(stage, a, b)
        .into_iter()
        .map(|it| Operation { name: it.operation, a: it.a as u64, b: it.b as u64 })
        .collect()
}

/// Both texts as a reader wants them: cubins disassembled, where both can be.
pub(super) fn readable_texts(
    stage: &Stage,
    a: &StageText,
    b: &StageText,
    disassembler: Option<&Disassembler>,
) -> Result<(Vec<u8>, Vec<u8>), EngineError> {
    let (text_a, text_b) = (a.read()?, b.read()?);
    if *stage == Stage::Sass
        && is_binary(stage, &text_a)
        && is_binary(stage, &text_b)
        && let Some(disassembler) = disassembler
        && let (Some(a), Some(b)) = (disassembler.text(a), disassembler.text(b))
    {
        return Ok((a, b));
    }
    Ok((text_a, text_b))
}

/// Instructions of the last stage whose text has operations.
pub(super) fn instructions(
    a: Option<&CompiledKernel>,
    b: Option<&CompiledKernel>,
) -> Result<Option<Instructions>, EngineError> {
    let count = |kernel: Option<&CompiledKernel>, stage: &Stage| -> Result<Option<u64>, EngineError> {
        let Some(text) = kernel.and_then(|kernel| kernel.stages.get(stage)) else { return Ok(None) };
        let text = text.read()?;
        if is_binary(stage, &text) {
            return Ok(None);
        }
        Ok(Some(operations(stage, &text).values().sum::<usize>() as u64))
    };
    let all: BTreeSet<&Stage> =
        [a, b].into_iter().flatten().flat_map(|kernel| kernel.stages.keys()).collect();
    for stage in all.into_iter().rev() {
        let found = (count(a, stage)?, count(b, stage)?);
        if found.0.or(found.1).is_some_and(|number| number > 0) {
            return Ok(Some(Instructions { stage: stage.name().to_owned(), a: found.0, b: found.1 }));
        }
    }
    Ok(None)
}

/// Whether a stage's text is machine code that no reader could read.
fn is_binary(stage: &Stage, text: &[u8]) -> bool {
    match stage {
        Stage::Bytes => true,
        Stage::Sass => text.starts_with(b"\x7fELF"),
        _ => false,
    }
}

pub(super) fn shown_rows(stage: &Stage, a: &[u8], b: &[u8], same: bool) -> Shown {
    let name = stage.name().to_owned();
    if is_binary(stage, a) || is_binary(stage, b) {
        let bytes = a.iter().zip(b).filter(|(a, b)| a != b).count() + a.len().abs_diff(b.len());
        let remark = if same {
            "the parts that run are the same".to_owned()
        } else {
            format!("machine code: {} bytes in A, {} in B, {bytes} of them differ", a.len(), b.len())
        };
        return Shown { stage: name, rows: Vec::new(), aliases: Vec::new(), remark: Some(remark) };
    }
    let rows: Vec<ShownRow> = side_by_side(stage, a, b)
        .into_iter()
        .map(|row| ShownRow {
            kind: match row.kind {
                RowKind::Same => ShownKind::Same,
                RowKind::Changed => ShownKind::Changed,
                RowKind::OnlyA => ShownKind::OnlyA,
                RowKind::OnlyB => ShownKind::OnlyB,
            },
            source: row
                .a
                .as_ref()
                .and_then(|line| line.source.as_ref())
                .or_else(|| row.b.as_ref().and_then(|line| line.source.as_ref()))
                .map(|place| format!("{}:{}", place.file, place.line)),
            a: row.a.map(|line| line.text),
            b: row.b.map(|line| line.text),
        })
        .collect();
    let differs = rows.iter().any(|row| row.kind != ShownKind::Same);
    let remark = match (same, differs) {
        (true, _) => Some("the same on both sides".to_owned()),
        (false, false) => Some(
            "every line has its like on the other side: the difference is the order in which names first appear"
                .to_owned(),
        ),
        _ => None,
    };
    let aliases = if same { Vec::new() } else { differing_aliases(stage, a, b) };
    Shown { stage: name, rows: if same { Vec::new() } else { rows }, aliases, remark }
}

/// Attribute and type aliases that both sides name alike and that stand for different things.
fn differing_aliases(stage: &Stage, a: &[u8], b: &[u8]) -> Vec<(String, Option<String>, Option<String>)> {
    if !matches!(stage, Stage::Ttir | Stage::Ttgir) {
        return Vec::new();
    }
    let of = |text: &[u8]| -> BTreeMap<String, String> {
        String::from_utf8_lossy(text)
            .lines()
            .filter(|line| line.starts_with(['#', '!']) && !line.starts_with("#loc"))
            .filter_map(|line| line.split_once(" = "))
            .map(|(name, meaning)| (name.to_owned(), meaning.to_owned()))
            .collect()
    };
    let (in_a, in_b) = (of(a), of(b));
    let names: BTreeSet<&String> = in_a.keys().chain(in_b.keys()).collect();
    names
        .into_iter()
        .filter(|name| in_a.get(*name) != in_b.get(*name))
        .map(|name| (name.clone(), in_a.get(name).cloned(), in_b.get(name).cloned()))
        .collect()
}
