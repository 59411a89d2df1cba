//! Who gets another round, and how an operator's sides are paired, as the rounds on disk decide.

use switchback_model::side::{Pairing, Side};
use switchback_model::verdict::ScreenVerdict;
use switchback_stats::input::{CaseInput, OperatorInput};

use super::Campaign;
use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::measure::{MeasuredCase, RoundEvidence, measured_cases};
use crate::observer::{Observer, Phase};
use crate::request::Goal;
use crate::rounds::joined;
use crate::schedule;

impl Campaign {
    /// Decides who gets another round, once all rounds that the decision takes are there; true if something was decided.
    pub(crate) fn allot_rounds(&mut self) -> Result<bool, EngineError> {
        // Operators are still to be screened, and with them the controls to be drawn: nobody is measured yet.
        if self.request.precision.is_none() || self.next().is_some_and(|(_, phase)| phase < Phase::Measure) {
            return Ok(false);
        }
        let measured = schedule::measured(&self.request, &self.screened);
        let before = self.rounds.clone();
        let mut rounds = self.rounds.clone();
        let request = self.request.clone();
        let state = self.state.clone();
        let decided = rounds.advance(
            &request,
            &measured,
            |operator, number| schedule::progress(&state, operator, number, before.pairing(operator)),
            |operator, number| self.rounds_input(operator, number, before.pairing(operator)),
        );
        self.rounds = rounds;
        decided.map(|()| self.rounds != before)
    }

    /// An operator whose duet is not proven, or could not be run, is measured one process a side from here on; true if
    /// that was found now.
    ///
    /// A fold over what is on disk: any duet round that is not proven decides, whichever came first.
    pub(crate) fn look_at_proofs(
        &mut self,
        operator: &str,
        observer: &mut dyn Observer,
    ) -> Result<bool, EngineError> {
        if !self.request.pairing_falls_back || self.request.goal != Goal::Ab {
            return Ok(false);
        }
        for round in 1..=self.request.most_rounds() {
            let key = (operator.to_owned(), round);
            if self.rounds.fell_back(operator).is_some() || self.proven.contains(&key) {
                continue;
            }
            let reason = if schedule::is_failed_round(&self.state, operator, round, Pairing::Duet) {
                Some(format!("round {round} with both sides in one process left no rows"))
            } else {
                let Some(cases) = self.round_cases_of(operator, round, Pairing::Duet)? else { continue };
                cases
                    .iter()
                    .find_map(|case| case.unproven.as_ref().map(|reason| format!("{}, {reason}", case.case)))
            };
            let Some(reason) = reason else {
                self.proven.insert(key);
                continue;
            };
            observer.note(&format!(
                "{operator}: one process a side from here on; its duet is not proven: {reason}"
            ));
            self.rounds.fall_back(operator, reason);
            return Ok(true);
        }
        Ok(false)
    }

    /// One round's cases, if the round is whole and its operator screened.
    fn round_cases_of(
        &mut self,
        operator: &str,
        round: u32,
        pairing: Pairing,
    ) -> Result<Option<Vec<MeasuredCase>>, EngineError> {
        let Some(attempts) = self.state.round(operator, round, pairing) else { return Ok(None) };
        let dirs: Vec<_> = attempts.iter().map(|attempt| attempt.dir.clone()).collect();
        let evidence = dirs
            .iter()
            .map(|dir| Evidence::read(dir, &self.dir.ir_dir(), &mut self.digests))
            .collect::<Result<Vec<_>, _>>()?;
        let (Some(a), Some(screened)) = (evidence.first(), self.screened.get(operator)) else {
            return Ok(None);
        };
        let view = RoundEvidence { round, a, b: evidence.get(1).unwrap_or(a) };
        let screens = Side::BOTH.map(|side| self.screen_evidence.get(&(operator.to_owned(), side)));
        Ok(Some(measured_cases(&[view], pairing, screened, screens)))
    }

    /// The judge's view of an operator's rounds 1 to `number`; each round is read once.
    fn rounds_input(
        &mut self,
        operator: &str,
        number: u32,
        pairing: Pairing,
    ) -> Result<OperatorInput, EngineError> {
        for round in 1..=number {
            let key = (operator.to_owned(), round, pairing == Pairing::Duet);
            if self.round_cases.contains_key(&key) {
                continue;
            }
            if let Some(cases) = self.round_cases_of(operator, round, pairing)? {
                self.round_cases.insert(key, cases.into_iter().map(|case| case.input).collect());
            }
        }
        let read: Vec<&[CaseInput]> = (1..=number)
            .filter_map(|round| {
                let key = (operator.to_owned(), round, pairing == Pairing::Duet);
                self.round_cases.get(&key).map(Vec::as_slice)
            })
            .collect();
        Ok(OperatorInput {
            operator: operator.to_owned(),
            all_identical: self
                .screened
                .get(operator)
                .is_some_and(|it| it.verdict == ScreenVerdict::NoIrDiff),
            process_paired: pairing == Pairing::Process,
            order_shuffled: self.suite.shuffles_cases(),
            cases: joined(&read),
            ..OperatorInput::default()
        })
    }
}
