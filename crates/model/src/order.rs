//! An order: all that a supervisor and its child need to measure one cell (`order.json`).
//!
//! It is self-contained, so that an executor can run it anywhere that sees the campaign's folder.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::card::Card;
use crate::cell::Purpose;
use crate::operator::OperatorSpec;
use crate::side::Side;
use crate::switch::{Switch, Variables};

/// One attempt's order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Version of the cell protocol.
    pub protocol: u32,
    /// The campaign's id; every process of the cell carries it in `SWITCHBACK_CAMPAIGN`.
    pub campaign: String,
    /// The operator.
    pub operator: OperatorSpec,
    /// What the cell is for, and which sides it runs.
    pub purpose: Purpose,
    /// Counts the attempts of this cell from 1.
    pub attempt: u32,
    /// The attempt's folder, absolute; the child writes nowhere else but into `ir_dir` and its caches.
    pub attempt_dir: PathBuf,
    /// The campaign's store of IR texts, absolute.
    pub ir_dir: PathBuf,
    /// The child.
    pub command: Command,
    /// Both sides' variables; process-paired children get theirs in the environment, duet children set them.
    pub switch: Switch,
    /// How to measure.
    pub measure: Measure,
    /// Seconds after which the group is ended.
    pub timeout_s: f64,
    /// The card.
    pub card: Card,
    /// Cache folders of the cells that had one side alone on this card: a cell of both sides may begin with what they
    /// compiled. Empty for all others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub compiled: BTreeMap<Side, PathBuf>,
    /// True if outputs are to be held against a reference in a cell of one side: screening saw them differ. Cells of both sides
    /// look by themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reference: bool,
    /// How it shares the card with other cells of its campaign; none if it is there by itself from start to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// Conditions that the engine knows; the child adds its own in its `start` event.
    pub conditions: BTreeMap<String, String>,
    /// Facts recorded beside the conditions: versions, who, where.
    pub identity: BTreeMap<String, String>,
}

/// The child of a cell: what to start and in which surroundings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working folder, absolute.
    pub cwd: PathBuf,
    /// Variables to set or (None) to remove, on top of the supervisor's environment.
    pub env: Variables,
}

/// What a cell waits for before it uses its card, when other cells of its campaign are started on the card meanwhile.
///
/// A child that is given a turn does without the card what can be done without it (imports above all), then locks the file
/// that `SWITCHBACK_TURN_FILE` names and keeps the lock until it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Turn {
    /// The card to itself: it times something.
    Alone,
    /// The card beside others that time nothing.
    Shared,
}

/// What to do about autotuners.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tuning {
    /// Leave tuners alone.
    #[default]
    Off,
    /// Let them tune and record what they chose into the attempt's `autotune_records/`.
    Record,
    /// Give them the recording's choices.
    Replay,
}

/// Which timer a cell is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimerChoice {
    /// Gated where the back end can, else direct.
    #[default]
    Auto,
    /// Gated events.
    Gated,
    /// Graph replay, direct where a case cannot be captured.
    Graph,
    /// The benchmark's own timing.
    Direct,
}

impl std::fmt::Display for TimerChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Gated => "gated",
            Self::Graph => "graph",
            Self::Direct => "direct",
        })
    }
}

/// Cache state before a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// Flushed before each sample.
    #[default]
    Flush,
    /// Left as the sample before left it.
    Warm,
}

/// What state the card is measured in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// Small blocks that alternate: the sides share one thermal state and one clock.
    #[default]
    Burst,
    /// Each side has the card until it settles at the clock that this side brings about.
    Sustained,
}

impl std::fmt::Display for Regime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Burst => "burst",
            Self::Sustained => "sustained",
        })
    }
}

/// How to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// True for measured rows; false where only the code is wanted (screening): one untimed pass a case.
    pub timed: bool,
    /// The timer that is asked for.
    pub timer: TimerChoice,
    /// Warm-up before a case's first sample, milliseconds.
    pub warmup_ms: f64,
    /// Time for a case's samples a side, milliseconds.
    pub sample_ms: f64,
    /// Calls of the benchmark's timing function a row, of which the median is taken; `direct` timer only.
    pub direct_repeat: u32,
    /// Most blocks a side.
    pub blocks: u32,
    /// Most samples a block.
    pub block_length: u32,
    /// A case's sampling ends when the standard error of its effect (one side: of its latency) within the process is
    /// this small, percent; 0 takes all the time there is.
    #[serde(default)]
    pub case_precision_pct: f64,
    /// What state the card is measured in.
    #[serde(default)]
    pub regime: Regime,
    /// Cache state before a sample.
    pub cache_state: CacheState,
    /// Seed of this cell's draws: order of cases, which side first, order within blocks, random inputs.
    pub seed: u64,
    /// What to do about autotuners.
    pub tuning: Tuning,
    /// The recording to replay, absolute; with [`Tuning::Replay`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<PathBuf>,
    /// True if the benchmark's baseline is measured as well.
    #[serde(default)]
    pub with_baseline: bool,
    /// True if IR texts are kept.
    #[serde(default = "yes")]
    pub keep_ir: bool,
    /// Operators whose capture is known to break a process; never captured.
    #[serde(default)]
    pub capture_denied: Vec<String>,
    /// Texts of errors that end a process's device context.
    #[serde(default)]
    pub capture_fatal: Vec<String>,
    /// Texts of errors after which no capture of the process succeeds.
    #[serde(default)]
    pub capture_poisoned: Vec<String>,
    /// True if the back end can capture graphs.
    #[serde(default)]
    pub capture_supported: bool,
    /// The FlagGems vendor that is this back end's own.
    #[serde(default)]
    pub vendor: String,
}

fn yes() -> bool {
    true
}
