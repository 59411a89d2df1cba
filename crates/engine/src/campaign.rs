//! A campaign that is open: its folder, what is done in it, what that decides. Running cells is left to `drive`.

mod proofs;
mod rounds;
mod screening;

use std::collections::BTreeMap;

use switchback_device::Backend;
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::conditions::Conditions;
use switchback_model::report::Report;
use switchback_model::side::Side;
use switchback_stats::input::CaseInput;
use switchback_stats::judgement::ControlsSummary;
use switchback_store::campaign_dir::{CampaignDir, CampaignLock};
use switchback_suites::suite::Suite;

use crate::calibration::{self, Calibration};
use crate::cards;
use crate::error::EngineError;
use crate::evidence::{DigestCache, Evidence};
use crate::observer::{Observer, Phase};
use crate::plan;
use crate::request::{Request, RequestCard};
use crate::rounds::Rounds;
use crate::schedule::costs::Costs;
use crate::schedule::{self, ScreenedOperators};
use crate::state::{Attempt, Standing, State};

pub use proofs::Aim;
use proofs::Proofs;

/// A campaign that is open in this process.
pub struct Campaign {
    /// Its folder.
    pub dir: CampaignDir,
    /// Its request.
    pub request: Request,
    pub(crate) suite: Box<dyn Suite>,
    pub(crate) backend: &'static Backend,
    /// The cards of this machine, where they were just chosen.
    cards: Option<Vec<RequestCard>>,
    pub(crate) state: State,
    pub(crate) digests: DigestCache,
    pub(crate) screened: ScreenedOperators,
    pub(crate) screen_evidence: BTreeMap<(String, Side), Evidence>,
    pub(crate) rounds: Rounds,
    /// The noise floor to show beside the campaign's own: the one kept in its folder, unless another is set.
    pub floor: Option<Calibration>,
    pub(crate) controls: Option<ControlsSummary>,
    round_cases: BTreeMap<(String, u32, bool), Vec<CaseInput>>,
    proofs: Proofs,
    reference: Option<(CellKey, Conditions)>,
    _lock: Option<CampaignLock>,
}

/// How a drive ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drive {
    /// Nothing is left to be run.
    Finished,
    /// The user asked to stop.
    Interrupted,
    /// The time budget is used up; cells are left.
    OutOfTime,
    /// No card is left on which a cell could even start.
    Stuck,
}

impl Campaign {
    /// Opens a campaign's folder and takes its lock; what is on disk is read and screened.
    ///
    /// # Errors
    /// Another process works in the folder; a file is damaged.
    pub fn open(
        dir: CampaignDir,
        request: Request,
        suite: Box<dyn Suite>,
        backend: &'static Backend,
        aim: Aim,
    ) -> Result<Self, EngineError> {
        let lock = dir.lock()?;
        Self::with_lock(dir, request, suite, backend, aim, Some(lock))
    }

    /// Opens a campaign's folder to read it, also while another process works in it.
    ///
    /// # Errors
    /// A file is damaged.
    pub fn read(
        dir: CampaignDir,
        request: Request,
        suite: Box<dyn Suite>,
        backend: &'static Backend,
        aim: Aim,
    ) -> Result<Self, EngineError> {
        Self::with_lock(dir, request, suite, backend, aim, None)
    }

    fn with_lock(
        dir: CampaignDir,
        request: Request,
        suite: Box<dyn Suite>,
        backend: &'static Backend,
        aim: Aim,
        lock: Option<CampaignLock>,
    ) -> Result<Self, EngineError> {
        let state = State::read(&dir, &request)?;
        let rounds = Rounds::of(&request);
        let kept = dir.top(calibration::FLOOR_FILE);
        let floor = if kept.is_file() { Some(Calibration::read(&kept)?) } else { None };
        let mut it = Self {
            dir,
            request,
            suite,
            backend,
            cards: None,
            state,
            digests: DigestCache::default(),
            screened: BTreeMap::new(),
            screen_evidence: BTreeMap::new(),
            rounds,
            floor,
            controls: None,
            round_cases: BTreeMap::new(),
            proofs: Proofs::new(aim),
            reference: None,
            _lock: lock,
        };
        it.reference = it.first_round_conditions()?;
        it.screen_what_is_ready(&mut crate::observer::Silent)?;
        let measured = schedule::measured(&it.request, &it.screened);
        it.look_at_all_proofs(&measured, &mut crate::observer::Silent)?;
        it.allot_rounds()?;
        Ok(it)
    }

    /// The suite.
    #[must_use]
    pub fn suite(&self) -> &dyn Suite {
        self.suite.as_ref()
    }

    /// What screening found so far.
    #[must_use]
    pub fn screened(&self) -> &ScreenedOperators {
        &self.screened
    }

    /// All attempts.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Measures on these cards of this machine from now on, whichever the campaign was begun on.
    pub fn use_cards(&mut self, cards: Vec<RequestCard>) {
        self.cards = Some(cards);
    }

    /// The cards of this machine to measure on.
    pub(crate) fn cards_here(&self, observer: &mut dyn Observer) -> Result<Vec<RequestCard>, EngineError> {
        if let Some(cards) = &self.cards {
            return Ok(cards.clone());
        }
        let (cards, notes) = cards::again(self.backend, &self.request)?;
        for note in notes {
            observer.note(&note);
        }
        Ok(cards)
    }

    /// The cell that is to be run next, and what for; none if nothing is left.
    #[must_use]
    pub fn next(&self) -> Option<(CellKey, Phase)> {
        schedule::next(&self.request, self.suite.tunes(), &self.state, &self.screened, &self.rounds)
    }

    /// The fixed partition of what is measured onto so many cards, by the seconds of screening; none while operators are still
    /// to be screened. A function of what is on disk, so that it is the same after every start.
    #[must_use]
    pub fn partition(&self, costs: &Costs, cards: usize) -> Option<Vec<(Vec<String>, f64)>> {
        let pair_s = |operator: &str| {
            let [a_s, b_s] = costs.of(operator)?.screen_s;
            Some(a_s? + b_s?)
        };
        plan::fixed(&self.request, &self.screened, pair_s, cards)
    }

    /// What the cells of all operators took so far.
    #[must_use]
    pub fn costs(&self) -> Costs {
        let mut costs = Costs::default();
        for operator in &self.request.operators {
            costs.refresh(&operator.operator, &self.state);
        }
        costs
    }

    /// How many rounds each operator is to have, as far as the rounds on disk decide.
    #[must_use]
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// Keeps a floor in the campaign's folder, to be shown whenever it is judged.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn keep_floor(&mut self, floor: Calibration) -> Result<(), EngineError> {
        self.dir.write_top(calibration::FLOOR_FILE, &floor.text())?;
        self.floor = Some(floor);
        Ok(())
    }

    /// What identical code read, if that is what the campaign measured and `report` is its judgement.
    #[must_use]
    pub fn calibration(&self, report: &Report) -> Option<Calibration> {
        let controls = self.controls.as_ref().filter(|_| self.request.is_calibration())?;
        Some(Calibration::new(report, controls))
    }

    pub(crate) fn done_cells(&self) -> usize {
        self.state
            .cells()
            .filter(|(cell, _)| !matches!(self.state.standing(&cell.operator, cell.purpose), Standing::Open))
            .count()
    }

    /// Conditions of the first round cell that is done, against which later ones are checked.
    fn first_round_conditions(&self) -> Result<Option<(CellKey, Conditions)>, EngineError> {
        let round = self.state.cells().find_map(|(cell, _)| {
            match (cell.purpose, self.state.standing(&cell.operator, cell.purpose)) {
                (Purpose::Round(..), Standing::Done(attempt)) => Some((cell.clone(), attempt.dir.clone())),
                _ => None,
            }
        });
        let Some((cell, dir)) = round else { return Ok(None) };
        Ok(dir.identity()?.map(|identity| (cell, conditions_of_campaign(&identity.conditions))))
    }

    /// Refuses rows whose conditions differ from those of the rows that are there, before any is compared.
    pub(crate) fn check_conditions(
        &mut self,
        cell: &CellKey,
        conditions: &Conditions,
    ) -> Result<(), EngineError> {
        if !matches!(cell.purpose, Purpose::Round(..)) || conditions.0.is_empty() {
            return Ok(());
        }
        let comparable = conditions_of_campaign(conditions);
        match &self.reference {
            None => self.reference = Some((cell.clone(), comparable)),
            Some((first, reference)) => {
                let allowed = self.request.allowed.iter().cloned().collect();
                let differences = reference.differences(&comparable, &allowed);
                if !differences.is_empty() {
                    let of = [first.to_string(), cell.to_string()];
                    return Err(EngineError::Conditions { differences, of });
                }
            }
        }
        Ok(())
    }

    /// Dtypes that an operator takes, as the suite's listing told; empty where it did not.
    pub(crate) fn takes_dtypes(&self, operator: &str) -> Vec<String> {
        self.request.takes_dtypes.get(operator).cloned().unwrap_or_default()
    }

    /// The attempt that best explains why an operator has no rows: the first cell that failed.
    pub(crate) fn failed_attempt(&self, operator: &str) -> Option<(Purpose, &Attempt)> {
        self.state.cells().filter(|(cell, _)| cell.operator == operator).find_map(|(cell, _)| {
            match self.state.standing(operator, cell.purpose) {
                Standing::Failed(attempt) => Some((cell.purpose, attempt)),
                Standing::Open | Standing::Done(_) => None,
            }
        })
    }
}

/// Conditions that must agree over a whole campaign: those of an operator (its dtypes, its recording, its shapes) are
/// compared within the operator only.
#[must_use]
pub fn conditions_of_campaign(conditions: &Conditions) -> Conditions {
    // An operator whose duet is not proven is paired otherwise than its neighbours.
    let own = ["dtypes", "recording", "shape_mode", "pairing"];
    Conditions(
        conditions
            .0
            .iter()
            .filter(|(field, _)| !own.contains(&field.as_str()))
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect(),
    )
}
