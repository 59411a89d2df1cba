//! Flags that several commands have: what is measured, how, how it is judged, where it goes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use switchback_engine::controls::Controls;

/// The suite and its options.
#[derive(Debug, Args)]
pub struct SuiteArgs {
    /// Where operators come from: `cpu`, `triton`, `flaggems`, `command`.
    #[arg(long, value_name = "NAME", default_value = "cpu", env = "SWITCHBACK_SUITE")]
    pub suite: String,
    /// Interpreter that runs the benchmark.
    #[arg(long, value_name = "PATH", env = "SWITCHBACK_PYTHON")]
    pub python: Option<String>,
    /// A FlagGems checkout.
    #[arg(long, value_name = "DIR", env = "SWITCHBACK_FLAGGEMS_DIR")]
    pub flaggems_dir: Option<PathBuf>,
    /// The benchmark's level: `core`, `comprehensive`.
    #[arg(long, value_name = "LEVEL", env = "SWITCHBACK_LEVEL")]
    pub level: Option<String>,
    /// The benchmark's mode: `kernel`, `operator`, `wrapper`, `cudagraph`.
    #[arg(long, value_name = "MODE", env = "SWITCHBACK_MODE")]
    pub mode: Option<String>,
    /// Dtypes for operators that name none themselves; several by `,` or white space.
    #[arg(long, value_name = "DTYPES", value_delimiter = ',', env = "SWITCHBACK_DTYPES")]
    pub dtypes: Vec<String>,
    /// The benchmark's metrics [default: latency].
    #[arg(long, value_name = "METRICS", value_delimiter = ',', env = "SWITCHBACK_METRICS")]
    pub metrics: Vec<String>,
    /// Shapes to measure instead of the benchmark's own.
    #[arg(long, value_name = "FILE", env = "SWITCHBACK_SHAPE_FILE")]
    pub shape_file: Option<PathBuf>,
    /// Keep FlagGems' matrix product off its cluster kernel (Hopper).
    #[arg(long, env = "SWITCHBACK_AVOID_MM_CLUSTER")]
    pub avoid_mm_cluster: bool,
    /// Program of `--suite command`, split at white space; `{operator}` stands for the operator.
    #[arg(long, value_name = "ARGV", env = "SWITCHBACK_COMMAND")]
    pub command: Option<String>,
    /// Back end of the card: `cuda`, `musa`, `rocm`, `cpu` [default: the first that lists a card].
    #[arg(long, value_name = "NAME", env = "SWITCHBACK_BACKEND")]
    pub backend: Option<String>,
    /// Cards by index or UUID, or `all` [default: the first; of `campaign` and `plan` all].
    #[arg(long, value_name = "LIST", value_delimiter = ',', env = "SWITCHBACK_DEVICES")]
    pub devices: Vec<String>,
    /// A variable for every cell; `NAME=` unsets it.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub env: Vec<String>,
}

/// Which operators.
#[derive(Debug, Clone, Default, Args)]
pub struct OperatorArgs {
    /// Operators, `OP[:FILE[:DTYPES]]` [default: all of the cpu and triton suites].
    #[arg(value_name = "OP", env = "SWITCHBACK_OPS")]
    pub names: Vec<String>,
    /// A file with an operator a line, `OP[:FILE[:DTYPES]]`; what follows `#` is a remark.
    #[arg(long, value_name = "FILE", env = "SWITCHBACK_OPS_FILE")]
    pub ops_file: Option<PathBuf>,
    /// Operators beside those; several by white space, in quotes.
    #[arg(long, value_name = "OPS", value_delimiter = ' ', env = "SWITCHBACK_EXTRA_OPS")]
    pub extra_ops: Vec<String>,
    /// Operators to leave out, by name; several by `,`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', env = "SWITCHBACK_EXCLUDE")]
    pub exclude: Vec<String>,
}

impl OperatorArgs {
    /// True if none is named in any way.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.ops_file.is_none() && self.extra_ops.is_empty()
    }
}

/// What A and B differ in.
#[derive(Debug, Args)]
pub struct SwitchArgs {
    /// The switch: `NAME` (A `0`, B `1`) or `NAME=off:on`, empty for unset; repeated, they change together.
    #[arg(long, value_name = "NAME[=OFF:ON]")]
    pub switch: Vec<String>,
    /// A variable of side A.
    #[arg(long, value_name = "NAME=VALUE")]
    pub a: Vec<String>,
    /// A variable of side B.
    #[arg(long, value_name = "NAME=VALUE")]
    pub b: Vec<String>,
}

/// Timers that can be asked for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum TimerArg {
    /// Gated where the back end can, else direct.
    Auto,
    /// Events around a call that is queued whole before the card reaches it.
    Gated,
    /// Replay of a captured graph; direct where a case cannot be captured.
    Graph,
    /// The benchmark's own timing.
    Direct,
}

/// States that a card can be measured in.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum RegimeArg {
    /// Small blocks that alternate: both sides share one thermal state and one clock.
    Burst,
    /// Each side has the card until it settles at the clock that this side brings about; seconds a case.
    Sustained,
}

/// How rows are measured.
#[derive(Debug, Args)]
pub struct MeasureArgs {
    /// Timer.
    #[arg(long, value_enum, default_value = "auto", env = "SWITCHBACK_TIMER")]
    pub timer: TimerArg,
    /// Warm-up before a case's first sample, milliseconds [default: 200, cpu suite 2].
    #[arg(long, alias = "warmup", value_name = "MS", env = "SWITCHBACK_WARMUP_MS")]
    pub warmup_ms: Option<f64>,
    /// Most time for a case's samples a side, milliseconds [default: 500, timer `direct` 100, cpu suite 15].
    #[arg(long, alias = "iter", value_name = "MS", env = "SWITCHBACK_SAMPLE_MS")]
    pub sample_ms: Option<f64>,
    /// Calls of the benchmark's timing function a row, of which the median counts (timer `direct`).
    #[arg(long, value_name = "N", default_value_t = 1, env = "SWITCHBACK_DIRECT_REPEAT")]
    pub direct_repeat: u32,
    /// A case's sampling ends when the standard error of its effect within the process is this small, percent; 0 takes
    /// all the time.
    #[arg(long, value_name = "PCT", default_value_t = 0.05, env = "SWITCHBACK_CASE_PRECISION")]
    pub case_precision: f64,
    /// Most blocks a side [default: 400, cpu suite 40].
    #[arg(long, value_name = "N", env = "SWITCHBACK_BLOCKS")]
    pub blocks: Option<u32>,
    /// Most samples a block [default: 4, cpu suite 12]; a card's front end fetches commands ahead for about five.
    #[arg(long, value_name = "N", env = "SWITCHBACK_BLOCK_LENGTH")]
    pub block_length: Option<u32>,
    /// What state the card is measured in.
    #[arg(long, value_enum, default_value = "burst", env = "SWITCHBACK_REGIME")]
    pub regime: RegimeArg,
    /// Cache before a sample: `flush` or `warm`.
    #[arg(long, value_name = "STATE", default_value = "flush", env = "SWITCHBACK_L2", value_parser = ["flush", "warm"])]
    pub l2: String,
    /// Measure the benchmark's baseline as well; doubles the card's time.
    #[arg(long)]
    pub with_baseline: bool,
    /// Seed of all draws [default: drawn, and recorded].
    #[arg(long, value_name = "N", env = "SWITCHBACK_SEED")]
    pub seed: Option<u64>,
    /// Most cells on a card at once: one measures, others get ready or are screened; 1 for one after the other [default: one
    /// for two cores and 4 GiB of memory that the machine has a card, up to 8].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16), env = "SWITCHBACK_CELLS_PER_CARD")]
    pub cells_per_card: Option<u32>,
    /// Seconds after which a cell is ended.
    #[arg(long, value_name = "S", default_value_t = 2400.0, env = "SWITCHBACK_CELL_TIMEOUT")]
    pub cell_timeout: f64,
    /// Seconds after which no further cell is started.
    #[arg(long, value_name = "S", env = "SWITCHBACK_TIME_BUDGET")]
    pub time_budget: Option<f64>,
}

/// Where results go, and whether anything is started.
#[derive(Debug, Args)]
pub struct OutArgs {
    /// Folder of the campaign; an unfinished one of the same request is gone on with [default: new, below `runs/`].
    #[arg(long, value_name = "DIR", env = "SWITCHBACK_OUT")]
    pub out: Option<PathBuf>,
    /// Print what would be run, start nothing, write nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Pairings that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PairingArg {
    /// The suite's own first choice.
    Auto,
    /// One process a side, sides alternate.
    Process,
    /// Both sides in one process, interleaved.
    Duet,
}

/// How rounds are measured and judged.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// How the sides are brought together.
    #[arg(long, value_enum, default_value = "auto", env = "SWITCHBACK_PAIRING")]
    pub pairing: PairingArg,
    /// Rounds.
    #[arg(long, value_name = "N", default_value_t = 4, env = "SWITCHBACK_ROUNDS")]
    pub rounds: u32,
    /// Rounds by precision instead: from the third on an operator stops when its interval (at the level that holds for
    /// all operators together) is at most this much to either side, percent.
    #[arg(long, value_name = "PCT", conflicts_with = "rounds", env = "SWITCHBACK_PRECISION")]
    pub precision: Option<f64>,
    /// The most rounds that an operator gets with `--precision`.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 12,
        requires = "precision",
        env = "SWITCHBACK_MAX_ROUNDS"
    )]
    pub max_rounds: u32,
    /// Effects smaller than this are of no interest, percent.
    #[arg(long, value_name = "PCT", default_value_t = 0.5, env = "SWITCHBACK_MARGIN")]
    pub margin: f64,
    /// Operators with identical code to measure on purpose: what they read is the noise floor. `auto`: as many as it takes
    /// to have a dozen, if any code changed; with none, a bias that stays the same in all rounds goes unseen.
    #[arg(long, value_name = "N", default_value_t = Controls::Auto, env = "SWITCHBACK_CONTROLS")]
    pub controls: Controls,
    /// Measure all operators with identical code.
    #[arg(long)]
    pub measure_identical: bool,
    /// Measure operators with these screening verdicts only: `IR_CHANGED`, `NO_IR_DIFF` [default: `IR_CHANGED`].
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', env = "SWITCHBACK_VERDICTS")]
    pub verdicts: Vec<String>,
    /// Replay the configs that this run recorded instead of tuning; refused for another back end, device or compiler.
    #[arg(long, value_name = "RUN", env = "SWITCHBACK_REPLAY_FROM")]
    pub replay_from: Option<PathBuf>,
    /// Side whose configs all cells replay: `A` or `B`.
    #[arg(long, value_name = "SIDE", default_value = "A", value_parser = ["A", "B"], env = "SWITCHBACK_TUNE_ON")]
    pub tune_on: String,
    /// Field of the conditions that may differ between rows.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', env = "SWITCHBACK_ALLOW")]
    pub allow: Vec<String>,
    /// Verdicts that make the command end with 1: `slower`, `wrong`, `inconclusive`, `faster`.
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', env = "SWITCHBACK_FAIL_ON")]
    pub fail_on: Vec<String>,
}
