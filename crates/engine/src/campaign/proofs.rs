//! Whether an operator's duet rounds are proven, and what was read to find that out.
//!
//! Reading a round's events takes long, so what was found is kept in the campaign's index. Invariant: with the index or
//! without, the same rounds fall back for the same reason. A kept result counts only where nothing changed of what it was made
//! of: the round's attempt, what screening saw of the operator's code, and the rule.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use switchback_ir::KernelIr;
use switchback_model::case::CaseKey;
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::side::{CellSides, Pairing, Side};
use switchback_store::attempt::AttemptDir;
use switchback_store::index::{Index, Look};

use super::Campaign;
use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::measure::{MeasuredCase, RoundEvidence, measured_cases};
use crate::observer::Observer;
use crate::request::Goal;
use crate::state::Standing;

/// The rule by which a duet round is proven. To be raised with every change of what is concluded from the same evidence, here,
/// in [`measured_cases`] or in what compares code; what a text's canonical form is needs no number, it is compared itself.
const RULE: u32 = 2;

/// So many rounds are read at a time: as a rule all of an operator, as when they are judged.
const AT_ONCE: usize = 256;

/// What a campaign is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// To be gone on with, or to see how far it is.
    GoOn,
    /// To be judged at once: what is read while it is opened is held until then.
    Judge,
    /// The same by today's rules alone: nothing that was found earlier is believed.
    JudgeAnew,
}

/// What is known of duet rounds, and what is held of all rounds.
#[derive(Debug)]
pub(super) struct Proofs {
    aim: Aim,
    /// Rounds that need not be looked at again, by operator: those that are proven and, where a duet was insisted on, the others.
    known: BTreeMap<String, BTreeSet<u32>>,
    held: BTreeMap<AttemptDir, Evidence>,
    reads: u64,
}

impl Proofs {
    pub(super) fn new(aim: Aim) -> Self {
        Self { aim, known: BTreeMap::new(), held: BTreeMap::new(), reads: 0 }
    }

    fn is_known(&self, operator: &str, round: u32) -> bool {
        self.known.get(operator).is_some_and(|rounds| rounds.contains(&round))
    }

    fn add(&mut self, operator: &str, round: u32) {
        self.known.entry(operator.to_owned()).or_default().insert(round);
    }
}

/// A duet round whose events are to be read.
struct Unread {
    round: u32,
    cell: CellKey,
    attempt: AttemptDir,
    look: Option<Look>,
}

/// What came of reading rounds.
enum Found {
    /// Nothing against the duet.
    Proven,
    /// A round that is not proven, with its case.
    Unproven(String),
    /// A round that is to be looked at once more, for another of its attempts counts, or none ever will.
    Others,
}

impl Campaign {
    /// How many attempts of rounds were read, and not taken from what an earlier look found or this process holds.
    #[must_use]
    pub fn round_reads(&self) -> u64 {
        self.proofs.reads
    }

    /// An operator whose duet is not proven, or could not be run, is measured one process a side from here on; true if
    /// that was found now. Where a duet was insisted on it goes on; the judge withholds what is not proven.
    ///
    /// A fold over what is on disk: the first duet round that is not proven decides. One whose code cannot be told for lines
    /// that cannot be read says nothing against the duet: its attempt is set aside, and the round is measured again, once.
    pub(crate) fn look_at_proofs(
        &mut self,
        operator: &str,
        observer: &mut dyn Observer,
    ) -> Result<bool, EngineError> {
        let looked = self.look_at(operator, observer);
        self.state.index(Index::save);
        looked
    }

    /// The same of several operators; what was found is entered in one go, also where one of them cannot be read.
    pub(super) fn look_at_all_proofs(
        &mut self,
        operators: &[String],
        observer: &mut dyn Observer,
    ) -> Result<(), EngineError> {
        let looked = operators.iter().try_for_each(|operator| self.look_at(operator, observer).map(|_| ()));
        self.state.index(Index::save);
        looked
    }

    fn look_at(&mut self, operator: &str, observer: &mut dyn Observer) -> Result<bool, EngineError> {
        if self.request.goal != Goal::Ab || self.rounds.pairing(operator) != Pairing::Duet {
            return Ok(false);
        }
        let mut looked_at = Vec::new();
        let reason = loop {
            let (unread, decided) = self.rounds_to_look_at(operator)?;
            let found = self.first_unproven(operator, &unread, observer)?;
            looked_at.extend(unread.into_iter().map(|it| it.attempt));
            match found {
                Found::Proven => break decided,
                Found::Unproven(reason) => break Some(reason),
                Found::Others => {}
            }
        };
        let Some(reason) = reason else { return Ok(false) };
        observer
            .note(&format!("{operator}: one process a side from here on; its duet is not proven: {reason}"));
        self.rounds.fall_back(operator, reason);
        // The judge reads the rounds of one process a side.
        for attempt in looked_at {
            self.proofs.held.remove(&attempt);
        }
        Ok(true)
    }

    /// The rounds that are there and of which nothing is known, up to the first that is known not to be proven, with its
    /// reason; where a duet was insisted on, all of them.
    fn rounds_to_look_at(&mut self, operator: &str) -> Result<(Vec<Unread>, Option<String>), EngineError> {
        let falls_back = self.request.pairing_falls_back;
        let mut unread = Vec::new();
        let mut basis = None;
        for round in 1..=self.request.most_rounds() {
            if self.proofs.is_known(operator, round) {
                continue;
            }
            let cell =
                CellKey { operator: operator.to_owned(), purpose: Purpose::Round(round, CellSides::Both) };
            if let Standing::Failed(attempt) = self.state.standing(operator, cell.purpose) {
                if !falls_back {
                    continue;
                }
                let reason = match &attempt.damage {
                    Some(damage) => format!("round {round}: {damage}"),
                    None => format!("round {round} with both sides in one process left no rows"),
                };
                return Ok((unread, Some(reason)));
            }
            let Some(attempts) = self.state.round(operator, round, Pairing::Duet) else { continue };
            let Some(attempt) = attempts.first().map(|attempt| attempt.dir.clone()) else { continue };
            if basis.is_none() {
                let Some(made) = self.basis(operator) else { continue };
                basis = Some(made);
            }
            let look = Look::at(&cell, &attempt, basis.as_deref().unwrap_or_default())?;
            let known = look.as_ref().filter(|_| self.proofs.aim != Aim::JudgeAnew);
            match known.and_then(|look| self.state.index(|index| index.proof(look)).flatten()) {
                Some(Some(reason)) if falls_back => return Ok((unread, Some(reason))),
                Some(_) => self.proofs.add(operator, round),
                None => unread.push(Unread { round, cell, attempt, look }),
            }
        }
        Ok((unread, None))
    }

    /// Reads rounds one after another until one is not proven.
    fn first_unproven(
        &mut self,
        operator: &str,
        rounds: &[Unread],
        observer: &mut dyn Observer,
    ) -> Result<Found, EngineError> {
        for some in rounds.chunks(AT_ONCE) {
            let attempts: Vec<AttemptDir> = some.iter().map(|it| it.attempt.clone()).collect();
            let read = Evidence::read_each(&attempts, &self.dir.ir_dir(), &mut self.digests);
            self.proofs.reads += attempts.len() as u64;
            for (it, evidence) in some.iter().zip(read) {
                let evidence = vec![evidence?];
                let cases = self.cases_of(operator, it.round, Pairing::Duet, &evidence).unwrap_or_default();
                let reason = cases
                    .iter()
                    .find_map(|case| case.unproven.as_ref().map(|reason| format!("{}, {reason}", case.case)));
                // Of code whose lines are gone it cannot be said that it is other code.
                if let (Some(_), Some(note)) = (&reason, evidence[0].notes.first()) {
                    if self.set_aside(it, note, observer) {
                        continue;
                    }
                    return Ok(Found::Others);
                }
                if let Some(look) = it.look.clone() {
                    self.state.index(|index| index.keep_proof(look, reason.as_deref()));
                }
                self.give_back(std::slice::from_ref(&it.attempt), evidence);
                if let Some(reason) = reason.filter(|_| self.request.pairing_falls_back) {
                    return Ok(Found::Unproven(reason));
                }
                self.proofs.add(operator, it.round);
                if self.request.precision.is_some() {
                    self.remember(operator, it.round, Pairing::Duet, cases);
                }
            }
        }
        Ok(Found::Proven)
    }

    /// Sets the attempt of a round aside, because of what cannot be read of it; true if the round is to be measured again, false
    /// if it has another attempt to be looked at, or had its second chance.
    fn set_aside(&mut self, it: &Unread, note: &str, observer: &mut dyn Observer) -> bool {
        let reason = format!("{note}; what the round launched cannot be held against screening");
        self.state.set_aside(&it.cell, &it.attempt, &reason);
        let is_open = matches!(self.state.standing(&it.cell.operator, it.cell.purpose), Standing::Open);
        if is_open {
            observer.note(&format!("{}: {reason}, so it is measured again", it.cell));
        }
        is_open
    }

    /// What the result of a look at an operator's rounds depends on besides them; none before it is screened.
    fn basis(&self, operator: &str) -> Option<String> {
        #[derive(serde::Serialize)]
        struct Seen<'a> {
            cases: Vec<&'a CaseKey>,
            launched: Vec<(Side, &'a CaseKey, &'a [KernelIr])>,
        }
        let screened = self.screened.get(operator)?;
        let seen = Side::BOTH.map(|side| {
            self.screen_evidence.get(&(operator.to_owned(), side)).map(|evidence| Seen {
                cases: evidence.rows.iter().map(|row| &row.case).collect(),
                launched: evidence
                    .launched
                    .iter()
                    .map(|((side, case), launched)| (*side, case, launched.kernels.as_slice()))
                    .collect(),
            })
        });
        let text = serde_json::to_string(&(seen, screened.unseen_stages())).ok()?;
        Some(format!("{} {RULE} {:x}", env!("CARGO_PKG_VERSION"), Sha256::digest(text)))
    }

    /// A round's cases, once its operator is screened.
    pub(super) fn cases_of(
        &self,
        operator: &str,
        round: u32,
        pairing: Pairing,
        evidence: &[Evidence],
    ) -> Option<Vec<MeasuredCase>> {
        let (a, screened) = (evidence.first()?, self.screened.get(operator)?);
        let view = RoundEvidence { round, a, b: evidence.get(1).unwrap_or(a) };
        let screens = Side::BOTH.map(|side| self.screen_evidence.get(&(operator.to_owned(), side)));
        Some(measured_cases(&[view], pairing, screened, screens))
    }

    /// What attempts of rounds left, in their order: what is held is handed out, the rest read.
    ///
    /// # Errors
    /// As [`Evidence::read`].
    pub(crate) fn take_evidence(&mut self, attempts: &[AttemptDir]) -> Result<Vec<Evidence>, EngineError> {
        let unread: Vec<AttemptDir> =
            attempts.iter().filter(|attempt| !self.proofs.held.contains_key(*attempt)).cloned().collect();
        self.proofs.reads += unread.len() as u64;
        let mut read = Evidence::read_all(&unread, &self.dir.ir_dir(), &mut self.digests)?.into_iter();
        Ok(attempts
            .iter()
            .filter_map(|attempt| self.proofs.held.remove(attempt).or_else(|| read.next()))
            .collect())
    }

    /// Holds what was read for the judge, if it comes next; else it is dropped.
    pub(super) fn give_back(&mut self, attempts: &[AttemptDir], evidence: Vec<Evidence>) {
        if self.proofs.aim != Aim::GoOn {
            self.proofs.held.extend(attempts.iter().cloned().zip(evidence));
        }
    }

    /// Drops what is held: the judge has what it wants, and whoever asks again reads again.
    pub(crate) fn hold_nothing(&mut self) {
        self.proofs.held.clear();
        self.proofs.aim = Aim::GoOn;
    }
}

#[cfg(test)]
mod tests;
