//! When two runs compiled the same code: the one rule of screening, checking, duet's proof and rescoring.
//!
//! Kernels are matched by name and variant; under one key several compiled texts may lie, compared as
//! multisets. A stage that the caller declares unreliable is no evidence either way, and is named.
//! Invariant: without evidence there is no "same".

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::canonical::Digest;
use crate::stage::Stage;

/// One compiled kernel: who it is and what each stage's canonical text hashes to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KernelIr {
    /// The kernel's name.
    pub kernel: String,
    /// What tells this variant from the kernel's others, irrespective of the switch.
    pub variant: String,
    /// Digest of the canonical text per stage.
    pub stages: BTreeMap<Stage, Digest>,
}

/// One digest over everything that a run launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub Digest);

impl Fingerprint {
    /// SHA-256 over the sorted (kernel, variant, stage, digest) of `kernels`.
    ///
    /// `None` if there is not one stage: a run without IR has no fingerprint, it is not "identical".
    /// Every field is preceded by its length in bytes (64 bit, little endian), so no two lists of
    /// kernels meet in one stream.
    #[must_use]
    pub fn of(kernels: &[KernelIr]) -> Option<Self> {
        let mut records: Vec<(&str, &str, &BTreeMap<Stage, Digest>)> = kernels
            .iter()
            .filter(|kernel| !kernel.stages.is_empty())
            .map(|kernel| (kernel.kernel.as_str(), kernel.variant.as_str(), &kernel.stages))
            .collect();
        if records.is_empty() {
            return None;
        }
        records.sort();
        let mut hasher = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        for (kernel, variant, stages) in records {
            field(kernel.as_bytes());
            field(variant.as_bytes());
            for (stage, digest) in stages {
                field(stage.name().as_bytes());
                field(&digest.0);
            }
            // Ends the kernel: no stage has an empty name.
            field(b"");
        }
        Some(Self(Digest(hasher.finalize().into())))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// How one kernel variant differs between the sides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// Equal at every stage that counts.
    Same,
    /// The first stage whose texts differ.
    Stage(Stage),
    /// The first difference is a stage that only side B has.
    MissingInA(Stage),
    /// The first difference is a stage that only side A has.
    MissingInB(Stage),
    /// Only side A has this variant.
    OnlyInA,
    /// Only side B has this variant.
    OnlyInB,
    /// Both sides have the variant, but not equally many compiled texts of it.
    Count {
        /// Texts on side A, at least 1.
        a: usize,
        /// Texts on side B, at least 1.
        b: usize,
    },
    /// Neither side has a stage that counts.
    NoEvidence,
}

impl Difference {
    /// The first stage at which the sides part, if a stage is what differs.
    #[must_use]
    pub fn stage(&self) -> Option<&Stage> {
        match self {
            Self::Stage(stage) | Self::MissingInA(stage) | Self::MissingInB(stage) => Some(stage),
            _ => None,
        }
    }

    /// Whether the sides differ here.
    #[must_use]
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::Same | Self::NoEvidence)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => formatter.write_str("same"),
            Self::Stage(stage) => write!(formatter, "{stage}"),
            Self::MissingInA(stage) => write!(formatter, "{stage} only in B"),
            Self::MissingInB(stage) => write!(formatter, "{stage} only in A"),
            Self::OnlyInA => formatter.write_str("only in A"),
            Self::OnlyInB => formatter.write_str("only in B"),
            Self::Count { a, b } => write!(formatter, "{a} texts in A, {b} in B"),
            Self::NoEvidence => formatter.write_str("no evidence"),
        }
    }
}

/// One kernel variant, compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelComparison {
    /// The kernel's name.
    pub kernel: String,
    /// The variant's key.
    pub variant: String,
    /// How the sides differ.
    pub difference: Difference,
}

/// What a comparison says as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IrVerdict {
    /// Every kernel is the same at every stage that counts.
    Same,
    /// Something differs.
    Changed,
    /// A side has no IR, or a kernel has none that counts: nothing can be said.
    NoIr,
}

/// Two runs' kernels, compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Every variant of either side, by kernel and variant.
    pub kernels: Vec<KernelComparison>,
    /// The earliest stage at which any kernel differs.
    pub first_stage: Option<Stage>,
    /// What it comes to.
    pub verdict: IrVerdict,
    /// Stages that occurred and were declared unreliable, in pipeline order.
    pub unreliable: Vec<Stage>,
}

/// Compares what two sides compiled.
///
/// Texts are compared stage by stage in pipeline order; stages in `unreliable` are left out on both
/// sides. A stage that one side lacks is a difference, and so is a kernel, variant or text more or less.
#[must_use]
pub fn compare(a: &[KernelIr], b: &[KernelIr], unreliable: &BTreeSet<Stage>) -> Comparison {
    let mut keys: BTreeMap<(&str, &str), [Vec<&KernelIr>; 2]> = BTreeMap::new();
    for (side, kernels) in [a, b].into_iter().enumerate() {
        for kernel in kernels {
            keys.entry((&kernel.kernel, &kernel.variant)).or_default()[side].push(kernel);
        }
    }
    let kernels: Vec<KernelComparison> = keys
        .into_iter()
        .map(|((kernel, variant), [in_a, in_b])| KernelComparison {
            kernel: kernel.to_owned(),
            variant: variant.to_owned(),
            difference: difference(&in_a, &in_b, unreliable),
        })
        .collect();
    let has_ir = |side: &[KernelIr]| side.iter().any(|kernel| !kernel.stages.is_empty());
    let verdict = if !has_ir(a) || !has_ir(b) {
        IrVerdict::NoIr
    } else if kernels.iter().any(|kernel| kernel.difference.is_change()) {
        IrVerdict::Changed
    } else if kernels.iter().all(|kernel| kernel.difference == Difference::Same) {
        IrVerdict::Same
    } else {
        IrVerdict::NoIr
    };
    let occurring: BTreeSet<&Stage> = a.iter().chain(b).flat_map(|kernel| kernel.stages.keys()).collect();
    Comparison {
        first_stage: kernels.iter().filter_map(|kernel| kernel.difference.stage()).min().cloned(),
        unreliable: unreliable.iter().filter(|stage| occurring.contains(stage)).cloned().collect(),
        kernels,
        verdict,
    }
}

fn difference(a: &[&KernelIr], b: &[&KernelIr], unreliable: &BTreeSet<Stage>) -> Difference {
    match (a.len(), b.len()) {
        (_, 0) => return Difference::OnlyInA,
        (0, _) => return Difference::OnlyInB,
        _ => {}
    }
    let stages: BTreeSet<&Stage> = a
        .iter()
        .chain(b)
        .flat_map(|kernel| kernel.stages.keys())
        .filter(|stage| !unreliable.contains(stage))
        .collect();
    if stages.is_empty() {
        return Difference::NoEvidence;
    }
    if a.len() != b.len() {
        return Difference::Count { a: a.len(), b: b.len() };
    }
    // The multiset of what the texts have been up to this stage, so that two texts that exchange a
    // later stage are seen.
    let mut upto_a: Vec<Vec<Option<Digest>>> = vec![Vec::new(); a.len()];
    let mut upto_b = upto_a.clone();
    for stage in stages {
        for (upto, side) in [(&mut upto_a, a), (&mut upto_b, b)] {
            for (digests, kernel) in upto.iter_mut().zip(side) {
                digests.push(kernel.stages.get(stage).copied());
            }
        }
        if sorted(&upto_a) != sorted(&upto_b) {
            let has = |side: &[&KernelIr]| side.iter().any(|kernel| kernel.stages.contains_key(stage));
            return match (has(a), has(b)) {
                (true, false) => Difference::MissingInB(stage.clone()),
                (false, true) => Difference::MissingInA(stage.clone()),
                _ => Difference::Stage(stage.clone()),
            };
        }
    }
    Difference::Same
}

fn sorted(texts: &[Vec<Option<Digest>>]) -> Vec<&Vec<Option<Digest>>> {
    let mut texts: Vec<_> = texts.iter().collect();
    texts.sort();
    texts
}
