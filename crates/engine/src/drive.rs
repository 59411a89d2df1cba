//! Keeps all cards of a campaign at work: starts cells, takes note of what ended, remembers nothing that the disk does not say.
//!
//! Which block a card gets is left to [`crate::schedule::share`]. Invariants: a block's cells run on one card, one after
//! another; which cells may be on a card at once is left to [`crate::turns`]; whatever goes wrong, nothing is left running
//! when a drive returns.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use switchback_model::cell::CellKey;
use switchback_model::event::EventBody;
use switchback_model::exit_code::ExitCode;
use switchback_model::order::Turn;
use switchback_model::outcome::{DeviceFault, Ending, Outcome};

use crate::campaign::{Campaign, Drive};
use crate::error::EngineError;
use crate::executor::{Executor, Interrupt, Started, end_orphans};
use crate::observer::{Observer, Phase};
use crate::orders::{self, Place};
use crate::request::RequestCard;
use crate::schedule;
use crate::schedule::blocks::{Roles, Standings};
use crate::schedule::costs::Costs;
use crate::schedule::share::{Part, Work, next_block};
use crate::seats::{Block, RunningCell, Seat};
use crate::state::Standing;
use crate::turns;

/// Processes that an earlier coordinator left are given this long after TERM.
const ORPHAN_GRACE: Duration = Duration::from_secs(10);
/// How often the watcher is told of cells that run, and a request to stop is looked for, while nothing ends.
const TICK: Duration = Duration::from_millis(200);
/// How often a card that got nothing asks again while nothing ends.
const ASK_AGAIN: Duration = Duration::from_secs(1);

impl Campaign {
    /// Runs cells on all cards until nothing is left, the user asks to stop or the time budget is used up.
    ///
    /// # Errors
    /// The disk, a supervisor that cannot be started, or conditions that differ from those of the rows on disk; what
    /// else runs is ended first.
    pub fn drive(
        &mut self,
        executor: &mut dyn Executor,
        interrupt: &Interrupt,
        observer: &mut dyn Observer,
    ) -> Result<Drive, EngineError> {
        for orphan in end_orphans(&self.request.id, ORPHAN_GRACE) {
            observer.note(&format!("ended process {} of an earlier start: {}", orphan.pid, orphan.command));
        }
        if interrupt.count() > 0 {
            return Ok(Drive::Interrupted);
        }
        if self.next().is_none() {
            return Ok(Drive::Finished);
        }
        let cards = self.cards_here(observer)?;
        crate::preflight::unpack(self.suite(), &self.dir.probe_dir())?;
        let mut driver = Driver::new(self, cards, executor, interrupt, observer);
        let ended = driver.run();
        if ended.is_err() {
            driver.end_all();
        }
        ended
    }
}

fn is_turn(body: &EventBody) -> bool {
    matches!(body, EventBody::Turn(_))
}

/// A cell that may be started.
struct Next {
    block: Block,
    cell: CellKey,
    phase: Phase,
    turn: Option<Turn>,
}

/// An operator's blocks that are left.
#[derive(Default)]
struct OpenOperator {
    parts: Vec<Part>,
    /// Of these, the ones that were begun on a card, by the name of its lock.
    begun: BTreeMap<Part, String>,
    /// Cards on which a cell of them died.
    died_on: BTreeSet<String>,
}

struct Driver<'a> {
    campaign: &'a mut Campaign,
    executor: &'a mut dyn Executor,
    interrupt: &'a Interrupt,
    observer: &'a mut dyn Observer,
    seats: Vec<Seat>,
    /// Most cells on a card at once.
    most: usize,
    names: Vec<String>,
    open: Vec<OpenOperator>,
    roles: Roles,
    costs: Costs,
    /// The places of cards by operator, where a fixed partition says them.
    fixed: BTreeMap<String, usize>,
    start: Instant,
    /// When cards last asked for blocks; none if something has changed since.
    pulled: Option<Instant>,
    done: usize,
    /// Cells that are needed in all, as far as it is known.
    total: usize,
    asked: usize,
    /// True once the time budget is used up.
    is_out_of_time: bool,
}

impl<'a> Driver<'a> {
    fn new(
        campaign: &'a mut Campaign,
        cards: Vec<RequestCard>,
        executor: &'a mut dyn Executor,
        interrupt: &'a Interrupt,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let names: Vec<String> =
            campaign.request.operators.iter().map(|operator| operator.operator.clone()).collect();
        let most = turns::most(&campaign.request, campaign.suite(), cards.len());
        let seats = cards.into_iter().map(|card| Seat::new(card, most)).collect();
        let mut costs = Costs::default();
        for name in &names {
            costs.refresh(name, campaign.state());
        }
        let done = campaign.done_cells();
        let mut it = Self {
            campaign,
            executor,
            interrupt,
            observer,
            seats,
            most,
            open: names.iter().map(|_| OpenOperator::default()).collect(),
            names,
            roles: Roles::default(),
            costs,
            fixed: BTreeMap::new(),
            start: Instant::now(),
            pulled: None,
            done,
            total: 0,
            asked: 0,
            is_out_of_time: false,
        };
        it.reopen_all();
        it
    }

    fn run(&mut self) -> Result<Drive, EngineError> {
        loop {
            self.pass_on_interrupts();
            let out_of_time = self
                .campaign
                .request
                .time_budget_s
                .is_some_and(|budget_s| self.start.elapsed().as_secs_f64() >= budget_s);
            if out_of_time && !std::mem::replace(&mut self.is_out_of_time, out_of_time) {
                self.stop_what_waits();
            }
            let is_time = self.pulled.is_none_or(|pulled| pulled.elapsed() >= ASK_AGAIN);
            if self.asked == 0 && !out_of_time && is_time {
                self.start_what_can()?;
                self.pulled = Some(Instant::now());
            }
            if self.seats.iter().all(|seat| seat.running().next().is_none()) {
                let left = self.open.iter().any(|it| !it.parts.is_empty());
                return Ok(match (self.asked > 0, left, out_of_time) {
                    (true, ..) => Drive::Interrupted,
                    (_, false, _) => Drive::Finished,
                    (_, _, true) => Drive::OutOfTime,
                    // Blocks are left and time is: it is the cards that are missing.
                    _ => Drive::Stuck,
                });
            }
            self.wait_a_moment()?;
        }
    }

    /// The user's wish to stop, once or twice, is passed on to all supervisors, once each.
    fn pass_on_interrupts(&mut self) {
        let count = self.interrupt.count();
        if count >= 1 && self.asked < 1 {
            self.asked = 1;
            self.executor.stop();
        }
        if count >= 2 && self.asked < 2 {
            self.asked = 2;
            self.executor.kill();
        }
    }

    /// No further cell begins on a card: those that were started and wait for their turn would, one after another.
    fn stop_what_waits(&mut self) {
        let has_its_turn = |cell: &RunningCell| {
            let told = || cell.attempt.events().is_ok_and(|log| log.bodies().any(is_turn));
            cell.turn.is_none() || told()
        };
        for started in self.seats.iter().flat_map(|seat| seat.waiting(has_its_turn)) {
            self.executor.stop_one(started);
        }
    }

    fn wait_a_moment(&mut self) -> Result<(), EngineError> {
        let ended = self
            .executor
            .wait(TICK)
            .map_err(|source| EngineError::Executor { cell: "any".into(), source })?;
        match ended {
            Some(started) => self.ended(started)?,
            None => {
                for running in self.seats.iter().flat_map(Seat::running) {
                    self.observer.cell_running(&running.cell, running.begun.elapsed().as_secs_f64());
                }
            }
        }
        Ok(())
    }

    /// Ends everything that runs, and waits for it: the reason is told by the error that goes to the caller.
    fn end_all(&mut self) {
        self.executor.stop();
        while self.seats.iter().any(|seat| seat.running().next().is_some()) {
            self.pass_on_interrupts();
            match self.executor.wait(TICK) {
                Ok(Some(started)) => {
                    if let Some(cell) = self.take(started).map(|(.., running)| running.cell) {
                        let _ = self.campaign.state.refresh(&self.campaign.dir, &cell);
                    }
                }
                Ok(None) => {}
                // It cannot be watched any more: the pipe's end, closed with the executor, ends it.
                Err(_) => return,
            }
        }
    }

    fn standings(&self) -> Standings<'_> {
        Standings {
            request: &self.campaign.request,
            tunes: self.campaign.suite().tunes(),
            state: &self.campaign.state,
            screened: &self.campaign.screened,
            rounds: &self.campaign.rounds,
            roles: &self.roles,
        }
    }

    /// Looks at all operators again.
    fn reopen_all(&mut self) {
        self.recast();
        for operator in 0..self.names.len() {
            self.reopen(operator);
        }
    }

    /// Who is measured, now that more is known of some operator; returns the roles that were.
    fn recast(&mut self) -> Roles {
        let roles = Roles::of(&self.campaign.request, &self.campaign.screened);
        self.total = schedule::total_cells(
            &self.campaign.request,
            self.campaign.suite.tunes(),
            &self.campaign.screened,
            &self.campaign.rounds,
        );
        if self.campaign.request.fixed {
            self.fixed = (0..)
                .zip(self.campaign.partition(&self.costs, self.seats.len()).unwrap_or_default())
                .flat_map(|(place, (operators, _))| operators.into_iter().map(move |name| (name, place)))
                .collect();
        }
        std::mem::replace(&mut self.roles, roles)
    }

    fn reopen(&mut self, operator: usize) {
        let standings = self.standings();
        let name = &self.names[operator];
        let parts = standings.open_parts(name);
        let begun = parts.iter().filter_map(|part| Some((*part, standings.begun_on(name, *part)?))).collect();
        let died_on = self.campaign.state.died_on(name);
        self.open[operator] = OpenOperator { parts, begun, died_on };
    }

    fn start_what_can(&mut self) -> Result<(), EngineError> {
        let now = Instant::now();
        self.seats.iter_mut().filter(|seat| !seat.health.is_in_service(now)).for_each(Seat::put_down);
        for place in 0..self.seats.len() {
            // Beside a cell that is there by itself nothing is started: nobody has to be asked what it could be.
            if self.seats[place].running().any(|running| running.turn.is_none()) {
                continue;
            }
            for hand in self.seats[place].in_order() {
                let is_free = self.seats[place].hands[hand].cell.is_none();
                if !is_free || !self.seats[place].health.is_in_service(Instant::now()) {
                    continue;
                }
                let Some(next) = self.next_on(place, hand) else { continue };
                let is_new = self.seats[place].hands[hand].block.is_none();
                if turns::may_start(&self.seats[place].turns(), next.turn, self.most) {
                    let begun = Instant::now();
                    self.seats[place].hands[hand].block.get_or_insert(Block { begun, ..next.block });
                    self.start_cell(place, hand, next)?;
                } else if is_new || next.turn.is_none() {
                    // Another free hand would get the same; and what must be there by itself is not kept waiting by what is
                    // started after it.
                    break;
                }
            }
        }
        Ok(())
    }

    /// The next cell of a hand: of its block, or of the block that it may have next.
    fn next_on(&mut self, place: usize, hand: usize) -> Option<Next> {
        if let Some(block) = self.seats[place].hands[hand].block {
            if let Some(next) = self.cell_of(place, block) {
                return Some(next);
            }
            self.seats[place].hands[hand].block = None;
        }
        let (operator, part) = self.pull(place)?;
        self.cell_of(place, Block { operator, part, begun: Instant::now() })
    }

    fn cell_of(&self, place: usize, block: Block) -> Option<Next> {
        if !self.open[block.operator].parts.contains(&block.part) {
            return None;
        }
        let card = &self.seats[place].card.card;
        let (cell, phase) =
            self.standings().next_cell(&self.names[block.operator], block.part, Some(card))?;
        let campaign = &*self.campaign;
        let turn = turns::of(&campaign.request, campaign.suite(), &campaign.state, self.most, &cell);
        Some(Next { block, cell, phase, turn })
    }

    /// The block that a card takes next.
    fn pull(&mut self, place: usize) -> Option<(usize, Part)> {
        let expected = self.costs.expected();
        let places: BTreeMap<&str, usize> =
            self.seats.iter().enumerate().map(|(place, seat)| (seat.name.as_str(), place)).collect();
        let taken: BTreeSet<(usize, Part)> =
            self.seats.iter().flat_map(Seat::blocks).map(|block| (block.operator, block.part)).collect();
        let work: Vec<Work> = self
            .open
            .iter()
            .enumerate()
            .map(|(operator, open)| {
                let name = &self.names[operator];
                let known = self.costs.of(name);
                let waits = self.waits_for_its_first_round(place, operator);
                let is_held = |part: &Part| {
                    taken.contains(&(operator, *part)) || waits && matches!(part, Part::Round(_))
                };
                let parts: Vec<Part> = open.parts.iter().copied().filter(|part| !is_held(part)).collect();
                let Some(first) = parts.first().copied() else { return Work::default() };
                let at = |name: &String| places.get(name.as_str()).copied();
                Work {
                    block_s: expected.block_s(name, first),
                    cold_s: expected.cold_s(name),
                    warm: known.iter().flat_map(|it| &it.warm).filter_map(at).collect(),
                    home: match self.fixed.get(name) {
                        Some(place) => Some(*place),
                        None => known.and_then(|it| it.home.as_ref()).and_then(at),
                    },
                    avoid: open.died_on.iter().filter_map(at).collect(),
                    pinned: open.begun.iter().filter_map(|(part, name)| Some((*part, at(name)?))).collect(),
                    parts,
                }
            })
            .collect();
        let now = Instant::now();
        let block_s = |block: &Block| expected.block_s(&self.names[block.operator], block.part);
        let busy_s: Vec<Option<f64>> = self
            .seats
            .iter()
            .map(|seat| seat.health.is_in_service(now).then(|| seat.left_s(now, block_s)))
            .collect();
        let (block, left_s) = next_block(&work, &busy_s, !self.campaign.request.fixed, place);
        self.observer.remaining(left_s);
        block
    }

    /// True if a card is at work on a round of the operator that decides how its other rounds are paired.
    fn waits_for_its_first_round(&self, place: usize, operator: usize) -> bool {
        self.campaign.request.pairing_falls_back
            && self.costs.of(&self.names[operator]).is_none_or(|known| known.rounds.0 == 0)
            && self.seats[place]
                .blocks()
                .any(|block| block.operator == operator && matches!(block.part, Part::Round(_)))
    }

    fn start_cell(&mut self, place: usize, hand: usize, next: Next) -> Result<(), EngineError> {
        let Next { cell, phase, turn, .. } = next;
        let seat = &self.seats[place];
        let campaign = &mut *self.campaign;
        // A cell that cannot write what it measures has measured for nothing.
        campaign.dir.check_space()?;
        let attempt = orders::write(
            &campaign.dir,
            &campaign.request,
            campaign.suite.as_ref(),
            campaign.backend,
            &campaign.state,
            &cell,
            Place { card: &seat.card, turn },
        )?;
        self.observer.cell_started(&cell, &seat.card.card, phase, self.done, self.total);
        let started = self
            .executor
            .start(&attempt.order_path())
            .map_err(|source| EngineError::Executor { cell: cell.to_string(), source })?;
        self.seats[place].hands[hand].cell =
            Some(RunningCell { started, cell, attempt, begun: Instant::now(), turn });
        Ok(())
    }

    fn take(&mut self, started: Started) -> Option<(usize, usize, RunningCell)> {
        self.seats.iter_mut().enumerate().find_map(|(place, seat)| {
            seat.hands.iter_mut().enumerate().find_map(|(hand, it)| {
                let running = it.cell.take_if(|cell| cell.started == started)?;
                Some((place, hand, running))
            })
        })
    }

    /// Takes note of a cell that has ended.
    fn ended(&mut self, started: Started) -> Result<(), EngineError> {
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
                if !matches!(self.campaign.state.standing(&cell.operator, cell.purpose), Standing::Open) {
                    self.done += 1;
                }
                // Without rows nothing is compared, and a cell that was cut off may not have told its conditions.
                if outcome.as_ref().is_some_and(|outcome| outcome.counts.success > 0) {
                    let identity = attempt.identity()?.unwrap_or_default();
                    self.campaign.check_conditions(&cell, &identity.conditions)?;
                }
                let screened = self.campaign.screen_if_ready(&cell.operator, self.observer)?;
                let fell_back = self.campaign.look_at_proofs(&cell.operator, self.observer)?;
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
            }
        }
        if let Some(operator) = operator {
            self.reopen(operator);
        }
        Ok(())
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

#[cfg(test)]
mod tests;
