//! What is done: a fold over the outcomes on disk.
//!
//! Nothing else is remembered: delete all that is derived, the index among it, and the next start sees the same state.

mod attempt;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use switchback_model::card::Card;
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::outcome::Outcome;
use switchback_model::side::{CellSides, Pairing, Side};
use switchback_store::StoreError;
use switchback_store::attempt::{self as attempts, AttemptDir};
use switchback_store::campaign_dir::CampaignDir;
use switchback_store::index::Index;

pub use self::attempt::Attempt;
use self::attempt::{doubt_of, failed, is_recent, later_s, started, tries};
use crate::clocks::{self, Choice, Doubt};
use crate::request::Request;

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
    /// Why attempts do not count although their outcome says that they have rows; found by whoever read their events.
    set_aside: BTreeMap<AttemptDir, String>,
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
            for purpose in attempts::purposes(campaign, &operator.operator)? {
                let cell = CellKey { operator: operator.operator.clone(), purpose };
                let attempts = index.attempts(campaign, &cell)?.into_iter().map(Attempt::from).collect();
                cells.insert(cell, attempts);
            }
        }
        index.save();
        Ok(Self { cells, set_aside: BTreeMap::new(), index: Some(Arc::new(Mutex::new(index))) })
    }

    /// Reads one cell's attempts again.
    ///
    /// # Errors
    /// A folder or an outcome cannot be read.
    pub fn refresh(&mut self, campaign: &CampaignDir, cell: &CellKey) -> Result<(), StoreError> {
        let recorded = self
            .index(|index| index.refresh(campaign, cell))
            .unwrap_or_else(|| Index::none().refresh(campaign, cell))?;
        let mut attempts: Vec<Attempt> = recorded.into_iter().map(Attempt::from).collect();
        for attempt in &mut attempts {
            if let Some(reason) = self.set_aside.get(&attempt.dir) {
                attempt.damage.get_or_insert_with(|| reason.clone());
            }
        }
        self.cells.insert(cell.clone(), attempts);
        Ok(())
    }

    /// An attempt does not count from here on, for what it left cannot be read where that matters: its cell is run again, once.
    /// Nothing is written: whoever opens the campaign finds the same.
    pub(crate) fn set_aside(&mut self, cell: &CellKey, attempt: &AttemptDir, reason: &str) {
        self.set_aside.insert(attempt.clone(), reason.to_owned());
        let attempts = self.cells.get_mut(cell).into_iter().flatten();
        for it in attempts.filter(|it| it.dir == *attempt) {
            it.damage = Some(reason.to_owned());
        }
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

    /// Attempts that do not count because they cannot be read, with the reason.
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

#[cfg(test)]
pub(crate) mod tests;
