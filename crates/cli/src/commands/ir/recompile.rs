//! Compiling a recording again without a card: `ir recompile` shows whether it comes out as recorded, `screen --from`
//! which operators each switch touches.

use std::path::{Path, PathBuf};

use switchback_engine::executor::Interrupt;
use switchback_engine::recompile::{Ask, Recompiled, recompile};
use switchback_model::exit_code::ExitCode;
use switchback_model::switch::Switch;
use switchback_report::switches;

use crate::args::{IrRecompileArgs, ScreenArgs};
use crate::failure::Message;
use crate::progress::{Kernels, Volume};
use crate::session;

/// The table that lies beside kept texts.
const TABLE: &str = "switches.tsv";

pub fn run(args: &IrRecompileArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let it = compile(
        Ask {
            source: args.source.clone(),
            operators: args.operators.clone(),
            python: args.python.clone(),
            env: session::variables(&args.env)?,
            switches: Vec::new(),
            out: args.out.clone(),
        },
        volume,
    )?;
    let holds = it.proof.holds();
    session::print(&switches::render(&values(it), &session::style()));
    Ok(if holds { ExitCode::Success } else { ExitCode::Refused })
}

/// `screen --from`.
pub fn screen(args: &ScreenArgs, from: &Path, volume: Volume) -> anyhow::Result<ExitCode> {
    let mut asked = each(&args.each_switch)?;
    if !(args.switch.switch.is_empty() && args.switch.a.is_empty() && args.switch.b.is_empty()) {
        asked.insert(0, session::switch(&args.switch)?);
    }
    if asked.is_empty() {
        return Err(Message::usage(
            "no switch was given",
            "`--each-switch NAME`, as often as there are switches",
        ));
    }
    let options = session::suite_options(&args.suite)?;
    let ask = Ask {
        source: from.to_owned(),
        operators: session::names(&args.operators)?,
        python: options.python,
        env: options.env,
        switches: asked,
        out: args.out.out.clone(),
    };
    if args.out.dry_run {
        for switch in &ask.switches {
            session::print(&format!("{switch}"));
        }
        session::print("nothing was started");
        return Ok(ExitCode::Success);
    }
    let out: Option<PathBuf> = ask.out.clone();
    let table = values(compile(ask, volume)?);
    if let Some(out) = out {
        let path = out.join(TABLE);
        std::fs::write(&path, switches::tsv(&table))
            .map_err(|error| anyhow::anyhow!("cannot write `{}`: {error}", path.display()))?;
    }
    session::print(&switches::render(&table, &session::style()));
    Ok(ExitCode::Success)
}

/// Switches that are compared one by one.
pub fn each(texts: &[String]) -> anyhow::Result<Vec<Switch>> {
    texts
        .iter()
        .map(|text| {
            let mut it = Switch::default();
            it.add(text)?;
            Ok(it.complete()?)
        })
        .collect()
}

fn compile(ask: Ask, volume: Volume) -> anyhow::Result<Recompiled> {
    let interrupt = Interrupt::default();
    let signals = session::watch_signals(&interrupt)?;
    let progress = Kernels::new(volume);
    let done = recompile(&ask, &session::program()?, &interrupt, &mut |done, all| progress.set(done, all));
    progress.finish();
    signals.close();
    Ok(done?)
}

fn values(it: Recompiled) -> switches::SwitchTable {
    let name = |switch: &Switch| switch.name();
    switches::SwitchTable {
        origin: it.origin,
        recorded_by: it.recorded_by,
        compiled_by: it.compiled_by,
        proof: (it.proof.kernels, it.proof.equal),
        proof_stages: it.proof.stages,
        differing: it.proof.differing,
        unseen: it.unseen.iter().map(|unseen| (unseen.name().to_owned(), unseen.reason.clone())).collect(),
        switches: it.switches.iter().map(|switch| (name(switch), switch.to_string())).collect(),
        operators: it
            .operators
            .into_iter()
            .map(|row| switches::OperatorRow {
                operator: row.operator,
                kernels: row.kernels,
                cells: row
                    .cells
                    .into_iter()
                    .map(|cell| switches::Cell {
                        verdict: cell.verdict,
                        first_stage: cell.first_stage,
                        changed: cell.changed,
                        failed: cell.failed,
                        error: cell.error,
                    })
                    .collect(),
            })
            .collect(),
        notes: it.notes,
        workers: it.workers,
        elapsed_s: it.elapsed_s,
    }
}
