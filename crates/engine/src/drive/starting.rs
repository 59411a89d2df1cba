//! What is started next on each card.
//!
//! Which block a card takes is left to [`crate::schedule::share`], what may run beside what to [`crate::turns`]. A free hand helps
//! with a block of its card before it takes another: the cells of one step, both sides' screening, then run beside each other.
//! Invariant: a block stays on its card until it is whole, unless the card is out of service or one of its cells died there, which
//! is then tried on another card if there is one; and a block whose cell may not start now is not taken.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use switchback_model::cell::CellKey;
use switchback_model::order::Turn;

use super::Driver;
use crate::error::EngineError;
use crate::observer::Phase;
use crate::orders::{self, Given};
use crate::schedule::share::{Part, Work, next_block};
use crate::seats::{Block, RunningCell, Seat};
use crate::turns;

/// A cell that may be started.
struct Next {
    block: Block,
    cell: CellKey,
    phase: Phase,
    turn: Option<Turn>,
}

impl Driver<'_> {
    pub(super) fn start_what_can(&mut self) -> Result<(), EngineError> {
        let now = Instant::now();
        self.seats.iter_mut().filter(|seat| !seat.health.is_in_service(now)).for_each(Seat::put_down);
        self.put_down_what_is_avoided(now);
        for place in 0..self.seats.len() {
            for hand in self.seats[place].in_order() {
                // Beside a cell that is there by itself nothing is started: nobody has to be asked what it could be.
                if self.seats[place].running().any(|running| running.turn.is_none()) {
                    break;
                }
                let is_free = self.seats[place].hands[hand].cell.is_none();
                if !is_free || !self.seats[place].health.is_in_service(Instant::now()) {
                    continue;
                }
                let Some(next) = self.next_on(place, hand) else { continue };
                if next.turn.is_none() && self.seats[place].running().next().is_some() {
                    // It must be there by itself, and is not kept waiting by what would be started after it.
                    break;
                }
                self.seats[place].hands[hand].block.get_or_insert(next.block);
                self.start_cell(place, hand, next)?;
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
        let now = Instant::now();
        let may_help = |block: &&Block| !self.is_avoided(place, block.operator, now);
        let blocks: Vec<Block> = self.seats[place].blocks().filter(may_help).copied().collect();
        if let Some(next) = blocks.into_iter().find_map(|block| self.cell_of(place, block)) {
            return Some(next);
        }
        let (operator, part) = self.pull(place)?;
        self.cell_of(place, Block { operator, part, begun: Instant::now() })
    }

    /// True if a cell of an operator's blocks died on a card and another card may have them: the rule of
    /// [`crate::schedule::share::Work::avoid`].
    fn is_avoided(&self, place: usize, operator: usize, now: Instant) -> bool {
        let died_on = &self.open[operator].died_on;
        let may = |seat: &Seat| seat.health.is_in_service(now) && !died_on.contains(&seat.name);
        died_on.contains(&self.seats[place].name) && self.seats.iter().any(may)
    }

    /// Takes the blocks of a first step from hands that have no cell of theirs left, where the other side of it died: else the
    /// hand that had the better half of it would try the other one on the same card.
    ///
    /// Of rounds nothing is taken: what a hand has there is another round than the one that died.
    fn put_down_what_is_avoided(&mut self, now: Instant) {
        for place in 0..self.seats.len() {
            for hand in 0..self.seats[place].hands.len() {
                let it = &self.seats[place].hands[hand];
                let block = it.block.filter(|block| it.cell.is_none() && block.part == Part::Prepare);
                if block.is_some_and(|block| self.is_avoided(place, block.operator, now)) {
                    self.seats[place].hands[hand].block = None;
                }
            }
        }
    }

    fn cell_of(&self, place: usize, block: Block) -> Option<Next> {
        if !self.open[block.operator].parts.contains(&block.part) {
            return None;
        }
        let seat = &self.seats[place];
        let (cell, phase) = self
            .standings()
            .next_cells(&self.names[block.operator], block.part, Some(&seat.card.card))
            .into_iter()
            .find(|(cell, _)| seat.running().all(|running| running.cell != *cell))?;
        let campaign = &*self.campaign;
        let turn = turns::of(&campaign.request, campaign.suite(), &campaign.state, seat.hands.len(), &cell);
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
            Given { card: &seat.card, turn, reference: campaign.wants_a_reference(&cell) },
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
}
