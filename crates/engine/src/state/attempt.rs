//! One attempt of a cell, and what several of them say together: which make a try of a round, which death is the operator's.
//!
//! How a cell stands by its attempts is left to [`super::State`]. Values in, values out: nothing is read here.

use std::collections::BTreeMap;

use switchback_model::outcome::{DeviceFault, Ending, Outcome};
use switchback_model::telemetry::TelemetrySummary;
use switchback_store::attempt::AttemptDir;
use switchback_store::event_writer::monotonic_s;
use switchback_store::index::Recorded;

use crate::clocks::{self, Doubt};

/// What dies so often of the same, or leaves so often what cannot be read, is not an accident.
const SAME_DEATHS: usize = 2;
/// The cells of one round must lie within this time of each other, or the round is measured again.
const ROUND_SPAN_S: f64 = 3600.0;

/// One attempt of a cell.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Its folder.
    pub dir: AttemptDir,
    /// How it ended; none if it has not, if its supervisor was killed, or if what it left cannot be read.
    pub outcome: Option<Outcome>,
    /// Why it does not count although it has ended: its outcome cannot be read, or its events cannot where it matters.
    pub damage: Option<String>,
}

impl From<Recorded> for Attempt {
    /// One damaged outcome must not take the campaign with it: the cell is measured again, and it is said.
    fn from(it: Recorded) -> Self {
        Self { dir: it.dir, outcome: it.outcome, damage: it.damage }
    }
}

impl Attempt {
    /// True if the child ended by itself and left rows that can be read.
    #[must_use]
    pub fn has_rows(&self) -> bool {
        self.damage.is_none() && self.has_measured()
    }

    /// True if the child ended by itself and left rows, whether they can be read or not.
    fn has_measured(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| {
            matches!(outcome.ending, Ending::Completed | Ending::Failed)
                && outcome.counts.success > 0
                // Of a card that was lost nothing is certain.
                && outcome.device_fault != Some(DeviceFault::Lost)
                && !outcome.failed_in_company()
        })
    }

    /// The name of the lock of the card that it ran on, once it has ended.
    #[must_use]
    pub fn lock_name(&self) -> Option<String> {
        self.outcome.as_ref().map(|outcome| outcome.card.lock_name())
    }

    /// When it was started, seconds since 1970; 0 if that cannot be read.
    #[must_use]
    pub fn started_s(&self) -> i64 {
        started(self)
    }
}

/// The complete tries of a process-paired round, by the places of their attempts of A and of B.
///
/// Sides belong together that come from one card and from within one hour; of several such pairs the one that was complete
/// first is the first try, and a later try shares no attempt with an earlier one.
pub(super) fn tries(a: &[Attempt], b: &[Attempt]) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = (0..a.len())
        .flat_map(|in_a| (0..b.len()).map(move |in_b| (in_a, in_b)))
        .filter(|(in_a, in_b)| a[*in_a].has_rows() && b[*in_b].has_rows() && together(&a[*in_a], &b[*in_b]))
        .collect();
    pairs.sort_by_key(|(in_a, in_b)| (in_a.max(in_b).to_owned(), *in_a, *in_b));
    let mut tries: Vec<(usize, usize)> = Vec::new();
    for (in_a, in_b) in pairs {
        if tries.last().is_none_or(|(last_a, last_b)| in_a > *last_a && in_b > *last_b) {
            tries.push((in_a, in_b));
        }
    }
    tries
}

/// What the card's readings say against a try.
pub(super) fn doubt_of(cells: &[&Attempt]) -> Option<Doubt> {
    let readings: Vec<Option<&TelemetrySummary>> =
        cells.iter().map(|cell| cell.outcome.as_ref()?.telemetry.as_ref()).collect();
    clocks::doubt(&readings)
}

/// How a cell died, as far as two deaths can be the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Death {
    /// Of a signal.
    Signal(Option<i32>),
    /// Its context was poisoned.
    Poisoned,
    /// Its card was lost: that is the card's doing, unless it happens on another card as well.
    LostOn(String),
}

impl Attempt {
    pub(super) fn death(&self) -> Option<Death> {
        let outcome = self.outcome.as_ref().filter(|outcome| outcome.ending != Ending::NotStarted)?;
        // A death beside others may be their doing, but a card that is lost is lost.
        if outcome.failed_in_company() && outcome.device_fault != Some(DeviceFault::Lost) {
            return None;
        }
        match (outcome.device_fault, outcome.ending) {
            (Some(DeviceFault::Lost), _) => Some(Death::LostOn(outcome.card.lock_name())),
            (Some(DeviceFault::Poisoned), _) => Some(Death::Poisoned),
            (None, Ending::Crashed) => Some(Death::Signal(outcome.signal)),
            (None, _) => None,
        }
    }
}

/// The attempt after which trying again would not help: one that ended by itself or at its deadline without rows, or the same
/// death or rows that cannot be read for the second time. A card that is lost is no death of the operator's, until two cards are.
pub(super) fn failed(attempts: &[Attempt]) -> Option<&Attempt> {
    let mut deaths: BTreeMap<Death, usize> = BTreeMap::new();
    let mut unreadable = 0;
    for attempt in attempts.iter().filter(|attempt| !attempt.has_rows()) {
        if attempt.has_measured() {
            unreadable += 1;
            if unreadable >= SAME_DEATHS {
                return Some(attempt);
            }
            continue;
        }
        let Some(death) = attempt.death() else {
            let ended = attempt
                .outcome
                .as_ref()
                .filter(|outcome| !outcome.failed_in_company())
                .map(|outcome| outcome.ending);
            if matches!(ended, Some(Ending::Completed | Ending::Failed | Ending::Timeout)) {
                return Some(attempt);
            }
            continue;
        };
        let count = deaths.entry(death.clone()).or_default();
        *count += 1;
        let same = match death {
            Death::LostOn(_) => deaths.keys().filter(|death| matches!(death, Death::LostOn(_))).count(),
            Death::Signal(_) | Death::Poisoned => *count,
        };
        if same >= SAME_DEATHS {
            return Some(attempt);
        }
    }
    None
}

pub(super) fn started(attempt: &Attempt) -> i64 {
    attempt
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.started_utc.parse::<jiff::Timestamp>().ok())
        .map_or(0, jiff::Timestamp::as_second)
}

/// Seconds from the start of one attempt to that of another, by a clock that nobody sets where both ran since one boot.
pub(super) fn later_s(one: &Attempt, two: &Attempt) -> f64 {
    match (&one.outcome, &two.outcome) {
        (Some(one), Some(two)) if !one.boot_id.is_empty() && one.boot_id == two.boot_id => {
            two.started_s - one.started_s
        }
        #[allow(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
        _ => (started(two) - started(one)) as f64,
    }
}

fn together(one: &Attempt, two: &Attempt) -> bool {
    let card = |attempt: &Attempt| {
        attempt.outcome.as_ref().map(|outcome| (outcome.host.clone(), outcome.card.lock_name()))
    };
    card(one) == card(two) && later_s(one, two).abs() <= ROUND_SPAN_S
}

pub(super) fn is_recent(attempt: &Attempt) -> bool {
    let this_boot = attempt
        .outcome
        .as_ref()
        .filter(|outcome| !outcome.boot_id.is_empty() && outcome.boot_id == switchback_store::boot_id());
    let age_s = match this_boot {
        Some(outcome) => monotonic_s() - outcome.started_s,
        #[allow(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
        None => (jiff::Timestamp::now().as_second() - started(attempt)) as f64,
    };
    age_s.abs() <= ROUND_SPAN_S
}
