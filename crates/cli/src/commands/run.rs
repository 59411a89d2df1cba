//! `run`: one measured run, no comparison.

use std::collections::BTreeSet;

use switchback_engine::campaign::Campaign;
use switchback_engine::prepare;
use switchback_engine::request::Goal;
use switchback_engine::runs::{self, RunRead};
use switchback_engine::state::Standing;
use switchback_model::cell::Purpose;
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
    session::launch_as(prepared, &args.out, &BTreeSet::new(), volume, args.raw)
}

/// The rows of a campaign of single runs, an operator each, and why one has none.
pub fn reports(campaign: &Campaign) -> anyhow::Result<Vec<(RunReport, Vec<String>)>> {
    let mut found = reports_of(runs::read(campaign)?);
    if campaign.request.suite == "flaggems" {
        for ((report, _), operator) in found.iter_mut().zip(&campaign.request.operators) {
            let conditions = campaign.suite().conditions(operator);
            let of = |field: &str| conditions.get(field).cloned().unwrap_or_default();
            report.benchmark = Some((of("mode"), of("bench_level")));
        }
    }
    Ok(found)
}

/// Rows that were read, as the tables take them.
pub fn reports_of(read: Vec<RunRead>) -> Vec<(RunReport, Vec<String>)> {
    let run_row = |row: runs::RunReadRow| RunRow {
        case: row.case,
        timer: row.timer,
        latency_us: row.latency_us,
        samples: row.samples,
        baseline_us: row.baseline_us,
        spread_pct: row.spread_pct,
        ok: row.error.is_none(),
        error: row.error,
    };
    read.into_iter()
        .map(|run| {
            let rows = run.rows.into_iter().map(run_row).collect();
            let cut_off = run.cut_off;
            (RunReport { operator: run.operator, benchmark: None, rows, cut_off }, run.hints)
        })
        .collect()
}

/// The same as text, a table an operator.
pub fn tables(campaign: &Campaign, style: &TerminalStyle) -> anyhow::Result<String> {
    Ok(tables_of(&reports(campaign)?, style))
}

/// Tables of runs, and why one has no row.
pub fn tables_of(runs: &[(RunReport, Vec<String>)], style: &TerminalStyle) -> String {
    let mut text = String::new();
    for (report, hints) in runs {
        text.push_str(&run_table(report, style));
        text.push('\n');
        for hint in hints {
            text.push_str(&format!("hint: {}\n", one_line(hint)));
        }
    }
    text
}

/// What the benchmark itself wrote, as it came.
pub fn raw(campaign: &Campaign) -> anyhow::Result<String> {
    let mut text = String::new();
    for operator in &campaign.request.operators {
        if let Standing::Done(attempt) | Standing::Failed(attempt) =
            campaign.state().standing(&operator.operator, Purpose::Run)
        {
            text.push_str(&attempt.dir.log()?);
        }
    }
    Ok(text)
}
