//! `run`: one measured run, no comparison.

use std::collections::BTreeSet;

use switchback_engine::campaign::Campaign;
use switchback_engine::prepare;
use switchback_engine::request::Goal;
use switchback_engine::runs;
use switchback_model::exit_code::ExitCode;
use switchback_model::side::Side;
use switchback_model::switch::Switch;
use switchback_report::terminal::{RunReport, RunRow, TerminalStyle, run_table};
use switchback_report::text::one_line;

use crate::args::RunArgs;
use crate::progress::Volume;
use crate::session;

pub fn run(args: &RunArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let ask = session::ask(
        Goal::Run,
        &args.operators,
        Switch::default(),
        &args.suite,
        &args.measure,
        None,
        Side::A,
    )?;
    let prepared = prepare::prepare(ask, &session::program()?)?;
    session::launch(prepared, &args.out, &BTreeSet::new(), volume)
}

/// The rows of a campaign of single runs, an operator each, and why one has none.
pub fn reports(campaign: &Campaign) -> anyhow::Result<Vec<(RunReport, Vec<String>)>> {
    let run_row = |row: runs::RunReadRow| RunRow {
        case: row.case.to_string(),
        timer: row.timer,
        latency_us: row.latency_us,
        samples: row.samples,
        baseline_us: row.baseline_us,
        spread_pct: row.spread_pct,
        ok: row.error.is_none(),
        error: row.error,
    };
    let read = runs::read(campaign)?.into_iter();
    Ok(read
        .map(|run| {
            let rows = run.rows.into_iter().map(run_row).collect();
            (RunReport { operator: run.operator, rows }, run.hints)
        })
        .collect())
}

/// The same as text, a table an operator.
pub fn tables(campaign: &Campaign, style: &TerminalStyle) -> anyhow::Result<String> {
    let mut text = String::new();
    for (report, hints) in reports(campaign)? {
        text.push_str(&run_table(&report, style));
        text.push('\n');
        for hint in hints {
            text.push_str(&format!("hint: {}\n", one_line(&hint)));
        }
    }
    Ok(text)
}
