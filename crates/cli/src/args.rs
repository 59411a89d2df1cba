//! The command line: every flag once, with its default, its variable and its help.
//!
//! Flags also come from `SWITCHBACK_<FLAG>` and from `switchback.toml` in the working folder, in this order.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use switchback_engine::controls::Controls;

/// What a compiler switch does to operators: which it touches, how much faster or slower, still right or not.
#[derive(Debug, Parser)]
#[command(name = "switchback", version, about, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Say less: no progress, no notes.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more: each cell as it starts and ends.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The whole pipeline on the embedded cpu suite, under a minute.
    Demo(DemoArgs),
    /// Operators that a suite offers.
    Ops(OpsArgs),
    /// One measured run, no comparison.
    Run(Box<RunArgs>),
    /// Which operators does the switch touch? Writes `screen.tsv`.
    Screen(Box<ScreenArgs>),
    /// Screen, measure, judge, on one card.
    Ab(Box<AbArgs>),
    /// The same over many cards at once.
    Campaign(Box<CampaignArgs>),
    /// Go on with an unfinished campaign.
    Resume(ResumeArgs),
    /// How far a campaign is that runs in another terminal, from what lies in its folder; changes nothing.
    Watch(WatchArgs),
    /// What would be run, in which order and at which cost; starts nothing.
    Plan(Box<PlanArgs>),
    /// Compare two single runs, or two logs of a FlagGems benchmark; refuses what is not comparable.
    Compare(CompareArgs),
    /// Print a campaign's report again.
    Report(ReportArgs),
    /// A against A: what identical code reads on this machine, a floor to hold effects against.
    Calibrate(Box<CalibrateArgs>),
    /// Judge what is on disk again under today's rules; measures nothing, keeps the former tables.
    Rescore(RescoreArgs),
    /// The compiled code: fingerprints, differences.
    #[command(subcommand)]
    Ir(IrCommand),
    /// What of this machine, or of a run, stands in the way.
    Doctor(DoctorArgs),
    /// Supervise one cell (used by the engine).
    #[command(hide = true)]
    Cell(CellArgs),
    /// The embedded cpu suite's own programs (used by the engine).
    #[command(hide = true, name = "cpu-suite", subcommand)]
    CpuSuite(CpuSuiteCommand),
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Folder of the campaign [default: a new one below `runs/`].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of all draws [default: drawn].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

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

/// Arguments of `ops`.
#[derive(Debug, Args)]
pub struct OpsArgs {
    /// The suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What is benchmarked.
    #[command(flatten)]
    pub operators: OperatorArgs,
    /// The suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Print what the benchmark itself wrote instead of a table.
    #[arg(long)]
    pub raw: bool,
    /// Where to.
    #[command(flatten)]
    pub out: OutArgs,
}

/// Arguments of `screen`.
#[derive(Debug, Args)]
pub struct ScreenArgs {
    /// What is benchmarked.
    #[command(flatten)]
    pub operators: OperatorArgs,
    /// The switch.
    #[command(flatten)]
    pub switch: SwitchArgs,
    /// A switch to be screened by itself, as for `--switch`; repeated, each has a column of its own.
    #[arg(long, value_name = "NAME[=OFF:ON]")]
    pub each_switch: Vec<String>,
    /// Screen without a card, from what this run, campaign or folder recorded on side A.
    #[arg(long, value_name = "RUN")]
    pub from: Option<PathBuf>,
    /// The suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Side whose configs all cells replay: `A` or `B`.
    #[arg(long, value_name = "SIDE", default_value = "A", value_parser = ["A", "B"], env = "SWITCHBACK_TUNE_ON")]
    pub tune_on: String,
    /// Where to.
    #[command(flatten)]
    pub out: OutArgs,
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
    /// Verdicts that make the command end with 1: `slower`, `wrong`, `inconclusive`.
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', env = "SWITCHBACK_FAIL_ON")]
    pub fail_on: Vec<String>,
}

/// Arguments of `ab`.
#[derive(Debug, Args)]
pub struct AbArgs {
    /// What is benchmarked.
    #[command(flatten)]
    pub operators: OperatorArgs,
    /// The switch.
    #[command(flatten)]
    pub switch: SwitchArgs,
    /// The suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Rounds and verdicts.
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// A floor that `calibrate` wrote (the file, or its folder), to be shown beside this campaign's own.
    #[arg(long, value_name = "FILE", env = "SWITCHBACK_FLOOR")]
    pub floor: Option<PathBuf>,
    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Where to.
    #[command(flatten)]
    pub out: OutArgs,
}

/// Arguments of `campaign`.
#[derive(Debug, Args)]
pub struct CampaignArgs {
    /// As for `ab`.
    #[command(flatten)]
    pub ab: AbArgs,
    /// Give each operator to one card for good, the longest first to the emptiest card.
    #[arg(long = "static")]
    pub fixed: bool,
}

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// What is benchmarked.
    #[command(flatten)]
    pub operators: OperatorArgs,
    /// The suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// How the sides are brought together.
    #[arg(long, value_enum, default_value = "auto", env = "SWITCHBACK_PAIRING")]
    pub pairing: PairingArg,
    /// Rounds.
    #[arg(long, value_name = "N", default_value_t = 4, env = "SWITCHBACK_ROUNDS")]
    pub rounds: u32,
    /// Effects smaller than this would be of no interest, percent.
    #[arg(long, value_name = "PCT", default_value_t = 0.5, env = "SWITCHBACK_MARGIN")]
    pub margin: f64,
    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Where to.
    #[command(flatten)]
    pub out: OutArgs,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// As for `ab`.
    #[command(flatten)]
    pub ab: AbArgs,
    /// A screened campaign, a screening of the scripts, or a `screen.tsv`: its times tell the cost, and its operators are
    /// planned where none is named [default: `--out` if it is one, else the latest of this suite below `runs/`].
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Plan for `campaign --static`.
    #[arg(long = "static")]
    pub fixed: bool,
    /// Print the fixed partition, for cards that are started by hand: card, operators, seconds, and the command that measures
    /// them, a card a line.
    #[arg(long)]
    pub tsv: bool,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The campaign's folder.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Seconds after which no further cell is started.
    #[arg(long, value_name = "S", env = "SWITCHBACK_TIME_BUDGET")]
    pub time_budget: Option<f64>,
    /// Verdicts that make the command end with 1.
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', env = "SWITCHBACK_FAIL_ON")]
    pub fail_on: Vec<String>,
    /// Print what would be run, start nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The campaign's folder.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Say how it stands and end.
    #[arg(long)]
    pub once: bool,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A folder of `switchback run` or of the scripts before it, or a log of a FlagGems benchmark.
    #[arg(value_name = "RUN_A")]
    pub a: PathBuf,
    /// The other one.
    #[arg(value_name = "RUN_B")]
    pub b: PathBuf,
    /// Field of the conditions that may differ.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', env = "SWITCHBACK_ALLOW")]
    pub allow: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// For a terminal.
    Terminal,
    /// A page to publish.
    Markdown,
    /// All values.
    Json,
    /// One line an operator.
    Tsv,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The campaign's folder, or one that the scripts left.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Format on stdout.
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: FormatArg,
    /// Of a single run: print what the benchmark itself wrote instead of a table.
    #[arg(long, conflicts_with_all = ["format", "explain", "cases"])]
    pub raw: bool,
    /// Say in sentences why an operator's verdict is what it is.
    #[arg(long, value_name = "OP")]
    pub explain: Option<String>,
    /// List an operator's cases, each interval as a bar.
    #[arg(long, value_name = "OP", conflicts_with = "explain")]
    pub cases: Option<String>,
    /// A floor that `calibrate` wrote (the file, or its folder), to be shown beside the campaign's own.
    #[arg(long, value_name = "FILE", env = "SWITCHBACK_FLOOR")]
    pub floor: Option<PathBuf>,
    /// Field of the conditions that may differ.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', env = "SWITCHBACK_ALLOW")]
    pub allow: Vec<String>,
    /// Verdicts that make the command end with 1.
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', env = "SWITCHBACK_FAIL_ON")]
    pub fail_on: Vec<String>,
}

/// Arguments of `rescore`.
#[derive(Debug, Args)]
pub struct RescoreArgs {
    /// The campaign's folder, or one that the scripts left.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Field of the conditions that may differ.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', env = "SWITCHBACK_ALLOW")]
    pub allow: Vec<String>,
    /// Verdicts that make the command end with 1.
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', env = "SWITCHBACK_FAIL_ON")]
    pub fail_on: Vec<String>,
}

/// What to do with compiled code.
#[derive(Debug, Subcommand)]
pub enum IrCommand {
    /// What changed: kernels, first differing stage, operations, resources, side by side.
    Diff(IrDiffArgs),
    /// Digests per kernel, variant and stage, and one over everything.
    Fingerprint(IrFingerprintArgs),
    /// Compile what was recorded again, without a card, and say whether it comes out as recorded.
    Recompile(IrRecompileArgs),
}

/// Arguments of `ir diff`.
#[derive(Debug, Args)]
pub struct IrDiffArgs {
    /// A campaign; or side A: an attempt, a single run, or any folder with compiled kernels (`TRITON_CACHE_DIR`).
    #[arg(value_name = "DIR_OR_A")]
    pub a: PathBuf,
    /// An operator of the campaign; or side B's folder.
    #[arg(value_name = "OP_OR_B")]
    pub b: String,
    /// Only this kernel, and all of its variants side by side.
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Stage to show side by side [default: the first that differs].
    #[arg(long, value_name = "STAGE")]
    pub stage: Option<String>,
}

/// Arguments of `ir fingerprint`.
#[derive(Debug, Args)]
pub struct IrFingerprintArgs {
    /// Campaigns, attempts, or any folders with compiled kernels.
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// Print JSON, an object a line.
    #[arg(long)]
    pub json: bool,
    /// New folder for the texts under readable names, with `index.tsv` and `naming.md`.
    #[arg(long, value_name = "OUT")]
    pub names: Option<PathBuf>,
}

/// Arguments of `ir recompile`.
#[derive(Debug, Args)]
pub struct IrRecompileArgs {
    /// A campaign, a run, an attempt, or any folder with `.ttir` and its `.json` (`TRITON_CACHE_DIR`).
    #[arg(value_name = "SOURCE")]
    pub source: PathBuf,
    /// Operators of the recording; of a plain folder kernels [default: all].
    #[arg(value_name = "OP", env = "SWITCHBACK_OPS")]
    pub operators: Vec<String>,
    /// Interpreter with Triton, which is all that it needs [default: the recording's, else `python3`].
    #[arg(long, value_name = "PATH", env = "SWITCHBACK_PYTHON")]
    pub python: Option<String>,
    /// A variable of the compiler's environment; `NAME=` unsets it.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// New folder that keeps the texts; `ir diff` compares them.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// A run or campaign to look at; none looks at the machine.
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// The suite.
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `cell`.
#[derive(Debug, Args)]
pub struct CellArgs {
    /// The order.
    #[arg(value_name = "ORDER")]
    pub order: PathBuf,
}

/// The cpu suite's own programs.
#[derive(Debug, Subcommand)]
pub enum CpuSuiteCommand {
    /// Lists the operators as JSON.
    List,
    /// Measures the cell whose order lies in `$SWITCHBACK_RUN_DIR`.
    Cell,
}
