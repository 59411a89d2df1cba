//! Intervals as small bars on one scale, so that the eye compares what the figures say.
//!
//! The scale is the logarithm of the ratio of times: twice as fast and half as fast lie equally far from zero. Zero is
//! always on it. Invariant: every bar takes exactly the columns it was given.

use crate::number;

/// Fewest columns in which a bar says anything.
pub(crate) const LEAST_COLUMNS: usize = 9;

/// Most columns that a bar is worth.
pub(crate) const MOST_COLUMNS: usize = 33;

/// A scale that holds zero and all the intervals it was made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    columns: usize,
}

/// The place of a percentage on the scale; none at -100 % and below, which no ratio of times has.
fn place(percent: f64) -> Option<f64> {
    let place = (percent / 100.0).ln_1p();
    place.is_finite().then_some(place)
}

impl Scale {
    /// The scale of some effects with their intervals, percent, on so many columns; none without an effect.
    pub(crate) fn of(effects: &[(f64, Option<(f64, f64)>)], columns: usize) -> Option<Self> {
        let ends = effects.iter().flat_map(|(effect, interval)| {
            let (low, high) = interval.unwrap_or((*effect, *effect));
            [low, high, *effect].into_iter().filter_map(place)
        });
        let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), it| (low.min(it), high.max(it)));
        (high > low && columns >= LEAST_COLUMNS).then_some(Self { low, high, columns })
    }

    fn column(self, place: f64) -> usize {
        let share = (place - self.low) / (self.high - self.low);
        let last = self.columns - 1;
        // A share of a few dozen columns: the cast cannot lose anything.
        ((share * last as f64).round().max(0.0) as usize).min(last)
    }

    /// One effect: `─` its interval, `●` itself, `│` zero where nothing lies over it.
    pub(crate) fn bar(self, effect: f64, interval: Option<(f64, f64)>) -> String {
        let mut cells = vec![' '; self.columns];
        cells[self.column(0.0)] = '│';
        let (low, high) = interval.unwrap_or((effect, effect));
        if let (Some(low), Some(high)) = (place(low), place(high)) {
            for (index, cell) in cells.iter_mut().enumerate() {
                if (self.column(low)..=self.column(high)).contains(&index) {
                    *cell = if *cell == '│' { '┼' } else { '─' };
                }
            }
        }
        if let Some(effect) = place(effect) {
            cells[self.column(effect)] = '●';
        }
        cells.into_iter().collect()
    }

    /// What the scale's ends mean: `−2.4 % │ +805 %`.
    pub(crate) fn legend(self) -> String {
        let end = |place: f64| number::percent(100.0 * place.exp_m1());
        format!("scale from {} to {}, │ is no effect", end(self.low), end(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faster_and_slower_by_the_same_factor_lie_equally_far_from_zero() {
        let effects = [(100.0, None), (-50.0, None), (0.0, Some((-50.0, 100.0)))];
        let scale = Scale::of(&effects, 11).unwrap();
        assert_eq!(scale.bar(100.0, None), "     │    ●");
        assert_eq!(scale.bar(-50.0, None), "●    │     ");
        assert_eq!(scale.bar(0.0, Some((-50.0, 100.0))), "─────●─────");
        assert_eq!(scale.legend(), "scale from −50.0 % to +100 %, │ is no effect");
    }

    #[test]
    fn an_interval_over_zero_crosses_its_line() {
        let scale = Scale::of(&[(1.0, Some((-1.0, 3.0)))], 9).unwrap();
        assert_eq!(scale.bar(1.0, Some((-1.0, 3.0))), "──┼─●────");
    }

    #[test]
    fn no_scale_without_room_or_effect_and_nothing_breaks_it() {
        assert_eq!(Scale::of(&[(5.0, None)], 8), None);
        assert_eq!(Scale::of(&[], 20), None);
        assert_eq!(Scale::of(&[(0.0, None)], 20), None);
        let scale = Scale::of(&[(5.0, Some((-100.0, 7.0)))], 12).unwrap();
        for bar in [scale.bar(5.0, Some((-100.0, 7.0))), scale.bar(1e9, None), scale.bar(f64::NAN, None)] {
            assert_eq!(bar.chars().count(), 12);
        }
    }
}
