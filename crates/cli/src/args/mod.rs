//! The command line: every flag once, with its default, its variable and its help.
//!
//! Flags also come from `SWITCHBACK_<FLAG>` and from `switchback.toml` in the working folder, in this order.

mod commands;
mod ir;
mod shared;

use clap::{Parser, Subcommand};

pub use commands::{
    AbArgs, CalibrateArgs, CampaignArgs, CellArgs, CompareArgs, CpuSuiteCommand, DemoArgs, DoctorArgs,
    FormatArg, OpsArgs, PlanArgs, ReportArgs, RescoreArgs, ResumeArgs, RunArgs, ScreenArgs, WatchArgs,
};
pub use ir::{IrCommand, IrDiffArgs, IrFingerprintArgs, IrRecompileArgs};
pub use shared::{
    JudgeArgs, MeasureArgs, OperatorArgs, OutArgs, PairingArg, RegimeArg, SuiteArgs, SwitchArgs, TimerArg,
};

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
