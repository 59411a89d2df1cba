//! The arguments of each command.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::shared::{JudgeArgs, MeasureArgs, OperatorArgs, OutArgs, PairingArg, SuiteArgs, SwitchArgs};

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
    /// planned where none is named; of a campaign all it asked for, where no switch is named either [default: `--out` if it is one, else the latest of this suite below `runs/`].
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
