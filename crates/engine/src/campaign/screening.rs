//! Screens operators whose cells are all there.

use switchback_model::cell::{CellKey, Purpose};
use switchback_model::side::{CellSides, Side};

use super::Campaign;
use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::observer::Observer;
use crate::outputs::want_a_reference;
use crate::request::Goal;
use crate::schedule;
use crate::screen::{Again, Screened, screen};
use crate::state::Standing;

impl Campaign {
    /// Screens operators whose cells are all there.
    pub(super) fn screen_what_is_ready(&mut self, observer: &mut dyn Observer) -> Result<(), EngineError> {
        if self.request.goal == Goal::Run {
            return Ok(());
        }
        let names: Vec<String> =
            self.request.operators.iter().map(|operator| operator.operator.clone()).collect();
        for name in names {
            self.screen_if_ready(&name, observer)?;
        }
        Ok(())
    }

    /// Screens one operator if its cells are all there and it is not yet; true if it was now.
    pub(crate) fn screen_if_ready(
        &mut self,
        name: &str,
        observer: &mut dyn Observer,
    ) -> Result<bool, EngineError> {
        if self.request.goal == Goal::Run
            || schedule::is_screened(&self.screened, name)
            || !self.is_ready(name)
        {
            return Ok(false);
        }
        let mut evidence = Vec::new();
        for side in Side::BOTH {
            let read = match self.state.standing(name, Purpose::Screen(side)) {
                Standing::Done(attempt) | Standing::Failed(attempt) => {
                    let dir = attempt.dir.clone();
                    Some(Evidence::read(&dir, &self.dir.ir_dir(), &mut self.digests)?)
                }
                Standing::Open => None,
            };
            evidence.push(read);
        }
        let mut screened = screen(evidence[0].as_ref(), evidence[1].as_ref(), None);
        if screened.rests_on_a_stage() && self.suite.doubts_its_compiler() {
            screened = self.held_against_another(name, screened, &evidence)?;
        }
        if screened.again == Again::Wanted {
            self.screened.insert(name.to_owned(), screened);
            return Ok(false);
        }
        observer.screened(name, screened.verdict, screened.first_stage.as_deref());
        self.screened.insert(name.to_owned(), screened);
        for (side, evidence) in Side::BOTH.into_iter().zip(evidence) {
            if let Some(evidence) = evidence {
                self.screen_evidence.insert((name.to_owned(), side), evidence);
            }
        }
        Ok(true)
    }

    /// Compares again what differs in a stage, with another compilation of one side in other caches: what tuning launched
    /// in the end or, in a suite without tuners, a cell that is there for it.
    fn held_against_another(
        &mut self,
        operator: &str,
        once: Screened,
        evidence: &[Option<Evidence>],
    ) -> Result<Screened, EngineError> {
        let tunes = self.request.tunes(operator, self.suite.tunes());
        let side = if tunes { self.request.tune_on } else { Side::A };
        let purpose = if tunes { Purpose::Tune(side) } else { Purpose::Again(side) };
        let again = if tunes { Again::NotNeeded } else { Again::Ran };
        match self.state.standing(operator, purpose) {
            Standing::Done(attempt) => {
                let dir = attempt.dir.clone();
                let second = Evidence::read(&dir, &self.dir.ir_dir(), &mut self.digests)?;
                let twice = screen(evidence[0].as_ref(), evidence[1].as_ref(), Some((side, &second)));
                Ok(Screened { again, ..twice })
            }
            Standing::Failed(_) => {
                let mut once = Screened { again, ..once };
                once.reasons.push(format!("side {side} was compiled once only: the second time failed"));
                Ok(once)
            }
            Standing::Open if tunes => Ok(once),
            Standing::Open => Ok(Screened { again: Again::Wanted, ..once }),
        }
    }

    /// True for a cell of one side whose outputs differ from the other side's as far as screening knows: once is enough, so
    /// the first round has them held against a reference.
    pub(crate) fn wants_a_reference(&self, cell: &CellKey) -> bool {
        let screens = Side::BOTH.map(|side| self.screen_evidence.get(&(cell.operator.clone(), side)));
        matches!(cell.purpose, Purpose::Round(1, CellSides::A | CellSides::B)) && want_a_reference(screens)
    }

    fn is_ready(&self, operator: &str) -> bool {
        let tune = Purpose::Tune(self.request.tune_on);
        if self.request.tunes(operator, self.suite.tunes()) && self.state.is_failed(operator, tune) {
            return true;
        }
        let screens = Side::BOTH.map(|side| self.state.standing(operator, Purpose::Screen(side)));
        matches!(screens, [Standing::Failed(_), _])
            || (matches!(screens[0], Standing::Done(_)) && !matches!(screens[1], Standing::Open))
    }
}
