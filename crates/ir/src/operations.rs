//! Which operations a text is made of, and which it gained or lost.
//!
//! Counts explain a difference, they never decide whether there is one: the same counts were seen over
//! fifteen different files. Reads canonical lines, so names and locations cannot disturb it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::canonical::canonical_lines;
use crate::stage::Stage;

/// What kind of work an operation is, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationGroup {
    /// Data changes hands between threads to fit another layout.
    ConvertLayout,
    /// Matrix instructions.
    Mma,
    /// Asynchronous copies and tensor memory accesses.
    AsyncCopy,
    /// Atomic accesses.
    Atomic,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Barriers, fences, waits.
    Barrier,
    /// Exchanges between the threads of a warp.
    Shuffle,
    /// Everything else.
    Other,
}

/// Fragments of operation names, most telling first; a name belongs to the first group that matches.
const FRAGMENTS: [(OperationGroup, &[&str]); 8] = [
    (OperationGroup::ConvertLayout, &["convert_layout"]),
    (
        OperationGroup::Barrier,
        &["barrier", "mbarrier", "fence", "wait", "bar.", "BAR", "DEPBAR", "SYNCS", "MEMBAR"],
    ),
    (
        OperationGroup::Mma,
        &[
            "mma", "dot", "mfma", "HMMA", "HGMMA", "IMMA", "IGMMA", "QMMA", "QGMMA", "DMMA", "UTCHMMA",
            "UTCQMMA",
        ],
    ),
    (OperationGroup::AsyncCopy, &["async", "cp.", "tma", "UTMA", "LDGSTS"]),
    (OperationGroup::Atomic, &["atom", "red.", "cmpxchg", "ATOM"]),
    (OperationGroup::Shuffle, &["shfl", "shuffle", "SHFL", "ds_bpermute", "ds_swizzle"]),
    (OperationGroup::Load, &["load", "ld.", "ldmatrix", "LD", "ds_read"]),
    (OperationGroup::Store, &["store", "st.", "stmatrix", "ST", "ds_write"]),
];

impl OperationGroup {
    /// The group of an operation's name, as [`operations`] spells it.
    #[must_use]
    pub fn of(operation: &str) -> Self {
        FRAGMENTS
            .iter()
            .find(|(_, fragments)| fragments.iter().any(|fragment| begins_part(operation, fragment)))
            .map_or(Self::Other, |(group, _)| *group)
    }
}

/// Whether a fragment stands in a name at its start or after something that is no letter.
fn begins_part(name: &str, fragment: &str) -> bool {
    name.match_indices(fragment).any(|(at, _)| {
        let before = name[..at].chars().next_back();
        // `wgmma` and `local_load` are matched, `xSTART` is not.
        before.is_none_or(|before| !before.is_alphabetic()) || name[..at].ends_with("wg")
    })
}

/// How often an operation occurs on each side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationChange {
    /// The operation's name.
    pub operation: String,
    /// What kind of work it is.
    pub group: OperationGroup,
    /// Occurrences on side A.
    pub a: usize,
    /// Occurrences on side B.
    pub b: usize,
}

/// How often each operation occurs in a text.
///
/// MLIR: operation names. LLVM IR: opcodes; a call of an intrinsic carries its name, inline assembly
/// counts as its instructions (`asm ld.global.v4.b32`). Assemblies: mnemonics. Cranelift IR: opcodes with
/// their type. Empty for stages without operations.
#[must_use]
pub fn operations(stage: &Stage, text: &[u8]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut count = |operation: &str| *counts.entry(operation.to_owned()).or_insert(0) += 1;
    for line in canonical_lines(stage, text) {
        let line = line.text.as_str();
        match stage {
            Stage::Ttir | Stage::Ttgir => mlir_operation(line).into_iter().for_each(&mut count),
            Stage::Llir => llvm_operations(line, &mut count),
            Stage::Ptx => assembly_operations(line, &mut count),
            Stage::Amdgcn | Stage::Sass | Stage::Vcode => mnemonic(line).into_iter().for_each(&mut count),
            Stage::Clif | Stage::ClifOpt => clif_operation(line).into_iter().for_each(&mut count),
            Stage::Bytes | Stage::Other(_) => {}
        }
    }
    counts
}

/// Operations whose counts differ, the largest difference first, then by name.
#[must_use]
pub fn operation_changes(stage: &Stage, a: &[u8], b: &[u8]) -> Vec<OperationChange> {
    let (in_a, in_b) = (operations(stage, a), operations(stage, b));
    let names: BTreeSet<&String> = in_a.keys().chain(in_b.keys()).collect();
    let mut changes: Vec<OperationChange> = names
        .into_iter()
        .map(|operation| OperationChange {
            operation: operation.clone(),
            group: OperationGroup::of(operation),
            a: in_a.get(operation).copied().unwrap_or(0),
            b: in_b.get(operation).copied().unwrap_or(0),
        })
        .filter(|change| change.a != change.b)
        .collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.a.abs_diff(change.b)));
    changes
}

/// What stands to the right of the results, if there are any.
fn behind_results(line: &str, is_result: impl Fn(&str) -> bool) -> &str {
    match line.split_once(" = ") {
        Some((results, rest))
            if results.split([',', ' ', ':']).all(|word| word.is_empty() || is_result(word)) =>
        {
            rest
        }
        _ => line,
    }
}

fn first_word(text: &str) -> &str {
    text.split([' ', '(', '<', '[', ';', ',']).next().unwrap_or("")
}

fn mlir_operation(line: &str) -> Option<&str> {
    let rest =
        behind_results(line, |word| word.starts_with('%') || word.bytes().all(|byte| byte.is_ascii_digit()));
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted.split_once('"').map(|(name, _)| name);
    }
    let name = first_word(rest);
    (name.contains('.') && name.starts_with(|first: char| first.is_ascii_alphabetic())).then_some(name)
}

fn llvm_operations(line: &str, count: &mut impl FnMut(&str)) {
    let rest = behind_results(line, |word| word.starts_with('%'));
    let mut words = rest.split(' ');
    let mut opcode = first_word(words.next().unwrap_or(""));
    while matches!(opcode, "tail" | "notail" | "musttail") {
        opcode = first_word(words.next().unwrap_or(""));
    }
    let no_instruction = matches!(opcode, "define" | "declare" | "target" | "attributes" | "module");
    if no_instruction || !opcode.starts_with(|first: char| first.is_ascii_lowercase()) || line.ends_with(':')
    {
        return;
    }
    if opcode != "call" {
        count(opcode);
        return;
    }
    if let Some((_, assembly)) = rest.split_once(" asm ") {
        let inside = assembly.split('"').nth(1).unwrap_or("");
        let plain = inside.replace("\\0A", ";").replace("\\09", " ");
        for statement in plain.split(';') {
            let name = statement_operation(statement.trim_matches(['{', '}', ' ']));
            if let Some(name) = name {
                count(&format!("asm {name}"));
            }
        }
        return;
    }
    match rest.split_once("@llvm.") {
        Some((_, name)) => count(&format!("call @llvm.{}", first_word(name))),
        None => count("call"),
    }
}

fn assembly_operations(line: &str, count: &mut impl FnMut(&str)) {
    for statement in line.split(';') {
        statement_operation(statement).into_iter().for_each(&mut *count);
    }
}

/// The mnemonic of one PTX statement: behind a predicate, no directive, no label.
fn statement_operation(statement: &str) -> Option<&str> {
    let mut rest = statement.trim();
    while let Some(predicated) = rest.strip_prefix('@') {
        let predicated = predicated.trim_start().trim_start_matches('!').trim_start();
        rest = predicated.split_once(' ')?.1.trim_start();
    }
    let name = rest.split([' ', '[', '(']).next()?;
    let label = rest.ends_with(':');
    (!label && name.starts_with(|first: char| first.is_ascii_lowercase())).then_some(name)
}

/// The mnemonic that begins a line of GPU assembly, disassembly or register-assigned code.
fn mnemonic(line: &str) -> Option<&str> {
    let mut rest = line;
    if let Some(predicated) = rest.strip_prefix('@') {
        let predicated = predicated.trim_start().trim_start_matches('!').trim_start();
        rest = predicated.split_once(' ')?.1.trim_start();
    }
    let name = first_word(rest);
    let behind = rest[name.len()..].trim_start();
    let label = behind.starts_with(':') || name.ends_with(':');
    let setting = behind.starts_with('=');
    (!label && !setting && name.starts_with(|first: char| first.is_ascii_alphabetic())).then_some(name)
}

fn clif_operation(line: &str) -> Option<&str> {
    let rest = behind_results(line, |word| word.starts_with('v'));
    let declares = rest.len() == line.len() && line.contains(" = ");
    let name = first_word(rest);
    let header = matches!(name, "function" | "test" | "target" | "set") || name.starts_with("block");
    let alias = rest.contains(" -> ") && name.starts_with('v');
    (!declares && !header && !alias && name.starts_with(|first: char| first.is_ascii_lowercase()))
        .then_some(name)
}
