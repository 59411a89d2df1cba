//! A file a command; what they share is in `session`.

mod ab;
mod calibrate;
mod campaign;
mod compare;
mod cpu_suite;
mod demo;
mod doctor;
mod ir;
mod ops;
mod plan;
mod report;
mod rescore;
mod resume;
mod run;
mod screen;
mod watch;

use switchback_model::exit_code::ExitCode;

use crate::args::{Cli, Command};
use crate::progress::Volume;

pub use calibrate::table as floor_table;
pub use run::{raw as run_raw, reports as run_reports, tables as run_tables};

/// How a command ended: the exit code of its supervisor or suite is passed on as it is.
pub enum Ended {
    /// One of the documented codes.
    Code(ExitCode),
    /// The code of a child that this process stands for.
    Raw(u8),
}

impl Ended {
    /// The number for the caller.
    pub fn code(&self) -> u8 {
        match self {
            Self::Code(code) => code.code(),
            Self::Raw(code) => *code,
        }
    }
}

/// Runs the command.
pub fn run(cli: Cli) -> anyhow::Result<Ended> {
    let volume = match (cli.quiet, cli.verbose) {
        (true, _) => Volume::Quiet,
        (_, true) => Volume::Verbose,
        _ => Volume::Normal,
    };
    let code = match cli.command {
        Command::Demo(args) => demo::run(&args, volume)?,
        Command::Ops(args) => ops::run(&args)?,
        Command::Run(args) => run::run(&args, volume)?,
        Command::Screen(args) => screen::run(&args, volume)?,
        Command::Ab(args) => ab::run(&args, volume)?,
        Command::Campaign(args) => campaign::run(&args, volume)?,
        Command::Calibrate(args) => calibrate::run(&args, volume)?,
        Command::Resume(args) => resume::run(&args, volume)?,
        Command::Watch(args) => watch::run(&args)?,
        Command::Plan(args) => plan::run(&args, volume)?,
        Command::Compare(args) => compare::run(&args)?,
        Command::Report(args) => report::run(&args, volume)?,
        Command::Rescore(args) => rescore::run(&args, volume)?,
        Command::Ir(command) => ir::run(&command, volume)?,
        Command::Doctor(args) => doctor::run(&args)?,
        Command::Cell(args) => return Ok(Ended::Raw(switchback_cell::supervise(&args.order))),
        Command::CpuSuite(command) => return Ok(Ended::Raw(cpu_suite::run(&command)?)),
    };
    Ok(Ended::Code(code))
}
