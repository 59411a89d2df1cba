//! `bench judge`: how often verdicts are wrong, and what they find, by simulation; the tables of `docs/statistics.md`.
//!
//! Noise is drawn from components fitted to real rounds of identical kernels ([`fit`]); [`tables`] holds the campaigns,
//! [`tools`] the decision rules of other tools on the same draws, [`speed`] what judging costs. Invariant: the same number
//! of campaigns and the same seed print the same tables, whatever the number of threads.

mod fit;
mod speed;
mod tables;
mod tools;

pub use speed::memory;

#[path = "../../../crates/stats/tests/simulation/draw.rs"]
mod draw;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};

/// Campaigns a setting unless told otherwise: a family-wise error of 1 % is then known to about 1 %.
const CAMPAIGNS: usize = 300;
/// The seed unless told otherwise.
const SEED: u64 = 20_260_910;

/// Prints all tables.
///
/// # Errors
/// An option that there is not, or a value that is none.
pub fn run(options: &[&str]) -> anyhow::Result<()> {
    let (mut campaigns, mut seed) = (CAMPAIGNS, SEED);
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let value = rest.next().with_context(|| format!("`{option}` needs a number"))?;
        match *option {
            "--campaigns" => campaigns = value.parse().with_context(|| format!("`{value}` is no number"))?,
            "--seed" => seed = value.parse().with_context(|| format!("`{value}` is no number"))?,
            _ => bail!("`{option}` is no option of `bench judge`; there are: --campaigns N, --seed N"),
        }
    }
    if campaigns == 0 {
        bail!("`--campaigns` must be at least 1");
    }
    let law = fit::law()?;
    println!(
        "{campaigns} campaigns a setting, seed {seed}; the card's noise, fitted to gated rounds of identical kernels: \
         {:.2} % at 4 us, falling as latency^{:.2}",
        100.0 * law.deviation(4.0),
        law.exponent
    );
    tables::errors(campaigns, seed, law);
    tables::stopping(campaigns, seed, law);
    tools::compare(campaigns.div_ceil(4), seed)?;
    speed::judging()
}

/// Does independent pieces of work on all cores, results in the order of the pieces.
fn in_parallel<P: Sync, R: Send>(pieces: &[P], work: impl Fn(usize, &P) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(pieces.iter().map(|_| None).collect());
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(pieces.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(piece) = pieces.get(index) else { return };
                    let result = work(index, piece);
                    if let Ok(mut results) = results.lock() {
                        results[index] = Some(result);
                    }
                }
            });
        }
    });
    results.into_inner().map(|results| results.into_iter().flatten().collect()).unwrap_or_default()
}
