//! A row's latency: one figure from all its samples, and how fine its timer is.
//!
//! The summaries themselves are left to `stats`, what the sides' latencies say together to `measure`. Invariant: a row has a
//! latency or a reason, never both.

use switchback_model::event::{Row, Timer};
use switchback_model::order::Regime;
use switchback_model::side::Pairing;
use switchback_stats::summary::{Sample, median_over_repeats, resolution_us, summarise};

use super::first_line;

/// From this many samples on, the smallest step between them is taken for the timer's resolution.
const SAMPLES_FOR_RESOLUTION: usize = 20;

/// The latency of one row, microseconds, and the timer's resolution (0 if unknown).
///
/// Duet and gated rows: the interquartile mean by position in the block. Sustained ones: the mean of the turns'
/// interquartile means. Others: the median over repeats of their
/// medians, as the scripts had it; a row without samples has the latency that its benchmark printed.
///
/// # Errors
/// A sentence: the row failed, or its samples are no latencies.
pub fn latency(row: &Row, pairing: Pairing) -> Result<(f64, f64), String> {
    if !row.ok {
        let error = row.error.as_deref().unwrap_or("no reason given");
        return Err(format!("side {} failed: {}", row.side, first_line(error)));
    }
    if row.samples_us.iter().all(Vec::is_empty) {
        return row
            .latency_us
            .map(|latency_us| (latency_us, 0.0))
            .ok_or_else(|| format!("side {} has no sample: {} were dropped", row.side, row.dropped));
    }
    let all = row.samples_us.concat();
    let step_us = if all.len() >= SAMPLES_FOR_RESOLUTION { resolution_us(&all) } else { 0.0 };
    let latency_us = if row.regime == Regime::Sustained {
        // A turn's calls have no position: each turn counts as one block, whatever its length.
        let samples: Vec<Sample> = (0u32..)
            .zip(&row.samples_us)
            .flat_map(|(position, turn)| {
                turn.iter().map(move |latency_us| Sample { position, latency_us: *latency_us })
            })
            .collect();
        summarise(&samples).map(|summary| summary.latency_us)
    } else if pairing == Pairing::Duet || row.timer == Some(Timer::Gated) {
        let samples: Vec<Sample> = row
            .samples_us
            .iter()
            .flat_map(|block| {
                (0u32..).zip(block).map(|(position, latency_us)| Sample { position, latency_us: *latency_us })
            })
            .collect();
        summarise(&samples).map(|summary| summary.latency_us)
    } else {
        median_over_repeats(&row.samples_us)
    };
    latency_us.map(|latency_us| (latency_us, step_us)).map_err(|error| format!("side {}: {error}", row.side))
}

#[cfg(test)]
mod tests {
    use switchback_model::side::Side;

    use super::*;
    use crate::measure::tests::row;

    #[test]
    fn positions_in_duet_repeats_in_process() {
        // Two positions, 10 and 20: each weighs the same. As repeats: medians 15 and 15.
        let it = row(Side::A, vec![vec![10.0, 20.0], vec![10.0, 20.0]]);
        assert_eq!(latency(&it, Pairing::Duet), Ok((15.0, 0.0)));
        let repeats = row(Side::A, vec![vec![1.0, 2.0, 9.0], vec![4.0], vec![3.0]]);
        assert_eq!(latency(&repeats, Pairing::Process), Ok((3.0, 0.0)));
    }

    #[test]
    fn turns_of_a_sustained_row_count_alike_whatever_their_length() {
        let turns = vec![vec![10.0, 10.0, 10.0, 10.0], vec![20.0, 20.0], vec![60.0]];
        let it = Row { regime: Regime::Sustained, ..row(Side::A, turns) };
        for pairing in [Pairing::Duet, Pairing::Process] {
            assert_eq!(latency(&it, pairing), Ok((30.0, 0.0)));
        }
    }

    #[test]
    fn rows_without_samples_have_what_was_printed_or_say_why_not() {
        let mut it = row(Side::B, vec![]);
        it.dropped = 7;
        assert_eq!(latency(&it, Pairing::Process), Err("side B has no sample: 7 were dropped".into()));
        it.latency_us = Some(5.5);
        assert_eq!(latency(&it, Pairing::Process), Ok((5.5, 0.0)));
        it.ok = false;
        it.error = Some("out of memory\nmore".into());
        assert_eq!(latency(&it, Pairing::Process), Err("side B failed: out of memory".into()));
    }
}
