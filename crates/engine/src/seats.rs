//! A card's place in a drive: its hands, each of which carries one block through its cells; several may carry the same.

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

    /// Blocks that it is at work on, each once.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        let of = |hand: &Hand| hand.block.map(|block| (block.operator, block.part));
        let is_first =
            move |place: usize| self.hands[..place].iter().all(|it| of(it) != of(&self.hands[place]));
        self.hands
            .iter()
            .enumerate()
            .filter_map(move |(place, hand)| hand.block.as_ref().filter(|_| is_first(place)))
    }

    /// Takes from hands that have no cell the blocks that they carry: a card that gets no more cells keeps none from others.
    pub(crate) fn put_down(&mut self) {
        for hand in self.hands.iter_mut().filter(|hand| hand.cell.is_none()) {
            hand.block = None;
        }
    }

    /// Cells that have done nothing on it so far: those whose turn has not come. Where nobody has the card, the one that was
    /// started first is about to.
    pub(crate) fn waiting(&self, has_its_turn: impl Fn(&RunningCell) -> bool) -> Vec<Started> {
        let (at_work, mut waiting): (Vec<&RunningCell>, Vec<&RunningCell>) =
            self.running().partition(|cell| has_its_turn(cell));
        waiting.sort_by_key(|cell| cell.begun);
        waiting.into_iter().skip(usize::from(at_work.is_empty())).map(|cell| cell.started).collect()
    }

    /// Seconds that its blocks will still take, by what each is expected to take of the card. They share its time, so each
    /// gets on by a part of what has passed; one that is overdue takes as long again as it is overdue: a cell that hangs does not
    /// hold others up.
    pub(crate) fn left_s(&self, now: Instant, expected_s: impl Fn(&Block) -> f64) -> f64 {
        let count = f64::from(u32::try_from(self.blocks().count()).unwrap_or(u32::MAX));
        let passed_s = |block: &Block| now.saturating_duration_since(block.begun).as_secs_f64();
        self.blocks().map(|block| (expected_s(block) - passed_s(block) / count).abs()).sum()
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use switchback_model::card::Card;

    fn seat(begun: &[Instant]) -> Seat {
        let card = Card { backend: "cpu".into(), index: "0".into(), uuid: None, name: None };
        let mut it = Seat::new(RequestCard { card, facts: std::collections::BTreeMap::new() }, 4);
        for (operator, (hand, begun)) in it.hands.iter_mut().zip(begun).enumerate() {
            hand.block = Some(Block { operator, part: Part::Prepare, begun: *begun });
        }
        it
    }

    #[test]
    fn blocks_of_one_card_share_the_time_that_passes() {
        let first = Instant::now();
        let left_s = |seat: &Seat, after_s| seat.left_s(first + Duration::from_secs(after_s), |_| 60.0);
        assert!(left_s(&seat(&[]), 0).abs() < 1e-9);
        let (one, four) = (seat(&[first]), seat(&[first; 4]));
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-6, "{found}, {wanted}");
        near(left_s(&one, 20), 40.0);
        near(left_s(&one, 90), 30.0);
        near(left_s(&four, 120), 120.0);
        near(left_s(&four, 239), 1.0);
        // Two hands that carry one block are no two blocks.
        let mut both = seat(&[first; 2]);
        both.hands[1].block = both.hands[0].block;
        near(left_s(&both, 20), 40.0);
    }
}
