//! Compiled code, read from wherever it lies: a campaign, one attempt, or a plain folder that no probe wrote.
//!
//! Everything that looks at code (fingerprints, diffs, compiling again) starts from [`CompiledCode`]. Texts stay on
//! disk; a value here knows where they lie and what they hash to. Invariant: kernels that no text was kept of stay in
//! the list, so that "no text" is never taken for "no kernel", and a text that is damaged is named in the notes.

mod attempt;
pub mod diff;
mod disassembly;
pub mod fingerprint;
mod folder;
pub mod names;
mod shown;
#[cfg(test)]
mod tests;
mod variants;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use switchback_ir::{KernelIr, Stage, StageDigest, VariantDescription};
use switchback_model::side::Side;
use switchback_store::StoreError;
use switchback_store::campaign_dir::CampaignDir;

use crate::error::EngineError;

pub use attempt::{of_attempt, of_operator};
pub use folder::of_folder;

/// One stage's text of one compiled kernel.
#[derive(Debug, Clone)]
pub struct StageText {
    /// Where it lies.
    pub path: PathBuf,
    /// Its canonical digest, and what was noticed on the way.
    pub digest: StageDigest,
}

impl StageText {
    /// Reads the text.
    ///
    /// # Errors
    /// The file is gone.
    pub fn read(&self) -> Result<Vec<u8>, StoreError> {
        std::fs::read(&self.path).map_err(|source| StoreError::Io {
            action: "read",
            path: self.path.clone(),
            source,
        })
    }
}

/// What a compiled kernel takes of the card, and of the compiler's time; what is not known is none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Resources {
    /// Registers a thread.
    pub registers: Option<u64>,
    /// Spilled registers a thread.
    pub spills: Option<u64>,
    /// Shared memory a block.
    pub shared_bytes: Option<u64>,
    /// Time to compile, milliseconds.
    pub compile_ms: Option<f64>,
}

/// One compiled kernel.
#[derive(Debug, Clone)]
pub struct CompiledKernel {
    /// The kernel's public name.
    pub kernel: String,
    /// What tells this variant from the kernel's others, whatever the switch.
    pub variant: String,
    /// The same in readable parts.
    pub description: VariantDescription,
    /// Its texts.
    pub stages: BTreeMap<Stage, StageText>,
    /// What it takes.
    pub resources: Resources,
    /// Options it was compiled with, and what else stands in its metadata.
    pub options: BTreeMap<String, Value>,
    /// Launches in one call of each case; 0 where launches are not known.
    pub launches: u64,
    /// Time that cases spend in it, microseconds: each case's latency shared by launches; 0 where nothing was timed.
    pub time_us: f64,
    /// Where it comes from, for messages.
    pub place: String,
}

impl CompiledKernel {
    /// As the rule of comparing wants it.
    #[must_use]
    pub fn kernel_ir(&self) -> KernelIr {
        KernelIr {
            kernel: self.kernel.clone(),
            variant: self.variant.clone(),
            stages: self.stages.iter().map(|(stage, text)| (stage.clone(), text.digest.digest)).collect(),
        }
    }
}

/// The compiled code of one side.
#[derive(Debug, Clone, Default)]
pub struct CompiledCode {
    /// Where it comes from, as a reader would say it.
    pub origin: String,
    /// Its kernels, by name and variant.
    pub kernels: Vec<CompiledKernel>,
    /// What a reader must know: damaged texts, launches that no hook saw.
    pub notes: Vec<String>,
    /// Stages that are no evidence, with the reason, as screening found.
    pub unseen: BTreeMap<Stage, String>,
    /// Versions of what compiled it, where they are known.
    pub versions: BTreeMap<String, String>,
}

impl CompiledCode {
    /// The kernels as the rule of comparing wants them, each once.
    #[must_use]
    pub fn kernel_irs(&self) -> Vec<KernelIr> {
        self.kernels.iter().map(CompiledKernel::kernel_ir).collect()
    }

    /// Patterns of stamps that were taken out, and how often each matched.
    #[must_use]
    pub fn stamps(&self) -> BTreeMap<String, u64> {
        let mut stamps = BTreeMap::new();
        for text in self.kernels.iter().flat_map(|kernel| kernel.stages.values()) {
            for stamp in &text.digest.stamps {
                *stamps.entry(stamp.pattern.clone()).or_default() += stamp.count as u64;
            }
        }
        stamps
    }

    /// Puts kernels in order, and those that are one code twice into one; notes of texts are collected.
    fn finish(mut self) -> Self {
        let mut merged: BTreeMap<KernelIr, CompiledKernel> = BTreeMap::new();
        for kernel in std::mem::take(&mut self.kernels) {
            match merged.entry(kernel.kernel_ir()) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(kernel);
                }
                std::collections::btree_map::Entry::Occupied(mut there) => {
                    let there = there.get_mut();
                    there.launches += kernel.launches;
                    there.time_us += kernel.time_us;
                }
            }
        }
        self.kernels = merged.into_values().collect();
        let mut said = BTreeSet::new();
        for kernel in &self.kernels {
            for text in kernel.stages.values() {
                for warning in &text.digest.warnings {
                    said.insert(format!("`{}`, {}: {warning}", kernel.kernel, kernel.place));
                }
                if text.digest.crash_reproducer {
                    said.insert(format!(
                        "`{}`, {}: the text carries a compiler's crash reproducer",
                        kernel.kernel, kernel.place
                    ));
                }
            }
        }
        self.notes.extend(said);
        self
    }
}

/// Compiled code by sides, as one path holds it.
#[derive(Debug, Clone)]
pub struct Found {
    /// What the path is.
    pub kind: FoundKind,
    /// The code; a campaign and a duet attempt have both sides, all else has one.
    pub sides: Vec<(Side, CompiledCode)>,
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundKind {
    /// A campaign's folder.
    Campaign,
    /// An attempt's folder.
    Attempt,
    /// Any other folder with compiled kernels in it.
    Folder,
}

/// Reads all code that a path holds: of a campaign what the cases of its screening (or single runs) launch.
///
/// # Errors
/// No such folder, no kernel in it, or a damaged campaign.
pub fn find(path: &Path, program: &Path) -> Result<Found, EngineError> {
    if !path.is_dir() {
        return Err(EngineError::NoRun { path: path.to_owned(), detail: "there is no such folder".into() });
    }
    if CampaignDir::is_campaign(path) {
        let campaign = crate::prepare::read(path, program)?;
        return Ok(Found { kind: FoundKind::Campaign, sides: attempt::of_campaign(&campaign)? });
    }
    if attempt::is_attempt(path) {
        let sides = attempt::of_attempt_both(path)?;
        return Ok(Found { kind: FoundKind::Attempt, sides });
    }
    Ok(Found { kind: FoundKind::Folder, sides: vec![(Side::A, of_folder(path)?)] })
}
