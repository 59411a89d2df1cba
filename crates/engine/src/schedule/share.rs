//! Who gets what: blocks of cells onto cards, so that all cards end together.
//!
//! An operator stays on one card, where the compiler's caches are warm, unless that card would end later for it: then
//! single blocks (rounds) move. So an operator that is heavier than a card's share is spread by its rounds. It is a
//! function of expected seconds alone, asked anew whenever a card is free: what cells really took is in the next answer.

use std::collections::BTreeMap;

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
    sharing.give_homes();
    if moves {
        while sharing.move_one() {}
    }
    sharing.shares()
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

    /// Each operator onto its card; those without one, the heaviest first, onto the card that has least.
    fn give_homes(&mut self) {
        let mut homeless = Vec::new();
        for (operator, work) in self.work.iter().enumerate() {
            let mut parts = work.parts.clone();
            parts.retain(|part| match work.pinned.get(part).filter(|card| self.may(operator, **card)) {
                Some(card) => {
                    self.load_s[*card] += self.cost_s(operator, *card);
                    self.pinned.push((operator, *card, *part));
                    false
                }
                None => true,
            });
            if parts.is_empty() {
                continue;
            }
            match work.home.filter(|card| self.may(operator, *card)) {
                Some(card) => self.give(operator, card, parts),
                None => homeless.push((operator, parts)),
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "an operator has few rounds")]
        let weight =
            |(operator, parts): &(usize, Vec<Part>)| self.work[*operator].block_s * parts.len() as f64;
        homeless.sort_by(|one, two| weight(two).total_cmp(&weight(one)));
        for (operator, parts) in homeless {
            if let Some(card) = self.least_loaded(operator) {
                self.give(operator, card, parts);
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

    /// Preparing first, then round after round, so that a campaign that is cut off has as many of each operator; within a
    /// round the longest first, where there are several cards.
    fn shares(self) -> Vec<CardShare> {
        let several = self.open.iter().filter(|open| **open).count() > 1;
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
                    let length =
                        |block: &(usize, Part)| if several { self.work[block.0].block_s } else { 0.0 };
                    one.1.cmp(&two.1).then(length(two).total_cmp(&length(one))).then(one.0.cmp(&two.0))
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
        // With other cards beside it, the longer ones of a round go first: short ones fill the gaps at the end.
        let fixed: Vec<Work> = work.iter().cloned().map(|it| Work { home: Some(0), ..it }).collect();
        let two = share(&fixed, &[Some(0.0), Some(0.0)], false);
        assert_eq!(two[0].blocks[1..3], [(1, r1), (0, r1)]);
    }
}
