//! Makespans of campaigns in simulated time: the engine's own sharing against partitions by whole operators.
//!
//! Cards ask `switchback_engine::schedule::share::next_block`, as a campaign's coordinator does, with expected seconds from
//! `schedule::costs`: screening's, wrong by a factor that is drawn, corrected as rounds end. The ideal is the even share, or
//! the longest single round where that is more.

use std::collections::BTreeSet;

use anyhow::ensure;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use switchback_engine::plan;
use switchback_engine::schedule::costs::{Costs, OperatorCosts};
use switchback_engine::schedule::share::{Part, Work, next_block};

/// The reference's workload: operators, cards, minutes of all, minutes of the heaviest, rounds.
const OPERATORS: usize = 16;
const CARDS: usize = 8;
const ALL_MIN: f64 = 363.0;
const HEAVIEST_MIN: f64 = 70.6;
const ROUNDS: u32 = 6;
/// Drawn workloads beside it.
const DRAWN: u64 = 300;
/// What a campaign must keep to, over the ideal.
const MOST: f64 = 1.05;
/// Standard deviation of the logarithm of an operator's seconds, of screening's error, of a round's own scatter.
const SPREAD: f64 = 0.9;
const SCREENING_ERROR: f64 = 0.2;
const ROUND_SCATTER: f64 = 0.03;

/// Operators as they really are.
struct Workload {
    names: Vec<String>,
    /// Seconds of each round of each operator.
    rounds_s: Vec<Vec<f64>>,
    /// What screening makes of a round.
    screened_s: Vec<f64>,
    /// What a round takes more on a card that has not run the operator.
    cold_s: f64,
    cards: usize,
}

impl Workload {
    /// Operators whose seconds sum up to `all_s`, the first of which takes `heaviest_s`.
    fn draw(seed: u64, operators: usize, cards: usize, all_s: f64, heaviest_s: f64, rounds: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let totals_s = loop {
            let mut totals_s: Vec<f64> =
                (1..operators).map(|_| (SPREAD * normal(&mut random)).exp()).collect();
            let drawn: f64 = totals_s.iter().sum();
            totals_s.iter_mut().for_each(|total_s| *total_s *= (all_s - heaviest_s) / drawn);
            totals_s.insert(0, heaviest_s);
            // The heaviest is the heaviest.
            if totals_s.iter().all(|total_s| *total_s <= heaviest_s) {
                break totals_s;
            }
        };
        let rounds_s: Vec<Vec<f64>> = totals_s
            .iter()
            .map(|total_s| {
                let scatter: Vec<f64> =
                    (0..rounds).map(|_| (ROUND_SCATTER * normal(&mut random)).exp()).collect();
                let sum: f64 = scatter.iter().sum();
                scatter.into_iter().map(|it| total_s * it / sum).collect()
            })
            .collect();
        let screened_s = totals_s
            .iter()
            .map(|total_s| total_s / f64::from(rounds) * (SCREENING_ERROR * normal(&mut random)).exp())
            .collect();
        let names = (0..operators).map(|place| format!("operator{place}")).collect();
        Self { names, rounds_s, screened_s, cold_s: 0.0, cards }
    }

    fn total_s(&self, operator: usize) -> f64 {
        self.rounds_s[operator].iter().sum()
    }

    #[allow(clippy::cast_precision_loss, reason = "a machine has few cards")]
    fn ideal_s(&self) -> f64 {
        let all_s: f64 = (0..self.names.len()).map(|operator| self.total_s(operator)).sum();
        let longest_s = self.rounds_s.iter().flatten().copied().fold(0.0, f64::max);
        (all_s / self.cards as f64).max(longest_s)
    }

    /// The makespan of a partition by whole operators.
    fn partitioned_s(&self, card_of: impl Fn(usize) -> usize) -> f64 {
        let mut loads_s = vec![0.0; self.cards];
        for operator in 0..self.names.len() {
            loads_s[card_of(operator)] += self.total_s(operator);
        }
        loads_s.into_iter().fold(0.0, f64::max)
    }

    /// The scripts' partition: longest first into the emptiest card, by what screening makes of them.
    fn longest_first_s(&self) -> f64 {
        let weights: Vec<(String, f64)> =
            self.names.iter().cloned().zip(self.screened_s.iter().copied()).collect();
        let cards: Vec<(Vec<String>, f64)> = plan::partition(&weights, self.cards);
        self.partitioned_s(|operator| {
            cards.iter().position(|(names, _)| names.contains(&self.names[operator])).unwrap_or(0)
        })
    }

    /// What needs no knowledge at all: a digest of the name.
    fn by_hash_s(&self) -> f64 {
        self.partitioned_s(|operator| {
            usize::from(Sha256::digest(self.names[operator].as_bytes())[0]) % self.cards
        })
    }

    /// The engine's blocks: cards that are free ask for the next one. The makespan and how many cards each operator saw.
    fn blocks_s(&self) -> (f64, Vec<usize>) {
        let mut simulation = Simulation::new(self);
        while simulation.step() {}
        (simulation.now_s, simulation.warm.iter().map(BTreeSet::len).collect())
    }
}

/// What a card is at work on.
#[derive(Clone, Copy)]
struct Busy {
    operator: usize,
    part: Part,
    begun_s: f64,
    ends_s: f64,
}

struct Simulation<'a> {
    workload: &'a Workload,
    costs: Costs,
    open: Vec<Vec<Part>>,
    warm: Vec<BTreeSet<usize>>,
    home: Vec<Option<usize>>,
    took: Vec<(u32, f64)>,
    cards: Vec<Option<Busy>>,
    now_s: f64,
}

impl<'a> Simulation<'a> {
    fn new(workload: &'a Workload) -> Self {
        let operators = workload.names.len();
        let mut it = Self {
            workload,
            costs: Costs::default(),
            open: workload
                .rounds_s
                .iter()
                .map(|rounds| (1u32..).zip(rounds).map(|(it, _)| Part::Round(it)).collect())
                .collect(),
            warm: vec![BTreeSet::new(); operators],
            home: vec![None; operators],
            took: vec![(0, 0.0); operators],
            cards: vec![None; workload.cards],
            now_s: 0.0,
        };
        (0..operators).for_each(|operator| it.learn(operator));
        it
    }

    fn learn(&mut self, operator: usize) {
        let half_s = Some(self.workload.screened_s[operator] / 2.0);
        let known =
            OperatorCosts { screen_s: [half_s; 2], rounds: self.took[operator], ..OperatorCosts::default() };
        self.costs.know(&self.workload.names[operator], known);
    }

    /// Gives free cards what they ask for, then goes to the next end of a block; false when all is done.
    fn step(&mut self) -> bool {
        for card in 0..self.cards.len() {
            if self.cards[card].is_none() {
                self.take(card);
            }
        }
        let next = self.cards.iter().enumerate().filter_map(|(card, busy)| Some((card, (*busy)?)));
        let Some((card, busy)) = next.min_by(|one, two| one.1.ends_s.total_cmp(&two.1.ends_s)) else {
            return false;
        };
        self.now_s = busy.ends_s;
        self.cards[card] = None;
        let (rounds, seconds) = &mut self.took[busy.operator];
        *rounds += 1;
        *seconds += busy.ends_s - busy.begun_s;
        self.learn(busy.operator);
        true
    }

    fn take(&mut self, card: usize) {
        let expected = self.costs.expected();
        let work: Vec<Work> = (0..self.open.len())
            .map(|operator| {
                let block_s = expected.block_s(&self.workload.names[operator], Part::Round(1));
                let mut work = Work::new(self.open[operator].clone(), block_s);
                work.cold_s = self.workload.cold_s;
                work.warm = self.warm[operator].iter().copied().collect();
                work.home = self.home[operator];
                work
            })
            .collect();
        let busy_s: Vec<Option<f64>> = self
            .cards
            .iter()
            .map(|busy| {
                Some(busy.map_or(0.0, |busy| {
                    let all_s = expected.block_s(&self.workload.names[busy.operator], busy.part);
                    (all_s - (self.now_s - busy.begun_s)).abs()
                }))
            })
            .collect();
        let (Some((operator, part)), _) = next_block(&work, &busy_s, true, card) else { return };
        self.open[operator].retain(|open| *open != part);
        self.home[operator].get_or_insert(card);
        let Part::Round(round) = part else { return };
        let cold_s = if self.warm[operator].insert(card) { self.workload.cold_s } else { 0.0 };
        let takes_s = self.workload.rounds_s[operator][round as usize - 1] + cold_s;
        self.cards[card] = Some(Busy { operator, part, begun_s: self.now_s, ends_s: self.now_s + takes_s });
    }
}

/// A standard normal deviate (Box and Muller, 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (one, two): (f64, f64) = (random.random_range(f64::EPSILON..1.0), random.random());
    (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
}

/// Makespans over the ideal, in the order blocks, longest first, by hash.
fn ratios(workload: &Workload) -> [f64; 3] {
    let ideal_s = workload.ideal_s();
    [workload.blocks_s().0, workload.longest_first_s(), workload.by_hash_s()].map(|it| it / ideal_s)
}

fn reference(seed: u64) -> Workload {
    Workload::draw(seed, OPERATORS, CARDS, 60.0 * ALL_MIN, 60.0 * HEAVIEST_MIN, ROUNDS)
}

/// Prints the tables.
///
/// # Errors
/// Blocks do not keep to what was promised of them.
pub fn run() -> anyhow::Result<()> {
    let one = reference(0);
    let [blocks, longest_first, hash] = ratios(&one);
    let ideal_min = one.ideal_s() / 60.0;
    println!(
        "plan: {OPERATORS} operators of {ALL_MIN} min, one of {HEAVIEST_MIN} min, {ROUNDS} rounds, {CARDS} cards: ideal \
         {ideal_min:.1} min; blocks {:.1} ({blocks:.3}), longest first by operator {:.1} ({longest_first:.3}), by hash {:.1} \
         ({hash:.3}); the heaviest saw {} cards",
        blocks * ideal_min,
        longest_first * ideal_min,
        hash * ideal_min,
        one.blocks_s().1[0]
    );
    let drawn: Vec<[f64; 3]> = (1..=DRAWN).map(|seed| ratios(&reference(seed))).collect();
    table(&format!("{DRAWN} drawn of that shape"), &drawn);
    let worst = drawn.iter().map(|it| it[0]).fold(0.0, f64::max);
    let cold: Vec<[f64; 3]> =
        (1..=DRAWN).map(|seed| ratios(&Workload { cold_s: 20.0, ..reference(seed) })).collect();
    table("the same, 20 s more on a card without the operator's caches", &cold);
    let wide: Vec<[f64; 3]> = (1..=DRAWN).map(|seed| ratios(&wide(seed))).collect();
    table("2 to 8 cards, 3 to 12 operators a card, 4 to 8 rounds, the heaviest 1 to 2 shares", &wide);
    ensure!(blocks <= MOST && worst <= MOST, "blocks take {worst:.3} of the ideal, more than {MOST}");
    Ok(())
}

/// A workload of another shape.
#[allow(clippy::cast_precision_loss, reason = "a machine has few cards")]
fn wide(seed: u64) -> Workload {
    let mut random = ChaCha8Rng::seed_from_u64(seed.wrapping_add(1 << 32));
    let cards = random.random_range(2..=8);
    let operators = cards * random.random_range(3..=12);
    let all_s = 60.0 * 45.0 * cards as f64;
    let share_s = all_s / cards as f64;
    let heaviest_s = (share_s * random.random_range(1.0..2.0)).min(0.6 * all_s);
    Workload::draw(seed, operators, cards, all_s, heaviest_s, random.random_range(4..=8))
}

fn table(what: &str, ratios: &[[f64; 3]]) {
    println!("      {what}: makespan over the ideal, median and worst");
    for (place, name) in ["blocks", "longest first by operator", "by hash"].into_iter().enumerate() {
        let mut sorted: Vec<f64> = ratios.iter().map(|it| it[place]).collect();
        sorted.sort_by(f64::total_cmp);
        println!("      {name:<26} {:.3} {:.3}", sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    }
}
