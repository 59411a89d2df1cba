//! What a drive learns from a cell that has ended: of the cell, of its operator, of its card.
//!
//! How a cell stands is left to [`crate::state`], whether a card gets more to [`crate::health`]. Invariant: what is on disk is
//! read again before anything is concluded from it.

use std::time::Instant;

use switchback_model::cell::{CellKey, Purpose};
use switchback_model::exit_code::ExitCode;
use switchback_model::outcome::{DeviceFault, Ending, Outcome};

use super::Driver;
use crate::error::EngineError;
use crate::executor::Started;
use crate::seats::{RunningCell, Seat};
use crate::state::Standing;

impl Driver<'_> {
    pub(super) fn take(&mut self, started: Started) -> Option<(usize, usize, RunningCell)> {
        self.seats.iter_mut().enumerate().find_map(|(place, seat)| {
            seat.hands.iter_mut().enumerate().find_map(|(hand, it)| {
                let running = it.cell.take_if(|cell| cell.started == started)?;
                Some((place, hand, running))
            })
        })
    }

    /// Takes note of a cell that has ended.
    pub(super) fn ended(&mut self, started: Started) -> Result<(), EngineError> {
        self.pulled = None;
        let Some((place, hand, RunningCell { cell, attempt, begun, .. })) = self.take(started) else {
            return Ok(());
        };
        self.campaign.state.refresh(&self.campaign.dir, &cell)?;
        self.costs.refresh(&cell.operator, &self.campaign.state);
        let outcome = attempt.outcome()?;
        self.observer.cell_ended(&cell, outcome.as_ref());
        self.observer.recorded(self.campaign, &cell);
        let operator = self.names.iter().position(|name| *name == cell.operator);
        self.note_foreign(place, outcome.as_ref());
        let ran = outcome.as_ref().is_some_and(|outcome| outcome.ending != Ending::NotStarted);
        match outcome.as_ref().map(|outcome| outcome.ending) {
            Some(Ending::NotStarted) | None => {
                let fault = outcome.as_ref().and_then(|outcome| outcome.device_fault);
                let reason = outcome.map_or_else(
                    || {
                        let said = std::fs::read_to_string(attempt.path().join("supervisor.err"));
                        format!("its supervisor left no outcome: {}", said.unwrap_or_default().trim())
                    },
                    |outcome| outcome.reason,
                );
                self.observer.note(&format!("{cell}: {reason}"));
                self.seats[place].hands[hand].block = None;
                let out = if fault == Some(DeviceFault::Lost) {
                    self.lost(place, &reason, begun)
                } else {
                    self.seats[place].health.not_started(&reason, begun, Instant::now())
                };
                self.say_out(place, out);
            }
            Some(_) => {
                self.check_recording(&cell, outcome.as_ref())?;
                if outcome.as_ref().is_some_and(Outcome::failed_in_company) {
                    let reason =
                        "failed beside other cells on its card, which may be why; tried again by itself";
                    self.observer.note(&format!("{cell}: {reason}"));
                }
                self.note_health((place, hand), begun, &cell, outcome.as_ref());
                // Without rows nothing is compared, and a cell that was cut off may not have told its conditions.
                if outcome.as_ref().is_some_and(|outcome| outcome.counts.success > 0) {
                    let identity = attempt.identity()?.unwrap_or_default();
                    self.campaign.check_conditions(&cell, &identity.conditions)?;
                }
            }
        }
        // Also after a cell that could not start: its operator's other side may have waited for it alone.
        let screened = !self.is_being_screened(&cell.operator)
            && self.campaign.screen_if_ready(&cell.operator, self.observer)?;
        let fell_back = self.campaign.look_at_proofs(&cell.operator, self.observer)?;
        let is_open = matches!(self.campaign.state.standing(&cell.operator, cell.purpose), Standing::Open);
        if ran && !is_open {
            self.done += 1;
        }
        if self.campaign.allot_rounds()? {
            self.reopen_all();
            return Ok(());
        }
        if screened || fell_back {
            let before = self.recast();
            for other in 0..self.names.len() {
                if self.roles.differ(&before, &self.names[other]) {
                    self.reopen(other);
                }
            }
        }
        if let Some(operator) = operator {
            self.reopen(operator);
        }
        Ok(())
    }

    /// True while a side of an operator is screened: where A has failed, B's own end belongs to what is said of it.
    fn is_being_screened(&self, operator: &str) -> bool {
        let is_side =
            |cell: &CellKey| cell.operator == operator && matches!(cell.purpose, Purpose::Screen(_));
        self.seats.iter().flat_map(Seat::running).any(|running| is_side(&running.cell))
    }

    /// A compiler that is not the recording's is every cell's: the first that refuses it ends the drive.
    fn check_recording(&self, cell: &CellKey, outcome: Option<&Outcome>) -> Result<(), EngineError> {
        let replays = self.campaign.request.recorded.contains(&cell.operator);
        let refused = outcome.filter(|outcome| {
            outcome.exit_status == Some(i32::from(ExitCode::Refused.code())) && outcome.counts.success == 0
        });
        match refused.filter(|_| replays) {
            None => Ok(()),
            Some(outcome) => {
                Err(EngineError::RefusedRecording { cell: cell.to_string(), reason: outcome.reason.clone() })
            }
        }
    }

    /// What a cell that ran tells of the cards that it ran on.
    fn note_health(
        &mut self,
        (place, hand): (usize, usize),
        begun: Instant,
        cell: &CellKey,
        outcome: Option<&Outcome>,
    ) {
        match outcome.and_then(|outcome| outcome.device_fault) {
            None => self.seats[place].health.ran(begun),
            fault => {
                let reason = outcome.map(|outcome| outcome.reason.clone()).unwrap_or_default();
                self.observer.note(&format!("{cell}: {reason}"));
                // It is tried again, and elsewhere if there is elsewhere.
                self.seats[place].hands[hand].block = None;
                if fault == Some(DeviceFault::Lost) {
                    let out = self.lost(place, &reason, begun);
                    self.say_out(place, out);
                }
            }
        }
        let refuted = self.campaign.state.refuted(&cell.operator, cell.purpose);
        for place in 0..self.seats.len() {
            if refuted.contains(&self.seats[place].name) {
                let out = self.seats[place].health.refuted(cell);
                self.say_out(place, out);
            }
        }
    }

    /// A cell that began then found its card lost: the card is looked for.
    fn lost(&mut self, place: usize, reason: &str, begun: Instant) -> Option<String> {
        let seat = &mut self.seats[place];
        let is_listed = crate::cards::is_listed(self.campaign.backend, &seat.card.card);
        seat.health.lost(reason, is_listed, begun, Instant::now())
    }

    /// Processes of others on a card are said once, whatever their number.
    fn note_foreign(&mut self, place: usize, outcome: Option<&Outcome>) {
        let foreign = outcome.map(|outcome| outcome.foreign.join(", ")).unwrap_or_default();
        if let Some(state) = self.seats[place].health.shared_with(&foreign) {
            let index = self.seats[place].card.card.index.clone();
            self.observer.note(&format!("card {index} {state}"));
        }
    }

    fn say_out(&mut self, place: usize, out: Option<String>) {
        if let Some(reason) = out.filter(|_| self.seats.len() > 1) {
            let index = self.seats[place].card.card.index.clone();
            self.observer.note(&format!("card {index} gets no more cells: {reason}"));
        }
    }
}
