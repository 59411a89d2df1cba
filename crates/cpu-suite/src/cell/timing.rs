//! Takes samples: warm-up, batches, blocks, and the order of the sides.
//!
//! The timer is the wall clock around a batch of calls. A batch lasts [`SHORTEST_SAMPLE_US`] or more, so that reading
//! the clock twice (some 50 ns) is half a percent of it at most and the same on both sides; all sides of a case use the
//! same number of calls. The cache is warm: flushing it before a call of a few microseconds would cost a thousand times
//! the call and measure the flush's aftermath. Keeps one invariant: what is drawn (order of the sides) never depends on
//! what was measured.

use std::time::Instant;

use rand::Rng;
use switchback_model::order::Measure;

use crate::jit::Native;
use crate::operands::Operands;

/// A sample lasts at least this long, microseconds.
pub const SHORTEST_SAMPLE_US: f64 = 10.0;

/// No call is taken to be shorter than this, microseconds; it bounds the size of a batch.
const SHORTEST_CALL_US: f64 = 1e-3;

/// Fewest blocks a side, however long one sample takes; also the batches by which the standard error is told.
const FEWEST_BLOCKS: u32 = 8;

/// The standard error is looked at again after so many times the blocks.
const GROWTH: f64 = 1.5;

/// Samples at the beginning of a block that may be discarded until two in a row agree.
const MOST_DISCARDED: u32 = 4;

/// Two samples in a row agree if they differ by no more than this share.
const AGREEMENT: f64 = 0.02;

/// A sample longer than this, microseconds, settles by itself: one is discarded after a change of side.
const LONG_SAMPLE_US: f64 = 500.0;

/// Samples in each of the windows by which warm-up judges that a time has settled.
const WINDOW: usize = 8;

/// What is timed.
#[derive(Clone, Copy)]
pub enum Run<'a> {
    /// A kernel.
    Native(&'a Native),
    /// Plain Rust.
    Plain(fn(&mut Operands)),
}

impl Run<'_> {
    /// Runs it once.
    #[inline]
    pub fn call(self, operands: &mut Operands) {
        match self {
            Self::Native(native) => native.call(operands),
            Self::Plain(plain) => plain(operands),
        }
    }

    /// Microseconds of one call, averaged over a batch.
    fn sample(self, operands: &mut Operands, calls: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..calls {
            self.call(operands);
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    }
}

/// How many samples a case gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Calls in a sample.
    pub calls: u32,
    /// Blocks a side.
    pub blocks: u32,
    /// Samples in a block.
    pub block_length: u32,
}

impl Plan {
    /// Fits the asked number of blocks and samples into the asked time; shorter blocks come first, then fewer.
    #[must_use]
    pub fn new(measure: &Measure, fastest_call_us: f64, slowest_call_us: f64) -> Self {
        let calls = (SHORTEST_SAMPLE_US / fastest_call_us).ceil().clamp(1.0, 1e6) as u32;
        let sample_us = slowest_call_us * f64::from(calls);
        let affordable = (measure.sample_ms * 1e3 / sample_us).max(1.0);
        let blocks = measure.blocks.max(1);
        let block_length =
            (affordable / f64::from(blocks)).floor().clamp(1.0, f64::from(measure.block_length.max(1)));
        let most_blocks = (affordable / block_length).floor().clamp(1.0, f64::from(blocks));
        Self {
            calls,
            blocks: (most_blocks as u32).max(FEWEST_BLOCKS.min(blocks)),
            block_length: block_length as u32,
        }
    }
}

/// Samples of one side, microseconds, in blocks as they were taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// The blocks.
    pub blocks: Vec<Vec<f64>>,
    /// Samples that were taken at the beginning of blocks and not kept.
    pub discarded: u64,
    /// Standard error of the case's effect (one side: of its latency) when sampling ended, percent.
    pub standard_error_pct: Option<f64>,
}

/// The order of blocks: each entry is a position in the list of sides.
///
/// Two sides come in fours, ABBA or BAAB as drawn, so that a drift that is linear over four blocks cancels; an odd
/// number of blocks ends in a pair.
#[must_use]
pub fn block_order(sides: usize, blocks: u32, draws: &mut impl Rng) -> Vec<usize> {
    if sides == 1 {
        return vec![0; blocks as usize];
    }
    let mut order = Vec::new();
    for _ in 0..blocks / 2 {
        let first = usize::from(draws.random::<bool>());
        order.extend([first, 1 - first, 1 - first, first]);
    }
    if blocks % 2 == 1 {
        let first = usize::from(draws.random::<bool>());
        order.extend([first, 1 - first]);
    }
    order
}

/// Warms up and measures one case: all sides on the same operands, in the order they are given.
pub fn measure(
    runs: &[Run<'_>],
    operands: &mut Operands,
    measure: &Measure,
    draws: &mut impl Rng,
) -> Vec<Samples> {
    let warmup_ms = measure.warmup_ms / runs.len() as f64;
    let call_us: Vec<f64> = runs.iter().map(|run| warm_up(*run, operands, warmup_ms)).collect();
    let fastest = call_us.iter().copied().fold(f64::INFINITY, f64::min);
    let slowest = call_us.iter().copied().fold(0.0, f64::max);
    let plan = Plan::new(measure, fastest, slowest);
    let mut samples = vec![Samples::default(); runs.len()];
    let mut next_look = FEWEST_BLOCKS as usize;
    // Sides come in fours (`block_order`): looked at is only what has as many blocks of each.
    for sides in block_order(runs.len(), plan.blocks, draws).chunks(if runs.len() == 1 { 1 } else { 4 }) {
        for side in sides.iter().copied() {
            samples[side].discarded += settle(runs[side], operands, plan.calls);
            let block = (0..plan.block_length).map(|_| runs[side].sample(operands, plan.calls)).collect();
            samples[side].blocks.push(block);
        }
        let taken = samples[0].blocks.len();
        if measure.case_precision_pct > 0.0 && taken >= next_look {
            next_look = (taken + 1).max((taken as f64 * GROWTH) as usize);
            if standard_error_pct(&samples).is_some_and(|it| it <= measure.case_precision_pct) {
                break;
            }
        }
    }
    let standard_error_pct = standard_error_pct(&samples);
    for side in &mut samples {
        side.standard_error_pct = standard_error_pct;
    }
    samples
}

/// Standard error of the effect of two sides, or of one side's latency, percent; none with fewer than eight blocks.
///
/// Of batch means (Schmeiser, Operations Research 30, 1982): blocks are put into eight batches in the order taken and each
/// batch is summarised by itself, so that samples need not be independent of their neighbours.
#[must_use]
pub fn standard_error_pct(sides: &[Samples]) -> Option<f64> {
    let blocks = sides.iter().map(|side| side.blocks.len()).min()?;
    let batches = FEWEST_BLOCKS as usize;
    if blocks < batches {
        return None;
    }
    let logarithms: Vec<f64> = (0..batches)
        .map(|batch| {
            let range = blocks * batch / batches..blocks * (batch + 1) / batches;
            let mut logs = sides.iter().filter_map(|side| interquartile_mean(&side.blocks[range.clone()]));
            let first = logs.next().map_or(0.0, f64::ln);
            logs.next().map_or(first, |second| first - second.ln())
        })
        .collect();
    let mean = logarithms.iter().sum::<f64>() / batches as f64;
    let squares: f64 = logarithms.iter().map(|it| (it - mean).powi(2)).sum();
    Some(100.0 * (squares / (batches - 1) as f64 / batches as f64).sqrt())
}

/// Calls until the time of a call has settled or the time for it is used up; gives that time, microseconds.
///
/// It is the shortest seen: whatever interrupts a call makes it longer, and one long call must not decide how many
/// samples a case gets. It has settled when the shortest of two windows in a row agree.
fn warm_up(run: Run<'_>, operands: &mut Operands, warmup_ms: f64) -> f64 {
    let start = Instant::now();
    let mut calls = 1;
    let mut shortest = run.sample(operands, calls);
    while shortest * f64::from(calls) < SHORTEST_SAMPLE_US {
        calls *= 2;
        shortest = shortest.min(run.sample(operands, calls));
    }
    let mut before = f64::INFINITY;
    loop {
        let mut now = f64::INFINITY;
        for _ in 0..WINDOW {
            now = now.min(run.sample(operands, calls));
            shortest = shortest.min(now);
            if start.elapsed().as_secs_f64() * 1e3 >= warmup_ms {
                return shortest.max(SHORTEST_CALL_US);
            }
        }
        if agree(before, now) {
            return shortest.max(SHORTEST_CALL_US);
        }
        before = now;
    }
}

/// Discards samples after a change of side until two in a row agree; gives how many.
fn settle(run: Run<'_>, operands: &mut Operands, calls: u32) -> u64 {
    let mut before = run.sample(operands, calls);
    let mut discarded = 1;
    while discarded < MOST_DISCARDED && before * f64::from(calls) < LONG_SAMPLE_US {
        let now = run.sample(operands, calls);
        discarded += 1;
        if agree(before, now) {
            break;
        }
        before = now;
    }
    u64::from(discarded)
}

fn agree(one: f64, other: f64) -> bool {
    (other / one - 1.0).abs() < AGREEMENT
}

/// Mean of the middle half of the samples; none without samples.
#[must_use]
pub fn interquartile_mean(samples: &[Vec<f64>]) -> Option<f64> {
    let mut sorted: Vec<f64> = samples.iter().flatten().copied().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    let middle = &sorted[quarter..sorted.len() - quarter];
    (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    pub(in crate::cell) fn a_measure() -> Measure {
        serde_json::from_value(serde_json::json!({
            "timed": true, "timer": "auto", "warmup_ms": 1.0, "sample_ms": 2.0, "direct_repeat": 1, "blocks": 5,
            "block_length": 3, "cache_state": "warm", "seed": 7, "tuning": "off",
        }))
        .unwrap()
    }

    #[test]
    fn a_plan_keeps_to_the_time() {
        let measure = Measure { blocks: 40, block_length: 12, sample_ms: 20.0, ..a_measure() };
        // 480 samples of 10 us are 4.8 ms: all of them, batches of five calls.
        assert_eq!(Plan::new(&measure, 2.0, 2.0), Plan { calls: 5, blocks: 40, block_length: 12 });
        // 20 ms hold 200 samples of 100 us: blocks of five.
        assert_eq!(Plan::new(&measure, 100.0, 100.0), Plan { calls: 1, blocks: 40, block_length: 5 });
        // 20 ms hold 10 samples of 2 ms: ten blocks of one.
        assert_eq!(Plan::new(&measure, 2000.0, 2000.0), Plan { calls: 1, blocks: 10, block_length: 1 });
        // The slower side decides the time, the faster one the batch.
        assert_eq!(Plan::new(&measure, 2.0, 20.0), Plan { calls: 5, blocks: 40, block_length: 5 });
        // Whatever a sample takes, some blocks are needed to tell drift from effect.
        assert_eq!(Plan::new(&measure, 1e6, 1e6).blocks, FEWEST_BLOCKS);
        assert_eq!(Plan::new(&Measure { blocks: 1, ..measure }, 1e6, 1e6).blocks, 1);
    }

    #[test]
    fn both_sides_have_equal_blocks_and_fours_are_palindromes() {
        let mut draws = ChaCha8Rng::seed_from_u64(3);
        let order = block_order(2, 41, &mut draws);
        assert_eq!(order.iter().filter(|side| **side == 0).count(), 41);
        assert_eq!(order.len(), 82);
        assert!(
            order[..80].chunks(4).all(|four| four[0] == four[3] && four[1] == four[2] && four[0] != four[1])
        );
        let firsts: std::collections::BTreeSet<usize> = order.chunks(4).map(|four| four[0]).collect();
        assert_eq!(firsts.len(), 2, "both orders are drawn");
        assert_ne!(order, block_order(2, 41, &mut draws));
        assert_eq!(block_order(1, 3, &mut draws), [0, 0, 0]);
    }

    #[test]
    fn the_standard_error_is_that_of_eight_batches() {
        let side = |latencies: [f64; 8]| Samples {
            blocks: latencies.map(|it| vec![it]).to_vec(),
            ..Samples::default()
        };
        // Effects ±1 %, four of each: a standard deviation of 1 % times sqrt(8/7), over sqrt(8).
        let e = 0.01_f64.exp();
        let a = side([e, 1.0, e, 1.0, e, 1.0, e, 1.0]);
        let b = side([1.0, e, 1.0, e, 1.0, e, 1.0, e]);
        let both = standard_error_pct(&[a.clone(), b]).unwrap();
        assert!((both - 1.0 / 7.0_f64.sqrt()).abs() < 1e-9, "{both}");
        let one = standard_error_pct(&[a]).unwrap();
        assert!((one - 0.5 / 7.0_f64.sqrt()).abs() < 1e-9, "{one}");
        assert_eq!(standard_error_pct(&[Samples { blocks: vec![vec![1.0]; 7], ..Samples::default() }]), None);
    }

    #[test]
    fn the_middle_half_is_averaged() {
        assert_eq!(interquartile_mean(&[vec![100.0, 2.0, 4.0], vec![0.0]]), Some(3.0));
        assert_eq!(interquartile_mean(&[]), None);
        assert_eq!(interquartile_mean(&[vec![5.0]]), Some(5.0));
    }
}
