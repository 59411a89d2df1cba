//! What cells will take: told by screening, corrected by what rounds took.

use std::collections::{BTreeMap, BTreeSet};

use switchback_model::cell::Purpose;
use switchback_model::outcome::Outcome;
use switchback_model::side::{Pairing, Side};

use super::share::Part;
use crate::state::{Attempt, State};

/// Seconds of a cell of which nothing is known; it decides nothing but what is printed, since it is the same for all.
pub const UNKNOWN_S: f64 = 30.0;

/// What an operator's cells took so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OperatorCosts {
    /// Its tuning cell, seconds; none where it has none yet.
    pub tune_s: Option<f64>,
    /// Its screening cells, A and B.
    pub screen_s: [Option<f64>; 2],
    /// Whole rounds, and the seconds of all their cells together.
    pub rounds: (u32, f64),
    /// Cards with its caches, by their locks' names.
    pub warm: BTreeSet<String>,
    /// The card that ran its first cell.
    pub home: Option<String>,
}

/// What the cells of all operators took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Costs {
    by_operator: BTreeMap<String, OperatorCosts>,
}

impl Costs {
    /// Reads an operator's cells again.
    pub fn refresh(&mut self, operator: &str, state: &State) {
        let mut it = OperatorCosts::default();
        let mut first_s = i64::MAX;
        let mut rounds = BTreeSet::new();
        for (cell, attempts) in state.of_operator(operator) {
            for attempt in attempts {
                let Some(name) = attempt.lock_name().filter(|_| attempt.has_rows()) else { continue };
                if attempt.started_s() < first_s {
                    (first_s, it.home) = (attempt.started_s(), Some(name.clone()));
                }
                it.warm.insert(name);
            }
            let Some(elapsed_s) = elapsed_s(attempts) else { continue };
            match cell.purpose {
                Purpose::Tune(_) => it.tune_s = Some(elapsed_s),
                Purpose::Screen(side) => it.screen_s[usize::from(side == Side::B)] = Some(elapsed_s),
                Purpose::Round(round, _) => {
                    rounds.insert(round);
                }
                Purpose::Run | Purpose::Again(_) | Purpose::Naive(..) => {}
            }
        }
        for round in rounds {
            // One that was measured one process a side after its duet was not proven costs what that cost.
            let whole = [Pairing::Process, Pairing::Duet]
                .into_iter()
                .find_map(|pairing| state.round(operator, round, pairing));
            if let Some(attempts) = whole {
                it.rounds.0 += 1;
                it.rounds.1 += attempts
                    .iter()
                    .filter_map(|attempt| attempt.outcome.as_ref())
                    .map(Outcome::card_s)
                    .sum::<f64>();
            }
        }
        self.by_operator.insert(operator.to_owned(), it);
    }

    /// Takes from another campaign what an operator's cells took there, rounds only where they are paired alike; which cards
    /// have its caches is not taken.
    pub fn know_from(&mut self, operator: &str, there: &State, with_rounds: bool) {
        self.refresh(operator, there);
        if let Some(it) = self.by_operator.get_mut(operator) {
            let rounds = if with_rounds { it.rounds } else { (0, 0.0) };
            *it = OperatorCosts { rounds, warm: BTreeSet::new(), home: None, ..std::mem::take(it) };
        }
    }

    /// Takes what is known of an operator as it is.
    pub fn know(&mut self, operator: &str, costs: OperatorCosts) {
        self.by_operator.insert(operator.to_owned(), costs);
    }

    /// Takes from a table what a pair of an operator's screening cells took.
    pub fn know_pair(&mut self, operator: &str, pair_s: Option<f64>) {
        let half_s = pair_s.map(|pair_s| pair_s / 2.0);
        self.by_operator.entry(operator.to_owned()).or_default().screen_s = [half_s; 2];
    }

    /// What is known of an operator.
    #[must_use]
    pub fn of(&self, operator: &str) -> Option<&OperatorCosts> {
        self.by_operator.get(operator)
    }

    /// Expected values for all operators.
    #[must_use]
    pub fn expected(&self) -> Expected<'_> {
        let operators = self.by_operator.values();
        let (mut took_s, mut screened_s) = (0.0, 0.0);
        let mut prepared = Vec::new();
        let mut least_s = f64::INFINITY;
        for it in operators {
            if let [Some(a_s), Some(b_s)] = it.screen_s {
                prepared.push(it.tune_s.unwrap_or(0.0) + a_s + b_s);
                least_s = least_s.min(a_s).min(b_s);
                if it.rounds.0 > 0 {
                    took_s += it.rounds.1 / f64::from(it.rounds.0);
                    screened_s += a_s + b_s;
                }
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "a campaign has some hundreds of operators")]
        let prepare_s = if prepared.is_empty() {
            UNKNOWN_S
        } else {
            prepared.iter().sum::<f64>() / prepared.len() as f64
        };
        Expected {
            costs: self,
            ratio: if screened_s > 0.0 { took_s / screened_s } else { 1.0 },
            prepare_s,
            least_s: if least_s.is_finite() { least_s } else { 0.0 },
        }
    }
}

/// What cells are expected to take.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    costs: &'a Costs,
    /// A round over the screening cells of its operator, where both are known.
    ratio: f64,
    prepare_s: f64,
    /// The shortest screening cell: what starting a process takes, whatever it compiles.
    least_s: f64,
}

impl Expected<'_> {
    /// Seconds of one block of an operator: the mean of its own rounds, or its screening cells times what rounds took of
    /// theirs elsewhere. One round is two cells of screening length (never an Nth of a campaign).
    #[must_use]
    pub fn block_s(&self, operator: &str, part: Part) -> f64 {
        let Some(it) = self.costs.of(operator) else { return self.prepare_s };
        match part {
            Part::Prepare | Part::Run => match it.screen_s {
                [Some(a_s), Some(b_s)] => a_s + b_s + it.tune_s.unwrap_or(0.0),
                _ => self.prepare_s,
            },
            Part::Round(_) | Part::Naive(_) if it.rounds.0 > 0 => it.rounds.1 / f64::from(it.rounds.0),
            Part::Round(_) | Part::Naive(_) => match it.screen_s {
                [Some(a_s), Some(b_s)] => self.ratio * (a_s + b_s),
                _ => self.prepare_s,
            },
        }
    }

    /// Seconds that a card without the operator's caches takes more: its longer screening cell, which compiled, over the
    /// shortest of all, which hardly did.
    #[must_use]
    pub fn cold_s(&self, operator: &str) -> f64 {
        let Some(it) = self.costs.of(operator) else { return 0.0 };
        let longest_s = it.screen_s.iter().flatten().copied().fold(0.0, f64::max);
        (longest_s - self.least_s).max(0.0)
    }
}

/// Seconds of the card's time of the first attempt that left rows.
fn elapsed_s(attempts: &[Attempt]) -> Option<f64> {
    let attempt = attempts.iter().find(|attempt| attempt.has_rows())?;
    Some(attempt.outcome.as_ref()?.card_s())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::{outcome, state};
    use switchback_model::outcome::Ending;

    fn took(elapsed_s: f64, minute: u32, card: &str) -> Vec<Option<Outcome>> {
        let started_utc = format!("2026-01-01T10:{minute:02}:00Z");
        vec![Some(Outcome { elapsed_s, ..outcome(Ending::Completed, 3, &started_utc, card) })]
    }

    #[test]
    fn screening_tells_a_round_and_rounds_correct_it() {
        let mut costs = Costs::default();
        let screened = [("screen_A", took(20.0, 0, "0")), ("screen_B", took(10.0, 1, "0"))];
        costs.refresh("add", &state(&screened));
        costs.know("sum", OperatorCosts { screen_s: [Some(40.0), Some(40.0)], ..OperatorCosts::default() });
        let round = Part::Round(1);
        let now = |costs: &Costs| {
            let expected = costs.expected();
            [expected.block_s("add", round), expected.block_s("sum", round), expected.cold_s("add")]
        };
        assert_eq!(now(&costs), [30.0, 80.0, 10.0]);
        // Half a round says nothing; a whole one says what rounds of others take, too.
        let [a, b] = screened;
        let half = [a.clone(), b.clone(), ("r1_A", took(7.0, 2, "0"))];
        costs.refresh("add", &state(&half));
        assert_eq!(now(&costs)[..2], [30.0, 80.0]);
        let whole = [a, b, ("r1_A", took(7.0, 2, "0")), ("r1_B", took(8.0, 3, "0"))];
        costs.refresh("add", &state(&whole));
        assert_eq!(now(&costs)[..2], [15.0, 40.0]);
    }

    #[test]
    fn an_operator_belongs_to_the_card_of_its_first_cell() {
        let mut costs = Costs::default();
        costs.refresh("add", &state(&[("r1_AB", took(1.0, 7, "1")), ("screen_A", took(1.0, 3, "0"))]));
        let it = costs.of("add").unwrap();
        assert_eq!(it.home.as_deref(), Some("cpu-0"));
        assert_eq!(it.warm.iter().collect::<Vec<_>>(), ["cpu-0", "cpu-1"]);
    }
}
