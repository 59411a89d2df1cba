//! Who gets what: blocks of cells onto cards, so that all cards end together.
//!
//! An operator stays on one card, where the compiler's caches are warm, unless that card would end later for it: then
//! single blocks (rounds) move. So an operator that is heavier than a card's share is spread by its rounds. It is a
//! function of expected seconds alone, asked anew whenever a card is free: what cells really took is in the next answer.

use std::collections::BTreeMap;

/// A block is long if so many of them are more than a card's even share of what is left.
const LONG: f64 = 4.0;

/// Cells of one operator that stay on one card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Tuning, then both sides' code.
    Prepare,
    /// The single run.
    Run,
    /// A round, numbered from 1.
    Round(u32),
    /// A round measured one process a side beside duet rounds.
    Naive(u32),
}

/// What is left to be done for one operator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// Parts that no card has begun.
    pub parts: Vec<Part>,
    /// Expected seconds of each.
    pub block_s: f64,
    /// Expected seconds that the first of them takes more on a card without the operator's caches.
    pub cold_s: f64,
    /// Cards, by place, that have its caches.
    pub warm: Vec<usize>,
    /// The card that it belongs to; none before it was on any.
    pub home: Option<usize>,
    /// Parts whose other cells a card has done: they must end there.
    pub pinned: BTreeMap<Part, usize>,
    /// Cards on which one of its cells died: others are tried first, while there are others.
    pub avoid: Vec<usize>,
}

impl Work {
    /// Work that no card has begun.
    #[must_use]
    pub fn new(parts: Vec<Part>, block_s: f64) -> Self {
        Self { parts, block_s, ..Self::default() }
    }
}

/// A card's blocks in the order in which it takes them, and when it would be done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CardShare {
    /// The place of the operator in the work that was shared, and the part.
    pub blocks: Vec<(usize, Part)>,
    /// Seconds until it would be done with what it does now and all of these.
    pub load_s: f64,
}

/// Shares work out among cards.
///
/// `busy_s` has for each card the seconds that what it does now will still take; none for a card that gets nothing.
/// `moves` is false for a fixed partition: each operator then stays on its card whatever that costs. Equal input gives equal
/// output.
#[must_use]
pub fn share(work: &[Work], busy_s: &[Option<f64>], moves: bool) -> Vec<CardShare> {
    let mut sharing = Sharing::new(work, busy_s);
    let parts = sharing.pin();
    if moves {
        sharing.give_blocks(parts);
        while sharing.move_one() {}
    } else {
        sharing.give_whole(parts);
    }
    sharing.shares()
}

/// The block that a card takes next, and the seconds until the last card is done; what [`share`] gives it first.
#[must_use]
pub fn next_block(
    work: &[Work],
    busy_s: &[Option<f64>],
    moves: bool,
    card: usize,
) -> (Option<(usize, Part)>, f64) {
    let shares = share(work, busy_s, moves);
    let left_s = shares.iter().map(|share| share.load_s).fold(0.0, f64::max);
    (shares.get(card).and_then(|share| share.blocks.first().copied()), left_s)
}

struct Sharing<'a> {
    work: &'a [Work],
    load_s: Vec<f64>,
    open: Vec<bool>,
    /// For each operator and card: the parts that the card gets, in order; pinned ones apart, since they cannot move.
    given: Vec<Vec<Vec<Part>>>,
    pinned: Vec<(usize, usize, Part)>,
}

impl<'a> Sharing<'a> {
    fn new(work: &'a [Work], busy_s: &[Option<f64>]) -> Self {
        Self {
            work,
            load_s: busy_s.iter().map(|busy_s| busy_s.unwrap_or(0.0)).collect(),
            open: busy_s.iter().map(Option::is_some).collect(),
            given: vec![vec![Vec::new(); busy_s.len()]; work.len()],
            pinned: Vec::new(),
        }
    }

    fn is_open(&self, card: usize) -> bool {
        self.open.get(card).copied().unwrap_or(false)
    }

    /// True if an operator may be given to a card.
    fn may(&self, operator: usize, card: usize) -> bool {
        let avoid = &self.work[operator].avoid;
        let is_avoided = |card: usize| avoid.contains(&card);
        self.is_open(card)
            && (!is_avoided(card) || (0..self.open.len()).all(|it| !self.open[it] || is_avoided(it)))
    }

    /// Seconds that a part would take there, given what the card already gets.
    fn cost_s(&self, operator: usize, card: usize) -> f64 {
        let work = &self.work[operator];
        let is_warm = work.warm.contains(&card)
            || !self.given[operator][card].is_empty()
            || self.pinned.iter().any(|(pinned, on, _)| (*pinned, *on) == (operator, card));
        work.block_s + if is_warm { 0.0 } else { work.cold_s }
    }

    fn least_loaded(&self, operator: usize) -> Option<usize> {
        (0..self.load_s.len())
            .filter(|card| self.may(operator, *card))
            .min_by(|one, two| self.load_s[*one].total_cmp(&self.load_s[*two]))
    }

    /// What must end where it was begun; returns the other parts, by operator.
    fn pin(&mut self) -> Vec<Vec<Part>> {
        (0..self.work.len())
            .map(|operator| {
                let work = &self.work[operator];
                let mut parts = work.parts.clone();
                parts.retain(|part| match work.pinned.get(part).filter(|card| self.may(operator, **card)) {
                    Some(card) => {
                        self.load_s[*card] += self.cost_s(operator, *card);
                        self.pinned.push((operator, *card, *part));
                        false
                    }
                    None => true,
                });
                parts
            })
            .collect()
    }

    /// Each operator whole onto its card; those without one, the heaviest first, onto the card that has least.
    fn give_whole(&mut self, mut parts: Vec<Vec<Part>>) {
        #[allow(clippy::cast_precision_loss, reason = "an operator has few rounds")]
        let weight = |operator: usize| self.work[operator].block_s * self.work[operator].parts.len() as f64;
        let mut order: Vec<usize> =
            (0..parts.len()).filter(|operator| !parts[*operator].is_empty()).collect();
        let home = |operator: usize| self.work[operator].home.filter(|card| self.may(operator, *card));
        order.sort_by(|one, two| {
            home(*two).is_some().cmp(&home(*one).is_some()).then(weight(*two).total_cmp(&weight(*one)))
        });
        for operator in order {
            let home = self.work[operator].home.filter(|card| self.may(operator, *card));
            if let Some(card) = home.or_else(|| self.least_loaded(operator)) {
                self.give(operator, card, std::mem::take(&mut parts[operator]));
            }
        }
    }

    /// Block by block, operators with the longest ones first: onto the operator's own card up to an even share, then onto
    /// another that has its caches, then onto the one that would be done first. What is short comes last and evens out.
    fn give_blocks(&mut self, parts: Vec<Vec<Part>>) {
        let mut order: Vec<usize> =
            (0..parts.len()).filter(|operator| !parts[*operator].is_empty()).collect();
        order.sort_by(|one, two| self.work[*two].block_s.total_cmp(&self.work[*one].block_s));
        #[allow(clippy::cast_precision_loss, reason = "an operator has few rounds, a machine few cards")]
        let left_s: f64 = order.iter().map(|it| self.work[*it].block_s * parts[*it].len() as f64).sum();
        let open: Vec<usize> = (0..self.open.len()).filter(|card| self.open[*card]).collect();
        #[allow(clippy::cast_precision_loss, reason = "a machine has few cards")]
        let share_s =
            (left_s + open.iter().map(|card| self.load_s[*card]).sum::<f64>()) / open.len().max(1) as f64;
        for operator in order {
            let mut home = self.work[operator].home.filter(|card| self.may(operator, *card));
            for part in &parts[operator] {
                let after_s = |card: usize| self.load_s[card] + self.cost_s(operator, card);
                let fits = |card: &usize| after_s(*card) <= share_s * (1.0 + 1e-9);
                let has_caches = |card: &usize| self.cost_s(operator, *card) <= self.work[operator].block_s;
                let may = || open.iter().copied().filter(|card| self.may(operator, *card));
                let first = |one: &usize, two: &usize| after_s(*one).total_cmp(&after_s(*two));
                let card = home
                    .filter(fits)
                    .or_else(|| may().filter(has_caches).filter(fits).min_by(first))
                    .or_else(|| may().min_by(first));
                if let Some(card) = card {
                    home.get_or_insert(card);
                    self.give(operator, card, vec![*part]);
                }
            }
        }
    }

    fn give(&mut self, operator: usize, card: usize, parts: Vec<Part>) {
        for part in parts {
            self.load_s[card] += self.cost_s(operator, card);
            self.given[operator][card].push(part);
        }
    }

    /// Moves the one block that brings the two cards concerned furthest down; false if no card can be relieved.
    fn move_one(&mut self) -> bool {
        let mut cards: Vec<usize> = (0..self.load_s.len()).filter(|card| self.open[*card]).collect();
        cards.sort_by(|one, two| self.load_s[*two].total_cmp(&self.load_s[*one]));
        for from in &cards {
            let mut best: Option<(f64, usize, usize)> = None;
            for operator in 0..self.work.len() {
                if self.given[operator][*from].is_empty() {
                    continue;
                }
                for to in &cards {
                    let after_s = (self.load_s[*from] - self.work[operator].block_s)
                        .max(self.load_s[*to] + self.cost_s(operator, *to));
                    if to != from
                        && self.may(operator, *to)
                        && best.is_none_or(|(best_s, ..)| after_s < best_s)
                    {
                        best = Some((after_s, operator, *to));
                    }
                }
            }
            // A move must gain more than rounding, or loads that are equal would be moved for ever.
            if let Some((after_s, operator, to)) = best
                && after_s < self.load_s[*from] * (1.0 - 1e-9)
                && let Some(part) = self.given[operator][*from].pop()
            {
                self.load_s[*from] -= self.work[operator].block_s;
                self.give(operator, to, vec![part]);
                return true;
            }
        }
        false
    }

    /// Preparing first, then round after round, so that a campaign that is cut off has as many of each operator. Where there
    /// are several cards a block that is long against what is left goes first, the longest before others: begun last, it
    /// would keep its card at work when all others are done.
    fn shares(self) -> Vec<CardShare> {
        #[allow(clippy::cast_precision_loss, reason = "a machine has few cards")]
        let open = self.open.iter().filter(|open| **open).count() as f64;
        let left_s: f64 =
            (0..self.open.len()).filter(|card| self.open[*card]).map(|card| self.load_s[card]).sum();
        let is_long =
            |block: &(usize, Part)| open > 1.0 && self.work[block.0].block_s * LONG * open >= left_s;
        (0..self.load_s.len())
            .map(|card| {
                let mut blocks: Vec<(usize, Part)> = self
                    .pinned
                    .iter()
                    .filter(|(_, on, _)| *on == card)
                    .map(|(operator, _, part)| (*operator, *part))
                    .collect();
                let pinned = blocks.len();
                for (operator, given) in self.given.iter().enumerate() {
                    blocks.extend(given[card].iter().map(|part| (operator, *part)));
                }
                blocks[pinned..].sort_by(|one, two| {
                    let kind = |block: &(usize, Part)| (block.1 > Part::Prepare, !is_long(block));
                    let length =
                        |block: &(usize, Part)| if is_long(block) { self.work[block.0].block_s } else { 0.0 };
                    kind(one)
                        .cmp(&kind(two))
                        .then(length(two).total_cmp(&length(one)))
                        .then(one.1.cmp(&two.1))
                        .then(one.0.cmp(&two.0))
                });
                CardShare { blocks, load_s: self.load_s[card] }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(number: u32) -> Vec<Part> {
        (1..=number).map(Part::Round).collect()
    }

    fn loads(shares: &[CardShare]) -> Vec<f64> {
        shares.iter().map(|share| share.load_s).collect()
    }

    #[test]
    fn an_operator_heavier_than_a_share_is_spread_by_its_rounds() {
        // 60 s in 6 rounds and 3 times 10 s in 6 rounds on 3 cards: a share is 30 s, and whole operators cannot be below 60.
        let mut work = vec![Work::new(rounds(6), 10.0)];
        work.extend((0..3).map(|_| Work::new(rounds(6), 10.0 / 6.0)));
        let fixed = share(&work, &[Some(0.0); 3], false);
        assert_eq!(loads(&fixed).into_iter().fold(0.0, f64::max), 60.0);
        let moved = share(&work, &[Some(0.0); 3], true);
        let most_s = loads(&moved).into_iter().fold(0.0, f64::max);
        assert!(most_s <= 31.7, "{moved:?}");
        let heavy: Vec<usize> =
            moved.iter().map(|it| it.blocks.iter().filter(|(operator, _)| *operator == 0).count()).collect();
        assert_eq!(heavy.iter().sum::<usize>(), 6);
        assert!(heavy.iter().all(|rounds| *rounds >= 1), "{heavy:?}");
    }

    #[test]
    fn an_operator_stays_where_its_caches_are_until_that_costs_more_than_filling_others() {
        let at = |cold_s| Work { cold_s, warm: vec![0], home: Some(0), ..Work::new(rounds(2), 10.0) };
        let counts = |cold_s| {
            let shares = share(&[at(cold_s)], &[Some(0.0), Some(0.0)], true);
            [shares[0].blocks.len(), shares[1].blocks.len()]
        };
        assert_eq!(counts(11.0), [2, 0]);
        assert_eq!(counts(9.0), [1, 1]);
    }

    #[test]
    fn what_a_card_has_begun_ends_there_and_a_card_that_is_out_gets_nothing() {
        let begun = Work {
            pinned: BTreeMap::from([(Part::Round(2), 1)]),
            home: Some(0),
            ..Work::new(rounds(3), 5.0)
        };
        let all = share(std::slice::from_ref(&begun), &[Some(0.0), Some(100.0), Some(0.0)], true);
        assert_eq!(all[1].blocks, [(0, Part::Round(2))]);
        let without = share(std::slice::from_ref(&begun), &[Some(0.0), None, Some(0.0)], true);
        assert_eq!(without[1], CardShare::default());
        assert_eq!(without[0].blocks.len() + without[2].blocks.len(), 3);
    }

    #[test]
    fn a_card_on_which_a_cell_died_is_avoided_while_there_are_others() {
        let died = Work { avoid: vec![0], home: Some(0), ..Work::new(rounds(4), 5.0) };
        let shares = share(std::slice::from_ref(&died), &[Some(0.0), Some(0.0)], true);
        assert_eq!([shares[0].blocks.len(), shares[1].blocks.len()], [0, 4]);
        let only = share(std::slice::from_ref(&died), &[Some(0.0), None], true);
        assert_eq!(only[0].blocks.len(), 4);
    }

    #[test]
    fn rounds_come_round_by_round_and_preparing_before_them() {
        let work = [
            Work::new(rounds(2), 1.0),
            Work::new(rounds(2), 5.0),
            Work::new(vec![Part::Prepare], 3.0),
            Work::new(vec![Part::Naive(1)], 1.0),
        ];
        let one = share(&work, &[Some(0.0)], true);
        let (r1, r2) = (Part::Round(1), Part::Round(2));
        let expected = [(2, Part::Prepare), (0, r1), (1, r1), (0, r2), (1, r2), (3, Part::Naive(1))];
        assert_eq!(one[0].blocks, expected);
        // With other cards beside it, what is long against a share of what is left goes first.
        let fixed: Vec<Work> = work.iter().cloned().map(|it| Work { home: Some(0), ..it }).collect();
        let two = share(&fixed, &[Some(0.0), Some(0.0)], false);
        assert_eq!(two[0].blocks[..4], [(2, Part::Prepare), (1, r1), (1, r2), (0, r1)]);
    }
}
