//! The decision rules of other tools, on the same simulated samples.
//!
//! Each rule is written from the tool's documentation or source, named beside it. Only decisions are compared: every
//! rule sees the samples that switchback measured, though none of the tools measures so. Where a tool decides by one run
//! a side it sees the last round. Invariant: a rule's score orders operators by how different it thinks them, so that
//! all rules can be held to one error.

use statrs::function::erf::erfc;
use switchback_model::verdict::Verdict;
use switchback_stats::controls::upper_bound95;
use switchback_stats::effect::{mean, median, quantile, variance};
use switchback_stats::student;
use switchback_stats::{CaseInput, CaseRound, OperatorInput, Settings, in_blocks, judge, summarise};

use super::draw::Draw;
use super::fit::{self, Components};
use super::in_parallel;

const N_OPERATORS: usize = 24;
/// Samples of a block, and blocks of a side and round.
const BLOCK: usize = 12;
const N_BLOCKS: usize = 10;
/// What an effect must be found to be: twice the margin.
const EFFECT: f64 = 0.01;
/// The error at which powers are compared: of the operators that do not differ, one in a hundred is called.
const EQUAL_ERROR: f64 = 0.01;

/// A way of measuring: what varies, how many rounds, what they cost.
struct Scheme {
    name: &'static str,
    components: Components,
    n_rounds: u32,
    process_paired: bool,
    /// Card seconds of one round of both sides (FlagGems' mm on an H200).
    round_s: f64,
}

/// Samples of either side, microseconds, round by round.
struct Measured {
    a: Vec<Vec<f64>>,
    b: Vec<Vec<f64>>,
}

impl Measured {
    /// The last round, A and B.
    fn last(&self) -> (&[f64], &[f64]) {
        let last = |rounds: &'_ [Vec<f64>]| rounds.len() - 1;
        (&self.a[last(&self.a)], &self.b[last(&self.b)])
    }
}

fn measured(scheme: &Scheme, effect: f64, draw: &mut Draw) -> Measured {
    let it = scheme.components;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..scheme.n_rounds {
        let common = it.common * draw.normal();
        for (level, rounds) in [(effect, &mut a), (0.0, &mut b)] {
            let process = level + common + it.process * draw.normal();
            let mut samples = Vec::with_capacity(N_BLOCKS * BLOCK);
            for _ in 0..N_BLOCKS {
                let block = process + it.block * draw.normal();
                samples.extend((0..BLOCK).map(|_| 20.0 * (block + it.sample * draw.normal()).exp()));
            }
            rounds.push(samples);
        }
    }
    Measured { a, b }
}

/// A rule's word, and how different it thinks the sides.
struct Word {
    called: bool,
    score: f64,
}

impl Word {
    fn by_p(p: f64) -> Self {
        Self { called: p < 0.05, score: 1.0 / p.max(1e-300) }
    }
}

/// Welch's t test: t, degrees of freedom, p.
fn welch(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let (part_a, part_b) = (variance(a)? / a.len() as f64, variance(b)? / b.len() as f64);
    let df = (part_a + part_b).powi(2)
        / (part_a * part_a / (a.len() - 1) as f64 + part_b * part_b / (b.len() - 1) as f64);
    let t = (mean(a)? - mean(b)?) / (part_a + part_b).sqrt();
    Some((t, student::two_sided(t, df)))
}

/// Mann and Whitney's U of `a`: how often one of `a` is larger; the samples have no ties.
fn mann_whitney_u(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|value| (*value, true)).chain(b.iter().map(|value| (*value, false))).collect();
    all.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (mut u, mut of_b) = (0.0, 0.0);
    for (_, is_a) in all {
        if is_a { u += of_b } else { of_b += 1.0 }
    }
    u
}

/// Two-sided p by the normal approximation with its correction for continuity.
fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let off = ((mann_whitney_u(a, b) - n * m / 2.0).abs() - 0.5).max(0.0);
    erfc(off / (n * m * (n + m + 1.0) / 12.0).sqrt() / std::f64::consts::SQRT_2)
}

/// Two-sided p of few values, by counting all orders (Mann and Whitney 1947).
fn mann_whitney_exact(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len(), b.len());
    // ways[i][j][u]: orders of i values of `a` and j of `b` whose U is u.
    let mut ways = vec![vec![vec![0.0; n * m + 1]; m + 1]; n + 1];
    for i in 0..=n {
        for j in 0..=m {
            for u in 0..=i * j {
                ways[i][j][u] = if i == 0 || j == 0 {
                    1.0
                } else {
                    let a_last = if u >= j { ways[i - 1][j][u - j] } else { 0.0 };
                    let b_last = if u <= i * (j - 1) { ways[i][j - 1][u] } else { 0.0 };
                    a_last + b_last
                };
            }
        }
    }
    let counts = &ways[n][m];
    let u = mann_whitney_u(a, b);
    let less = u.min((n * m) as f64 - u) as usize;
    let tail: f64 = counts[..=less].iter().sum();
    (2.0 * tail / counts.iter().sum::<f64>()).min(1.0)
}

fn block_means(samples: &[f64]) -> Vec<f64> {
    samples.chunks(BLOCK).filter_map(mean).collect()
}

fn medians(rounds: &[Vec<f64>]) -> Vec<f64> {
    rounds.iter().filter_map(|samples| median(samples)).collect()
}

/// What decides, its source, whether it looks at one round only, the rule.
type Rule = (&'static str, &'static str, bool, fn(&Measured) -> Option<Word>);

const RULES: [Rule; 9] = [
    (
        "TritonBench, samples that look normal: Welch's t on one run's samples, p < 0.05",
        "meta-pytorch/tritonbench, components/do_bench/latency_analysis.py",
        true,
        |it| {
            let (a, b) = it.last();
            Some(Word::by_p(welch(a, b)?.1))
        },
    ),
    (
        "TritonBench, samples that do not: Mann-Whitney on one run's samples, p < 0.05",
        "the same",
        true,
        |it| {
            let (a, b) = it.last();
            Some(Word::by_p(mann_whitney(a, b)))
        },
    ),
    (
        "nvbench-compare: means of one run differ by more than the smaller relative sigma",
        "NVIDIA/nvbench, python/scripts/nvbench_compare.py",
        true,
        |it| {
            let (a, b) = it.last();
            let sigma = |side: &[f64]| Some(variance(side)?.sqrt() / mean(side)?);
            let score = (mean(b)? / mean(a)? - 1.0).abs() / sigma(a)?.min(sigma(b)?);
            Some(Word { called: score > 1.0, score })
        },
    ),
    (
        "nvbench-compare-robust: intervals from least to third quartile lie 0.5 % apart",
        "NVIDIA/nvbench, docs/nvbench_compare_robust.md",
        true,
        |it| {
            let (a, b) = it.last();
            let ends = |side: &[f64]| Some((quantile(side, 0.0)?, quantile(side, 0.75)?));
            let ((a_low, a_high), (b_low, b_high)) = (ends(a)?, ends(b)?);
            let score = ((a_low - b_high) / b_high).max((b_low - a_high) / a_high);
            Some(Word { called: score >= 0.005, score })
        },
    ),
    (
        "criterion: t test of one run, p < 0.05, and the change's 95 % interval beyond 1 %",
        "bheisler/criterion.rs, src/analysis/compare.rs (its bootstrap by its normal limit)",
        true,
        |it| {
            let (a, b) = it.last();
            let (t, p) = welch(a, b)?;
            let ratio = mean(a)? / mean(b)?;
            let error = |side: &[f64]| Some(variance(side)? / side.len() as f64 / mean(side)?.powi(2));
            let half = 1.96 * ratio * (error(a)? + error(b)?).sqrt();
            let beyond = ratio - 1.0 - half > 0.01 || ratio - 1.0 + half < -0.01;
            Some(Word { called: p < 0.05 && beyond, score: t.abs() })
        },
    ),
    (
        "benchstat, google/benchmark: Mann-Whitney on repetitions within one run, p < 0.05",
        "golang/perf, benchmath/anone.go; google/benchmark, tools/gbench/report.py",
        true,
        |it| {
            let (a, b) = it.last();
            Some(Word::by_p(mann_whitney_exact(&block_means(a), &block_means(b))))
        },
    ),
    ("the same, one value a process (a careful user's)", "the same", false, |it| {
        Some(Word::by_p(mann_whitney_exact(&medians(&it.a), &medians(&it.b))))
    }),
    ("all samples of all rounds pooled: Welch's t, p < 0.05", "a habit, no tool's", false, |it| {
        Some(Word::by_p(welch(&it.a.concat(), &it.b.concat())?.1))
    }),
    ("all rounds have the same sign (the scripts)", "the scripts that switchback follows", false, |it| {
        let effects: Vec<f64> =
            it.a.iter().zip(&it.b).filter_map(|(a, b)| Some((median(a)? / median(b)?).ln())).collect();
        let stable = effects.iter().all(|effect| *effect > 0.0) || effects.iter().all(|effect| *effect < 0.0);
        // Beyond yes and no the smallest round orders them, so that a threshold can be set.
        let smallest = effects.iter().map(|effect| effect.abs()).fold(f64::INFINITY, f64::min);
        Some(Word { called: stable, score: if stable { smallest } else { 0.0 } })
    }),
];

fn as_input(number: usize, scheme: &Scheme, it: &Measured) -> OperatorInput {
    let summary = |samples: &[f64]| summarise(&in_blocks(samples, BLOCK)).map(|it| it.latency_us).ok();
    let rounds = it.a.iter().zip(&it.b).zip(1..).map(|((a, b), round)| CaseRound {
        round,
        a_us: summary(a),
        b_us: summary(b),
        excluded: None,
    });
    OperatorInput {
        operator: format!("operator {number}"),
        process_paired: scheme.process_paired,
        order_shuffled: true,
        cases: vec![CaseInput { case: "case".into(), rounds: rounds.collect(), ..CaseInput::default() }],
        ..OperatorInput::default()
    }
}

/// What all rules say of the operators of one campaign: rule by rule, operator by operator.
fn words(scheme: &Scheme, effect: f64, draw: &mut Draw) -> Vec<Vec<Word>> {
    let all: Vec<Measured> = (0..N_OPERATORS).map(|_| measured(scheme, effect, draw)).collect();
    let silent = || Word { called: false, score: 0.0 };
    let mut words: Vec<Vec<Word>> = RULES
        .iter()
        .map(|(_, _, _, rule)| all.iter().map(|it| rule(it).unwrap_or_else(silent)).collect())
        .collect();
    let inputs: Vec<OperatorInput> =
        all.iter().enumerate().map(|(number, it)| as_input(number, scheme, it)).collect();
    let settings = Settings { rounds_requested: scheme.n_rounds, ..Settings::default() };
    let judged = judge(&inputs, &settings).operators.into_iter().map(|it| Word {
        called: matches!(it.verdict, Verdict::Faster | Verdict::Slower),
        score: it.p_value.map_or(0.0, |p| 1.0 / p.max(1e-300)),
    });
    words.push(judged.collect());
    words
}

/// Prints what every rule gets wrong, and what it finds at equal error and for its card time.
///
/// # Errors
/// The components of noise cannot be read.
pub fn compare(campaigns: usize, seed: u64) -> anyhow::Result<()> {
    let schemes = [
        Scheme {
            name: "a process a side, 6 rounds",
            components: fit::components("process")?,
            n_rounds: 6,
            process_paired: true,
            round_s: 82.0,
        },
        Scheme {
            name: "both sides in one process, gated, 3 rounds",
            components: fit::components("duet")?,
            n_rounds: 3,
            process_paired: false,
            round_s: 23.0,
        },
    ];
    for scheme in &schemes {
        table(scheme, campaigns, seed);
    }
    println!("\nsources of the rules:");
    for (name, source, ..) in &RULES {
        println!("- {name}: {source}");
    }
    Ok(())
}

fn table(scheme: &Scheme, campaigns: usize, seed: u64) {
    let it = scheme.components;
    println!(
        "\nother tools' rules on the same samples: {}; {campaigns} campaigns of {N_OPERATORS} operators of one case \
         without, as many with effects of 1 %, {} samples a side and round; {:.2} % between processes (and {:.2} % on \
         both sides alike), {:.2} % between blocks, {:.1} % between samples, as kernels of 20 to 25 us on the card\n",
        scheme.name,
        N_BLOCKS * BLOCK,
        100.0 * it.process,
        100.0 * it.common,
        100.0 * it.block,
        100.0 * it.sample
    );
    let pieces: Vec<(f64, usize)> = [0.0, EFFECT]
        .into_iter()
        .flat_map(|effect| (0..campaigns).map(move |number| (effect, number)))
        .collect();
    let all = in_parallel(&pieces, |index, (effect, _)| {
        words(scheme, *effect, &mut Draw::seeded(seed.wrapping_add(index as u64)))
    });
    println!(
        "| rule | null operators called | campaigns with a false call | own power | power at 1 % false | card s | the same a card minute |"
    );
    println!("|---|---|---|---|---|--:|--:|");
    let names = RULES
        .iter()
        .map(|(name, _, one_round, _)| (*name, *one_round))
        .chain([("**switchback**: paired by round, moderated, Holm, margin", false)]);
    let mut lines = Vec::new();
    for (rule, (name, one_round)) in names.enumerate() {
        let (nulls, changed) = all.split_at(campaigns);
        let scores = |campaigns: &[Vec<Vec<Word>>]| -> Vec<f64> {
            campaigns.iter().flat_map(|words| &words[rule]).map(|word| word.score).collect()
        };
        let called = |campaigns: &[Vec<Vec<Word>>]| {
            campaigns.iter().flat_map(|words| &words[rule]).filter(|word| word.called).count()
        };
        let families = nulls.iter().filter(|words| words[rule].iter().any(|word| word.called)).count();
        let threshold = quantile(&scores(nulls), 1.0 - EQUAL_ERROR).unwrap_or(f64::INFINITY);
        let n = changed.len() * N_OPERATORS;
        let found = scores(changed).iter().filter(|score| **score > threshold).count() as f64 / n as f64;
        let rounds = if one_round { 1 } else { scheme.n_rounds };
        let card_s = f64::from(rounds) * scheme.round_s;
        let hits = called(nulls);
        let line = format!(
            "| {name} | {:.4} (≤ {:.4}) | {:.2} (≤ {:.2}) | {:.3} | {found:.3} | {card_s:.0} | {:.2} |",
            hits as f64 / n as f64,
            upper_bound95(hits, n),
            families as f64 / campaigns as f64,
            upper_bound95(families, campaigns),
            called(changed) as f64 / n as f64,
            60.0 * found / card_s
        );
        lines.push((found, card_s, name, line));
    }
    for (.., line) in &lines {
        println!("{line}");
    }
    let best = lines.iter().max_by(|one, two| one.0.total_cmp(&two.0));
    if let (Some((most, _, best, _)), Some((ours, ..))) = (best, lines.last())
        && most > ours
    {
        println!("\nat equal error not switchback is first but \"{best}\": {most:.3} against {ours:.3}");
    }
    let a_minute = |(found, card_s, ..): &(f64, f64, &str, String)| 60.0 * found / card_s;
    let cheapest = lines.iter().max_by(|one, two| a_minute(one).total_cmp(&a_minute(two)));
    if let (Some(cheapest), Some(ours)) = (cheapest, lines.last())
        && a_minute(cheapest) > a_minute(ours)
    {
        println!(
            "\nby card time not switchback is first but \"{}\": {:.2} a minute against {:.2}; at its own threshold it \
             calls what the first column says",
            cheapest.2,
            a_minute(cheapest),
            a_minute(ours)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 8] = [1.2, 3.4, 2.2, 5.1, 4.4, 6.0, 2.9, 3.3];
    const B: [f64; 8] = [2.1, 4.0, 5.5, 6.3, 7.1, 3.9, 6.6, 5.0];

    #[test]
    fn tests_are_those_of_scipy() {
        // scipy 1.17: mannwhitneyu (exact; asymptotic, continuity corrected) and ttest_ind (unequal variances).
        assert_eq!(mann_whitney_u(&A, &B), 16.0);
        assert!((mann_whitney_exact(&A, &B) - 0.104_895_104_895_104_9).abs() < 1e-12);
        assert!((mann_whitney(&A, &B) - 0.103_561_871_176_734_26).abs() < 1e-9);
        let (t, p) = welch(&A, &B).unwrap();
        assert!((t + 1.858_543_538_925_161).abs() < 1e-12 && (p - 0.084_343_257_495_894_81).abs() < 1e-9);
    }

    #[test]
    fn few_values_have_a_least_p() {
        // Two orders of C(10, 5) are as extreme as full separation.
        let (low, high) = ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]);
        assert!((mann_whitney_exact(&low, &high) - 2.0 / 252.0).abs() < 1e-12);
        assert!((mann_whitney_exact(&high, &low) - 2.0 / 252.0).abs() < 1e-12);
    }

    #[test]
    fn rules_call_what_is_far_apart_and_not_what_is_the_same() {
        let round = |level: f64| -> Vec<f64> {
            (0..N_BLOCKS * BLOCK)
                .map(|idx| level * (1.0 + 1e-3 * ((idx * 37 % 101) as f64 / 101.0)))
                .collect()
        };
        let of = |a: f64, b: f64| Measured {
            a: (0..6).map(|number| round(a * (1.0 + 1e-6 * f64::from(number)))).collect(),
            b: (0..6).map(|number| round(b * (1.0 + 1e-6 * f64::from(5 - number)))).collect(),
        };
        for (name, _, _, rule) in &RULES {
            assert!(rule(&of(12.0, 10.0)).unwrap().called, "{name}");
            assert!(!rule(&of(10.0, 10.0)).unwrap().called, "{name}");
            assert!(rule(&of(12.0, 10.0)).unwrap().score > rule(&of(10.0, 10.0)).unwrap().score, "{name}");
        }
    }
}
