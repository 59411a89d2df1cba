//! What recompiled code says: whether side A is the recording, what cannot be seen, what each switch touches.

use std::collections::{BTreeMap, BTreeSet};

use switchback_ir::{Digest, IrVerdict, KernelIr, Stage, compare};
use switchback_model::switch;
use switchback_model::verdict::ScreenVerdict;

use super::environments::{A, Plan};
use super::recording::Recording;
use super::{ByKernel, Compiled};

/// Most kernels that a message names.
const MOST_NAMED: usize = 3;

/// Whether side A, compiled again, is what was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof {
    /// Kernels in the recording.
    pub kernels: usize,
    /// Kernels that came out as recorded at every stage that both have, machine code aside.
    pub equal: usize,
    /// Those that did not: the kernel, and the stage or the error.
    pub differing: Vec<(String, String)>,
    /// Stages that were held against the recording.
    pub stages: Vec<String>,
}

impl Proof {
    /// True if every kernel came out as recorded.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.kernels > 0 && self.equal == self.kernels
    }

    /// In a sentence.
    #[must_use]
    pub fn detail(&self) -> String {
        let named: Vec<String> = self
            .differing
            .iter()
            .take(MOST_NAMED)
            .map(|(kernel, what)| format!("`{kernel}`: {what}"))
            .collect();
        let more = self.differing.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{} of {} kernels differ ({}{more})", self.differing.len(), self.kernels, named.join(", "))
    }
}

/// A stage that is no evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// The stage.
    pub stage: Stage,
    /// Why.
    pub reason: String,
}

impl Unseen {
    /// The stage's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.stage.name()
    }
}

/// What a switch does to an operator's kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The verdict, as screening with a card gives it.
    pub verdict: ScreenVerdict,
    /// The first stage that differs.
    pub first_stage: Option<String>,
    /// Kernels that differ.
    pub changed: usize,
    /// Kernels that do not compile on one of the sides.
    pub failed: usize,
    /// Why kernels do not compile, the first of them.
    pub error: Option<String>,
}

/// One operator under all switches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorRow {
    /// The operator; of a plain folder the kernel.
    pub operator: String,
    /// Kernels that it launches.
    pub kernels: usize,
    /// A cell a switch.
    pub cells: Vec<Cell>,
}

/// Stages that come out of an assembler, whose output need not follow from its input.
fn is_machine_code(stage: &Stage) -> bool {
    matches!(stage, Stage::Sass | Stage::Bytes | Stage::Other(_))
}

fn recorded(recording: &Recording, index: usize) -> BTreeMap<&Stage, Digest> {
    let stages = &recording.kernels[index].kernel.stages;
    stages.iter().map(|(stage, text)| (stage, text.digest.digest)).collect()
}

/// Holds side A against the recording.
pub(super) fn proof(recording: &Recording, a: &ByKernel) -> Proof {
    let mut it = Proof { kernels: recording.kernels.len(), ..Proof::default() };
    let mut held = BTreeSet::new();
    for (index, kernel) in recording.kernels.iter().enumerate() {
        let name = kernel.kernel.kernel.clone();
        let compiled = match a.get(&index) {
            Some(Compiled::Done(stages)) => stages,
            Some(Compiled::Failed(error)) => {
                it.differing.push((name, error.clone()));
                continue;
            }
            None => {
                it.differing.push((name, "was not compiled".into()));
                continue;
            }
        };
        let both: Vec<(&Stage, bool)> = recorded(recording, index)
            .into_iter()
            .filter(|(stage, _)| **stage != Stage::Ttir && !is_machine_code(stage))
            .filter_map(|(stage, digest)| compiled.get(stage).map(|here| (stage, *here == digest)))
            .collect();
        held.extend(both.iter().map(|(stage, _)| (*stage).clone()));
        match both.iter().find(|(_, same)| !same) {
            Some((stage, _)) => it.differing.push((name, format!("differs first at {stage}"))),
            None if both.is_empty() => {
                it.differing.push((name, "was recorded with no stage behind `ttir`".into()));
            }
            None => it.equal += 1,
        }
    }
    it.stages = held.into_iter().map(|stage| stage.name().to_owned()).collect();
    it
}

/// Stages that are no evidence: two compilations of side A differ, or machine code is not the recorded one.
pub(super) fn unseen(recording: &Recording, a: &ByKernel, again: &ByKernel) -> Vec<Unseen> {
    let mut two: BTreeMap<&Stage, usize> = BTreeMap::new();
    let mut other: BTreeMap<&Stage, usize> = BTreeMap::new();
    let mut compiled = 0;
    for index in 0..recording.kernels.len() {
        let (Some(Compiled::Done(first)), Some(Compiled::Done(second))) = (a.get(&index), again.get(&index))
        else {
            continue;
        };
        compiled += 1;
        let recorded = recorded(recording, index);
        for (stage, digest) in first {
            if second.get(stage) != Some(digest) {
                *two.entry(stage).or_default() += 1;
            } else if is_machine_code(stage) && recorded.get(stage).is_some_and(|there| there != digest) {
                *other.entry(stage).or_default() += 1;
            }
        }
    }
    let mut unseen: Vec<Unseen> = two
        .into_iter()
        .map(|(stage, differ)| Unseen {
            stage: stage.clone(),
            reason: format!("two compilations of side A differ in {differ} of {compiled} kernels"),
        })
        .collect();
    for (stage, differ) in other {
        if !unseen.iter().any(|it| it.stage == *stage) {
            let reason = format!(
                "side A compiled again is not the recorded one in {differ} of {compiled} kernels: another assembler"
            );
            unseen.push(Unseen { stage: stage.clone(), reason });
        }
    }
    unseen.sort_by(|one, two| one.stage.cmp(&two.stage));
    unseen
}

/// Kernels of both sides as the rule of comparing wants them, and those that do not compile.
fn both_sides(
    recording: &Recording,
    indices: &[usize],
    (a, b): (&ByKernel, &ByKernel),
) -> ([Vec<KernelIr>; 2], Vec<String>) {
    let mut sides = [Vec::new(), Vec::new()];
    let mut failures = Vec::new();
    for &index in indices {
        match (a.get(&index), b.get(&index)) {
            (Some(Compiled::Done(in_a)), Some(Compiled::Done(in_b))) => {
                for (side, stages) in sides.iter_mut().zip([in_a, in_b]) {
                    side.push(KernelIr {
                        kernel: recording.kernels[index].kernel.kernel.clone(),
                        // The recorded text itself is the key: the same one was compiled on both sides.
                        variant: index.to_string(),
                        stages: stages.clone(),
                    });
                }
            }
            (Some(Compiled::Failed(error)), _) | (_, Some(Compiled::Failed(error))) => {
                failures.push(error.clone());
            }
            _ => failures.push("was not compiled".to_owned()),
        }
    }
    (sides, failures)
}

/// What each switch does to each operator.
pub(super) fn operators(
    recording: &Recording,
    plan: &Plan,
    results: &[ByKernel],
    unreliable: &BTreeSet<Stage>,
) -> Vec<OperatorRow> {
    recording
        .operators
        .iter()
        .map(|(operator, indices)| OperatorRow {
            operator: operator.clone(),
            kernels: indices.len(),
            cells: plan
                .sides
                .iter()
                .map(|&(a, b)| cell(recording, indices, (&results[a], &results[b]), unreliable))
                .collect(),
        })
        .collect()
}

fn cell(
    recording: &Recording,
    indices: &[usize],
    sides: (&ByKernel, &ByKernel),
    unreliable: &BTreeSet<Stage>,
) -> Cell {
    let ([a, b], failures) = both_sides(recording, indices, sides);
    let comparison = compare(&a, &b, unreliable);
    let verdict = match comparison.verdict {
        _ if indices.is_empty() => ScreenVerdict::NotCompiled,
        _ if failures.len() == indices.len() => ScreenVerdict::NoRows,
        IrVerdict::Changed => ScreenVerdict::IrChanged,
        // What does not compile any more is touched, whatever the others are.
        _ if !failures.is_empty() => ScreenVerdict::IrChanged,
        IrVerdict::Same => ScreenVerdict::NoIrDiff,
        IrVerdict::NoIr => ScreenVerdict::NotCompiled,
    };
    Cell {
        verdict,
        first_stage: comparison.first_stage.map(|stage| stage.name().to_owned()),
        changed: comparison.kernels.iter().filter(|kernel| kernel.difference.is_change()).count(),
        failed: failures.len(),
        error: failures.into_iter().next(),
    }
}

/// What is to be said of switches as a whole.
pub(super) fn notes(
    recording: &Recording,
    plan: &Plan,
    results: &[ByKernel],
    unreliable: &BTreeSet<Stage>,
) -> Vec<String> {
    let all: Vec<usize> = (0..recording.kernels.len()).collect();
    let against = |a: usize, b: usize| {
        let ([a, b], failures) = both_sides(recording, &all, (&results[a], &results[b]));
        let comparison = compare(&a, &b, unreliable);
        let changed = comparison.kernels.iter().filter(|kernel| kernel.difference.is_change()).count();
        (changed + failures.len(), comparison.first_stage)
    };
    let shown = |environment: usize| switch::describe(&plan.environments[environment].variables);
    let mut notes = Vec::new();
    for &(a, b) in &plan.sides {
        if a != A
            && let (changed @ 1.., stage) = against(A, a)
        {
            let stage = stage.map(|stage| format!(", first at `{stage}`")).unwrap_or_default();
            notes.push(format!(
                "side A's `{}` is not the recording's environment: {changed} of {} kernels differ{stage}",
                shown(a),
                all.len()
            ));
        }
        if against(a, b).0 == 0 {
            notes.push(format!(
                "`{}` touches no kernel of {}; nor does a variable that this compiler does not read",
                shown(b),
                all.len()
            ));
        }
    }
    notes.dedup();
    notes
}
