//! A card's place in a drive: its hands, each of which carries one block through its cells.

use std::time::Instant;

use switchback_model::cell::CellKey;
use switchback_model::order::Turn;
use switchback_store::attempt::AttemptDir;

use crate::executor::Started;
use crate::health::Health;
use crate::request::RequestCard;
use crate::schedule::share::Part;

/// A card.
pub(crate) struct Seat {
    pub(crate) card: RequestCard,
    /// The name of its lock, which names the card in outcomes.
    pub(crate) name: String,
    pub(crate) health: Health,
    /// As many as cells may be on it at once.
    pub(crate) hands: Vec<Hand>,
}

/// What carries one block.
#[derive(Default)]
pub(crate) struct Hand {
    pub(crate) block: Option<Block>,
    pub(crate) cell: Option<RunningCell>,
}

/// A block that a card is at work on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(crate) operator: usize,
    pub(crate) part: Part,
    pub(crate) begun: Instant,
}

pub(crate) struct RunningCell {
    pub(crate) started: Started,
    pub(crate) cell: CellKey,
    pub(crate) attempt: AttemptDir,
    pub(crate) begun: Instant,
    pub(crate) turn: Option<Turn>,
}

impl Seat {
    /// A card with nothing to do.
    pub(crate) fn new(card: RequestCard, hands: usize) -> Self {
        let hands = (0..hands.max(1)).map(|_| Hand::default()).collect();
        Self { name: card.card.lock_name(), card, health: Health::default(), hands }
    }

    /// Cells that run on it.
    pub(crate) fn running(&self) -> impl Iterator<Item = &RunningCell> {
        self.hands.iter().filter_map(|hand| hand.cell.as_ref())
    }

    /// How the cells that run on it share it.
    pub(crate) fn turns(&self) -> Vec<Option<Turn>> {
        self.running().map(|running| running.turn).collect()
    }

    /// Blocks that it is at work on.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.hands.iter().filter_map(|hand| hand.block.as_ref())
    }

    /// Its hands, those first that have had their block longest; those without one last.
    pub(crate) fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.hands.len()).collect();
        order.sort_by_key(|hand| {
            let begun = self.hands[*hand].block.map(|block| block.begun);
            (begun.is_none(), begun)
        });
        order
    }
}
