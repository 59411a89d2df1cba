//! `calibrate`: A against A, what identical code reads on this machine.

use switchback_engine::calibration::FILE;
use switchback_engine::campaign::Campaign;
use switchback_engine::controls::Controls;
use switchback_engine::prepare::{self, Place};
use switchback_engine::request::Goal;
use switchback_model::exit_code::ExitCode;
use switchback_model::report::{CalibratedBand, Report};
use switchback_model::side::Side;
use switchback_model::switch::Switch;
use switchback_report::terminal::{FloorReport, FloorRow, TerminalStyle, floor_table};

use crate::args::{CalibrateArgs, JudgeArgs};
use crate::progress::Volume;
use crate::session;

pub fn run(args: &CalibrateArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    session::one_card(&args.suite, "calibrate")?;
    let judge = JudgeArgs {
        pairing: args.pairing,
        rounds: args.rounds,
        precision: None,
        max_rounds: args.rounds,
        margin: args.margin,
        controls: Controls::Number(0),
        measure_identical: true,
        verdicts: Vec::new(),
        replay_from: None,
        tune_on: Side::A.to_string(),
        allow: Vec::new(),
        fail_on: Vec::new(),
    };
    let ask = session::ask(
        Goal::Ab,
        &args.operators,
        Switch::default(),
        &args.suite,
        &args.measure,
        Some(&judge),
        Side::A,
    )?;
    let prepared = prepare::prepare(ask, &session::program()?)?;
    if args.out.dry_run {
        session::print_dry_run(&prepared);
        return Ok(ExitCode::Success);
    }
    session::print_findings(&prepared.findings, volume);
    let place = match &args.out.out {
        Some(root) => Place::Out(root.clone()),
        None => Place::Named(session::RUNS.into(), "calibrate".into()),
    };
    let mut campaign = prepared.open(&place)?;
    session::run_to_end(&mut campaign, &std::collections::BTreeSet::new(), volume)
}

/// What a calibration found, and where its floor lies.
pub fn table(campaign: &Campaign, report: &Report, style: &TerminalStyle) -> String {
    let Some(calibration) = campaign.calibration(report) else { return String::new() };
    let row = |band: &CalibratedBand, timer: &str| FloorRow {
        timer: timer.to_owned(),
        latencies: band.latencies(),
        cases: band.cases,
        operators: band.operators,
        processes: band.processes,
        floor_pct: band.floor_pct,
        tau_pct: band.tau_pct,
        operators_called: band.false_positive_operators,
        upper95: band.upper95_operators,
    };
    let mut rows: Vec<FloorRow> = calibration.bands.iter().map(|band| row(band, &band.timer)).collect();
    if rows.len() > 1 {
        rows.push(row(&calibration.total, "all"));
    }
    let root = session::shown(campaign);
    let file = format!("{root}/{FILE}");
    let usage = format!("switchback ab OP… --switch NAME --floor {file}");
    let lines = [("floor", file.as_str()), ("use", usage.as_str())];
    let lines: &[(&str, &str)] = if calibration.is_empty() { &[] } else { &lines };
    let card = campaign.request.card.name.clone();
    let floor = FloorReport {
        machine: calibration.conditions.get("device").map(str::to_owned).or(card).unwrap_or_default(),
        pairing: calibration.pairing,
        rows,
    };
    floor_table(report, &floor, style, lines)
}
