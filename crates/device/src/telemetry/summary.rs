//! Adds up the readings of one attempt: the median clock and the throttle reasons while rows were measured.
//!
//! Pure. When rows were measured is the caller's to say; what follows from the sums is the engine's rule.

use std::collections::BTreeMap;

use super::throttle;
use super::tsv::Sample;

/// What readings add up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    /// Readings in all.
    pub readings: u64,
    /// Those that were taken while rows were measured and the card was at work.
    pub measured: u64,
    /// Median clock of the multiprocessors over those, MHz.
    pub sm_clock_mhz: Option<f64>,
    /// How many of those showed each throttle reason.
    pub throttle: BTreeMap<String, u64>,
}

/// Adds readings up; `spans` are the times (`CLOCK_MONOTONIC`, seconds, from and to) in which rows were measured.
///
/// A reading without a monotonic time, as the scripts' are, belongs to no span.
#[must_use]
pub fn sums(samples: &[Sample], spans: &[(f64, f64)]) -> Sums {
    let mut sums = Sums { readings: samples.len() as u64, ..Sums::default() };
    let mut clocks = Vec::new();
    for sample in samples {
        let Some(at_s) = sample.monotonic_s else { continue };
        if !spans.iter().any(|(from, to)| (*from..=*to).contains(&at_s)) || is_idle(sample) {
            continue;
        }
        sums.measured += 1;
        clocks.extend(sample.reading.sm_clock_mhz);
        let reasons = sample.reading.throttle.iter().flat_map(|reasons| reasons.split('+'));
        for reason in reasons.filter(|reason| *reason != throttle::NONE) {
            *sums.throttle.entry(reason.to_owned()).or_default() += 1;
        }
    }
    sums.sm_clock_mhz = median(&mut clocks);
    sums
}

/// True if nothing ran on the card: by its own word, else by its utilisation.
///
/// The utilisation lags behind (it is an average over the last second or so), so it is asked only where the card does not
/// tell the other.
fn is_idle(sample: &Sample) -> bool {
    match &sample.reading.throttle {
        Some(reasons) => reasons.split('+').any(|reason| reason == throttle::IDLE),
        None => sample.reading.util_pct == Some(0.0),
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[middle - 1], upper) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Reading;

    fn sample(at_s: f64, clock: f64, throttle: Option<&str>, util: Option<f64>) -> Sample {
        Sample {
            monotonic_s: Some(at_s),
            reading: Reading {
                sm_clock_mhz: Some(clock),
                util_pct: util,
                throttle: throttle.map(str::to_owned),
                ..Reading::default()
            },
            ..Sample::default()
        }
    }

    #[test]
    fn only_readings_of_a_working_card_within_the_spans_count() {
        let samples = [
            sample(1.0, 345.0, Some("gpu_idle"), Some(0.0)),
            sample(5.0, 1980.0, Some("none"), Some(0.0)),
            sample(6.0, 345.0, Some("gpu_idle"), Some(90.0)),
            sample(7.0, 1740.0, Some("sw_power_cap+hw_thermal_slowdown"), Some(99.0)),
            sample(8.0, 1900.0, Some("sw_power_cap"), Some(99.0)),
            sample(9.5, 210.0, Some("none"), Some(3.0)),
            sample(12.0, 1920.0, None, Some(40.0)),
            sample(12.5, 300.0, None, Some(0.0)),
        ];
        let it = sums(&samples, &[(5.0, 8.5), (11.0, 13.0)]);
        assert_eq!((it.readings, it.measured), (8, 4));
        // Of 1740, 1900, 1920, 1980 MHz.
        assert_eq!(it.sm_clock_mhz, Some(1910.0));
        let throttle = [("sw_power_cap", 2), ("hw_thermal_slowdown", 1)];
        assert_eq!(it.throttle, throttle.map(|(name, count)| (name.to_owned(), count)).into());
    }

    #[test]
    fn without_times_or_readings_nothing_is_said() {
        assert_eq!(sums(&[], &[(0.0, 1.0)]), Sums::default());
        let scripts = Sample { monotonic_s: None, ..sample(0.0, 1980.0, None, None) };
        assert_eq!(sums(&[scripts], &[(0.0, 9.0)]), Sums { readings: 1, ..Sums::default() });
    }
}
