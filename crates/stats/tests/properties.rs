//! What must hold of any input, however broken.

use proptest::prelude::*;
use switchback_model::verdict::Verdict;
use switchback_stats::{CaseInput, CaseRound, Judgement, OperatorInput, Settings, judge};

fn latency() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        20 => (1.0_f64..1e4).prop_map(Some),
        1 => Just(None),
        1 => prop::sample::select(vec![0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300]).prop_map(Some),
    ]
}

fn round() -> impl Strategy<Value = CaseRound> {
    (1_u32..5, latency(), latency(), prop::option::weighted(0.05, Just("exit 1".to_owned())))
        .prop_map(|(round, a_us, b_us, excluded)| CaseRound { round, a_us, b_us, excluded })
}

fn broken_case() -> impl Strategy<Value = CaseInput> {
    (
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec![0.0, 0.032, 1.0]),
        prop::collection::vec(round(), 0..6),
    )
        .prop_map(|(untouched, host_bound, resolution_us, rounds)| CaseInput {
            case: "case".into(),
            timer: "gated".into(),
            untouched,
            host_bound,
            resolution_us,
            rounds,
        })
}

fn broken_operator() -> impl Strategy<Value = OperatorInput> {
    (prop::collection::vec(broken_case(), 0..4), any::<[bool; 5]>(), prop::option::of(0_u32..5)).prop_map(
        |(
            cases,
            [control, all_identical, outputs_wrong, process_paired, order_shuffled],
            rounds_requested,
        )| {
            OperatorInput {
                operator: "operator".into(),
                control,
                all_identical,
                outputs_wrong,
                process_paired,
                order_shuffled,
                rounds_requested,
                remarks: vec![],
                cases,
            }
        },
    )
}

/// An operator with four whole rounds; the effect and the scatter are arbitrary.
fn whole_operator() -> impl Strategy<Value = OperatorInput> {
    (-0.2_f64..0.2, prop::collection::vec(prop::array::uniform4(-0.01_f64..0.01), 1..4)).prop_map(
        |(effect, cases)| {
            let case = |(idx, scatter): (usize, [f64; 4])| CaseInput {
                case: format!("case {idx}"),
                timer: "gated".into(),
                resolution_us: 0.032,
                rounds: scatter
                    .iter()
                    .zip(1..)
                    .map(|(scatter, round)| CaseRound::pair(round, 40.0 * (effect + scatter).exp(), 40.0))
                    .collect(),
                ..CaseInput::default()
            };
            OperatorInput {
                cases: cases.into_iter().enumerate().map(case).collect(),
                ..OperatorInput::default()
            }
        },
    )
}

fn numbers(judgement: &Judgement) -> Vec<f64> {
    let mut all = Vec::new();
    for it in &judgement.operators {
        all.extend(
            [it.effect, it.p_value, it.p_adjusted, it.noise_a, it.noise_b, it.median_effect]
                .into_iter()
                .flatten(),
        );
        all.extend(it.ci.iter().chain(&it.rounds_range).flat_map(|interval| [interval.low, interval.high]));
        for case in &it.cases {
            all.extend([case.effect, case.p, case.q].into_iter().flatten());
            all.extend(case.ci.iter().flat_map(|interval| [interval.low, interval.high]));
        }
    }
    all.extend([judgement.controls.tau, judgement.controls.upper95]);
    all
}

fn turned(operators: &[OperatorInput]) -> Vec<OperatorInput> {
    let mut turned = operators.to_vec();
    for round in turned.iter_mut().flat_map(|it| &mut it.cases).flat_map(|case| &mut case.rounds) {
        std::mem::swap(&mut round.a_us, &mut round.b_us);
    }
    turned
}

proptest! {
    #[test]
    fn nothing_breaks_it_and_no_number_is_no_number(operators in prop::collection::vec(broken_operator(), 0..12)) {
        let judgement = judge(&operators, &Settings::default());
        prop_assert_eq!(judgement.operators.len(), operators.len());
        prop_assert!(numbers(&judgement).iter().all(|number| !number.is_nan()));
        for (it, input) in judgement.operators.iter().zip(&operators) {
            let called = matches!(it.verdict, Verdict::Faster | Verdict::Slower);
            prop_assert!(!(called && input.identical()));
            let judged = called || it.verdict == Verdict::Equivalent;
            prop_assert!(!judged || it.missing_rounds.is_empty() && it.rounds >= 2);
            prop_assert_eq!(it.verdict == Verdict::Wrong, input.outputs_wrong);
            prop_assert!(!input.outputs_wrong || it.effect.is_none());
            prop_assert!(!it.reasons.is_empty());
            prop_assert_eq!(it.cases.len(), input.cases.len());
        }
    }

    #[test]
    fn swapping_the_sides_turns_every_verdict(operators in prop::collection::vec(whole_operator(), 1..12)) {
        let (one, other) = (judge(&operators, &Settings::default()), judge(&turned(&operators), &Settings::default()));
        for (one, other) in one.operators.iter().zip(&other.operators) {
            let expected = match one.verdict {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                same => same,
            };
            prop_assert_eq!(other.verdict, expected);
            prop_assert!((one.effect.unwrap() + other.effect.unwrap()).abs() < 1e-12);
            prop_assert!((one.p_adjusted.unwrap() - other.p_adjusted.unwrap()).abs() < 1e-9);
        }
    }

    #[test]
    fn the_order_of_operators_does_not_matter(operators in prop::collection::vec(whole_operator(), 1..12)) {
        let reversed: Vec<OperatorInput> = operators.iter().rev().cloned().collect();
        let one = judge(&operators, &Settings::default());
        let other = judge(&reversed, &Settings::default());
        for (one, other) in one.operators.iter().zip(other.operators.iter().rev()) {
            prop_assert_eq!(one.verdict, other.verdict);
            prop_assert!((one.p_value.unwrap() - other.p_value.unwrap()).abs() < 1e-9);
        }
    }
}
