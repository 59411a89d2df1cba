//! What is done: a fold over the outcomes on disk.
//!
//! Nothing else is remembered: delete all that is derived, and the next start sees the same state.

use std::collections::BTreeMap;

use switchback_model::card::Card;
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::outcome::{Ending, Outcome};
use switchback_model::side::{CellSides, Pairing, Side};
use switchback_store::StoreError;
use switchback_store::attempt::{self, AttemptDir};
use switchback_store::campaign_dir::CampaignDir;

use crate::request::Request;

/// A crashed cell is tried this often; what dies twice of the same is not an accident.
const CRASH_ATTEMPTS: usize = 2;
/// The cells of one round must lie within this time of each other, or the round is measured again.
const ROUND_SPAN_S: i64 = 3600;

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

impl Attempt {
    /// True if the child ended by itself and left rows.
    #[must_use]
    pub fn has_rows(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| {
            matches!(outcome.ending, Ending::Completed | Ending::Failed) && outcome.counts.success > 0
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
}

impl State {
    /// Reads all attempts of the request's operators.
    ///
    /// # Errors
    /// A folder or an outcome cannot be read.
    pub fn read(campaign: &CampaignDir, request: &Request) -> Result<Self, StoreError> {
        let mut it = Self::default();
        for operator in &request.operators {
            for purpose in attempt::purposes(campaign, &operator.operator)? {
                it.refresh(campaign, &CellKey { operator: operator.operator.clone(), purpose })?;
            }
        }
        Ok(it)
    }

    /// Reads one cell's attempts again.
    ///
    /// # Errors
    /// A folder or an outcome cannot be read.
    pub fn refresh(&mut self, campaign: &CampaignDir, cell: &CellKey) -> Result<(), StoreError> {
        let attempts = attempt::attempts(campaign, cell)?
            .into_iter()
            .map(|dir| {
                let (outcome, damage) = match dir.outcome() {
                    Ok(outcome) => (outcome, None),
                    // One damaged file must not take the campaign with it: the cell is measured again, and it is said.
                    Err(error @ StoreError::Damaged { .. }) => (None, Some(error.to_string())),
                    Err(error) => return Err(error),
                };
                Ok(Attempt { dir, outcome, damage })
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        self.cells.insert(cell.clone(), attempts);
        Ok(())
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

    /// How a cell stands: the first attempt that left rows counts.
    #[must_use]
    pub fn standing(&self, operator: &str, purpose: Purpose) -> Standing<'_> {
        let attempts = self.attempts(operator, purpose);
        if let Some(attempt) = attempts.iter().find(|attempt| attempt.has_rows()) {
            return Standing::Done(attempt);
        }
        failed(attempts).map_or(Standing::Open, Standing::Failed)
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
        let mut pairs: Vec<(usize, usize)> = (0..a.len())
            .flat_map(|in_a| (0..b.len()).map(move |in_b| (in_a, in_b)))
            .filter(|(in_a, in_b)| {
                a[*in_a].has_rows() && b[*in_b].has_rows() && together(&a[*in_a], &b[*in_b])
            })
            .collect();
        pairs.sort_by_key(|(in_a, in_b)| (in_a.max(in_b).to_owned(), *in_a, *in_b));
        pairs.first().map(|(in_a, in_b)| vec![&a[*in_a], &b[*in_b]])
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
        let latest = |side| {
            self.attempts(operator, purpose(side)).iter().rev().find(|attempt| {
                attempt.has_rows() && (lock_name.is_none() || attempt.lock_name() == lock_name)
            })
        };
        let [first, second] = order;
        match (latest(first), latest(second)) {
            (None, None) => Some(first),
            (Some(attempt), None) => Some(if is_recent(attempt) { second } else { first }),
            (None, Some(attempt)) => Some(if is_recent(attempt) { first } else { second }),
            (Some(one), Some(two)) => Some(if started(one) <= started(two) { first } else { second }),
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

fn failed(attempts: &[Attempt]) -> Option<&Attempt> {
    let mut crashes = attempts
        .iter()
        .filter(|attempt| attempt.outcome.as_ref().is_some_and(|outcome| outcome.ending == Ending::Crashed));
    let last_crash = (crashes.clone().count() >= CRASH_ATTEMPTS).then(|| crashes.next_back()).flatten();
    attempts
        .iter()
        .find(|attempt| {
            attempt.outcome.as_ref().is_some_and(|outcome| {
                matches!(outcome.ending, Ending::Completed | Ending::Failed | Ending::Timeout)
            })
        })
        .or(last_crash)
}

fn started(attempt: &Attempt) -> i64 {
    attempt
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.started_utc.parse::<jiff::Timestamp>().ok())
        .map_or(0, jiff::Timestamp::as_second)
}

fn together(one: &Attempt, two: &Attempt) -> bool {
    let card = |attempt: &Attempt| {
        attempt.outcome.as_ref().map(|outcome| (outcome.host.clone(), outcome.card.lock_name()))
    };
    card(one) == card(two) && (started(one) - started(two)).abs() <= ROUND_SPAN_S
}

fn is_recent(attempt: &Attempt) -> bool {
    (jiff::Timestamp::now().as_second() - started(attempt)).abs() <= ROUND_SPAN_S
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
            boot_id: String::new(),
            card: Card { backend: "cpu".into(), index: card.into(), uuid: None, name: None },
            host: String::new(),
            counts: Counts { success, ..Counts::default() },
            leaked_processes: 0,
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
    fn a_stale_side_is_run_again() {
        let purpose = |side: Side| Purpose::Round(1, side.into());
        let stale = state(&[("r1_A", vec![at("10:00:00")])]);
        assert_eq!(stale.open_side("add", Side::BOTH, None, purpose), Some(Side::A));
        let now = jiff::Timestamp::now().to_string();
        let fresh = state(&[("r1_A", vec![Some(outcome(Ending::Completed, 3, &now, "0"))])]);
        assert_eq!(fresh.open_side("add", Side::BOTH, None, purpose), Some(Side::B));
        assert_eq!(state(&[]).open_side("add", [Side::B, Side::A], None, purpose), Some(Side::B));
    }
}
