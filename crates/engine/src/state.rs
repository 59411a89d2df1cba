//! What is done: a fold over the outcomes on disk.
//!
//! Nothing else is remembered: delete all that is derived, the index among it, and the next start sees the same state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use switchback_model::card::Card;
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::outcome::{DeviceFault, Ending, Outcome};
use switchback_model::side::{CellSides, Pairing, Side};
use switchback_model::telemetry::TelemetrySummary;
use switchback_store::StoreError;
use switchback_store::attempt::{self, AttemptDir};
use switchback_store::campaign_dir::CampaignDir;
use switchback_store::event_writer::monotonic_s;
use switchback_store::index::{Index, Recorded};

use crate::clocks::{self, Choice, Doubt};
use crate::request::Request;

/// What dies so often of the same is not an accident.
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
    /// Why its outcome cannot be read, where there is one: such an attempt counts as not ended.
    pub damage: Option<String>,
}

impl From<Recorded> for Attempt {
    /// One damaged outcome must not take the campaign with it: the cell is measured again, and it is said.
    fn from(it: Recorded) -> Self {
        Self { dir: it.dir, outcome: it.outcome, damage: it.damage }
    }
}

impl Attempt {
    /// True if the child ended by itself and left rows.
    #[must_use]
    pub fn has_rows(&self) -> bool {
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

/// How a cell stands.
#[derive(Debug, Clone, Copy)]
pub enum Standing<'a> {
    /// Still to be run.
    Open,
    /// Ran and left rows.
    Done(&'a Attempt),
    /// Ran, and trying again would not help; it left no rows.
    Failed(&'a Attempt),
}

/// All attempts of a campaign.
#[derive(Debug, Clone, Default)]
pub struct State {
    cells: BTreeMap<CellKey, Vec<Attempt>>,
    /// What spares reading every outcome at the next start; shared by clones, none for a state made by hand.
    index: Option<Arc<Mutex<Index>>>,
}

impl State {
    /// Reads all attempts of the request's operators; those that have not changed since the last time from the index.
    ///
    /// # Errors
    /// A folder or an outcome cannot be read.
    pub fn read(campaign: &CampaignDir, request: &Request) -> Result<Self, StoreError> {
        let mut index = Index::open(campaign, &request.id);
        let mut cells = BTreeMap::new();
        for operator in &request.operators {
            for purpose in attempt::purposes(campaign, &operator.operator)? {
                let cell = CellKey { operator: operator.operator.clone(), purpose };
                let attempts = index.attempts(campaign, &cell)?.into_iter().map(Attempt::from).collect();
                cells.insert(cell, attempts);
            }
        }
        index.save();
        Ok(Self { cells, index: Some(Arc::new(Mutex::new(index))) })
    }

    /// Reads one cell's attempts again.
    ///
    /// # Errors
    /// A folder or an outcome cannot be read.
    pub fn refresh(&mut self, campaign: &CampaignDir, cell: &CellKey) -> Result<(), StoreError> {
        let recorded = self
            .index(|index| index.refresh(campaign, cell))
            .unwrap_or_else(|| Index::none().refresh(campaign, cell))?;
        self.cells.insert(cell.clone(), recorded.into_iter().map(Attempt::from).collect());
        Ok(())
    }

    /// Asks or tells the index, where there is one.
    pub(crate) fn index<T>(&self, ask: impl FnOnce(&mut Index) -> T) -> Option<T> {
        let index = self.index.as_ref()?;
        Some(ask(&mut index.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// All cells that have attempts, with them.
    pub fn cells(&self) -> impl Iterator<Item = (&CellKey, &[Attempt])> {
        self.cells.iter().map(|(cell, attempts)| (cell, attempts.as_slice()))
    }

    /// Attempts whose outcome cannot be read, with the reason.
    pub fn damages(&self) -> impl Iterator<Item = (&CellKey, &str)> {
        self.cells.iter().flat_map(|(cell, attempts)| {
            attempts.iter().filter_map(move |attempt| Some((cell, attempt.damage.as_deref()?)))
        })
    }

    /// A cell's attempts, the first one first.
    #[must_use]
    pub fn attempts(&self, operator: &str, purpose: Purpose) -> &[Attempt] {
        self.cells
            .get(&CellKey { operator: operator.to_owned(), purpose })
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// How a cell stands: the first attempt that left rows counts, of a duet round the first against which the card's
    /// readings say nothing (see [`clocks`]).
    #[must_use]
    pub fn standing(&self, operator: &str, purpose: Purpose) -> Standing<'_> {
        let attempts = self.attempts(operator, purpose);
        if let Purpose::Round(_, CellSides::Both) = purpose {
            let tries: Vec<usize> = (0..attempts.len()).filter(|at| attempts[*at].has_rows()).collect();
            let doubts: Vec<Option<Doubt>> = tries.iter().map(|at| doubt_of(&[&attempts[*at]])).collect();
            return match clocks::choose(&doubts) {
                Choice::Counts(at) | Choice::Labelled(at) => Standing::Done(&attempts[tries[at]]),
                // What cannot be measured again is kept as it is.
                Choice::Again => tries
                    .last()
                    .filter(|last| failed(&attempts[**last + 1..]).is_some())
                    .map_or(Standing::Open, |last| Standing::Done(&attempts[*last])),
                Choice::Nothing => failed(attempts).map_or(Standing::Open, Standing::Failed),
            };
        }
        if let Some(attempt) = attempts.iter().find(|attempt| attempt.has_rows()) {
            return Standing::Done(attempt);
        }
        failed(attempts).map_or(Standing::Open, Standing::Failed)
    }

    /// How often a round was measured from end to end, and what the card's readings say against the try that counts.
    #[must_use]
    pub fn doubt(&self, operator: &str, round: u32, pairing: Pairing) -> Option<(usize, Doubt)> {
        let kept = self.round(operator, round, pairing)?;
        let doubt = doubt_of(&kept)?;
        let tries = match pairing {
            Pairing::Duet => {
                let attempts = self.attempts(operator, Purpose::Round(round, CellSides::Both));
                attempts.iter().filter(|attempt| attempt.has_rows()).count()
            }
            Pairing::Process => {
                let [a, b] = [CellSides::A, CellSides::B]
                    .map(|sides| self.attempts(operator, Purpose::Round(round, sides)));
                tries(a, b).len()
            }
        };
        Some((tries.min(clocks::MOST_TRIES), doubt))
    }

    /// The attempts that make up a round, A's first (duet: the one of both), if the round is whole.
    ///
    /// Process-paired sides must come from one card and from within one hour; of several such pairs the one that was
    /// complete first counts.
    #[must_use]
    pub fn round(&self, operator: &str, round: u32, pairing: Pairing) -> Option<Vec<&Attempt>> {
        self.pair(operator, pairing, |sides| Purpose::Round(round, sides))
    }

    /// The same of a naive round.
    #[must_use]
    pub fn naive_round(&self, operator: &str, round: u32) -> Option<Vec<&Attempt>> {
        self.pair(operator, Pairing::Process, |sides| {
            Purpose::Naive(round, if sides == CellSides::B { Side::B } else { Side::A })
        })
    }

    fn pair(
        &self,
        operator: &str,
        pairing: Pairing,
        purpose: impl Fn(CellSides) -> Purpose,
    ) -> Option<Vec<&Attempt>> {
        if pairing == Pairing::Duet {
            return match self.standing(operator, purpose(CellSides::Both)) {
                Standing::Done(attempt) => Some(vec![attempt]),
                Standing::Open | Standing::Failed(_) => None,
            };
        }
        let a = self.attempts(operator, purpose(CellSides::A));
        let b = self.attempts(operator, purpose(CellSides::B));
        let tries = tries(a, b);
        let doubts: Vec<Option<Doubt>> =
            tries.iter().map(|(in_a, in_b)| doubt_of(&[&a[*in_a], &b[*in_b]])).collect();
        let kept = match clocks::choose(&doubts) {
            Choice::Nothing => None,
            Choice::Counts(at) | Choice::Labelled(at) => tries.get(at),
            // What cannot be measured again is kept as it is.
            Choice::Again => tries
                .last()
                .filter(|(in_a, in_b)| failed(&a[in_a + 1..]).is_some() || failed(&b[in_b + 1..]).is_some()),
        };
        kept.map(|(in_a, in_b)| vec![&a[*in_a], &b[*in_b]])
    }

    /// The side of a process-paired round that is to be run next, in the given order; none if the round is whole or
    /// cannot be.
    ///
    /// With a card: the side that is to be run there, what other cards have of the round being no use.
    #[must_use]
    pub fn open_side(
        &self,
        operator: &str,
        order: [Side; 2],
        card: Option<&Card>,
        purpose: impl Fn(Side) -> Purpose,
    ) -> Option<Side> {
        let lock_name = card.map(Card::lock_name);
        let whole = self.pair(operator, Pairing::Process, |sides| {
            purpose(if sides == CellSides::B { Side::B } else { Side::A })
        });
        if whole.is_some() || order.into_iter().any(|side| self.is_failed(operator, purpose(side))) {
            return None;
        }
        // The side whose latest rows the other one may still be paired with is kept; a stale one is run again.
        // Of a round that is measured again, what belongs to a try that was complete is used up.
        let sides = Side::BOTH.map(|side| self.attempts(operator, purpose(side)));
        let used = tries(sides[0], sides[1]).last().map_or([0, 0], |(in_a, in_b)| [in_a + 1, in_b + 1]);
        let latest = |side| {
            let place = usize::from(side == Side::B);
            sides[place][used[place]..].iter().rev().find(|attempt| {
                attempt.has_rows() && (lock_name.is_none() || attempt.lock_name() == lock_name)
            })
        };
        let [first, second] = order;
        match (latest(first), latest(second)) {
            (None, None) => Some(first),
            (Some(attempt), None) => Some(if is_recent(attempt) { second } else { first }),
            (None, Some(attempt)) => Some(if is_recent(attempt) { first } else { second }),
            (Some(one), Some(two)) => Some(if later_s(one, two) >= 0.0 { first } else { second }),
        }
    }

    /// The card, by its lock's name, that has the latest rows of a process-paired round within the time that its other side
    /// may still be paired with them.
    #[must_use]
    pub fn begun_on(&self, operator: &str, purpose: impl Fn(Side) -> Purpose) -> Option<String> {
        let attempts = Side::BOTH.map(|side| self.attempts(operator, purpose(side)));
        let latest = attempts
            .into_iter()
            .flatten()
            .filter(|attempt| attempt.has_rows() && is_recent(attempt))
            .max_by_key(|attempt| started(attempt))?;
        latest.lock_name()
    }

    /// True if an attempt of a cell failed beside other cells on its card, so that the next is to be there by itself.
    #[must_use]
    pub fn failed_in_company(&self, cell: &CellKey) -> bool {
        let attempts = self.cells.get(cell).map(Vec::as_slice).unwrap_or_default();
        attempts.iter().filter_map(|it| it.outcome.as_ref()).any(Outcome::failed_in_company)
    }

    /// The cards, by their locks' names, on which a cell that is still open died.
    pub fn died_on(&self, operator: &str) -> BTreeSet<String> {
        self.of_operator(operator)
            .filter(|(cell, _)| matches!(self.standing(operator, cell.purpose), Standing::Open))
            .flat_map(|(_, attempts)| attempts)
            .filter(|attempt| attempt.death().is_some())
            .filter_map(Attempt::lock_name)
            .collect()
    }

    /// Cards on which a cell died that has rows of another card: what killed it there was not the cell.
    pub fn refuted(&self, operator: &str, purpose: Purpose) -> BTreeSet<String> {
        let attempts = self.attempts(operator, purpose);
        let good: BTreeSet<String> =
            attempts.iter().filter(|it| it.has_rows()).filter_map(Attempt::lock_name).collect();
        let died = attempts.iter().filter(|it| it.death().is_some()).filter_map(Attempt::lock_name);
        if good.is_empty() { BTreeSet::new() } else { died.filter(|card| !good.contains(card)).collect() }
    }

    /// All cells of one operator that have attempts, with them.
    pub fn of_operator(&self, operator: &str) -> impl Iterator<Item = (&CellKey, &[Attempt])> {
        let first = CellKey { operator: operator.to_owned(), purpose: Purpose::Tune(Side::A) };
        let operator = operator.to_owned();
        self.cells
            .range(first..)
            .take_while(move |(cell, _)| cell.operator == operator)
            .map(|(cell, attempts)| (cell, attempts.as_slice()))
    }

    /// True if a cell ended without rows and trying again would not help.
    #[must_use]
    pub fn is_failed(&self, operator: &str, purpose: Purpose) -> bool {
        matches!(self.standing(operator, purpose), Standing::Failed(_))
    }
}

/// The complete tries of a process-paired round, by the places of their attempts of A and of B.
///
/// Sides belong together that come from one card and from within one hour; of several such pairs the one that was complete
/// first is the first try, and a later try shares no attempt with an earlier one.
fn tries(a: &[Attempt], b: &[Attempt]) -> Vec<(usize, usize)> {
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
fn doubt_of(cells: &[&Attempt]) -> Option<Doubt> {
    let readings: Vec<Option<&TelemetrySummary>> =
        cells.iter().map(|cell| cell.outcome.as_ref()?.telemetry.as_ref()).collect();
    clocks::doubt(&readings)
}

/// How a cell died, as far as two deaths can be the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Death {
    /// Of a signal.
    Signal(Option<i32>),
    /// Its context was poisoned.
    Poisoned,
    /// Its card was lost: that is the card's doing, unless it happens on another card as well.
    LostOn(String),
}

impl Attempt {
    fn death(&self) -> Option<Death> {
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
/// death for the second time. A card that is lost is no death of the operator's, until two cards are.
fn failed(attempts: &[Attempt]) -> Option<&Attempt> {
    let mut deaths: BTreeMap<Death, usize> = BTreeMap::new();
    for attempt in attempts.iter().filter(|attempt| !attempt.has_rows()) {
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

fn started(attempt: &Attempt) -> i64 {
    attempt
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.started_utc.parse::<jiff::Timestamp>().ok())
        .map_or(0, jiff::Timestamp::as_second)
}

/// Seconds from the start of one attempt to that of another, by a clock that nobody sets where both ran since one boot.
fn later_s(one: &Attempt, two: &Attempt) -> f64 {
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

fn is_recent(attempt: &Attempt) -> bool {
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use switchback_model::outcome::Counts;

    pub(crate) fn outcome(ending: Ending, success: u64, started_utc: &str, card: &str) -> Outcome {
        Outcome {
            ending,
            exit_status: None,
            signal: None,
            reason: String::new(),
            started_utc: started_utc.into(),
            started_s: 0.0,
            elapsed_s: 1.0,
            turn_s: None,
            shared: false,
            boot_id: String::new(),
            card: Card { backend: "cpu".into(), index: card.into(), uuid: None, name: None },
            host: String::new(),
            counts: Counts { success, ..Counts::default() },
            leaked_processes: 0,
            device_fault: None,
            foreign: Vec::new(),
            telemetry: None,
        }
    }

    /// A state made by hand: (purpose, outcomes of its attempts).
    pub(crate) fn state(cells: &[(&str, Vec<Option<Outcome>>)]) -> State {
        let mut it = State::default();
        for (purpose, outcomes) in cells {
            let attempts = outcomes
                .iter()
                .enumerate()
                .map(|(index, outcome)| Attempt {
                    dir: AttemptDir::at(std::path::Path::new(&format!("{purpose}/{}", index + 1))),
                    outcome: outcome.clone(),
                    damage: None,
                })
                .collect();
            let key = CellKey { operator: "add".into(), purpose: purpose.parse().unwrap() };
            it.cells.insert(key, attempts);
        }
        it
    }

    fn at(time: &str) -> Option<Outcome> {
        Some(outcome(Ending::Completed, 3, &format!("2026-01-01T{time}Z"), "0"))
    }

    fn chosen(state: &State) -> Option<Vec<String>> {
        state
            .round("add", 1, Pairing::Process)
            .map(|pair| pair.iter().map(|attempt| attempt.dir.path().display().to_string()).collect())
    }

    #[test]
    fn the_first_attempt_with_rows_counts() {
        let it = state(&[("run", vec![None, at("10:00:00"), at("11:00:00")])]);
        let Standing::Done(attempt) = it.standing("add", Purpose::Run) else { panic!() };
        assert!(attempt.dir.path().ends_with("run/2"));
    }

    #[test]
    fn an_interrupted_cell_is_open_a_failed_one_is_not_and_a_crash_is_tried_twice() {
        let ended = |ending| Some(outcome(ending, 0, "2026-01-01T10:00:00Z", "0"));
        let standing = |outcomes| state(&[("run", outcomes)]).is_failed("add", Purpose::Run);
        assert!(!standing(vec![]));
        assert!(!standing(vec![None, ended(Ending::Interrupted), ended(Ending::NotStarted)]));
        assert!(!standing(vec![ended(Ending::Crashed)]));
        assert!(standing(vec![ended(Ending::Crashed), None, ended(Ending::Crashed)]));
        assert!(standing(vec![ended(Ending::Timeout)]));
        assert!(standing(vec![ended(Ending::Failed)]));
    }

    #[test]
    fn a_poisoned_or_lost_device_is_tried_again_and_the_same_twice_is_not() {
        let fault = |fault, card: &str| {
            let it = outcome(Ending::Failed, 0, "2026-01-01T10:00:00Z", card);
            Some(Outcome { device_fault: Some(fault), ..it })
        };
        let (poisoned, lost) = (DeviceFault::Poisoned, DeviceFault::Lost);
        let standing = |outcomes| state(&[("run", outcomes)]).is_failed("add", Purpose::Run);
        assert!(!standing(vec![fault(poisoned, "0")]));
        assert!(standing(vec![fault(poisoned, "0"), fault(poisoned, "1")]));
        // A card that is lost again and again is the card's doing; two cards are the operator's.
        assert!(!standing(vec![fault(lost, "0"), fault(lost, "0"), fault(lost, "0")]));
        assert!(standing(vec![fault(lost, "0"), None, fault(lost, "1")]));
        // Two deaths that are not the same.
        let crashed = |signal| {
            Some(Outcome { signal: Some(signal), ..outcome(Ending::Crashed, 0, "2026-01-01T10:00:00Z", "0") })
        };
        assert!(!standing(vec![crashed(11), fault(poisoned, "0"), crashed(9), fault(lost, "0")]));
        assert!(standing(vec![crashed(11), crashed(9), crashed(11)]));
        // Rows of a card that was lost are not kept.
        let half = fault(lost, "0").map(|it| Outcome { counts: Counts { success: 3, ..it.counts }, ..it });
        assert!(matches!(state(&[("run", vec![half])]).standing("add", Purpose::Run), Standing::Open));
    }

    #[test]
    fn sides_of_a_round_must_be_close_and_on_one_card() {
        let close = state(&[("r1_A", vec![at("10:00:00")]), ("r1_B", vec![at("10:30:00")])]);
        assert_eq!(chosen(&close).unwrap(), ["r1_A/1", "r1_B/1"]);
        let far = state(&[("r1_A", vec![at("10:00:00")]), ("r1_B", vec![at("11:30:00")])]);
        assert_eq!(chosen(&far), None);
        let again = state(&[("r1_A", vec![at("10:00:00"), at("11:20:00")]), ("r1_B", vec![at("11:30:00")])]);
        assert_eq!(chosen(&again).unwrap(), ["r1_A/2", "r1_B/1"]);
        let other = Some(outcome(Ending::Completed, 3, "2026-01-01T10:01:00Z", "1"));
        let cards = state(&[("r1_A", vec![at("10:00:00")]), ("r1_B", vec![other])]);
        assert_eq!(chosen(&cards), None);
    }

    #[test]
    fn a_wall_clock_that_is_set_parts_no_round_and_joins_none() {
        let of_boot = |time: &str, started_s: f64, boot: &str| {
            at(time).map(|outcome| Outcome { started_s, boot_id: boot.into(), ..outcome })
        };
        let pair = |a, b| chosen(&state(&[("r1_A", vec![a]), ("r1_B", vec![b])])).is_some();
        // Set by three hours, forth and back, between two cells that came a minute after each other.
        assert!(pair(of_boot("10:00:00", 100.0, "x"), of_boot("13:01:00", 160.0, "x")));
        assert!(pair(of_boot("10:00:00", 100.0, "x"), of_boot("07:01:00", 160.0, "x")));
        // Two hours apart, whatever the wall clock says.
        assert!(!pair(of_boot("10:00:00", 100.0, "x"), of_boot("10:01:00", 7300.0, "x")));
        // Of two boots only the wall clock can tell.
        assert!(pair(of_boot("10:00:00", 9000.0, "x"), of_boot("10:30:00", 10.0, "y")));
        let now = Outcome {
            started_s: monotonic_s() - 60.0,
            boot_id: switchback_store::boot_id().into(),
            ..at("10:00:00").unwrap()
        };
        let fresh = state(&[("r1_A", vec![Some(now)])]);
        assert_eq!(open(&fresh), Some(Side::B));
    }

    #[test]
    fn a_stale_side_is_run_again() {
        let purpose = |side: Side| Purpose::Round(1, side.into());
        let stale = state(&[("r1_A", vec![at("10:00:00")])]);
        assert_eq!(stale.open_side("add", Side::BOTH, None, purpose), Some(Side::A));
        let now = jiff::Timestamp::now().to_string();
        let fresh = state(&[("r1_A", vec![Some(outcome(Ending::Completed, 3, &now, "0"))])]);
        assert_eq!(fresh.open_side("add", Side::BOTH, None, purpose), Some(Side::B));
        assert_eq!(state(&[]).open_side("add", [Side::B, Side::A], None, purpose), Some(Side::B));
    }

    /// An attempt that was measured at that clock, with that reason to run slower.
    fn clocked(time: &str, sm_clock_mhz: f64, reason: &str) -> Option<Outcome> {
        let throttle = [(reason.to_owned(), 1)].into();
        let summary = TelemetrySummary {
            measured: 9,
            sm_clock_mhz: Some(sm_clock_mhz),
            throttle,
            ..Default::default()
        };
        at(time).map(|outcome| Outcome { telemetry: Some(summary), ..outcome })
    }

    fn open(state: &State) -> Option<Side> {
        state.open_side("add", Side::BOTH, None, |side| Purpose::Round(1, side.into()))
    }

    #[test]
    fn a_round_at_two_clocks_is_measured_again_both_sides_anew() {
        let cap = "sw_power_cap";
        let a = vec![clocked("10:00:00", 1980.0, cap)];
        let b = vec![clocked("10:01:00", 1900.0, cap)];
        let once = state(&[("r1_A", a.clone()), ("r1_B", b.clone())]);
        assert_eq!((chosen(&once), open(&once)), (None, Some(Side::A)));
        let now = jiff::Timestamp::now().to_string();
        let mut fresh = clocked("10:02:00", 1950.0, cap);
        fresh.as_mut().unwrap().started_utc = now;
        let half = state(&[("r1_A", [a.clone(), vec![fresh.clone()]].concat()), ("r1_B", b.clone())]);
        assert_eq!((chosen(&half), open(&half)), (None, Some(Side::B)), "A is new, B is to follow");
        let second = [a.clone(), vec![fresh.clone()]].concat();
        let twice = state(&[("r1_A", second), ("r1_B", [b.clone(), vec![fresh]].concat())]);
        assert_eq!((chosen(&twice), open(&twice)), (Some(vec!["r1_A/2".into(), "r1_B/2".into()]), None));
        assert_eq!(twice.doubt("add", 1, Pairing::Process), None);

        let [a3, b3] = [&a, &b].map(|one| [one.clone(), one.clone(), one.clone()].concat());
        let thrice = state(&[("r1_A", a3), ("r1_B", b3)]);
        assert_eq!((chosen(&thrice), open(&thrice)), (Some(vec!["r1_A/3".into(), "r1_B/3".into()]), None));
        let (tries, doubt) = thrice.doubt("add", 1, Pairing::Process).unwrap();
        assert_eq!((tries, doubt.apart_mhz), (3, Some((1980.0, 1900.0))));
    }

    #[test]
    fn what_cannot_be_measured_again_is_kept_with_its_doubt() {
        let (a, b) = (clocked("10:00:00", 1980.0, "x"), clocked("10:01:00", 1900.0, "x"));
        let ended = Some(outcome(Ending::Timeout, 0, "2026-01-01T10:02:00Z", "0"));
        let it = state(&[("r1_A", vec![a, ended]), ("r1_B", vec![b])]);
        assert_eq!((chosen(&it), open(&it)), (Some(vec!["r1_A/1".into(), "r1_B/1".into()]), None));
        assert_eq!(it.doubt("add", 1, Pairing::Process).unwrap().0, 1);
    }

    #[test]
    fn a_duet_on_a_braked_card_is_measured_again_at_most_twice() {
        let hot = || clocked("10:00:00", 1700.0, "hw_thermal_slowdown");
        let duet = |outcomes| state(&[("r1_AB", outcomes)]);
        let round = |it: &State| {
            let kept = it.round("add", 1, Pairing::Duet)?;
            Some((kept[0].dir.path().display().to_string(), it.doubt("add", 1, Pairing::Duet).is_some()))
        };
        let purpose = Purpose::Round(1, CellSides::Both);
        let once = duet(vec![hot()]);
        assert!(matches!(once.standing("add", purpose), Standing::Open) && round(&once).is_none());
        let cool = duet(vec![hot(), None, clocked("10:05:00", 1980.0, "none")]);
        assert_eq!(round(&cool), Some(("r1_AB/3".into(), false)));
        let thrice = duet(vec![hot(), hot(), hot()]);
        assert_eq!(round(&thrice), Some(("r1_AB/3".into(), true)));
        let ended = Some(outcome(Ending::Failed, 0, "2026-01-01T10:02:00Z", "0"));
        assert_eq!(round(&duet(vec![hot(), ended])), Some(("r1_AB/1".into(), true)));
    }
}
