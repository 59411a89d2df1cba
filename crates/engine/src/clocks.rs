//! Whether the card's readings speak against a round, and which of its tries counts.
//!
//! Pure: a fold over what the outcomes on disk say, so that a resumed campaign decides as one that was never interrupted.
//! No readings, or too few, speak against nothing: they are missing evidence, which is said elsewhere. Only clocks and
//! throttle reasons are looked at, never a latency: what was measured cannot choose what is kept.

use switchback_device::telemetry::throttle;
use switchback_model::telemetry::TelemetrySummary;

/// How often a round is measured at most: once, and twice again.
pub const MOST_TRIES: usize = 3;

/// Sides of a process-paired round whose median clocks are further apart than this are not compared at ease, percent.
pub const APART_PCT: f64 = 1.0;

/// A median of fewer readings than this says nothing.
pub const LEAST_READINGS: u64 = 3;

/// What the readings say against one try of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// Reasons of heat or power brake that held the clock down, sorted.
    pub braked: Vec<String>,
    /// Median clocks of A and of B, MHz, where they are too far apart.
    pub apart_mhz: Option<(f64, f64)>,
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        if !self.braked.is_empty() {
            parts.push(format!("the card was held down by {}", self.braked.join(" and ")));
        }
        if let Some((a, b)) = self.apart_mhz {
            parts.push(format!("clocks {:.1} % apart, A {a:.0} MHz and B {b:.0} MHz", apart_pct(a, b)));
        }
        f.write_str(&parts.join("; "))
    }
}

/// What the readings of a try's cells say against it, A's first; one cell where both sides share a process.
#[must_use]
pub fn doubt(cells: &[Option<&TelemetrySummary>]) -> Option<Doubt> {
    let mut braked: Vec<String> = cells
        .iter()
        .flatten()
        .flat_map(|cell| cell.throttle.keys())
        .filter(|reason| throttle::is_braking(reason))
        .cloned()
        .collect();
    braked.sort_unstable();
    braked.dedup();
    let clock = |cell: &Option<&TelemetrySummary>| {
        cell.filter(|it| it.measured >= LEAST_READINGS).and_then(|it| it.sm_clock_mhz)
    };
    let apart_mhz = match cells {
        [a, b] => clock(a).zip(clock(b)).filter(|(a, b)| apart_pct(*a, *b) > APART_PCT),
        _ => None,
    };
    (!braked.is_empty() || apart_mhz.is_some()).then_some(Doubt { braked, apart_mhz })
}

/// How far two clocks are apart, percent of the faster one.
fn apart_pct(one: f64, other: f64) -> f64 {
    let (slow, fast) = (one.min(other), one.max(other));
    if fast > 0.0 { 100.0 * (fast - slow) / fast } else { 0.0 }
}

/// Which try of a round counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// There is none yet.
    Nothing,
    /// This one, counted from 0: nothing speaks against it.
    Counts(usize),
    /// The round is measured again.
    Again,
    /// This one, with its doubt beside it: it was measured as often as it may be.
    Labelled(usize),
}

/// Chooses among a round's tries, in the order in which they were made.
#[must_use]
pub fn choose(tries: &[Option<Doubt>]) -> Choice {
    let tries = &tries[..tries.len().min(MOST_TRIES)];
    match (tries.iter().position(Option::is_none), tries.len()) {
        (Some(sound), _) => Choice::Counts(sound),
        (None, 0) => Choice::Nothing,
        (None, MOST_TRIES) => Choice::Labelled(MOST_TRIES - 1),
        (None, _) => Choice::Again,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(measured: u64, sm_clock_mhz: f64, throttle: &[&str]) -> TelemetrySummary {
        TelemetrySummary {
            measured,
            sm_clock_mhz: Some(sm_clock_mhz),
            throttle: throttle.iter().map(|reason| ((*reason).to_owned(), 1)).collect(),
            ..TelemetrySummary::default()
        }
    }

    #[test]
    fn clocks_more_than_one_percent_apart_are_told_with_both() {
        let of = |a: f64, b: f64| doubt(&[Some(&cell(9, a, &[])), Some(&cell(9, b, &[]))]);
        assert_eq!(of(1980.0, 1980.0), None);
        // 1 % of 1980 MHz is 19.8 MHz.
        assert_eq!(of(1980.0, 1960.2), None);
        let told = of(1980.0, 1950.0).unwrap();
        assert_eq!(told.to_string(), "clocks 1.5 % apart, A 1980 MHz and B 1950 MHz");
        assert_eq!(of(1950.0, 1980.0).unwrap().apart_mhz, Some((1950.0, 1980.0)));
    }

    #[test]
    fn heat_and_power_brake_speak_against_any_round_and_the_power_cap_does_not() {
        let capped = cell(9, 1740.0, &["sw_power_cap"]);
        assert_eq!(doubt(&[Some(&capped)]), None);
        let hot = cell(1, 1740.0, &["sw_power_cap", "hw_thermal_slowdown"]);
        let told = doubt(&[Some(&hot)]).unwrap().to_string();
        assert_eq!(told, "the card was held down by hw_thermal_slowdown");
        let braked = cell(9, 900.0, &["hw_power_brake_slowdown"]);
        let told = doubt(&[Some(&hot), Some(&braked)]).unwrap().to_string();
        assert_eq!(told, "the card was held down by hw_power_brake_slowdown and hw_thermal_slowdown");
    }

    #[test]
    fn no_or_few_readings_speak_against_nothing() {
        let (few, many) = (cell(2, 1000.0, &[]), cell(9, 1980.0, &[]));
        assert_eq!(doubt(&[Some(&few), Some(&many)]), None);
        assert_eq!(doubt(&[None, Some(&many)]), None);
        assert_eq!(doubt(&[]), None);
        let no_clock = TelemetrySummary { sm_clock_mhz: None, ..many.clone() };
        assert_eq!(doubt(&[Some(&no_clock), Some(&many)]), None);
    }

    #[test]
    fn a_round_is_measured_twice_again_and_then_kept() {
        let doubtful = || Some(Doubt { braked: vec!["sw_thermal_slowdown".into()], apart_mhz: None });
        assert_eq!(choose(&[]), Choice::Nothing);
        assert_eq!(choose(&[None]), Choice::Counts(0));
        assert_eq!(choose(&[doubtful()]), Choice::Again);
        assert_eq!(choose(&[doubtful(), doubtful()]), Choice::Again);
        assert_eq!(choose(&[doubtful(), None]), Choice::Counts(1));
        assert_eq!(choose(&[doubtful(), doubtful(), doubtful()]), Choice::Labelled(2));
        // What came after the last that may count changes nothing.
        assert_eq!(choose(&[doubtful(), doubtful(), doubtful(), None]), Choice::Labelled(2));
    }
}
