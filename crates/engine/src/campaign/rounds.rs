//! Who gets another round, as the rounds on disk decide.

use switchback_model::side::Pairing;
use switchback_model::verdict::ScreenVerdict;
use switchback_stats::input::{CaseInput, OperatorInput};

use super::Campaign;
use crate::error::EngineError;
use crate::measure::MeasuredCase;
use crate::observer::Phase;
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
            let Some(attempts) = self.state.round(operator, round, pairing) else { continue };
            let attempts: Vec<_> = attempts.iter().map(|attempt| attempt.dir.clone()).collect();
            let evidence = self.take_evidence(&attempts)?;
            if let Some(cases) = self.cases_of(operator, round, pairing, &evidence) {
                self.remember(operator, round, pairing, cases);
            }
            self.give_back(&attempts, evidence);
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
    /// Remembers a round's cases for the decisions on further rounds.
    pub(super) fn remember(
        &mut self,
        operator: &str,
        round: u32,
        pairing: Pairing,
        cases: Vec<MeasuredCase>,
    ) {
        let key = (operator.to_owned(), round, pairing == Pairing::Duet);
        self.round_cases.insert(key, cases.into_iter().map(|case| case.input).collect());
    }
}
