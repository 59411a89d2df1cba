//! What a child compiled, what its tuners chose and what each case launched.
//!
//! The texts lie in the campaign's `ir/`; whether two are the same code is left to `ir`. Invariant: a stage that should
//! have a text has its digest, or the reason why there is none.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::CaseKey;
use crate::side::Side;

/// Body of a `compile` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compile {
    /// The side it was compiled for.
    pub side: Side,
    /// Names this compiled form within the cell; `launch` events refer to it.
    pub id: String,
    /// The kernel's public name.
    pub kernel: String,
    /// Digest of what identifies the variant whatever the switch: signature, constexprs, specialisation, options.
    pub variant: String,
    /// The same in readable form.
    #[serde(default)]
    pub constexprs: BTreeMap<String, Value>,
    /// Argument types by name or position.
    #[serde(default)]
    pub signature: BTreeMap<String, Value>,
    /// Specialisation of arguments (alignment, values equal to 1).
    #[serde(default)]
    pub specialization: BTreeMap<String, Value>,
    /// Options of the launch that reach the compiler: warps, stages, …
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// Stage name to SHA-256 of its text, which lies in the campaign's `ir/`.
    #[serde(default)]
    pub stages: BTreeMap<String, String>,
    /// Stages that should have a text and have none, with the reason.
    #[serde(default)]
    pub missing: BTreeMap<String, String>,
    /// Registers a thread.
    #[serde(default)]
    pub registers: Option<u64>,
    /// Spilled registers a thread.
    #[serde(default)]
    pub spills: Option<u64>,
    /// Shared memory a block.
    #[serde(default)]
    pub shared_bytes: Option<u64>,
    /// Time to compile in milliseconds.
    #[serde(default)]
    pub compile_ms: Option<f64>,
    /// True if a tuner was trying configs.
    #[serde(default)]
    pub tuning: bool,
    /// True if the compiled form came from a cache on disk.
    #[serde(default)]
    pub cache_hit: bool,
}

/// Where a tuner's config came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfigSource {
    /// Chosen by benchmarking in this cell.
    Tuned,
    /// Taken from the recording.
    Replayed,
    /// The recording has no such key; the tuner chose by itself.
    Fallback,
}

/// Body of a `config` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The side it was chosen on.
    pub side: Side,
    /// The tuned kernel.
    pub kernel: String,
    /// The tuner's key, as text.
    pub key: String,
    /// The chosen config, as text.
    pub config: String,
    /// Where it came from.
    pub source: ConfigSource,
    /// The tuner's class: `Autotuner`, `LibTuner`.
    #[serde(default)]
    pub tuner: String,
}

/// Body of a `launch` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The side.
    pub side: Side,
    /// The case.
    pub case: CaseKey,
    /// The compiled forms that were launched, in order of their first launch.
    pub compiled: Vec<Launched>,
    /// Launches of kernels whose compiled form is not known (a hook could not see it).
    #[serde(default)]
    pub unknown: u64,
}

/// One compiled form and how often a case launched it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launched {
    /// The `id` of its `compile` event.
    pub id: String,
    /// Launches in one call of the operator.
    pub launches: u64,
}
