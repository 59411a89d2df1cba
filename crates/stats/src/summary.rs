//! From the samples of one row to its latency.
//!
//! Gated samples are bimodal by their position in a block (2 to 12 % below 12 us), so a median jumps between the
//! modes. A row's latency is the interquartile mean at each position, averaged with equal weight over positions.
//! A row with an impossible sample is [`Unmeasurable`] as a whole: a timer that reads zero once is not believed the
//! other times. Which samples were gated, and where a block starts, is left to the caller.

use crate::effect::{mean, median};

/// One sample and its place in the block of calls that it was taken in.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sample {
    /// Place in the block, from 0.
    pub position: u32,
    /// What the timer read.
    pub latency_us: f64,
}

/// The latency of one row.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SideSummary {
    /// Interquartile mean by position in the block, then the mean over positions.
    pub latency_us: f64,
    /// Resolution of the timer, as far as the samples show it ([`resolution_us`]); 0 when unknown.
    pub quantisation_us: f64,
    /// Median of all samples.
    pub median_us: f64,
    /// Number of samples.
    pub n_samples: usize,
    /// Number of different positions.
    pub n_positions: usize,
}

/// Why a row has no latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unmeasurable {
    /// There is no sample.
    #[error("unmeasurable: no sample")]
    Empty,
    /// A sample is infinite or no number.
    #[error("unmeasurable: {count} of {of} samples are not finite")]
    NotFinite {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
    },
    /// A sample is zero or negative.
    #[error("unmeasurable: {count} of {of} samples are zero or negative")]
    NotPositive {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
    },
}

/// Places samples taken in blocks of `block_length` calls, in the order taken; a length of 0 counts as 1.
#[must_use]
pub fn in_blocks(samples_us: &[f64], block_length: usize) -> Vec<Sample> {
    let length = block_length.max(1);
    samples_us
        .iter()
        .enumerate()
        .map(|(idx, &latency_us)| Sample {
            position: u32::try_from(idx % length).unwrap_or(u32::MAX),
            latency_us,
        })
        .collect()
}

/// Summarises the samples of one row.
///
/// # Errors
/// [`Unmeasurable`] without samples, or when any of them is not finite, zero or negative.
pub fn summarise(samples: &[Sample]) -> Result<SideSummary, Unmeasurable> {
    let all: Vec<f64> = samples.iter().map(|sample| sample.latency_us).collect();
    check(&all)?;
    let mut sorted = samples.to_vec();
    sorted.sort_by_key(|sample| sample.position);
    let by_position: Vec<f64> = sorted
        .chunk_by(|left, right| left.position == right.position)
        .filter_map(|chunk| {
            interquartile_mean(&chunk.iter().map(|sample| sample.latency_us).collect::<Vec<_>>())
        })
        .collect();
    let (Some(latency_us), Some(median_us)) = (mean(&by_position), median(&all)) else {
        return Err(Unmeasurable::Empty);
    };
    Ok(SideSummary {
        latency_us,
        quantisation_us: resolution_us(&all),
        median_us,
        n_samples: all.len(),
        n_positions: by_position.len(),
    })
}

/// Median of the medians of several repeats of one row, the scripts' treatment of direct timing.
///
/// # Errors
/// [`Unmeasurable`] as [`summarise`], over all repeats together; an empty repeat alone is left out.
pub fn median_over_repeats(repeats_us: &[Vec<f64>]) -> Result<f64, Unmeasurable> {
    check(&repeats_us.concat())?;
    let medians: Vec<f64> = repeats_us.iter().filter_map(|repeat| median(repeat)).collect();
    median(&medians).ok_or(Unmeasurable::Empty)
}

/// Mean of the middle half: the quantile function averaged over 0.25..0.75, values at the edges in part.
///
/// `None` of nothing.
#[must_use]
pub fn interquartile_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() as f64 / 4.0;
    let mut sum = 0.0;
    for (idx, value) in sorted.iter().enumerate() {
        let from = (idx as f64).max(quarter);
        let to = ((idx + 1) as f64).min(3.0 * quarter);
        sum += value * (to - from).max(0.0);
    }
    Some(sum / (2.0 * quarter))
}

/// The smallest distance between two different samples: the step of the timer once samples are many.
///
/// 0 when fewer than two differ, or when they differ by less than one part in 1e9 (arithmetic, not a timer). Of a few
/// samples it is too large, by no harm: the smallest of the distances between `n` samples is about their scatter over
/// `n^2`, far below the error of their mean.
#[must_use]
pub fn resolution_us(samples_us: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = samples_us.iter().copied().filter(|sample| sample.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let step = sorted
        .windows(2)
        .map(|pair| (pair[1] - pair[0], pair[1].abs()))
        .filter(|(gap, size)| *gap > 1e-9 * size)
        .map(|(gap, _)| gap)
        .fold(f64::INFINITY, f64::min);
    if step.is_finite() { step } else { 0.0 }
}

/// The power of ten, at most 1 and at least 1e-6, that all of `values` are whole multiples of; 0 if there is none.
///
/// Says how finely latencies were *printed*, which bounds how finely they were measured when nothing else does.
#[must_use]
pub fn decimal_step(values: &[f64]) -> f64 {
    let whole = |scale: f64| {
        values.iter().all(|value| {
            let scaled = value * scale;
            (scaled - scaled.round()).abs() <= 1e-12 * scaled.abs()
        })
    };
    [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6]
        .into_iter()
        .find(|&scale| whole(scale))
        .map_or(0.0, |scale| 1.0 / scale)
}

fn check(samples_us: &[f64]) -> Result<(), Unmeasurable> {
    let of = samples_us.len();
    if of == 0 {
        return Err(Unmeasurable::Empty);
    }
    let count = samples_us.iter().filter(|sample| !sample.is_finite()).count();
    if count > 0 {
        return Err(Unmeasurable::NotFinite { count, of });
    }
    let count = samples_us.iter().filter(|sample| **sample <= 0.0).count();
    if count > 0 {
        return Err(Unmeasurable::NotPositive { count, of });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_weigh_the_same_however_many_samples_they_kept() {
        let mut samples = in_blocks(&[10.0, 20.0, 10.0, 20.0, 10.0, 20.0], 2);
        samples.truncate(5);
        let it = summarise(&samples).unwrap();
        assert!((it.latency_us - 15.0).abs() < 1e-12);
        assert_eq!((it.n_samples, it.n_positions), (5, 2));
        assert!((it.quantisation_us - 10.0).abs() < 1e-12);
    }

    #[test]
    fn edges_of_the_middle_half_count_in_part() {
        // Three values: the middle half is 0.25 of the first, all of the second, 0.25 of the third.
        let it = interquartile_mean(&[100.0, 1.0, 4.0]).unwrap();
        assert!((it - (0.25 * 1.0 + 4.0 + 0.25 * 100.0) / 1.5).abs() < 1e-12);
        assert_eq!(interquartile_mean(&[7.0]), Some(7.0));
    }

    #[test]
    fn an_impossible_sample_makes_the_row_unmeasurable() {
        let of = |samples: &[f64]| summarise(&in_blocks(samples, 1)).unwrap_err();
        assert_eq!(of(&[]), Unmeasurable::Empty);
        assert_eq!(of(&[1.0, 0.0, -2.0]), Unmeasurable::NotPositive { count: 2, of: 3 });
        assert_eq!(of(&[1.0, f64::NAN]), Unmeasurable::NotFinite { count: 1, of: 2 });
        assert_eq!(of(&[1.0, 0.0]).to_string(), "unmeasurable: 1 of 2 samples are zero or negative");
        assert_eq!(median_over_repeats(&[vec![3.0, 1.0, 2.0], vec![9.0], vec![]]), Ok(5.5));
        assert!(median_over_repeats(&[vec![1.0], vec![0.0]]).is_err());
    }

    #[test]
    fn steps_are_seen() {
        assert!((resolution_us(&[124.032, 124.064, 125.0, 124.032]) - 0.032).abs() < 1e-9);
        assert_eq!(resolution_us(&[5.0, 5.0]), 0.0);
        assert_eq!(decimal_step(&[10.0, 8.0]), 1.0);
        assert_eq!(decimal_step(&[10.25, 8.5]), 0.01);
        assert_eq!(decimal_step(&[1.0 / 3.0]), 0.0);
    }
}
