//! Rounds as the judge wants them: each case's latency on both sides, or why it has none.
//!
//! A row's one figure is left to `latency`, all conclusions to the judge. Invariant: a round that does not count carries the
//! reason, and the case's notes name it.

mod latency;

use std::collections::{BTreeMap, BTreeSet};

use switchback_model::case::CaseKey;
use switchback_model::event::{Row, Timer};
use switchback_model::side::{Pairing, Side};
use switchback_stats::input::{CaseInput, CaseRound};

use crate::evidence::Evidence;
use crate::screen::{Screened, same_code};

pub use latency::latency;

/// A case whose clock differs by more than this between its sides, percent, is labelled.
///
/// Sides that share one thermal state were seen within 0.1 % of each other, also at the card's power limit.
const CLOCKS_APART_PERCENT: f64 = 0.5;

/// One round's evidence: of one attempt a side, or of one attempt for both.
#[derive(Debug, Clone, Copy)]
pub struct RoundEvidence<'a> {
    /// The round, from 1.
    pub round: u32,
    /// What measured A.
    pub a: &'a Evidence,
    /// What measured B; the same as `a` in duet pairing.
    pub b: &'a Evidence,
}

/// A case's rounds and what is to be said of it.
#[derive(Debug, Clone)]
pub struct MeasuredCase {
    /// The case.
    pub case: CaseKey,
    /// For the judge.
    pub input: CaseInput,
    /// The timer of its rows, if they agree.
    pub timer: Option<Timer>,
    /// Sentences.
    pub notes: Vec<String>,
    /// The side on which it fails or has no row, and in how many rounds if not in all.
    pub fault: Option<String>,
    /// Why its duet is not proven: the first round's reason, with the round.
    pub unproven: Option<String>,
    /// The card's clock before A's blocks and B's, MHz, mean over rounds, where the gate read both.
    pub clock_mhz: Option<(f64, f64)>,
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Puts an operator's rounds together, cases in the order in which they first appear.
#[must_use]
pub fn measured_cases(
    rounds: &[RoundEvidence<'_>],
    pairing: Pairing,
    screened: &Screened,
    screen_evidence: [Option<&Evidence>; 2],
) -> Vec<MeasuredCase> {
    let mut order: Vec<CaseKey> = Vec::new();
    for round in rounds {
        for row in sides_rows(round).into_iter().flatten() {
            if !order.contains(&row.case) {
                order.push(row.case.clone());
            }
        }
    }
    // Cases run in another order in each round; readers want the suite's own, which screening kept.
    if let Some(screen) = screen_evidence[0] {
        let place: BTreeMap<&CaseKey, usize> =
            screen.rows.iter().enumerate().map(|(index, row)| (&row.case, index)).collect();
        order.sort_by_key(|case| place.get(case).copied().unwrap_or(usize::MAX));
    }
    let mut cases: Vec<MeasuredCase> = order
        .into_iter()
        .map(|case| measured_case(case, rounds, pairing, screened, screen_evidence))
        .collect();
    if pairing == Pairing::Duet {
        withhold_unproven(&mut cases);
    }
    cases
}

/// A process that ran other code for one case than a cell of that side alone has mixed its sides up: none of the
/// operator's cases is taken from it.
fn withhold_unproven(cases: &mut [MeasuredCase]) {
    let Some((case, reason)) =
        cases.iter().find_map(|it| it.unproven.as_ref().map(|reason| (&it.case, reason)))
    else {
        return;
    };
    let said = format!(
        "the duet is not proven, so nothing is judged by it: {case}, {reason}; `--pairing process` measures each side \
         in a process of its own"
    );
    for it in cases.iter_mut() {
        for round in &mut it.input.rounds {
            round.excluded = Some(said.clone());
        }
    }
}

fn sides_rows<'a>(round: &RoundEvidence<'a>) -> [Vec<&'a Row>; 2] {
    [(round.a, Side::A), (round.b, Side::B)]
        .map(|(evidence, side)| evidence.rows.iter().filter(|row| row.side == side).collect())
}

fn measured_case(
    case: CaseKey,
    rounds: &[RoundEvidence<'_>],
    pairing: Pairing,
    screened: &Screened,
    screen_evidence: [Option<&Evidence>; 2],
) -> MeasuredCase {
    let mut notes: Vec<String> = Vec::new();
    let mut timers: Vec<Timer> = Vec::new();
    let mut host_bound = false;
    let mut steps_us: Vec<f64> = Vec::new();
    let mut printed_us: f64 = 0.0;
    let mut case_rounds = Vec::new();
    let mut unproven: Option<String> = None;
    let mut clocks: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    let unseen = screened.unseen_stages();
    let (mut failed, mut missing) = (Absence::default(), Absence::default());
    for round in rounds {
        let mut it = CaseRound { round: round.round, ..CaseRound::default() };
        let mut round_timers = Vec::new();
        let [rows_a, rows_b] = sides_rows(round);
        for (side, evidence, rows) in [(Side::A, round.a, rows_a), (Side::B, round.b, rows_b)] {
            let Some(row) = rows.into_iter().find(|row| row.case == case) else {
                missing.add(round.round, side);
                continue;
            };
            if !row.ok {
                failed.add(round.round, side);
            }
            host_bound |= row.host_bound;
            round_timers.extend(row.timer);
            clocks[usize::from(side == Side::B)].extend(row.clock_mhz);
            if let Some(reason) = &row.timer_reason {
                say(&mut notes, first_line(reason));
            }
            if let Some(screen) = screen_evidence[usize::from(side == Side::B)]
                && let Err(reason) = same_code(screen, evidence, side, &case, &unseen)
            {
                unproven.get_or_insert_with(|| format!("round {}: {reason}", round.round));
                it.excluded.get_or_insert(reason);
            }
            if let Some(reason) = evidence.proof_failures.get(&case) {
                unproven.get_or_insert_with(|| format!("round {}: {reason}", round.round));
                it.excluded.get_or_insert(format!("the duet proof failed: {reason}"));
            }
            match latency(row, pairing) {
                Ok((latency_us, step_us)) => {
                    steps_us.push(step_us);
                    printed_us = printed_us.max(evidence.printed_us.get(&case).copied().unwrap_or(0.0));
                    match side {
                        Side::A => it.a_us = Some(latency_us),
                        Side::B => it.b_us = Some(latency_us),
                    }
                }
                Err(reason) => {
                    it.excluded.get_or_insert(reason);
                }
            }
        }
        if let [one, two] = round_timers[..]
            && one != two
        {
            it.excluded.get_or_insert(format!("timed {one} on side A and {two} on side B"));
        }
        if let Some(reason) = &it.excluded {
            say(&mut notes, &format!("round {}: {reason}", round.round));
        }
        timers.extend(round_timers);
        case_rounds.push(it);
    }
    timers.dedup();
    let mut different = timers.clone();
    different.sort_unstable();
    different.dedup();
    if different.len() > 1 {
        let names: Vec<String> = different.iter().map(ToString::to_string).collect();
        say(&mut notes, &format!("rounds were timed differently: {}", names.join(", ")));
    }
    let clock_mhz = mean(&clocks[0]).zip(mean(&clocks[1]));
    if let Some((a_mhz, b_mhz)) = clock_mhz
        && 100.0 * (a_mhz / b_mhz).ln().abs() > CLOCKS_APART_PERCENT
    {
        say(
            &mut notes,
            &format!(
                "the card's clock lay at {a_mhz:.0} MHz before A's blocks and at {b_mhz:.0} MHz before B's: part of the \
                 effect may be the clock's"
            ),
        );
    }
    let timer = timers.first().copied();
    let step_us = steps_us.into_iter().reduce(f64::min).unwrap_or(0.0);
    MeasuredCase {
        input: CaseInput {
            case: case.to_string(),
            timer: timer.map(|timer| timer.to_string()).unwrap_or_default(),
            untouched: screened.untouched.get(&case).copied().unwrap_or(false),
            host_bound,
            // What samples show is at most the timer's step; what print rounded away is at least its last digit.
            resolution_us: step_us.max(printed_us),
            rounds: case_rounds,
        },
        case,
        timer,
        notes,
        fault: failed.said("fails", rounds.len()).or_else(|| missing.said("has no row", rounds.len())),
        unproven,
        clock_mhz,
    }
}

/// Rounds in which a case has no latency, by side.
#[derive(Default)]
struct Absence {
    sides: BTreeSet<Side>,
    rounds: BTreeSet<u32>,
}

impl Absence {
    fn add(&mut self, round: u32, side: Side) {
        self.sides.insert(side);
        self.rounds.insert(round);
    }

    /// `fails on B`, `fails on both sides in 1 of 3 rounds`; none if it never was so.
    fn said(&self, what: &str, n_rounds: usize) -> Option<String> {
        let side = match self.sides.iter().collect::<Vec<_>>()[..] {
            [] => return None,
            [side] => side.to_string(),
            _ => "both sides".to_owned(),
        };
        let often = match self.rounds.len() {
            all if all == n_rounds => String::new(),
            some => format!(" in {some} of {n_rounds} rounds"),
        };
        Some(format!("{what} on {side}{often}"))
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn say(notes: &mut Vec<String>, text: &str) {
    if !notes.iter().any(|note| note == text) {
        notes.push(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use switchback_model::order::Regime;

    use super::*;

    pub(super) fn row(side: Side, samples_us: Vec<Vec<f64>>) -> Row {
        Row {
            operator: "add".into(),
            side,
            case: CaseKey { dtype: "f32".into(), input: "[8]".into(), occurrence: 0 },
            ok: true,
            error: None,
            timer: Some(Timer::Direct),
            timer_reason: None,
            samples_us,
            latency_us: None,
            baseline_us: None,
            host_us: None,
            host_bound: false,
            dropped: 0,
            clock_mhz: None,
            standard_error_pct: None,
            regime: Regime::Burst,
        }
    }

    fn changed() -> Screened {
        Screened::of(switchback_model::verdict::ScreenVerdict::IrChanged)
    }

    /// A round of a duet: two cases, B half as long as A, and what one of the cases' proofs says.
    fn duet(fault: Option<&str>) -> Evidence {
        let named =
            |row: Row, input: &str| Row { case: CaseKey { input: input.into(), ..row.case.clone() }, ..row };
        let rows: Vec<Row> = ["[8]", "[9]"]
            .into_iter()
            .flat_map(|input| {
                [(Side::A, 2.0), (Side::B, 1.0)].map(|(side, us)| named(row(side, vec![vec![us, us]]), input))
            })
            .collect();
        let proof_failures =
            fault.map(|fault| (rows[2].case.clone(), fault.to_owned())).into_iter().collect();
        Evidence { rows, proof_failures, ..Evidence::default() }
    }

    #[test]
    fn an_operator_whose_duet_is_not_proven_gets_no_verdict_and_says_why() {
        use switchback_model::verdict::Verdict;
        use switchback_stats::input::{OperatorInput, Settings};
        let judged = |faults: [Option<&str>; 4]| {
            let evidence = faults.map(duet);
            let rounds: Vec<RoundEvidence<'_>> =
                (1..).zip(&evidence).map(|(round, it)| RoundEvidence { round, a: it, b: it }).collect();
            let cases = measured_cases(&rounds, Pairing::Duet, &changed(), [None, None]);
            let input = OperatorInput {
                operator: "add".into(),
                cases: cases.into_iter().map(|case| case.input).collect(),
                ..OperatorInput::default()
            };
            let mut judgement = switchback_stats::judge::judge(&[input], &Settings::default());
            judgement.operators.remove(0)
        };
        assert_eq!(judged([None; 4]).verdict, Verdict::Faster);
        let unproven = judged([None, Some("side B launches `k` as it was compiled for side A"), None, None]);
        assert_eq!(unproven.verdict, Verdict::NotMeasured);
        let reason = unproven.reasons.join("; ");
        for part in ["the duet is not proven", "[9]", "round 2: side B launches `k`", "`--pairing process`"] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
    }

    #[test]
    fn a_duet_that_ran_other_code_than_screening_is_not_proven() {
        let code = |side, content: u8| {
            let kernels = vec![switchback_ir::KernelIr {
                kernel: "k".into(),
                variant: "v".into(),
                stages: BTreeMap::from([(switchback_ir::Stage::Ttgir, switchback_ir::Digest([content; 32]))]),
            }];
            let case = row(Side::A, vec![]).case;
            ((side, case), crate::evidence::Launched { kernels, unknown: 0 })
        };
        let launching = |b: u8| Evidence {
            launched: BTreeMap::from([code(Side::A, 1), code(Side::B, b)]),
            rows: [Side::A, Side::B].map(|side| row(side, vec![vec![2.0]])).into(),
            ..Evidence::default()
        };
        let (screen, same, other) = (launching(2), launching(2), launching(1));
        let of = |it: &Evidence| {
            let rounds = [RoundEvidence { round: 1, a: it, b: it }];
            measured_cases(&rounds, Pairing::Duet, &changed(), [Some(&screen), Some(&screen)]).remove(0)
        };
        assert_eq!((of(&same).unproven, of(&same).input.rounds[0].excluded.clone()), (None, None));
        let said = of(&other).input.rounds[0].excluded.clone().unwrap();
        assert!(said.contains("round 1: side B ran other code than screening saw: `k` differs at"), "{said}");
    }

    #[test]
    fn a_case_whose_sides_saw_different_clocks_says_so() {
        let of = |a_mhz: f64, b_mhz: f64| {
            let mut it = duet(None);
            for row in &mut it.rows {
                row.clock_mhz = Some(if row.side == Side::A { a_mhz } else { b_mhz });
            }
            let rounds = [1, 2].map(|round| RoundEvidence { round, a: &it, b: &it });
            measured_cases(&rounds, Pairing::Duet, &changed(), [None, None]).remove(0)
        };
        let alike = of(1980.0, 1978.0);
        assert_eq!((alike.clock_mhz, alike.notes), (Some((1980.0, 1978.0)), vec![]));
        let apart = of(1980.0, 1900.0);
        assert_eq!(apart.notes.len(), 1, "{:?}", apart.notes);
        assert!(apart.notes[0].contains("1980 MHz before A's blocks and at 1900 MHz before B's"));
    }

    #[test]
    fn printed_latencies_are_as_coarse_as_the_coarser_print() {
        let printed = |side, latency_us, printed_us| {
            let row = Row { latency_us: Some(latency_us), ..row(side, vec![]) };
            Evidence {
                printed_us: BTreeMap::from([(row.case.clone(), printed_us)]),
                rows: vec![row],
                ..Evidence::default()
            }
        };
        let (a, b) = (printed(Side::A, 5.0, 0.001), printed(Side::B, 5.1, 0.0));
        let rounds = [RoundEvidence { round: 1, a: &a, b: &b }];
        let cases = measured_cases(&rounds, Pairing::Process, &changed(), [None, None]);
        assert_eq!(cases[0].input.resolution_us, 0.001);
        assert_eq!((cases[0].input.rounds[0].a_us, cases[0].input.rounds[0].b_us), (Some(5.0), Some(5.1)));
    }

    #[test]
    fn a_case_that_a_side_breaks_names_the_side_and_the_rounds() {
        let of = |faults: [fn(&mut Evidence); 2]| {
            let evidence = faults.map(|fault| {
                let mut it = duet(None);
                fault(&mut it);
                it
            });
            let rounds: Vec<RoundEvidence<'_>> =
                (1..).zip(&evidence).map(|(round, it)| RoundEvidence { round, a: it, b: it }).collect();
            let cases = measured_cases(&rounds, Pairing::Duet, &changed(), [None, None]);
            cases.into_iter().find(|it| it.case.input == "[8]").unwrap().fault
        };
        // Rows of a duet: the first case on A, on B, then the second.
        let whole = |_: &mut Evidence| {};
        let fails_on_b = |it: &mut Evidence| it.rows[1].ok = false;
        let fails = |it: &mut Evidence| it.rows[..2].iter_mut().for_each(|row| row.ok = false);
        let lacks_a = |it: &mut Evidence| drop(it.rows.remove(0));
        assert_eq!(of([whole, whole]), None);
        assert_eq!(of([fails_on_b, fails_on_b]).unwrap(), "fails on B");
        assert_eq!(of([whole, fails_on_b]).unwrap(), "fails on B in 1 of 2 rounds");
        assert_eq!(of([fails, fails]).unwrap(), "fails on both sides");
        assert_eq!(of([lacks_a, whole]).unwrap(), "has no row on A in 1 of 2 rounds");
    }

    #[test]
    fn sides_timed_differently_are_not_compared() {
        let screened = changed();
        let a = Evidence { rows: vec![row(Side::A, vec![vec![2.0]])], ..Evidence::default() };
        let mut fallback = row(Side::B, vec![vec![1.0]]);
        fallback.timer = Some(Timer::Graph);
        let b = Evidence { rows: vec![fallback], ..Evidence::default() };
        let rounds = [RoundEvidence { round: 1, a: &a, b: &b }];
        let cases = measured_cases(&rounds, Pairing::Process, &screened, [None, None]);
        assert_eq!(
            cases[0].input.rounds[0].excluded.as_deref(),
            Some("timed direct on side A and graph on side B")
        );
    }
}
