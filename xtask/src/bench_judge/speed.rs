//! What judging and reporting cost: 500 operators of 20 cases and 6 rounds, rows already read.

use std::time::Instant;

use anyhow::ensure;
use switchback_model::event::Timer;
use switchback_model::report::{CaseReport, OperatorReport, Report, SCHEMA};
use switchback_model::side::Pairing;
use switchback_model::switch::Switch;
use switchback_model::verdict::ScreenVerdict;
use switchback_report::terminal::{self, TerminalStyle};
use switchback_report::{json, markdown, tsv};
use switchback_stats::judgement::{Judgement, OperatorJudgement};
use switchback_stats::{Interval, OperatorInput, Settings, judge, percent};

use super::draw::{Draw, Setting, campaign};
use super::tables::BASE;

const N_OPERATORS: usize = 450;
const N_CONTROLS: usize = 50;
const N_ROUNDS: u32 = 6;
const REPEATS: usize = 5;

/// Prints the median of some runs, in seconds, with the memory that the program took.
///
/// # Errors
/// A verdict is missing.
pub fn judging() -> anyhow::Result<()> {
    let setting = Setting {
        n_operators: N_OPERATORS,
        n_controls: N_CONTROLS,
        n_cases: 20,
        n_rounds: N_ROUNDS,
        n_changed: 100,
        ..BASE
    };
    let mut draw = Draw::seeded(1);
    let mut sources = campaign(&setting, &mut draw);
    for source in &mut sources {
        (0..N_ROUNDS).for_each(|_| source.measure(&mut draw));
    }
    let inputs: Vec<OperatorInput> = sources.into_iter().map(|source| source.input).collect();
    let (mut judging, mut terminal_s, mut reporting, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..REPEATS {
        let start = Instant::now();
        let judgement = judge(&inputs, &Settings { rounds_requested: N_ROUNDS, ..Settings::default() });
        judging.push(start.elapsed().as_secs_f64());
        ensure!(judgement.operators.len() == inputs.len(), "{} verdicts", judgement.operators.len());
        let start = Instant::now();
        let report = report(&judgement);
        let style = TerminalStyle { width: 110, colour: false };
        let shown = terminal::render(&report, &style, &[]);
        terminal_s.push(start.elapsed().as_secs_f64());
        let others = [markdown::render(&report), json::render(&report), tsv::report(&report)];
        bytes = shown.len() + others.iter().map(String::len).sum::<usize>();
        reporting.push(start.elapsed().as_secs_f64());
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (judging, terminal_s, reporting) =
        (median(&mut judging), median(&mut terminal_s), median(&mut reporting));
    println!(
        "\nspeed ({} build, one core): {} operators of 20 cases and {N_ROUNDS} rounds judged in {judging:.3} s \
         and shown in {terminal_s:.3} s, together {:.3} s; all four formats ({:.1} MB) take {reporting:.3} s{}",
        if cfg!(debug_assertions) { "debug" } else { "release" },
        inputs.len(),
        judging + terminal_s,
        bytes as f64 / 1e6,
        memory().map_or_else(String::new, |mib| format!("; {mib:.0} MiB at most, all tables included"))
    );
    Ok(())
}

/// The most memory that this process held, MiB, where the system tells.
pub fn memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

fn report(judgement: &Judgement) -> Report {
    Report {
        schema: SCHEMA,
        campaign: "bench".into(),
        switchback: env!("CARGO_PKG_VERSION").into(),
        created_utc: String::new(),
        switch: Switch::default(),
        suite: "simulated".into(),
        pairing: Some(Pairing::Duet),
        rounds: N_ROUNDS,
        margin_pct: 0.5,
        operators: judgement.operators.iter().map(operator).collect(),
        ..Report::default()
    }
}

fn pair(interval: Interval) -> (f64, f64) {
    (percent(interval.low), percent(interval.high))
}

fn operator(it: &OperatorJudgement) -> OperatorReport {
    OperatorReport {
        operator: it.operator.clone(),
        spec: it.operator.clone(),
        screen: Some(ScreenVerdict::IrChanged),
        first_stage: Some("ttgir".into()),
        verdict: it.verdict,
        effect_pct: it.effect.map(percent),
        ci_pct: it.ci.map(pair),
        p_adjusted: it.p_adjusted,
        rounds: it.rounds,
        rounds_range_pct: it.rounds_range.map(pair),
        sign_stable: it.sign_stable,
        noise_a_pct: it.noise_a.map(percent),
        noise_b_pct: it.noise_b.map(percent),
        median_pct: it.median_effect.map(percent),
        geometric_mean_pct: it.geometric_mean.map(percent),
        mixed: it.mixed,
        rounds_needed: it.rounds_needed,
        reasons: it.reasons.clone(),
        cases: it
            .cases
            .iter()
            .map(|case| CaseReport {
                case: case.case.clone(),
                timer: Some(Timer::Gated),
                a_us: case.a_us,
                b_us: case.b_us,
                effect_pct: case.effect.map(percent),
                ci_pct: case.ci.map(pair),
                q: case.q,
                rounds_pct: case.round_effects.iter().map(|round| round.effect.map(percent)).collect(),
                untouched: case.untouched,
                host_bound: case.host_bound,
                clock_mhz: None,
                left_out: None,
                outputs: None,
                notes: Vec::new(),
            })
            .collect(),
        ..OperatorReport::default()
    }
}
