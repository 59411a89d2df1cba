//! What is to be run next: a pure function of the request and of what is done.
//!
//! `blocks` says which cells belong together on one card, `costs` what they will take, `share` which card gets them.

pub mod blocks;
pub mod costs;
pub mod share;

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use sha2::{Digest, Sha256};
use switchback_model::card::Card;
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::side::{CellSides, Pairing, Side};
use switchback_model::verdict::ScreenVerdict;

use self::blocks::{Roles, Standings};
use crate::observer::Phase;
use crate::request::{Goal, Request};
use crate::rounds::{Progress, Rounds};
use crate::screen::{Again, Screened};
use crate::state::{Standing, State};

/// What screening found, by operator; an operator that is not in it is not screened yet.
pub type ScreenedOperators = BTreeMap<String, Screened>;

/// The next cell if one card does all, or none if all is done that can be.
#[must_use]
pub fn next(
    request: &Request,
    tunes: bool,
    state: &State,
    screened: &ScreenedOperators,
    rounds: &Rounds,
) -> Option<(CellKey, Phase)> {
    let roles = Roles::of(request, screened);
    Standings { request, tunes, state, screened, rounds, roles: &roles }.next()
}

/// True once an operator's verdict of screening is final: it may want another compilation of side A before.
#[must_use]
pub fn is_screened(screened: &ScreenedOperators, operator: &str) -> bool {
    screened.get(operator).is_some_and(|it| it.again != Again::Wanted)
}

/// True once all operators' verdicts of screening are final.
#[must_use]
pub fn all_screened(request: &Request, screened: &ScreenedOperators) -> bool {
    request.operators.iter().all(|operator| is_screened(screened, &operator.operator))
}

/// What an operator needs next before rounds can be measured: tuning, then both sides' code (or the one run). Neither side's
/// screening waits for the other's, so the cells of a step may run beside each other.
fn before_rounds(
    request: &Request,
    tunes: bool,
    state: &State,
    screened: &ScreenedOperators,
    operator: &str,
) -> Vec<(Purpose, Phase)> {
    if is_screened(screened, operator) {
        return Vec::new();
    }
    let if_open = |purpose: Purpose, phase| match state.standing(operator, purpose) {
        Standing::Open => vec![(purpose, phase)],
        Standing::Failed(_) | Standing::Done(_) => Vec::new(),
    };
    if screened.contains_key(operator) {
        return if_open(Purpose::Again(Side::A), Phase::Screen);
    }
    if request.tunes(operator, tunes) {
        let tune = Purpose::Tune(request.tune_on);
        match state.standing(operator, tune) {
            Standing::Open => return vec![(tune, Phase::Tune)],
            // What cannot even tune cannot be screened: its tuning cell is the evidence.
            Standing::Failed(_) => return Vec::new(),
            Standing::Done(_) => {}
        }
    }
    if request.goal == Goal::Run {
        return if_open(Purpose::Run, Phase::Measure);
    }
    // Without A there is nothing to compare with. B's failure is a finding, and what it says depends on A.
    if state.is_failed(operator, Purpose::Screen(Side::A)) {
        return Vec::new();
    }
    Side::BOTH.into_iter().flat_map(|side| if_open(Purpose::Screen(side), Phase::Screen)).collect()
}

/// The cell of a round that is to be run next, on that card or on any; none if the round is whole or cannot be.
fn next_of_round(
    state: &State,
    operator: &str,
    round: u32,
    pairing: Pairing,
    card: Option<&Card>,
) -> Option<Purpose> {
    match pairing {
        Pairing::Duet => {
            let purpose = Purpose::Round(round, CellSides::Both);
            matches!(state.standing(operator, purpose), Standing::Open).then_some(purpose)
        }
        Pairing::Process => state
            .open_side(operator, side_order(round), card, |side| Purpose::Round(round, side.into()))
            .map(|side| Purpose::Round(round, side.into())),
    }
}

/// True if a round's cell ended without rows: no verdict can come of the operator, so no more time is spent on it.
#[must_use]
pub fn has_failed_round(request: &Request, state: &State, operator: &str, pairing: Pairing) -> bool {
    (1..=request.most_rounds()).any(|round| is_failed_round(state, operator, round, pairing))
}

/// True if a cell of a round ended without rows and trying again would not help.
#[must_use]
pub fn is_failed_round(state: &State, operator: &str, round: u32, pairing: Pairing) -> bool {
    let purposes: &[CellSides] = match pairing {
        Pairing::Duet => &[CellSides::Both],
        Pairing::Process => &[CellSides::A, CellSides::B],
    };
    purposes.iter().any(|sides| state.is_failed(operator, Purpose::Round(round, *sides)))
}

/// How an operator stands against a number of rounds; what failed later says nothing of the rounds before.
#[must_use]
pub fn progress(state: &State, operator: &str, rounds: u32, pairing: Pairing) -> Progress {
    let mut it = Progress::Whole;
    for round in 1..=rounds {
        if state.round(operator, round, pairing).is_some() {
            continue;
        }
        if is_failed_round(state, operator, round, pairing) {
            return Progress::Failed;
        }
        it = Progress::Left;
    }
    it
}

/// Which side goes first in a round: they alternate, to cancel drift in one direction.
#[must_use]
pub fn side_order(round: u32) -> [Side; 2] {
    if round % 2 == 1 { [Side::A, Side::B] } else { [Side::B, Side::A] }
}

/// Operators that are measured: those whose code changed, in the order asked for, then the controls.
#[must_use]
pub fn measured(request: &Request, screened: &ScreenedOperators) -> Vec<String> {
    let changed = request
        .operators
        .iter()
        .map(|operator| operator.operator.clone())
        .filter(|name| is_screened(screened, name) && screened[name].verdict == ScreenVerdict::IrChanged)
        .filter(|_| request.measures(ScreenVerdict::IrChanged));
    changed.chain(controls(request, screened)).collect()
}

/// Operators with identical code that are measured on purpose, drawn with the request's seed.
///
/// Drawn only when all operators are screened, so that the draw does not depend on the order in which they finish.
#[must_use]
pub fn controls(request: &Request, screened: &ScreenedOperators) -> Vec<String> {
    let identical: Vec<String> = request
        .operators
        .iter()
        .map(|operator| operator.operator.clone())
        .filter(|name| screened.get(name).is_some_and(|it| it.verdict == ScreenVerdict::NoIrDiff))
        .collect();
    if request.measures(ScreenVerdict::NoIrDiff) {
        return identical;
    }
    if !all_screened(request, screened) {
        return Vec::new();
    }
    let mut drawn = identical.clone();
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed(request.seed, &["controls"]));
    drawn.shuffle(&mut random);
    let drawn: BTreeSet<String> =
        drawn.into_iter().take(request.controls.number(request, screened)).collect();
    identical.into_iter().filter(|name| drawn.contains(name)).collect()
}

/// A seed for one draw, from the request's and the names of what is drawn: independent draws, each repeatable.
#[must_use]
pub fn seed(request: u64, names: &[&str]) -> u64 {
    let mut hasher = Sha256::new();
    hasher.update(request.to_le_bytes());
    for name in names {
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    let digest = hasher.finalize();
    // 53 bits: what a reader in another language takes for a number must be the same number.
    u64::from_le_bytes(digest[..8].try_into().unwrap_or_default()) >> 11
}

/// Cells that a campaign needs in all, as far as screening has told.
#[must_use]
pub fn total_cells(request: &Request, tunes: bool, screened: &ScreenedOperators, given: &Rounds) -> usize {
    let of_each = match request.goal {
        Goal::Run => 1,
        Goal::Screen | Goal::Ab => 2,
    };
    let before: usize = request
        .operators
        .iter()
        .map(|operator| of_each + usize::from(request.tunes(&operator.operator, tunes)))
        .sum();
    let a_round = |operator: &str| match given.pairing(operator) {
        Pairing::Duet => 1,
        Pairing::Process => 2,
    };
    let rounds = if request.goal == Goal::Ab {
        measured(request, screened)
            .iter()
            .map(|operator| a_round(operator) * given.rounds(operator) as usize)
            .sum::<usize>()
            + if request.naive { controls(request, screened).len() * 2 } else { 0 }
    } else {
        0
    };
    let again = screened.values().filter(|it| it.again != Again::NotNeeded).count();
    before + again + rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::Controls;
    use crate::request::tests::request;
    use crate::state::tests::{outcome, state};
    use switchback_model::outcome::{Ending, Outcome};

    fn done() -> Option<Outcome> {
        Some(outcome(Ending::Completed, 3, &jiff::Timestamp::now().to_string(), "0"))
    }

    fn failed() -> Option<Outcome> {
        Some(outcome(Ending::Failed, 0, &jiff::Timestamp::now().to_string(), "0"))
    }

    fn screened(verdict: ScreenVerdict) -> Screened {
        Screened::of(verdict)
    }

    fn one_operator() -> Request {
        let mut it = request();
        it.operators.truncate(1);
        it
    }

    fn name(next: Option<(CellKey, Phase)>) -> Option<String> {
        next.map(|(cell, _)| cell.purpose.to_string())
    }

    #[test]
    fn tuning_then_both_sides_then_rounds_in_alternating_order() {
        let request = one_operator();
        let changed = BTreeMap::from([("add".to_owned(), screened(ScreenVerdict::IrChanged))]);
        let none = BTreeMap::new();
        let mut cells: Vec<(&str, Vec<Option<Outcome>>)> = Vec::new();
        let order = ["tune_A", "screen_A", "screen_B", "r1_A", "r1_B", "r2_B", "r2_A", "r3_A", "r3_B"];
        for (index, expected) in order.iter().enumerate() {
            let screened = if index < 3 { &none } else { &changed };
            assert_eq!(
                name(next(&request, true, &state(&cells), screened, &Rounds::of(&request))).as_deref(),
                Some(*expected)
            );
            cells.push((expected, vec![done()]));
        }
        assert_eq!(next(&request, true, &state(&cells), &changed, &Rounds::of(&request)), None);
    }

    #[test]
    fn a_cell_is_next_as_long_as_a_block_is_open_and_it_is_one_of_a_block_s() {
        let request = Request { controls: Controls::Number(1), naive: true, rounds: 2, ..one_operator() };
        let same = BTreeMap::from([("add".to_owned(), screened(ScreenVerdict::NoIrDiff))]);
        let (none, rounds) = (BTreeMap::new(), Rounds::of(&request));
        let mut cells: Vec<String> = Vec::new();
        loop {
            let there: Vec<_> = cells.iter().map(|cell| (cell.as_str(), vec![done()])).collect();
            let (state, screened) = (state(&there), if cells.len() < 2 { &none } else { &same });
            let roles = Roles::of(&request, screened);
            let standings = Standings {
                request: &request,
                tunes: false,
                state: &state,
                screened,
                rounds: &rounds,
                roles: &roles,
            };
            let open: Vec<String> = standings
                .open_parts("add")
                .into_iter()
                .flat_map(|part| standings.next_cells("add", part, None))
                .filter_map(|next| name(Some(next)))
                .collect();
            let Some(next) = name(standings.next()) else {
                assert!(open.is_empty(), "{open:?}");
                break;
            };
            assert!(open.contains(&next), "{next}: {open:?}");
            cells.push(next);
        }
        assert_eq!(cells, ["screen_A", "screen_B", "r1_A", "r1_B", "r2_B", "r2_A", "naive1_A", "naive1_B"]);
    }

    #[test]
    fn a_doubted_difference_waits_for_another_compilation() {
        let mut request = request();
        request.controls = Controls::Number(1);
        let doubted = Screened { again: Again::Wanted, ..screened(ScreenVerdict::IrChanged) };
        let names: Vec<String> = request.operators.iter().map(|it| it.operator.clone()).collect();
        let mut all: ScreenedOperators = names
            .iter()
            .map(|name| (name.clone(), screened(ScreenVerdict::NoIrDiff)))
            .chain([("add".to_owned(), doubted)])
            .collect();
        let rounds = Rounds::of(&request);
        assert_eq!(name(next(&request, false, &state(&[]), &all, &rounds)).as_deref(), Some("again_A"));
        // Neither it nor a control is measured while a verdict is open.
        assert_eq!(measured(&request, &all), Vec::<String>::new());
        assert_eq!(total_cells(&request, false, &all, &rounds), 2 * names.len() + 1);
        all.get_mut("add").unwrap().again = Again::Ran;
        assert_eq!(measured(&request, &all).len(), 2);
        assert_eq!(name(next(&request, false, &state(&[]), &all, &rounds)).as_deref(), Some("r1_A"));
    }

    #[test]
    fn identical_code_is_not_measured_unless_asked_for() {
        let mut request = one_operator();
        let same = BTreeMap::from([("add".to_owned(), screened(ScreenVerdict::NoIrDiff))]);
        assert_eq!(next(&request, false, &state(&[]), &same, &Rounds::of(&request)), None);
        request.measure_identical = true;
        assert_eq!(
            name(next(&request, false, &state(&[]), &same, &Rounds::of(&request))).as_deref(),
            Some("r1_A")
        );
        request.measure_identical = false;
        request.controls = Controls::Number(1);
        request.pairing = Pairing::Duet;
        assert_eq!(
            name(next(&request, false, &state(&[]), &same, &Rounds::of(&request))).as_deref(),
            Some("r1_AB")
        );
    }

    #[test]
    fn no_time_is_spent_on_an_operator_that_lost_a_round() {
        let request = one_operator();
        let changed = BTreeMap::from([("add".to_owned(), screened(ScreenVerdict::IrChanged))]);
        let it = state(&[("r1_A", vec![done()]), ("r1_B", vec![failed()])]);
        assert_eq!(next(&request, false, &it, &changed, &Rounds::of(&request)), None);
    }

    #[test]
    fn a_round_that_fails_later_leaves_those_before_it_whole() {
        let request = Request { pairing: Pairing::Duet, ..one_operator() };
        let it = state(&[("r1_AB", vec![done()]), ("r2_AB", vec![done()]), ("r4_AB", vec![failed()])]);
        let told = [2, 3, 4].map(|rounds| progress(&it, "add", rounds, request.pairing));
        assert_eq!(told, [Progress::Whole, Progress::Left, Progress::Failed]);
    }

    #[test]
    fn what_cannot_tune_or_run_is_left() {
        let request = one_operator();
        let tuning = state(&[("tune_A", vec![failed()])]);
        assert_eq!(next(&request, true, &tuning, &BTreeMap::new(), &Rounds::of(&request)), None);
        let screening = state(&[("screen_A", vec![failed()])]);
        assert_eq!(next(&request, false, &screening, &BTreeMap::new(), &Rounds::of(&request)), None);
    }

    #[test]
    fn a_side_that_was_cut_off_goes_on_though_the_other_failed() {
        let request = one_operator();
        let in_company = || Some(Outcome { shared: true, ..failed().unwrap() });
        let cut_off = || Some(Outcome { ending: Ending::Interrupted, ..failed().unwrap() });
        let next_after = |a: Vec<Option<Outcome>>, b: Vec<Option<Outcome>>| {
            let it = state(&[("screen_A", a), ("screen_B", b)]);
            name(next(&request, false, &it, &BTreeMap::new(), &Rounds::of(&request)))
        };
        // Both failed in company; B failed by itself as well, and A was cut off.
        let b_failed = || vec![in_company(), failed()];
        assert_eq!(next_after(vec![in_company(), cut_off()], b_failed()).as_deref(), Some("screen_A"));
        assert_eq!(next_after(vec![in_company(), done()], b_failed()), None);
        // A that failed closes the step, whatever B is.
        assert_eq!(next_after(b_failed(), vec![in_company(), cut_off()]), None);
    }

    #[test]
    fn controls_are_drawn_by_seed_after_all_are_screened() {
        let mut request = request();
        request.operators = (0..10).map(|index| format!("op{index}").parse().unwrap()).collect();
        request.controls = Controls::Number(3);
        let all: ScreenedOperators = request
            .operators
            .iter()
            .map(|operator| (operator.operator.clone(), screened(ScreenVerdict::NoIrDiff)))
            .collect();
        let drawn = controls(&request, &all);
        assert_eq!(drawn.len(), 3);
        assert_eq!(controls(&request, &all), drawn);
        let draws: BTreeSet<Vec<String>> = (0..20)
            .map(|seed| {
                request.seed = seed;
                controls(&request, &all)
            })
            .collect();
        assert!(draws.len() > 5);
        let mut some = all.clone();
        some.remove("op9");
        assert!(controls(&request, &some).is_empty());
    }

    #[test]
    fn seeds_differ_by_name_and_fit_a_double() {
        let (one, two) = (seed(1, &["ab", "c"]), seed(1, &["a", "bc"]));
        assert_ne!(one, two);
        assert!(one < (1 << 53));
    }
}
