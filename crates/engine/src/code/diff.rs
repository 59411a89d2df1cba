//! What changed between two sides' code: which kernels, from which stage on, and how it looks.
//!
//! Whether two kernels are the same is said by `switchback_ir::compare` alone, as in screening. Here variants are
//! paired, counted and put in order of what they matter. Values are plain, so that any format can print them.

use std::collections::{BTreeMap, BTreeSet};

use switchback_ir::{KernelComparison, Stage, compare};

use super::disassembly::Disassembler;
pub use super::shown::{Instructions, Operation, Shown, ShownKind, ShownRow};
use super::shown::{changed_operations, instructions, readable_texts, shown_rows};
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

/// Compares two sides' code.
///
/// # Errors
/// A kernel or stage that was asked for and is on neither side; a text that is gone.
pub fn diff(a: &CompiledCode, b: &CompiledCode, choice: &DiffChoice) -> Result<CodeDiff, EngineError> {
    let stage = choice.stage.as_deref().map(|name| wanted_stage(a, b, name)).transpose()?;
    if let Some(name) = &choice.kernel {
        check_kernel(a, b, name)?;
    }
    let unseen: BTreeMap<&Stage, &String> = a.unseen.iter().chain(&b.unseen).collect();
    let unreliable: BTreeSet<Stage> = unseen.keys().map(|stage| (*stage).clone()).collect();
    let comparison = compare(&a.kernel_irs(), &b.kernel_irs(), &unreliable);
    let ranked_by = ranked_by(a, b);
    let disassembler = Disassembler::find([a, b]);
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
                variants.push((
                    heavier,
                    variant(pair, compared, stage.as_ref(), disassembler.as_ref(), &names, &unreliable)?,
                ));
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
    let said = [("A", a), ("B", b)]
        .into_iter()
        .flat_map(|(side, code)| code.notes.iter().map(move |note| format!("{side}: {note}")));
    let no_evidence = unseen.iter().map(|(stage, reason)| format!("`{stage}` is no evidence: {reason}"));
    let notes = no_evidence.chain(said).collect();
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
    disassembler: Option<&Disassembler>,
    names: &BTreeMap<(String, String), String>,
    unreliable: &BTreeSet<Stage>,
) -> Result<VariantDiff, EngineError> {
    let [a, b] = pair;
    let all: BTreeSet<&Stage> =
        [a, b].into_iter().flatten().flat_map(|kernel| kernel.stages.keys()).collect();
    let counts = |stage: &Stage| !unreliable.contains(stage);
    let state =
        |stage: &Stage| match (a.and_then(|a| a.stages.get(stage)), b.and_then(|b| b.stages.get(stage))) {
            (Some(a), Some(b)) => Some(a.digest.digest == b.digest.digest),
            _ => None,
        };
    let named = |stage: &Stage| {
        if counts(stage) { stage.name().to_owned() } else { format!("{stage} (no evidence)") }
    };
    let stages: Vec<(String, Option<bool>)> = all.iter().map(|stage| (named(stage), state(stage))).collect();
    // Of several texts under one key, some may be the same although the key as a whole is not.
    let same = a.is_some()
        && b.is_some()
        && all.iter().filter(|stage| counts(stage)).all(|stage| state(stage) == Some(true));
    let changed = compared.difference.is_change() && !same;
    let first = all.iter().copied().find(|stage| counts(stage) && state(stage) != Some(true));
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
        let (text_a, text_b) = readable_texts(stage, a, b, disassembler)?;
        operations = changed_operations(stage, &text_a, &text_b);
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
