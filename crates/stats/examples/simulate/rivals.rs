//! The decision rules of other tools, as far as their documentation describes them, on the same simulated samples.
//!
//! One operator of one case is measured for `N_ROUNDS` rounds in processes of its own, `N_SAMPLES` samples a side and
//! round. Sample = process + block + noise, components as in process pairing of short kernels. All rules see the same
//! samples. What is compared is the decision, not the tools' way of measuring.

use statrs::function::erf::erfc;
use switchback_stats::effect::{mean, median, quantile, variance};
use switchback_stats::{CaseInput, CaseRound, OperatorInput, Settings, in_blocks, judge, summarise};

use crate::draw::Draw;

const N_ROUNDS: u32 = 6;
const N_SAMPLES: usize = 60;
const N_OPERATORS: usize = 24;
const BLOCK: usize = 12;

/// Scatter between processes, between blocks and between samples of identical kernels, on the log scale.
const PROCESS: f64 = 3e-3;
const DRIFT: f64 = 2e-3;
const SAMPLE: f64 = 1.5e-2;

/// Samples of either side, round by round.
struct Measured {
    a: Vec<Vec<f64>>,
    b: Vec<Vec<f64>>,
}

fn measured(effect: f64, draw: &mut Draw) -> Measured {
    let mut side = |level: f64| -> Vec<Vec<f64>> {
        (0..N_ROUNDS)
            .map(|_| {
                let process = level + PROCESS * draw.normal();
                let mut block = 0.0;
                (0..N_SAMPLES)
                    .map(|idx| {
                        if idx % BLOCK == 0 {
                            block = DRIFT * draw.normal();
                        }
                        50.0 * (process + block + SAMPLE * draw.normal()).exp()
                    })
                    .collect()
            })
            .collect()
    };
    Measured { a: side(effect), b: side(0.0) }
}

/// Two-sided tail of the standard normal.
fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    let error = variance(a)? / a.len() as f64 + variance(b)? / b.len() as f64;
    Some(two_sided((mean(a)? - mean(b)?) / error.sqrt()))
}

/// Mann and Whitney's test by its normal approximation; the samples have no ties.
fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|v| (*v, true)).chain(b.iter().map(|v| (*v, false))).collect();
    all.sort_by(|left, right| left.0.total_cmp(&right.0));
    let rank_sum: f64 =
        all.iter().zip(1..).filter(|((_, of_a), _)| *of_a).map(|(_, rank)| f64::from(rank)).sum();
    let (n, m) = (a.len() as f64, b.len() as f64);
    let u = rank_sum - n * (n + 1.0) / 2.0;
    two_sided((u - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt())
}

/// How strongly each rule believes in a difference: it calls one where the score is at least 1.
type Rule = (&'static str, fn(&Measured) -> Option<f64>);

const RULES: [Rule; 5] = [
    ("Welch on pooled samples, p < 0.05 (TritonBench)", |it| {
        Some(0.05 / welch(&it.a.concat(), &it.b.concat())?)
    }),
    ("Mann-Whitney on pooled samples, p < 0.05 (benchstat, google/benchmark)", |it| {
        Some(0.05 / mann_whitney(&it.a.concat(), &it.b.concat()))
    }),
    ("last run: means differ by more than relative noise (nvbench)", |it| {
        let (a, b) = (it.a.last()?, it.b.last()?);
        let noise = |side: &[f64]| Some(variance(side)?.sqrt() / mean(side)?);
        Some((mean(a)? / mean(b)? - 1.0).abs() / noise(a)?.min(noise(b)?))
    }),
    ("last run: t test, p < 0.05, and above a 1 % noise threshold (criterion)", |it| {
        let (a, b) = (it.a.last()?, it.b.last()?);
        let threshold = (mean(a)? / mean(b)? - 1.0).abs() / 0.01;
        Some((0.05 / welch(a, b)?).min(threshold))
    }),
    ("all rounds have the same sign (the scripts)", |it| {
        let effects: Vec<f64> =
            it.a.iter().zip(&it.b).filter_map(|(a, b)| Some((median(a)? / median(b)?).ln())).collect();
        let stable = effects.iter().all(|effect| *effect > 0.0) || effects.iter().all(|effect| *effect < 0.0);
        // Beyond yes and no the smallest round orders them, so that a threshold can be set.
        let smallest = effects.iter().map(|effect| effect.abs()).fold(f64::INFINITY, f64::min);
        Some(if stable { 1.0 + smallest } else { 0.0 })
    }),
];

fn as_input(number: usize, it: &Measured) -> OperatorInput {
    let summary = |samples: &[f64]| summarise(&in_blocks(samples, BLOCK)).map(|it| it.latency_us).ok();
    let rounds = it.a.iter().zip(&it.b).zip(1..).map(|((a, b), round)| CaseRound {
        round,
        a_us: summary(a),
        b_us: summary(b),
        excluded: None,
    });
    OperatorInput {
        operator: format!("operator {number}"),
        cases: vec![CaseInput { case: "case".into(), rounds: rounds.collect(), ..CaseInput::default() }],
        ..OperatorInput::default()
    }
}

/// Prints false calls, family-wise error and power at equal error of every rule.
pub fn compare(n_campaigns: usize, draw: &mut Draw) {
    println!(
        "\nrules on the same samples: {N_OPERATORS} operators, {N_ROUNDS} rounds of {N_SAMPLES} samples a side,"
    );
    println!(
        "process noise {:.1} %, {n_campaigns} campaigns without and with effects of 1 %",
        100.0 * PROCESS
    );
    println!("{:74} {:>8} {:>8} {:>16}", "rule", "false", "family", "power at 1 %");
    let mut null_scores = vec![Vec::new(); RULES.len() + 1];
    let mut changed_scores = vec![Vec::new(); RULES.len() + 1];
    let mut families = vec![0; RULES.len() + 1];
    let settings = Settings { rounds_requested: N_ROUNDS, ..Settings::default() };
    for (effect, scores) in [(0.0, &mut null_scores), (0.01, &mut changed_scores)] {
        for _ in 0..n_campaigns {
            let all: Vec<Measured> = (0..N_OPERATORS).map(|_| measured(effect, draw)).collect();
            let mut called = vec![false; RULES.len() + 1];
            for (idx, (_, rule)) in RULES.iter().enumerate() {
                for it in &all {
                    let score = rule(it).unwrap_or(0.0);
                    called[idx] |= score >= 1.0;
                    scores[idx].push(score);
                }
            }
            let inputs: Vec<OperatorInput> =
                all.iter().enumerate().map(|(number, it)| as_input(number, it)).collect();
            for it in judge(&inputs, &settings).operators {
                let differs = it.p_adjusted.is_some_and(|p| p <= 0.05)
                    && it.effect.is_some_and(|effect| effect.abs() >= settings.margin());
                called[RULES.len()] |= differs;
                // Ordered by the raw p-value; a call scores at least 1.
                let score = it.p_value.map_or(0.0, |p| 1e-3 / p.max(1e-300));
                scores[RULES.len()].push(if differs {
                    1.0 + score
                } else {
                    score.min(1.0 - 1e-12 / (1.0 + score))
                });
            }
            if effect == 0.0 {
                families.iter_mut().zip(&called).for_each(|(count, called)| *count += usize::from(*called));
            }
        }
    }
    let names =
        RULES.iter().map(|(name, _)| *name).chain(["paired by round, moderated, Holm, margin (switchback)"]);
    for (idx, name) in names.enumerate() {
        let share = |scores: &[f64], threshold: f64| {
            scores.iter().filter(|score| **score > threshold).count() as f64 / scores.len() as f64
        };
        // The threshold that 1 % of the nulls pass, at least the rule's own.
        let equal_error = quantile(&null_scores[idx], 0.99).unwrap_or(f64::INFINITY);
        println!(
            "{name:74} {:>8.4} {:>8.3} {:>16.3}",
            share(&null_scores[idx], 1.0 - 1e-15),
            families[idx] as f64 / n_campaigns as f64,
            share(&changed_scores[idx], equal_error),
        );
    }
}
