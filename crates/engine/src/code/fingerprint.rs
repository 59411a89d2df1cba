//! Fingerprints as a reader wants them: per kernel, variant and stage, and one over everything.

use std::collections::BTreeMap;

use switchback_ir::Fingerprint;

use super::{CompiledCode, variants};

/// One compiled kernel's digests.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelFingerprint {
    /// The kernel's name.
    pub kernel: String,
    /// A readable name of the variant.
    pub name: String,
    /// The variant's key.
    pub variant: String,
    /// Launches in one call of each case; 0 where they are not known.
    pub launches: u64,
    /// Stage and digest (whole), in pipeline order.
    pub stages: Vec<(String, String)>,
}

/// What a side's code hashes to.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeFingerprint {
    /// Where it comes from.
    pub origin: String,
    /// The fingerprint over all; none without a single text.
    pub fingerprint: Option<String>,
    /// By kernel and variant.
    pub kernels: Vec<KernelFingerprint>,
    /// Abbreviation in a readable name to what it stands for.
    pub legend: BTreeMap<String, String>,
    /// Patterns of stamps that were taken out, and how often.
    pub stamps: BTreeMap<String, u64>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// Fingerprints a side's code.
#[must_use]
pub fn fingerprint(code: &CompiledCode) -> CodeFingerprint {
    let (names, legend) = variants::names(&code.kernels.iter().collect::<Vec<_>>());
    let kernels = code
        .kernels
        .iter()
        .zip(names)
        .map(|(kernel, name)| KernelFingerprint {
            kernel: kernel.kernel.clone(),
            name,
            variant: kernel.variant.clone(),
            launches: kernel.launches,
            stages: kernel
                .stages
                .iter()
                .map(|(stage, text)| (stage.name().to_owned(), text.digest.digest.to_string()))
                .collect(),
        })
        .collect();
    CodeFingerprint {
        origin: code.origin.clone(),
        fingerprint: Fingerprint::of(&code.kernel_irs()).map(|fingerprint| fingerprint.to_string()),
        kernels,
        legend,
        stamps: code.stamps(),
        notes: code.notes.clone(),
    }
}
