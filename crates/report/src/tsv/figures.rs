//! The tables with figures: a line an operator, a line a case, a line a row of single runs.
//!
//! Which figures may be printed is left to `facts`. Invariant: where there is no conclusion, the effect and all that hangs on it
//! are empty.

use switchback_model::report::Report;

use super::Table;
use crate::facts::{self, OutputsTally};
use crate::number::plain;
use crate::terminal::RunReport;

/// Writes one line an operator; figures are empty where there is no conclusion.
#[must_use]
pub fn report(report: &Report) -> String {
    let mut table = Table::new(&[
        "operator",
        "spec",
        "screen",
        "first_stage",
        "control",
        "verdict",
        "effect_pct",
        "ci_low_pct",
        "ci_high_pct",
        "p_adjusted",
        "rounds",
        "rounds_low_pct",
        "rounds_high_pct",
        "sign_stable",
        "noise_a_pct",
        "noise_b_pct",
        "median_pct",
        "geometric_mean_pct",
        "outputs",
        "outputs_compared",
        "outputs_equal",
        "mixed",
        "rounds_needed",
        "replay_fallbacks",
        "reasons",
        "hints",
    ]);
    for operator in &report.operators {
        let figures = facts::effect(operator);
        // All of them hang on the effect: where it is kept back, so are they.
        let figure = |value: Option<f64>| plain(value.filter(|_| figures.is_some()));
        let control = facts::standing(operator) == facts::Standing::Control || operator.control;
        let interval = figures.and_then(|(_, interval)| interval);
        let range = operator.rounds_range_pct;
        let tally = OutputsTally::of(operator);
        table.row([operator.operator.as_str(), &operator.spec]);
        table.more([operator.screen.map(|it| it.to_string()).unwrap_or_default()]);
        table.more([operator.first_stage.as_deref().unwrap_or_default()]);
        table.more([control.to_string(), verdict(operator)]);
        table.more([
            figure(operator.effect_pct),
            figure(interval.map(|it| it.0)),
            figure(interval.map(|it| it.1)),
            figure(operator.p_adjusted),
            operator.rounds.to_string(),
            figure(range.map(|it| it.0)),
            figure(range.map(|it| it.1)),
        ]);
        table.more([operator
            .sign_stable
            .filter(|_| figures.is_some())
            .map(|it| it.to_string())
            .unwrap_or_default()]);
        table.more([
            figure(operator.noise_a_pct),
            figure(operator.noise_b_pct),
            figure(operator.median_pct),
            figure(operator.geometric_mean_pct),
        ]);
        table.more([operator.outputs.map(|it| it.to_string()).unwrap_or_default()]);
        table.more([tally.compared.to_string(), tally.equal.to_string(), operator.mixed.to_string()]);
        table.more([operator.rounds_needed.map(|it| it.to_string()).unwrap_or_default()]);
        table.more([operator.replay_fallbacks.to_string()]);
        table.more([operator.reasons.join("; "), operator.hints.join("; ")]);
    }
    table.text()
}

/// Rows of single runs, without a comparison, a line a row.
#[must_use]
pub fn runs(runs: &[RunReport]) -> String {
    let mut table = Table::new(&[
        "operator",
        "case",
        "timer",
        "latency_us",
        "spread_pct",
        "samples",
        "baseline_us",
        "ok",
        "error",
    ]);
    for run in runs {
        for it in &run.rows {
            table.row([run.operator.as_str(), &it.case.to_string()]);
            table.more([it.timer.map(|it| it.to_string()).unwrap_or_default()]);
            table.more([it.latency_us, it.spread_pct].map(plain));
            table.more([it.samples.to_string()]);
            table.more([plain(it.baseline_us)]);
            table.more([it.ok.to_string(), it.error.clone().unwrap_or_default()]);
        }
    }
    table.text()
}

/// Writes one line a case; figures are empty where there is no conclusion.
#[must_use]
pub fn cases(report: &Report) -> String {
    let mut table = Table::new(&[
        "operator",
        "spec",
        "case",
        "timer",
        "a_us",
        "b_us",
        "effect_pct",
        "ci_low_pct",
        "ci_high_pct",
        "q",
        "untouched",
        "host_bound",
        "outputs",
        "notes",
    ]);
    for operator in &report.operators {
        for case in &operator.cases {
            let effect = facts::case_effect(operator, case);
            let interval = effect.and_then(|(_, interval)| interval);
            let (a, b) = facts::case_latencies(operator, case);
            table.row([operator.operator.as_str(), &operator.spec, &case.case]);
            table.more([case.timer.map(|it| it.to_string()).unwrap_or_default()]);
            table.more(
                [
                    a,
                    b,
                    effect.map(|it| it.0),
                    interval.map(|it| it.0),
                    interval.map(|it| it.1),
                    case.q.filter(|_| effect.is_some()),
                ]
                .map(plain),
            );
            table.more([case.untouched.to_string(), case.host_bound.to_string()]);
            table.more([case.outputs.map(|it| it.to_string()).unwrap_or_default(), case.notes.join("; ")]);
        }
    }
    table.text()
}

/// The verdict's name, `control` for one that only shows the noise.
fn verdict(operator: &switchback_model::report::OperatorReport) -> String {
    match facts::standing(operator) {
        facts::Standing::Unmeasured
        | facts::Standing::Same
        | facts::Standing::NotCompiled
        | facts::Standing::NoRows => "NOT_MEASURED".into(),
        standing => standing.word().into(),
    }
}
