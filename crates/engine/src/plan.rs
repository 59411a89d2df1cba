//! What a campaign would do: its cells, their expected seconds, and which card would get which operator.

use std::collections::{BTreeMap, BTreeSet};

use switchback_model::operator::OperatorSpec;
use switchback_model::side::Pairing;
use switchback_model::verdict::ScreenVerdict;

use crate::campaign::Campaign;
use crate::export;
use crate::request::Request;
use crate::schedule::{self, ScreenedOperators};
use crate::screen::Screened;

/// What one operator costs.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedOperator {
    /// The operator, as it was asked for.
    pub operator: String,
    /// Cells it needs, at the most where rounds go by precision.
    pub cells: usize,
    /// Expected seconds; none without a screening to tell.
    pub expected_s: Option<f64>,
    /// The same if it takes the most rounds that its precision allows; equal where all get the same rounds.
    pub most_s: Option<f64>,
    /// Why it would not be measured, if so.
    pub skipped: Option<String>,
    /// True if its code is identical and it would be measured as a control.
    pub control: bool,
}

/// What one card gets.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCard {
    /// The card's index.
    pub device: String,
    /// Its operators, the most expensive first.
    pub operators: Vec<String>,
    /// Expected seconds.
    pub expected_s: f64,
    /// The same if all its operators take the most rounds.
    pub most_s: f64,
}

/// A plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Operators in the order asked for.
    pub operators: Vec<PlannedOperator>,
    /// Cards.
    pub cards: Vec<PlannedCard>,
    /// True if all costs are guesses of equal weight.
    pub unweighted: bool,
    /// The most loaded card over the even share: 1 is perfect.
    pub imbalance: f64,
}

/// What a screening tells of an operator's cost.
#[derive(Debug, Clone)]
pub struct ScreenedCost {
    /// The operator.
    pub operator: OperatorSpec,
    /// What screening said.
    pub screened: Screened,
    /// Seconds of a pair of cells, which is what a round takes; none where the table does not tell.
    pub pair_s: Option<f64>,
}

/// Costs as a campaign's screening tells them.
#[must_use]
pub fn costs(screened: &Campaign) -> Vec<ScreenedCost> {
    let facts = export::screen_facts(screened).unwrap_or_default();
    facts
        .into_iter()
        .map(|it| ScreenedCost {
            operator: it.operator,
            screened: it.screened,
            pair_s: Some(it.elapsed_s.0 + it.elapsed_s.1),
        })
        .collect()
}

/// Plans a request on cards; `screened` tells which operators are measured and how long a pair of cells takes.
#[must_use]
pub fn plan(request: &Request, tunes: bool, devices: &[String], screened: &[ScreenedCost]) -> Plan {
    let by_name: BTreeMap<&str, &ScreenedCost> =
        screened.iter().map(|it| (it.operator.operator.as_str(), it)).collect();
    let a_round = match request.pairing {
        Pairing::Duet => 1,
        Pairing::Process => 2,
    };
    let known: ScreenedOperators = screened
        .iter()
        .map(|it| (it.operator.operator.clone(), it.screened.clone()))
        .filter(|(name, _)| request.operators.iter().any(|operator| operator.operator == *name))
        .collect();
    let controls: BTreeSet<String> = schedule::controls(request, &known).into_iter().collect();
    let operators: Vec<PlannedOperator> = request
        .operators
        .iter()
        .map(|operator| {
            let known = by_name.get(operator.operator.as_str());
            let skipped = known.and_then(|it| match it.screened.verdict {
                ScreenVerdict::IrChanged => None,
                ScreenVerdict::NoIrDiff if controls.contains(&operator.operator) => None,
                verdict => Some(verdict.to_string()),
            });
            let rounds = if skipped.is_some() { 0 } else { a_round * request.most_rounds() as usize };
            let before = if known.is_some() { 0 } else { 2 + usize::from(tunes) };
            // One round of N is two cells of screening length: the expected time is N times a pair, never N/6.
            let seconds = |number: u32| {
                let pair_s = known.and_then(|it| it.pair_s);
                pair_s.map(|pair_s| pair_s * f64::from(number) * f64::from(u8::from(rounds > 0)))
            };
            PlannedOperator {
                operator: operator.to_string(),
                cells: before + rounds,
                expected_s: seconds(request.least_rounds()),
                most_s: seconds(request.most_rounds()),
                skipped,
                control: controls.contains(&operator.operator),
            }
        })
        .collect();
    let unweighted = operators.iter().any(|it| it.skipped.is_none() && it.expected_s.is_none());
    let weights: Vec<(String, f64)> = operators
        .iter()
        .filter(|it| it.skipped.is_none())
        .map(|it| (it.operator.clone(), if unweighted { 1.0 } else { it.expected_s.unwrap_or(0.0) }))
        .collect();
    let mut cards = partition(&weights, devices);
    let growth = f64::from(request.most_rounds()) / f64::from(request.least_rounds().max(1));
    for card in &mut cards {
        card.most_s = card.expected_s * growth;
    }
    let total: f64 = cards.iter().map(|card| card.expected_s).sum();
    let most = cards.iter().map(|card| card.expected_s).fold(0.0, f64::max);
    #[allow(clippy::cast_precision_loss, reason = "a machine has few cards")]
    let share = total / cards.len().max(1) as f64;
    Plan { operators, cards, unweighted, imbalance: if share > 0.0 { most / share } else { 1.0 } }
}

/// Longest first into the least loaded card; equal weights by name, equal loads by order, so that one input has one
/// plan.
#[must_use]
pub fn partition(weights: &[(String, f64)], devices: &[String]) -> Vec<PlannedCard> {
    let mut cards: Vec<PlannedCard> = devices
        .iter()
        .map(|device| PlannedCard {
            device: device.clone(),
            operators: Vec::new(),
            expected_s: 0.0,
            most_s: 0.0,
        })
        .collect();
    let mut weights = weights.to_vec();
    weights.sort_by(|one, two| two.1.total_cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
    for (operator, weight) in weights {
        let least = cards.iter_mut().min_by(|one, two| one.expected_s.total_cmp(&two.expected_s));
        if let Some(card) = least {
            card.operators.push(operator);
            card.expected_s += weight;
        }
    }
    cards
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(pairs: &[(&str, f64)]) -> Vec<(String, f64)> {
        pairs.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
    }

    fn devices(number: usize) -> Vec<String> {
        (0..number).map(|index| index.to_string()).collect()
    }

    #[test]
    fn heavy_first_keeps_cards_even() {
        let it = partition(
            &weights(&[("a", 10.0), ("b", 9.0), ("c", 8.0), ("d", 7.0), ("e", 6.0), ("f", 5.0)]),
            &devices(3),
        );
        assert_eq!(it.iter().map(|card| card.expected_s).collect::<Vec<_>>(), [15.0, 15.0, 15.0]);
    }

    #[test]
    fn the_same_input_in_another_order_gives_the_same_plan() {
        let one = weights(&[("a", 5.0), ("b", 5.0), ("c", 5.0)]);
        let mut two = one.clone();
        two.reverse();
        assert_eq!(partition(&one, &devices(2)), partition(&two, &devices(2)));
    }

    #[test]
    fn more_cards_than_operators_leave_some_empty() {
        let it = partition(&weights(&[("a", 1.0)]), &devices(3));
        assert_eq!(it.iter().filter(|card| card.operators.is_empty()).count(), 2);
    }
}
