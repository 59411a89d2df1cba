//! What changed between two sides' code: which kernels, from which stage on, and how it looks.
//!
//! Whether two kernels are the same is said by `switchback_ir::compare` alone, as in screening. Here variants are
//! paired, counted and put in order of what they matter. Values are plain, so that any format can print them.

use std::collections::{BTreeMap, BTreeSet};

use switchback_ir::{KernelComparison, RowKind, Stage, compare, operation_changes, operations, side_by_side};

use super::{CompiledCode, CompiledKernel, Resources, variants};
use crate::error::EngineError;
pub use switchback_ir::IrVerdict as CodeVerdict;

/// Which kernels and which stage to show; by default all, from the stage on which they differ.
#[derive(Debug, Clone, Default)]
pub struct DiffChoice {
    /// One kernel.
    pub kernel: Option<String>,
    /// The stage that is shown side by side.
    pub stage: Option<String>,
}

/// What kernels were put in order by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankedBy {
    /// Time of the cases that launch them, shared by launches.
    Time,
    /// Launches.
    Launches,
    /// Neither is known: names.
    Name,
}

/// Two sides' code, compared.
#[derive(Debug, Clone)]
pub struct CodeDiff {
    /// Where A comes from.
    pub a: String,
    /// Where B comes from.
    pub b: String,
    /// What it comes to.
    pub verdict: CodeVerdict,
    /// The first stage at which any kernel differs.
    pub first_stage: Option<String>,
    /// Kernels: those that differ first, then by weight.
    pub kernels: Vec<KernelDiff>,
    /// What they are ranked by.
    pub ranked_by: RankedBy,
    /// Abbreviation in a readable name to what it stands for.
    pub legend: BTreeMap<String, String>,
    /// Patterns of stamps that were taken out on either side, and how often.
    pub stamps: BTreeMap<String, u64>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// One kernel.
#[derive(Debug, Clone)]
pub struct KernelDiff {
    /// Its name.
    pub kernel: String,
    /// Its part of all time or launches, 0 to 1; none if neither is known.
    pub share: Option<f64>,
    /// The first stage that differs in any variant.
    pub first_stage: Option<String>,
    /// Its variants: those that differ first, then by weight.
    pub variants: Vec<VariantDiff>,
}

/// One variant, on both sides or on one.
#[derive(Debug, Clone)]
pub struct VariantDiff {
    /// A readable name.
    pub name: String,
    /// How the sides differ, as in screening: `same`, a stage, `only in A`, …
    pub difference: String,
    /// True if they differ.
    pub changed: bool,
    /// Launches in one call of each case on side A (on B if A has none); 0 where they are not known.
    pub launches: u64,
    /// Where each side's texts come from.
    pub places: (Option<String>, Option<String>),
    /// Stages in pipeline order: the name, and whether both sides have the same text; none if one side has no text.
    pub stages: Vec<(String, Option<bool>)>,
    /// What each side takes; none where a side is not there.
    pub resources: (Option<Resources>, Option<Resources>),
    /// Instructions, where a stage has some that can be counted.
    pub instructions: Option<Instructions>,
    /// Operations gained and lost at the stage that is shown.
    pub operations: Vec<Operation>,
    /// Both sides' text at one stage.
    pub shown: Option<Shown>,
}

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

/// Compares two sides' code.
///
/// # Errors
/// A kernel or stage that was asked for and is on neither side; a text that is gone.
pub fn diff(a: &CompiledCode, b: &CompiledCode, choice: &DiffChoice) -> Result<CodeDiff, EngineError> {
    let stage = choice.stage.as_deref().map(|name| wanted_stage(a, b, name)).transpose()?;
    if let Some(name) = &choice.kernel {
        check_kernel(a, b, name)?;
    }
    let comparison = compare(&a.kernel_irs(), &b.kernel_irs(), &BTreeSet::new());
    let ranked_by = ranked_by(a, b);
    let all: f64 = a.kernels.iter().chain(&b.kernels).map(|kernel| weight(kernel, ranked_by)).sum();
    let (names, legend) = readable(a, b);
    let mut by_kernel: BTreeMap<&str, Vec<&KernelComparison>> = BTreeMap::new();
    for kernel in &comparison.kernels {
        by_kernel.entry(&kernel.kernel).or_default().push(kernel);
    }
    let mut kernels: Vec<(f64, KernelDiff)> = Vec::new();
    for (name, compared) in by_kernel {
        if choice.kernel.as_deref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let mut variants: Vec<(f64, VariantDiff)> = Vec::new();
        for compared in &compared {
            for pair in pairs(a, b, compared) {
                let heavier = pair.iter().flatten().map(|kernel| weight(kernel, ranked_by)).sum();
                variants.push((heavier, variant(pair, compared, stage.as_ref(), &names)?));
            }
        }
        variants.sort_by(|one, two| two.1.changed.cmp(&one.1.changed).then(two.0.total_cmp(&one.0)));
        let kernel_weight: f64 = variants.iter().map(|(weight, _)| weight).sum();
        let first_stage = compared.iter().filter_map(|it| it.difference.stage()).min();
        kernels.push((
            kernel_weight,
            KernelDiff {
                kernel: name.to_owned(),
                share: (all > 0.0).then(|| kernel_weight / all),
                first_stage: first_stage.map(|stage| stage.name().to_owned()),
                variants: variants.into_iter().map(|(_, variant)| variant).collect(),
            },
        ));
    }
    let differs = |kernel: &KernelDiff| kernel.variants.iter().any(|variant| variant.changed);
    kernels.sort_by(|one, two| differs(&two.1).cmp(&differs(&one.1)).then(two.0.total_cmp(&one.0)));
    let mut stamps = a.stamps();
    for (pattern, count) in b.stamps() {
        *stamps.entry(pattern).or_default() += count;
    }
    let notes = [("A", a), ("B", b)]
        .into_iter()
        .flat_map(|(side, code)| code.notes.iter().map(move |note| format!("{side}: {note}")))
        .collect();
    Ok(CodeDiff {
        a: a.origin.clone(),
        b: b.origin.clone(),
        verdict: comparison.verdict,
        first_stage: comparison.first_stage.map(|stage| stage.name().to_owned()),
        kernels: kernels.into_iter().map(|(_, kernel)| kernel).collect(),
        ranked_by,
        legend,
        stamps,
        notes,
    })
}

fn wanted_stage(a: &CompiledCode, b: &CompiledCode, name: &str) -> Result<Stage, EngineError> {
    let stage = Stage::from_name(name);
    let there: BTreeSet<&Stage> =
        a.kernels.iter().chain(&b.kernels).flat_map(|kernel| kernel.stages.keys()).collect();
    if there.contains(&stage) {
        return Ok(stage);
    }
    let names: Vec<&str> = there.iter().map(|stage| stage.name()).collect();
    Err(EngineError::usage(
        format!("no kernel has a text of the stage `{name}`"),
        format!("there are: {}", names.join(", ")),
    ))
}

fn check_kernel(a: &CompiledCode, b: &CompiledCode, name: &str) -> Result<(), EngineError> {
    let there: BTreeSet<&str> =
        a.kernels.iter().chain(&b.kernels).map(|kernel| kernel.kernel.as_str()).collect();
    if there.contains(name) {
        return Ok(());
    }
    let names: Vec<&str> = there.into_iter().collect();
    Err(EngineError::usage(
        format!("neither side has a kernel `{name}`"),
        format!("there are: {}", names.join(", ")),
    ))
}

fn ranked_by(a: &CompiledCode, b: &CompiledCode) -> RankedBy {
    let kernels = || a.kernels.iter().chain(&b.kernels);
    if kernels().any(|kernel| kernel.time_us > 0.0) {
        RankedBy::Time
    } else if kernels().any(|kernel| kernel.launches > 0) {
        RankedBy::Launches
    } else {
        RankedBy::Name
    }
}

#[allow(clippy::cast_precision_loss, reason = "launches are few")]
fn weight(kernel: &CompiledKernel, by: RankedBy) -> f64 {
    match by {
        RankedBy::Time => kernel.time_us,
        RankedBy::Launches => kernel.launches as f64,
        RankedBy::Name => 0.0,
    }
}

/// Readable names by key; both sides are named together, so that one variant has one name.
fn readable(
    a: &CompiledCode,
    b: &CompiledCode,
) -> (BTreeMap<(String, String), String>, BTreeMap<String, String>) {
    let mut keyed: BTreeMap<(String, String), &CompiledKernel> = BTreeMap::new();
    for kernel in a.kernels.iter().chain(&b.kernels) {
        keyed.entry((kernel.kernel.clone(), kernel.variant.clone())).or_insert(kernel);
    }
    let (names, legend) = variants::names(&keyed.values().copied().collect::<Vec<_>>());
    (keyed.into_keys().zip(names).collect(), legend)
}

type Pair<'a> = [Option<&'a CompiledKernel>; 2];

/// Pairs the texts of one variant: equal ones, then those that agree longest, then what is left.
fn pairs<'a>(a: &'a CompiledCode, b: &'a CompiledCode, compared: &KernelComparison) -> Vec<Pair<'a>> {
    let of = |code: &'a CompiledCode| -> Vec<&'a CompiledKernel> {
        code.kernels
            .iter()
            .filter(|kernel| kernel.kernel == compared.kernel && kernel.variant == compared.variant)
            .collect()
    };
    let (in_a, mut in_b) = (of(a), of(b));
    let mut candidates: Vec<(usize, usize, usize)> = Vec::new();
    for (index_a, one) in in_a.iter().enumerate() {
        for (index_b, two) in in_b.iter().enumerate() {
            candidates.push((agreement(one, two), index_a, index_b));
        }
    }
    candidates
        .sort_by_key(|(agreement, index_a, index_b)| (std::cmp::Reverse(*agreement), *index_a, *index_b));
    let (mut partner_of_a, mut taken_in_b) = (vec![None; in_a.len()], vec![false; in_b.len()]);
    for (_, index_a, index_b) in candidates {
        if partner_of_a[index_a].is_none() && !taken_in_b[index_b] {
            partner_of_a[index_a] = Some(index_b);
            taken_in_b[index_b] = true;
        }
    }
    let mut pairs: Vec<Pair<'a>> = in_a
        .iter()
        .zip(&partner_of_a)
        .map(|(one, partner)| [Some(*one), partner.map(|at| in_b[at])])
        .collect();
    let mut taken = taken_in_b.into_iter();
    in_b.retain(|_| !taken.next().unwrap_or(false));
    pairs.extend(in_b.into_iter().map(|two| [None, Some(two)]));
    pairs
}

/// Stages from the front end on whose texts agree; all of them counts most.
fn agreement(one: &CompiledKernel, two: &CompiledKernel) -> usize {
    let stages: BTreeSet<&Stage> = one.stages.keys().chain(two.stages.keys()).collect();
    stages
        .into_iter()
        .take_while(|stage| match (one.stages.get(*stage), two.stages.get(*stage)) {
            (Some(one), Some(two)) => one.digest.digest == two.digest.digest,
            _ => false,
        })
        .count()
}

fn variant(
    pair: Pair<'_>,
    compared: &KernelComparison,
    wanted: Option<&Stage>,
    names: &BTreeMap<(String, String), String>,
) -> Result<VariantDiff, EngineError> {
    let [a, b] = pair;
    let all: BTreeSet<&Stage> =
        [a, b].into_iter().flatten().flat_map(|kernel| kernel.stages.keys()).collect();
    let state =
        |stage: &Stage| match (a.and_then(|a| a.stages.get(stage)), b.and_then(|b| b.stages.get(stage))) {
            (Some(a), Some(b)) => Some(a.digest.digest == b.digest.digest),
            _ => None,
        };
    let stages: Vec<(String, Option<bool>)> =
        all.iter().map(|stage| (stage.name().to_owned(), state(stage))).collect();
    // Of several texts under one key, some may be the same although the key as a whole is not.
    let same = a.is_some() && b.is_some() && stages.iter().all(|(_, same)| *same == Some(true));
    let changed = compared.difference.is_change() && !same;
    let first = all.iter().copied().find(|stage| state(stage) != Some(true));
    let difference = match (a, b, first) {
        _ if !compared.difference.is_change() => compared.difference.to_string(),
        _ if same => "same".to_owned(),
        (Some(_), None, _) => "only in A".to_owned(),
        (None, Some(_), _) => "only in B".to_owned(),
        (_, _, Some(stage)) => match (
            a.is_some_and(|a| a.stages.contains_key(stage)),
            b.is_some_and(|b| b.stages.contains_key(stage)),
        ) {
            (true, false) => format!("{stage} only in A"),
            (false, true) => format!("{stage} only in B"),
            _ => stage.to_string(),
        },
        (_, _, None) => compared.difference.to_string(),
    };
    let shown_stage = wanted.or(first.filter(|_| changed));
    let mut operations = Vec::new();
    let mut shown = None;
    if let Some(stage) = shown_stage
        && let (Some(a), Some(b)) = (a.and_then(|a| a.stages.get(stage)), b.and_then(|b| b.stages.get(stage)))
    {
        let (text_a, text_b) = (a.read()?, b.read()?);
        operations = operation_changes(stage, &text_a, &text_b)
            .into_iter()
            .map(|it| Operation { name: it.operation, a: it.a as u64, b: it.b as u64 })
            .collect();
        shown = Some(shown_rows(stage, &text_a, &text_b, a.digest.digest == b.digest.digest));
    }
    let key = (compared.kernel.clone(), compared.variant.clone());
    Ok(VariantDiff {
        name: names.get(&key).cloned().unwrap_or_else(|| compared.kernel.clone()),
        difference,
        changed,
        launches: a.or(b).map_or(0, |kernel| kernel.launches),
        places: (a.map(|kernel| kernel.place.clone()), b.map(|kernel| kernel.place.clone())),
        stages,
        resources: (a.map(|kernel| kernel.resources), b.map(|kernel| kernel.resources)),
        instructions: if changed { instructions(a, b)? } else { None },
        operations,
        shown,
    })
}

/// Instructions of the last stage whose text has operations.
fn instructions(
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

fn shown_rows(stage: &Stage, a: &[u8], b: &[u8], same: bool) -> Shown {
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
