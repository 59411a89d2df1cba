//! What a campaign would do: its cells, their expected seconds, and which card would get what.
//!
//! The cards' lists come from the function that shares work out while a campaign runs, so a plan is what would happen if
//! every cell took what is expected of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use switchback_model::operator::OperatorSpec;
use switchback_model::side::Pairing;
use switchback_store::campaign_dir::CampaignDir;

use crate::campaign::Campaign;
use crate::export;
use crate::request::Request;
use crate::schedule::costs::{Costs, UNKNOWN_S};
use crate::schedule::share::{CardShare, Part, Work, share};
use crate::schedule::{self, ScreenedOperators};
use crate::screen::Screened;

/// Where expected seconds come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Times {
    /// From a folder that was named.
    Named(PathBuf),
    /// From an earlier campaign of this suite that was found.
    Earlier(PathBuf),
    /// From nothing: every cell is taken for [`UNKNOWN_S`].
    Nothing,
}

/// What one operator costs.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedOperator {
    /// The operator, as it was asked for.
    pub operator: String,
    /// Cells it needs, at the most where rounds go by precision.
    pub cells: usize,
    /// Expected seconds.
    pub expected_s: f64,
    /// The same if it takes the most rounds that its precision allows; equal where all get the same rounds.
    pub most_s: f64,
    /// True if its own screening or rounds tell the seconds.
    pub known: bool,
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
    /// Its operators in the order in which it first takes them, with the number of their rounds that it takes.
    pub operators: Vec<(String, usize)>,
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
    /// Where expected seconds come from.
    pub times: Times,
    /// Seconds until the last card is done.
    pub makespan_s: f64,
    /// Seconds a card if all were even.
    pub fair_share_s: f64,
    /// The operator that costs most, by its place.
    pub heaviest: Option<usize>,
}

impl Plan {
    /// The most loaded card over the even share: 1 is perfect.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        if self.fair_share_s > 0.0 { self.makespan_s / self.fair_share_s } else { 1.0 }
    }

    /// True if an operator alone is more than a card's even share.
    #[must_use]
    pub fn is_spread(&self, operator: usize) -> bool {
        self.operators[operator].expected_s > self.fair_share_s
    }
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

/// Plans a request on cards; `known` tells which operators are measured and how long a pair of cells takes, `from` the
/// campaign whose rounds tell it better, where there is one.
#[must_use]
pub fn plan(
    request: &Request,
    tunes: bool,
    devices: &[String],
    known: &[ScreenedCost],
    from: Option<&Campaign>,
    times: Times,
) -> Plan {
    let mut costs = Costs::default();
    for it in known {
        costs.know_pair(&it.operator.operator, it.pair_s);
    }
    for operator in request.operators.iter().map(|it| &it.operator) {
        if let Some(campaign) = from.filter(|from| from.state().of_operator(operator).next().is_some()) {
            let with_rounds = campaign.request.pairing == request.pairing;
            costs.know_from(operator, campaign.state(), with_rounds);
        }
    }
    // What an earlier campaign found of another switch says nothing of this one's.
    let known = if matches!(times, Times::Named(_)) { verdicts(request, known) } else { BTreeMap::new() };
    let controls: BTreeSet<String> = schedule::controls(request, &known).into_iter().collect();
    let expected = costs.expected();
    let a_round = match request.pairing {
        Pairing::Duet => 1,
        Pairing::Process => 2,
    };
    let mut work = Vec::new();
    let mut operators = Vec::new();
    for spec in &request.operators {
        let name = &spec.operator;
        let verdict = known.get(name).map(|it| it.verdict);
        let control = controls.contains(name);
        let skipped = verdict.filter(|it| !control && !request.measures(*it)).map(|it| it.to_string());
        let measured = skipped.is_none();
        let rounds = if measured { request.least_rounds() } else { 0 };
        let most_rounds = if measured { request.most_rounds() } else { 0 };
        let cells_before = if verdict.is_some() { 0 } else { 2 + usize::from(request.tunes(name, tunes)) };
        let before_s = if verdict.is_some() { 0.0 } else { expected.block_s(name, Part::Prepare) };
        let round_s = expected.block_s(name, Part::Round(1));
        operators.push(PlannedOperator {
            operator: spec.to_string(),
            cells: cells_before + a_round * most_rounds as usize,
            expected_s: before_s + round_s * f64::from(rounds),
            most_s: before_s + round_s * f64::from(most_rounds),
            known: costs.of(name).is_some_and(|it| it.screen_s.iter().all(Option::is_some)),
            skipped,
            control,
        });
        let mut it = Work::new((1..=rounds).map(Part::Round).collect(), round_s);
        it.cold_s = expected.cold_s(name);
        work.push((it, before_s));
    }
    let shares = shared(&work, devices.len(), !request.fixed);
    let total_s: f64 = operators.iter().map(|it| it.expected_s).sum();
    let cards = cards(request, devices, &operators, &shares);
    #[allow(clippy::cast_precision_loss, reason = "a machine has few cards")]
    let fair_share_s = total_s / devices.len().max(1) as f64;
    let heaviest =
        (0..operators.len()).filter(|place| operators[*place].skipped.is_none()).max_by(|one, two| {
            operators[*one].expected_s.total_cmp(&operators[*two].expected_s).then(two.cmp(one))
        });
    Plan {
        makespan_s: cards.iter().map(|card| card.expected_s).fold(0.0, f64::max),
        operators,
        cards,
        times,
        fair_share_s,
        heaviest,
    }
}

/// What screening said of a request's operators.
#[must_use]
pub fn verdicts(request: &Request, known: &[ScreenedCost]) -> ScreenedOperators {
    known
        .iter()
        .map(|it| (it.operator.operator.clone(), it.screened.clone()))
        .filter(|(name, _)| request.operators.iter().any(|operator| operator.operator == *name))
        .collect()
}

/// The fixed partition of what a request measures onto so many cards, by the seconds of a pair of cells; none while
/// operators of it are still to be screened. Each card's operators, and the seconds of all their rounds.
#[must_use]
pub fn fixed(
    request: &Request,
    screened: &ScreenedOperators,
    pair_s: impl Fn(&str) -> Option<f64>,
    cards: usize,
) -> Option<Vec<(Vec<String>, f64)>> {
    if !schedule::all_screened(request, screened) {
        return None;
    }
    let weights: Vec<(String, f64)> = schedule::measured(request, screened)
        .into_iter()
        .map(|operator| {
            let weight_s = pair_s(&operator).unwrap_or(0.0) * f64::from(request.least_rounds());
            (operator, weight_s)
        })
        .collect();
    Some(partition(&weights, cards))
}

/// Shares rounds out, with what comes before them as a block of its own on whichever card is least loaded.
fn shared(work: &[(Work, f64)], cards: usize, moves: bool) -> Vec<CardShare> {
    let all: Vec<Work> = work
        .iter()
        .map(|(rounds, before_s)| Work {
            block_s: *before_s,
            parts: if *before_s > 0.0 { vec![Part::Prepare] } else { Vec::new() },
            ..rounds.clone()
        })
        .collect();
    let before = share(&all, &vec![Some(0.0); cards], moves);
    let mut rounds: Vec<Work> = work.iter().map(|(rounds, _)| rounds.clone()).collect();
    for (card, share) in before.iter().enumerate() {
        for (operator, _) in &share.blocks {
            rounds[*operator].home = Some(card);
            rounds[*operator].warm = vec![card];
        }
    }
    if !moves {
        // A fixed partition is made when screening is done, whoever screened.
        rounds.iter_mut().for_each(|it| it.home = None);
    }
    let busy_s: Vec<Option<f64>> = before.iter().map(|share| Some(share.load_s)).collect();
    let mut shares = share(&rounds, &busy_s, moves);
    for (share, before) in shares.iter_mut().zip(before) {
        share.blocks.splice(0..0, before.blocks);
    }
    shares
}

fn cards(
    request: &Request,
    devices: &[String],
    operators: &[PlannedOperator],
    shares: &[CardShare],
) -> Vec<PlannedCard> {
    devices
        .iter()
        .zip(shares)
        .map(|(device, share)| {
            let mut of_card: Vec<(usize, usize)> = Vec::new();
            let mut most_s = share.load_s;
            for (operator, part) in &share.blocks {
                let rounds = usize::from(matches!(part, Part::Round(_)));
                match of_card.iter_mut().find(|(place, _)| place == operator) {
                    Some((_, number)) => *number += rounds,
                    None => of_card.push((*operator, rounds)),
                }
                if rounds > 0 {
                    let more_s = operators[*operator].most_s - operators[*operator].expected_s;
                    most_s += more_s / f64::from(request.least_rounds().max(1));
                }
            }
            PlannedCard {
                device: device.clone(),
                operators: of_card
                    .into_iter()
                    .map(|(place, rounds)| (request.operators[place].operator.clone(), rounds))
                    .collect(),
                expected_s: share.load_s,
                most_s,
            }
        })
        .collect()
}

/// The latest campaign below a folder of runs that screened operators of this suite under these options.
#[must_use]
pub fn earlier(runs: &Path, request: &Request) -> Option<PathBuf> {
    let comparable = |other: &Request| {
        let options =
            |it: &Request| (it.options.level.clone(), it.options.mode.clone(), it.options.shape_file.clone());
        other.suite == request.suite
            && options(other) == options(request)
            && other.operators.iter().any(|operator| request.operators.contains(operator))
    };
    let found = std::fs::read_dir(runs).ok()?.flatten().filter_map(|entry| {
        let dir = CampaignDir::open(&entry.path()).ok()?;
        let other: Request = dir.request().ok()?;
        comparable(&other).then(|| (other.created_utc, entry.path()))
    });
    found.max().map(|(_, path)| path)
}

/// Operators onto cards for those who start cards by hand: the longest first into the emptiest, equal weights by name, equal loads
/// by order, so that one input has one partition. Returns each card's operators and weight.
#[must_use]
pub fn partition(weights: &[(String, f64)], cards: usize) -> Vec<(Vec<String>, f64)> {
    let mut weights = weights.to_vec();
    weights.sort_by(|one, two| two.1.total_cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
    let mut partition: Vec<(Vec<String>, f64)> = vec![(Vec::new(), 0.0); cards];
    for (operator, weight) in weights {
        let least = partition.iter_mut().min_by(|one, two| one.1.total_cmp(&two.1));
        if let Some((operators, load)) = least {
            operators.push(operator);
            *load += weight;
        }
    }
    partition
}

/// Seconds that stand for a cell of which nothing is known.
#[must_use]
pub fn unknown_s() -> f64 {
    UNKNOWN_S
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;

    fn weights(pairs: &[(&str, f64)]) -> Vec<(String, f64)> {
        pairs.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
    }

    #[test]
    fn heavy_first_keeps_cards_even() {
        let all = [("a", 10.0), ("b", 9.0), ("c", 8.0), ("d", 7.0), ("e", 6.0), ("f", 5.0)];
        let it = partition(&weights(&all), 3);
        assert_eq!(it.iter().map(|(_, load)| *load).collect::<Vec<_>>(), [15.0, 15.0, 15.0]);
    }

    #[test]
    fn the_same_input_in_another_order_gives_the_same_partition() {
        let one = weights(&[("a", 5.0), ("b", 5.0), ("c", 5.0)]);
        let mut two = one.clone();
        two.reverse();
        assert_eq!(partition(&one, 2), partition(&two, 2));
        assert_eq!(partition(&one, 5).iter().filter(|(operators, _)| operators.is_empty()).count(), 2);
    }

    #[test]
    fn a_plan_of_unknown_operators_says_so_and_still_shares_them() {
        let mut request = request();
        request.operators = (0..6).map(|index| format!("op{index}").parse().unwrap()).collect();
        let devices = ["0".to_owned(), "1".to_owned()];
        let it = plan(&request, true, &devices, &[], None, Times::Nothing);
        // Three cells before, then three rounds of two; a block before them and three rounds, each of the unknown length.
        assert!(it.operators.iter().all(|it| it.cells == 3 + 6 && !it.known && it.skipped.is_none()));
        assert_eq!(it.operators[0].expected_s, 4.0 * UNKNOWN_S);
        assert_eq!((it.makespan_s, it.fair_share_s), (12.0 * UNKNOWN_S, 12.0 * UNKNOWN_S));
        assert_eq!(it.imbalance(), 1.0);
        let rounds: usize = it.cards.iter().flat_map(|card| &card.operators).map(|(_, rounds)| rounds).sum();
        assert_eq!(rounds, 18);
    }
}
