//! Which blocks are open, and which cell of a block comes next on a card.

use std::collections::BTreeSet;

use switchback_model::card::Card;
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::side::{Pairing, Side};

use super::share::Part;
use super::{
    ScreenedOperators, all_screened, before_rounds, controls, has_failed_round, measured, next_of_round,
};
use crate::observer::Phase;
use crate::request::{Goal, Request};
use crate::rounds::Rounds;
use crate::state::State;

/// Which operators are measured, and which of them as controls with naive rounds beside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    measured: BTreeSet<String>,
    naive: BTreeSet<String>,
}

impl Roles {
    /// The roles as far as screening has told.
    #[must_use]
    pub fn of(request: &Request, screened: &ScreenedOperators) -> Self {
        // A fixed partition is made of all that is measured, so nobody is measured before it can be made.
        if request.goal != Goal::Ab || request.fixed && !all_screened(request, screened) {
            return Self::default();
        }
        Self {
            measured: measured(request, screened).into_iter().collect(),
            naive: if request.naive {
                controls(request, screened).into_iter().collect()
            } else {
                BTreeSet::new()
            },
        }
    }
}

impl Roles {
    /// True if an operator's role is another than it was.
    #[must_use]
    pub fn differ(&self, before: &Self, operator: &str) -> bool {
        self.measured.contains(operator) != before.measured.contains(operator)
            || self.naive.contains(operator) != before.naive.contains(operator)
    }
}

/// What blocks are asked of.
#[derive(Clone, Copy)]
pub struct Standings<'a> {
    /// The request.
    pub request: &'a Request,
    /// True if the suite's operators have tuners.
    pub tunes: bool,
    /// All attempts.
    pub state: &'a State,
    /// What screening found.
    pub screened: &'a ScreenedOperators,
    /// How many rounds each operator is to have.
    pub rounds: &'a Rounds,
    /// Who is measured.
    pub roles: &'a Roles,
}

impl Standings<'_> {
    /// The cell that comes next if one card does all: what comes before rounds, then the rounds of all operators in turn, then
    /// naive ones.
    #[must_use]
    pub fn next(&self) -> Option<(CellKey, Phase)> {
        let operators = || self.request.operators.iter().map(|it| it.operator.as_str());
        let first = operators().map(|operator| (operator, self.before_rounds()));
        if let Some(cell) = self.first_cell(first) {
            return Some(cell);
        }
        let measured: Vec<(String, u32)> = measured(self.request, self.screened)
            .into_iter()
            .map(|operator| {
                let rounds = self.rounds_of(&operator);
                (operator, rounds)
            })
            .collect();
        let rounds = (1..=self.request.most_rounds()).flat_map(|round| {
            let of_round = measured.iter().filter(move |(_, rounds)| round <= *rounds);
            of_round.map(move |(operator, _)| (operator.as_str(), Part::Round(round)))
        });
        let naive = operators().filter(|operator| self.roles.naive.contains(*operator));
        self.first_cell(rounds.chain(naive.map(|operator| (operator, Part::Naive(1)))))
    }

    fn first_cell<'b>(&self, mut blocks: impl Iterator<Item = (&'b str, Part)>) -> Option<(CellKey, Phase)> {
        blocks.find_map(|(operator, part)| self.next_cells(operator, part, None).into_iter().next())
    }

    /// The block that an operator begins with.
    fn before_rounds(&self) -> Part {
        if self.request.goal == Goal::Run { Part::Run } else { Part::Prepare }
    }

    /// Rounds that an operator is to have: none if it is not measured, or lost one.
    fn rounds_of(&self, operator: &str) -> u32 {
        let is_measured = self.roles.measured.contains(operator)
            && !has_failed_round(self.request, self.state, operator, self.rounds.pairing(operator));
        if is_measured { self.rounds.rounds(operator) } else { 0 }
    }

    /// An operator's blocks that have cells left, in the order in which they are to come.
    #[must_use]
    pub fn open_parts(&self, operator: &str) -> Vec<Part> {
        let mut parts = vec![self.before_rounds()];
        parts.extend((1..=self.rounds_of(operator)).map(Part::Round));
        if self.roles.naive.contains(operator) {
            parts.push(Part::Naive(1));
        }
        parts.retain(|part| !self.next_cells(operator, *part, None).is_empty());
        parts
    }

    /// The cells of a block that are to be run next on a card, beside each other if several may be there; none if the block is
    /// whole or cannot be.
    ///
    /// Without a card: on whichever.
    #[must_use]
    pub fn next_cells(&self, operator: &str, part: Part, card: Option<&Card>) -> Vec<(CellKey, Phase)> {
        let measure = |purpose: Option<Purpose>| purpose.map(|it| (it, Phase::Measure)).into_iter().collect();
        let cells: Vec<(Purpose, Phase)> = match part {
            Part::Prepare | Part::Run => {
                before_rounds(self.request, self.tunes, self.state, self.screened, operator)
            }
            Part::Round(round) => {
                measure(next_of_round(self.state, operator, round, self.rounds.pairing(operator), card))
            }
            Part::Naive(round) => {
                let purpose = |side| Purpose::Naive(round, side);
                measure(self.state.open_side(operator, Side::BOTH, card, purpose).map(purpose))
            }
        };
        let key = |purpose| CellKey { operator: operator.to_owned(), purpose };
        cells.into_iter().map(|(purpose, phase)| (key(purpose), phase)).collect()
    }

    /// The card on which a block was begun so lately that its other cell belongs there, by the name of its lock.
    #[must_use]
    pub fn begun_on(&self, operator: &str, part: Part) -> Option<String> {
        match part {
            Part::Round(round) if self.rounds.pairing(operator) == Pairing::Process => {
                self.state.begun_on(operator, |side| Purpose::Round(round, side.into()))
            }
            Part::Naive(round) => self.state.begun_on(operator, |side| Purpose::Naive(round, side)),
            Part::Round(_) | Part::Prepare | Part::Run => None,
        }
    }
}
