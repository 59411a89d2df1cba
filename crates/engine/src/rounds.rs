//! What rounds each operator gets: how many (the same for all, or as many as its precision takes), and how their sides are
//! paired (as asked, or one process a side where a duet is not proven).
//!
//! Widths are left to [`switchback_stats::rounds_wanted`]. Invariant: a pure function of the request and of the rounds on
//! disk. Operators go in waves: who gets round n + 1 is decided when every operator that is still measured has its round
//! n, by the rounds up to n alone. So a resumed campaign decides as one that was never interrupted, and a decision once
//! made is never made otherwise by later rounds.

use std::collections::BTreeMap;

use switchback_model::side::Pairing;
use switchback_stats::input::{CaseInput, OperatorInput, Settings};
use switchback_stats::stopping::rounds_wanted;

use crate::error::EngineError;
use crate::request::Request;

/// An operator's rounds as far as they are decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allotted {
    /// Rounds that it is to have.
    pub rounds: u32,
    /// Why it gets no more; none while that is open.
    pub stopped: Option<String>,
}

/// The rounds of all operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rounds {
    least: u32,
    pairing: Pairing,
    by_operator: BTreeMap<String, Allotted>,
    fell_back: BTreeMap<String, String>,
}

/// What the rounds on disk say of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Every round that it is to have so far is whole.
    Whole,
    /// Rounds are left.
    Left,
    /// A round's cell failed: no more time is spent on it.
    Failed,
}

impl Rounds {
    /// Before anything is measured.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        Self {
            least: request.least_rounds(),
            pairing: request.pairing,
            by_operator: BTreeMap::new(),
            fell_back: BTreeMap::new(),
        }
    }

    /// How an operator's sides are paired.
    #[must_use]
    pub fn pairing(&self, operator: &str) -> Pairing {
        if self.fell_back.contains_key(operator) { Pairing::Process } else { self.pairing }
    }

    /// Why an operator is measured one process a side although a duet was asked for.
    #[must_use]
    pub fn fell_back(&self, operator: &str) -> Option<&str> {
        self.fell_back.get(operator).map(String::as_str)
    }

    /// From now on an operator is measured one process a side; the first reason stays.
    pub fn fall_back(&mut self, operator: &str, reason: String) {
        self.fell_back.entry(operator.to_owned()).or_insert(reason);
    }

    /// Rounds that an operator is to have, as far as that is decided.
    #[must_use]
    pub fn rounds(&self, operator: &str) -> u32 {
        self.by_operator.get(operator).map_or(self.least, |it| it.rounds)
    }

    /// Why an operator gets no more rounds, where its precision decided that.
    #[must_use]
    pub fn stopped(&self, operator: &str) -> Option<&str> {
        self.by_operator.get(operator)?.stopped.as_deref()
    }

    /// Decides as many waves as the rounds on disk allow; nothing changes where all operators get the same.
    ///
    /// `measured` are the operators that are measured, `progress` says how an operator stands against a number of rounds,
    /// `input` gives the judge's view of its rounds 1 to a number.
    ///
    /// # Errors
    /// Those of `input`.
    pub fn advance(
        &mut self,
        request: &Request,
        measured: &[String],
        progress: impl Fn(&str, u32) -> Progress,
        mut input: impl FnMut(&str, u32) -> Result<OperatorInput, EngineError>,
    ) -> Result<(), EngineError> {
        let Some(precision) = &request.precision else { return Ok(()) };
        let settings = Settings { margin_percent: request.margin_pct, ..Settings::default() };
        loop {
            for operator in measured {
                let least = self.least;
                self.by_operator
                    .entry(operator.clone())
                    .or_insert_with(|| Allotted { rounds: least, stopped: None });
            }
            let (mut active, mut left) = (Vec::new(), false);
            for operator in measured {
                if self.stopped(operator).is_some() {
                    continue;
                }
                match progress(operator, self.rounds(operator)) {
                    Progress::Whole => active.push(operator),
                    Progress::Left => left = true,
                    Progress::Failed => {}
                }
            }
            if left || active.is_empty() {
                return Ok(());
            }
            let inputs = measured
                .iter()
                .map(|operator| input(operator, self.rounds(operator)))
                .collect::<Result<Vec<_>, _>>()?;
            let needs = rounds_wanted(&inputs, &settings, precision);
            for (operator, need) in measured.iter().zip(needs) {
                if !active.contains(&operator) {
                    continue;
                }
                if let Some(it) = self.by_operator.get_mut(operator) {
                    // A round without a usable pair is a round: the most allowed holds for those that were run.
                    if need.wanted && it.rounds < precision.max_rounds {
                        it.rounds += 1;
                    } else if need.wanted {
                        it.stopped = Some(format!(
                            "has the most rounds allowed, {}; {}",
                            precision.max_rounds, need.reason
                        ));
                    } else {
                        it.stopped = Some(need.reason);
                    }
                }
            }
        }
    }
}

/// Puts the cases of single rounds together, in the order in which they first appear.
#[must_use]
pub fn joined(rounds: &[&[CaseInput]]) -> Vec<CaseInput> {
    let mut cases: Vec<CaseInput> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for case in rounds.iter().copied().flatten() {
        match places.get(&case.case) {
            None => {
                places.insert(case.case.clone(), cases.len());
                cases.push(case.clone());
            }
            Some(place) => {
                let it = &mut cases[*place];
                it.rounds.extend(case.rounds.iter().cloned());
                it.host_bound |= case.host_bound;
                it.resolution_us = it.resolution_us.min(case.resolution_us);
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;
    use std::collections::BTreeMap;
    use switchback_stats::{CaseRound, Precision};

    const NAMES: [&str; 4] = ["calm", "coarse", "wild", "broken"];

    /// Rounds of one case whose effect is the same save `scatter` (in percent), up and down by turns.
    fn input(operator: &str, rounds: u32, scatter: f64) -> OperatorInput {
        let one = |round: u32| {
            let sign = if round.is_multiple_of(2) { 1.0 } else { -1.0 };
            let case = CaseInput {
                case: "x".into(),
                timer: "gated".into(),
                rounds: vec![CaseRound::pair(round, 10.0 * (1.0 + 0.01 * sign * scatter), 10.0)],
                ..CaseInput::default()
            };
            vec![case]
        };
        let all: Vec<Vec<CaseInput>> = (1..=rounds).map(one).collect();
        let all: Vec<&[CaseInput]> = all.iter().map(Vec::as_slice).collect();
        OperatorInput { operator: operator.into(), cases: joined(&all), ..OperatorInput::default() }
    }

    fn precise() -> Request {
        Request { precision: Some(Precision { half_width_percent: 1.0, max_rounds: 9 }), ..request() }
    }

    /// Advances as far as the rounds on disk allow, and says what was decided.
    fn advance(rounds: &mut Rounds, on_disk: &BTreeMap<&str, u32>) {
        let measured: Vec<String> = on_disk.keys().map(|name| (*name).to_owned()).collect();
        rounds
            .advance(
                &precise(),
                &measured,
                |name, wanted| match (name, on_disk[name]) {
                    ("broken", _) => Progress::Failed,
                    (_, there) if there >= wanted => Progress::Whole,
                    _ => Progress::Left,
                },
                |name, wanted| {
                    let scatter =
                        BTreeMap::from([("calm", 0.01), ("coarse", 0.6), ("wild", 20.0), ("broken", 1.0)]);
                    Ok(input(name, wanted.min(on_disk[name]), scatter[name]))
                },
            )
            .unwrap();
    }

    #[test]
    fn all_get_the_same_without_a_precision() {
        let mut rounds = Rounds::of(&request());
        let nobody =
            |_: &str, _: u32| -> Result<OperatorInput, EngineError> { panic!("nothing is to be read") };
        rounds.advance(&request(), &["add".to_owned()], |_, _| Progress::Whole, nobody).unwrap();
        assert_eq!((rounds.rounds("add"), rounds.stopped("add")), (3, None));
    }

    #[test]
    fn rounds_go_where_the_width_asks_for_them_and_end_at_the_most() {
        let request = precise();
        let mut rounds = Rounds::of(&request);
        let mut on_disk: BTreeMap<&str, u32> = NAMES.map(|name| (name, 0)).into();
        let mut waves = 0;
        loop {
            advance(&mut rounds, &on_disk);
            let before = on_disk.clone();
            for (name, there) in &mut on_disk {
                *there = if *name == "broken" { 1 } else { rounds.rounds(name) };
            }
            waves += 1;
            // However far a campaign came, whoever starts again from its folder decides the same.
            let mut again = Rounds::of(&request);
            advance(&mut again, &before);
            assert_eq!(again, rounds);
            if before == on_disk {
                break;
            }
        }
        assert_eq!(rounds.rounds("calm"), 3);
        assert!((4..9).contains(&rounds.rounds("coarse")), "{rounds:?}");
        assert_eq!(rounds.rounds("wild"), 9);
        assert_eq!(rounds.rounds("broken"), 3);
        assert_eq!(waves, 9 - 3 + 2);
        assert!(rounds.stopped("calm").unwrap().contains("at most 1 %"), "{rounds:?}");
        assert!(rounds.stopped("wild").unwrap().contains("most rounds allowed, 9"), "{rounds:?}");
        assert_eq!(rounds.stopped("broken"), None);
    }

    #[test]
    fn nothing_is_decided_while_one_operator_lacks_a_round() {
        let mut rounds = Rounds::of(&precise());
        let mut on_disk: BTreeMap<&str, u32> = NAMES.map(|name| (name, 3)).into();
        on_disk.insert("coarse", 2);
        advance(&mut rounds, &on_disk);
        assert!(NAMES.iter().all(|name| rounds.rounds(name) == 3 && rounds.stopped(name).is_none()));
    }

    #[test]
    fn cases_of_single_rounds_join_by_name() {
        let case = |name: &str, round| CaseInput {
            case: name.into(),
            rounds: vec![CaseRound::pair(round, 1.0, 2.0)],
            ..CaseInput::default()
        };
        let (one, two) = (vec![case("a", 1), case("b", 1)], vec![case("b", 2), case("c", 2)]);
        let cases = joined(&[&one, &two]);
        let told: Vec<(&str, usize)> =
            cases.iter().map(|case| (case.case.as_str(), case.rounds.len())).collect();
        assert_eq!(told, [("a", 1), ("b", 2), ("c", 1)]);
    }
}
