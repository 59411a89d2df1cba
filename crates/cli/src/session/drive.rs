//! Drives a campaign under Ctrl-C to its end, judges it and prints its report.

use std::collections::BTreeSet;

use anyhow::Context;
use switchback_engine::campaign::{Campaign, Drive};
use switchback_engine::executor::{Interrupt, LocalExecutor};
use switchback_engine::prepare::Prepared;
use switchback_engine::request::Goal;
use switchback_engine::{EngineError, export, judge, unset};
use switchback_model::exit_code::ExitCode;
use switchback_model::report::Report;
use switchback_model::verdict::Verdict;
use switchback_report::terminal;

use super::ask::place;
use super::shown::{next_lines, print, print_dry_run, print_findings, program, shown, style};
use crate::args::OutArgs;
use crate::exports;
use crate::progress::{Kernels, Progress, Volume};

/// Runs a campaign to its end, until Ctrl-C, or until its time is up.
pub fn drive(campaign: &mut Campaign, volume: Volume) -> anyhow::Result<Drive> {
    let interrupt = Interrupt::default();
    let signals = watch_signals(&interrupt)?;
    let mut executor = LocalExecutor::new(program()?);
    exports::begin(campaign)?;
    let mut progress = Progress::new(volume);
    let drive = campaign.drive(&mut executor, &interrupt, &mut progress);
    progress.finish();
    signals.close();
    Ok(drive?)
}

/// Counts Ctrl-C and TERM: the first ends what runs cleanly, the second kills it.
pub fn watch_signals(interrupt: &Interrupt) -> anyhow::Result<signal_hook::iterator::Handle> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for Ctrl-C")?;
    let handle = signals.handle();
    let interrupt = interrupt.clone();
    std::thread::spawn(move || {
        for _ in &mut signals {
            interrupt.request();
            let text = if interrupt.count() == 1 {
                "ending what runs; once more kills it"
            } else {
                "killing what runs"
            };
            anstream::eprintln!("note: {text}");
        }
    });
    Ok(handle)
}

/// Finds out, without the card, whether side A's setting gives the code of a variable that is not set.
///
/// Whoever does not want to wait for it stops it with Ctrl-C: the verdicts do not depend on it.
fn compare_with_unset(campaign: &Campaign, volume: Volume) -> anyhow::Result<()> {
    let Some(variables) = unset::wanted(campaign) else { return Ok(()) };
    let interrupt = Interrupt::default();
    let signals = watch_signals(&interrupt)?;
    let progress = Kernels::new(volume);
    let done = unset::compare(campaign, variables, &program()?, &interrupt, &mut |done, all| {
        progress.set(done, all);
    });
    progress.finish();
    signals.close();
    match done {
        Ok(_) | Err(EngineError::Interrupted) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Judges a campaign, writes its files, prints its report; returns the exit code. `raw` prints of a single run what the
/// benchmark itself wrote.
pub fn conclude(
    campaign: &mut Campaign,
    drive: Drive,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
    raw: bool,
) -> anyhow::Result<ExitCode> {
    let report = match judge::judge(campaign) {
        Ok(report) => report,
        Err(error) => {
            if volume > Volume::Quiet {
                anstream::eprintln!("note: what was measured is in `{}`", campaign.dir.root().display());
            }
            return Err(error.into());
        }
    };
    exports::end(campaign)?;
    exports::write(campaign, &report)?;
    let root = shown(campaign);
    let text = match campaign.request.goal {
        Goal::Run if raw => crate::commands::run_raw(campaign)?,
        Goal::Run => crate::commands::run_tables(campaign, &style())?,
        Goal::Screen => terminal::screen_table(&report, &style()),
        Goal::Ab if campaign.request.is_calibration() => {
            crate::commands::floor_table(campaign, &report, &style())
        }
        Goal::Ab => {
            let lines = next_lines(&root, &report);
            let lines: Vec<(&str, &str)> =
                lines.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            terminal::render(&report, &style(), &lines)
        }
    };
    print(&text);
    if campaign.request.goal != Goal::Ab {
        print(&format!("folder    {root}"));
    }
    // The other tables have them.
    if campaign.request.goal == Goal::Run {
        print_findings(&report.findings, volume);
    }
    if let Some(markers) = exports::totals(campaign).remark()
        && volume > Volume::Quiet
    {
        anstream::eprintln!("note: {markers}");
    }
    Ok(exit_code(campaign, drive, &report, fail_on, volume))
}

fn exit_code(
    campaign: &Campaign,
    drive: Drive,
    report: &Report,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
) -> ExitCode {
    let mut code = ExitCode::Success;
    if report.operators.iter().any(|operator| fail_on.contains(&operator.verdict)) {
        code = code.worse(ExitCode::FailOn);
    }
    if export::is_incomplete(campaign) {
        code = code.worse(ExitCode::Incomplete);
    }
    match drive {
        Drive::Finished => {}
        Drive::OutOfTime => {
            code = code.worse(ExitCode::Incomplete);
            if volume > Volume::Quiet {
                anstream::eprintln!(
                    "note: the time budget is used up; `switchback resume {}` goes on",
                    shown(campaign)
                );
            }
        }
        Drive::Interrupted => {
            code = code.worse(ExitCode::Interrupted);
            anstream::eprintln!("note: interrupted; `switchback resume {}` goes on", shown(campaign));
        }
        Drive::Stuck => code = code.worse(ExitCode::Environment),
    }
    code
}

/// Opens a prepared campaign and drives it to its report.
pub fn launch(
    prepared: Prepared,
    out: &OutArgs,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
) -> anyhow::Result<ExitCode> {
    launch_as(prepared, out, fail_on, volume, false)
}

/// The same; `raw` as for [`conclude`].
pub fn launch_as(
    prepared: Prepared,
    out: &OutArgs,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
    raw: bool,
) -> anyhow::Result<ExitCode> {
    if out.dry_run {
        print_dry_run(&prepared);
        return Ok(ExitCode::Success);
    }
    print_findings(&prepared.findings, volume);
    let mut campaign = prepared.open(&place(out))?;
    run_to_end_as(&mut campaign, fail_on, volume, raw)
}

/// Drives a campaign and concludes, whatever happened on the way.
pub fn run_to_end(
    campaign: &mut Campaign,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
) -> anyhow::Result<ExitCode> {
    run_to_end_as(campaign, fail_on, volume, false)
}

fn run_to_end_as(
    campaign: &mut Campaign,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
    raw: bool,
) -> anyhow::Result<ExitCode> {
    match drive(campaign, volume) {
        Ok(drive) => {
            if drive == Drive::Finished {
                compare_with_unset(campaign, volume)?;
            }
            conclude(campaign, drive, fail_on, volume, raw)
        }
        Err(error) => {
            if error.downcast_ref::<EngineError>().is_some() && volume > Volume::Quiet {
                anstream::eprintln!("note: what was measured is in `{}`", shown(campaign));
            }
            Err(error)
        }
    }
}
