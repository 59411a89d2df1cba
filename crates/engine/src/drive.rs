//! Keeps all cards of a campaign at work: starts cells, takes note of what ended, remembers nothing that the disk does not say.
//!
//! Which block a card gets is left to [`crate::schedule::share`]. Invariants: a block's cells run on one card, until one of them
//! dies there; which cells may be there at once is left to [`crate::turns`]; whatever goes wrong, nothing is left running when
//! a drive returns.

mod ended;
mod starting;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use switchback_model::event::EventBody;

use crate::campaign::{Campaign, Drive};
use crate::error::EngineError;
use crate::executor::{Executor, Interrupt, end_orphans};
use crate::observer::Observer;
use crate::request::RequestCard;
use crate::schedule;
use crate::schedule::blocks::{Roles, Standings};
use crate::schedule::costs::Costs;
use crate::schedule::share::Part;
use crate::seats::{RunningCell, Seat};
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
}

#[cfg(test)]
mod tests;
