//! `demo`: the whole pipeline on the embedded cpu suite, in under a minute, on any machine.

use std::collections::BTreeSet;

use switchback_engine::controls::Controls;
use switchback_engine::prepare::{self, Ask};
use switchback_engine::request::{Goal, MeasureRequest};
use switchback_engine::{SuiteOptions, judge};
use switchback_model::exit_code::ExitCode;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::{CacheState, Regime, TimerChoice};
use switchback_model::side::{Pairing, Side};
use switchback_model::switch::Switch;
use switchback_report::terminal;

use crate::args::{DemoArgs, OutArgs};
use crate::exports;
use crate::progress::Volume;
use crate::session;

/// What is switched: Cranelift's NaN canonicalisation, on for A and off for B.
const SWITCH: &str = "SWITCHBACK_CPU_ENABLE_NAN_CANONICALIZATION=true:false";
/// An operator asked for with a dtype that it refuses: the trap of one dtype for all, shown.
const REFUSED: (&str, &str) = ("fft", "f32");

pub fn run(args: &DemoArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let program = session::program()?;
    let mut switch = Switch::default();
    switch.add(SWITCH)?;
    let operators = prepare::operators("cpu", &SuiteOptions::default(), &program)?
        .into_iter()
        .map(|it| OperatorSpec {
            dtypes: if it.operator == REFUSED.0 { vec![REFUSED.1.to_owned()] } else { Vec::new() },
            operator: it.operator,
            file: it.file,
        })
        .collect();
    let ask = Ask {
        goal: Goal::Ab,
        suite: "cpu".into(),
        options: SuiteOptions::default(),
        operators,
        switch: switch.complete()?,
        pairing: Some(Pairing::Duet),
        rounds: 4,
        precision: None,
        margin_pct: 0.5,
        // Two are left out on purpose, to show what skipping looks like.
        controls: Controls::Number(3),
        measure_identical: false,
        verdicts: Vec::new(),
        exclude: Vec::new(),
        replay_from: None,
        fixed: false,
        cells_per_card: None,
        naive: true,
        tune_on: Side::A,
        seed: args.seed,
        cell_timeout_s: 60.0,
        time_budget_s: None,
        allowed: BTreeSet::new(),
        measure: MeasureRequest {
            timer: TimerChoice::Auto,
            warmup_ms: 2.0,
            sample_ms: 15.0,
            direct_repeat: 1,
            blocks: 40,
            block_length: 12,
            case_precision_pct: 0.0,
            regime: Regime::Burst,
            cache_state: CacheState::Warm,
            with_baseline: false,
        },
        backend: Some("cpu".into()),
        devices: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let out = OutArgs { out: args.out.clone(), dry_run: false };
    let mut campaign = prepare::prepare(ask, &program)?.open(&demo_place(&out))?;
    let drive = session::drive(&mut campaign, volume)?;
    let report = judge::judge(&mut campaign)?;
    exports::write(&campaign, &report)?;
    let root = session::shown(&campaign);
    let shown = report
        .operators
        .iter()
        .find(|operator| operator.verdict == switchback_model::verdict::Verdict::Faster)
        .map_or("gelu", |operator| operator.operator.as_str());
    let lines = [
        ("report", format!("{root}/report.md")),
        ("why", format!("switchback report {root} --explain {shown}")),
        ("code", format!("switchback ir diff {root} {shown}")),
        ("yours", "switchback ab --suite triton --switch MY_PASS".to_owned()),
    ];
    let lines: Vec<(&str, &str)> = lines.iter().map(|(name, text)| (*name, text.as_str())).collect();
    session::print(&terminal::render(&report, &session::style(), &lines));
    // The refused operator is part of the show: only what else is missing counts.
    let refused = |name: &str| name == REFUSED.0;
    let missing = report.operators.iter().any(|it| it.screen.is_none() && !refused(&it.operator));
    Ok(match drive {
        switchback_engine::campaign::Drive::Finished if !missing => ExitCode::Success,
        switchback_engine::campaign::Drive::Interrupted => ExitCode::Interrupted,
        _ => ExitCode::Incomplete,
    })
}

fn demo_place(out: &OutArgs) -> prepare::Place {
    match &out.out {
        Some(root) => prepare::Place::Out(root.clone()),
        None => prepare::Place::Named(std::path::PathBuf::from("runs"), "demo".into()),
    }
}
