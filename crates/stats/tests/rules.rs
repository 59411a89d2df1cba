//! The rules of judging, one at a time, on small inputs whose answer is plain without the program.

use switchback_model::verdict::Verdict;
use switchback_stats::{
    CaseInput, CaseRound, Judgement, OperatorInput, OperatorJudgement, Precision, Settings, judge,
    rounds_wanted,
};

/// Scatter of a well-behaved case, in percent of the effect, one value a round.
const CALM: [f64; 4] = [0.02, -0.03, 0.01, 0.0];
const WILD: [f64; 4] = [9.0, -8.0, 5.0, -6.0];

/// A case whose B is faster by `percent`, with `scatter` on top in each round.
fn case(name: &str, percent: f64, scatter: &[f64]) -> CaseInput {
    let pairs = scatter
        .iter()
        .zip(1..)
        .map(|(scatter, round)| CaseRound::pair(round, 50.0 * (1.0 + (percent + scatter) / 100.0), 50.0));
    CaseInput { case: name.into(), timer: "gated".into(), rounds: pairs.collect(), ..CaseInput::default() }
}

fn operator(name: &str, cases: Vec<CaseInput>) -> OperatorInput {
    OperatorInput { operator: name.into(), cases, ..OperatorInput::default() }
}

fn control(name: &str, percent: f64) -> OperatorInput {
    OperatorInput { control: true, ..operator(name, vec![case("x", percent, &CALM)]) }
}

fn judged(operators: &[OperatorInput]) -> Judgement {
    judge(operators, &Settings::default())
}

fn alone(operator: OperatorInput) -> OperatorJudgement {
    judged(&[operator]).operators.remove(0)
}

#[track_caller]
fn because(it: &OperatorJudgement, words: &str) {
    assert!(it.reasons.iter().any(|reason| reason.contains(words)), "`{words}` is not in {:?}", it.reasons);
}

#[test]
fn faster_slower_equivalent_inconclusive() {
    let of = |percent, scatter| alone(operator("op", vec![case("x", percent, scatter)]));
    let faster = of(31.0, &CALM);
    assert_eq!(faster.verdict, Verdict::Faster);
    assert!((switchback_stats::percent(faster.effect.unwrap()) - 31.0).abs() < 0.01);
    assert_eq!(faster.sign_stable, Some(true));
    assert_eq!(faster.rounds_needed, None);
    because(&faster, "B is faster by at least the margin of 0.500 %: 31.0 %");
    because(&faster, "after Holm over 1 operator)");

    assert_eq!(of(-31.0, &CALM).verdict, Verdict::Slower);
    let equivalent = of(0.0, &CALM);
    assert_eq!(equivalent.verdict, Verdict::Equivalent);
    assert_eq!(equivalent.sign_stable, Some(false));
    let open = of(2.0, &WILD);
    assert_eq!(open.verdict, Verdict::Inconclusive);
    because(&open, "neither test passes");
    assert!(open.rounds_needed.is_some_and(|rounds| rounds > 4));
}

#[test]
fn a_significant_effect_inside_the_margin_is_equivalent() {
    let it = alone(operator("op", vec![case("x", 0.3, &CALM)]));
    assert!(it.p_adjusted.unwrap() < 0.001);
    assert_eq!(it.verdict, Verdict::Equivalent);
}

#[test]
fn the_rounds_named_are_the_fewest_that_would_tell() {
    // Without a prior the condition is |effect| >= t(R-1) s / sqrt(R); looked up in a table of Student's t.
    let it = alone(operator("op", vec![case("x", 6.0, &[6.0, -6.0, 6.0, -6.0])]));
    assert_eq!(it.verdict, Verdict::Inconclusive);
    let effects: Vec<f64> = it.round_effects.iter().map(|(_, effect)| *effect).collect();
    let centre = effects.iter().sum::<f64>() / 4.0;
    let deviation = (effects.iter().map(|effect| (effect - centre).powi(2)).sum::<f64>() / 3.0).sqrt();
    let table = [(5.0_f64, 2.776), (6.0, 2.571), (7.0, 2.447), (8.0, 2.365), (9.0, 2.306)];
    let fewest = table.iter().find(|(rounds, t)| t * deviation / rounds.sqrt() <= centre).unwrap().0;
    assert_eq!(it.rounds_needed.map(f64::from), Some(fewest));
}

#[test]
fn identical_code_is_never_faster_or_slower() {
    for it in [
        OperatorInput { all_identical: true, ..operator("op", vec![case("x", 31.0, &CALM)]) },
        control("op", 31.0),
        operator("op", vec![CaseInput { untouched: true, ..case("x", 31.0, &CALM) }]),
    ] {
        let it = alone(it);
        assert_eq!(it.verdict, Verdict::Inconclusive);
        assert_eq!(it.p_adjusted, None);
        because(&it, "identical code on both sides");
    }
}

#[test]
fn wrong_outputs_have_no_speed() {
    let it = alone(OperatorInput { outputs_wrong: true, ..operator("op", vec![case("x", 31.0, &CALM)]) });
    assert_eq!(it.verdict, Verdict::Wrong);
    assert_eq!((it.effect, it.ci, it.p_value, it.p_adjusted), (None, None, None, None));
    assert_eq!((it.median_effect, it.geometric_mean, it.rounds_range), (None, None, None));
    assert!(it.cases.iter().all(|case| case.effect.is_none() && case.q.is_none() && case.a_us.is_some()));
    assert!(it.cases[0].round_effects.iter().all(|round| round.effect.is_none()));
}

#[test]
fn a_missing_round_takes_the_verdict() {
    let mut short = case("x", 31.0, &CALM);
    short.rounds.remove(2);
    let it = alone(operator("op", vec![short.clone()]));
    assert_eq!(it.verdict, Verdict::Inconclusive);
    assert_eq!((it.missing_rounds.as_slice(), it.rounds, it.rounds_needed), ([3].as_slice(), 3, None));
    assert!(!it.rounds_cannot_tell);
    assert_eq!((it.ci, it.p_value), (None, None));
    assert!(it.effect.is_some() && it.rounds_range.is_some());
    because(&it, "no verdict yet: 1 of 4 rounds is missing: 3");

    // Three rounds are enough when three were asked for.
    short.rounds.iter_mut().zip(1..).for_each(|(round, number)| round.round = number);
    let it = alone(OperatorInput { rounds_requested: Some(3), ..operator("op", vec![short]) });
    assert_eq!(it.verdict, Verdict::Faster);
}

#[test]
fn one_round_and_no_round() {
    let one =
        OperatorInput { rounds_requested: Some(1), ..operator("op", vec![case("x", 31.0, &CALM[..1])]) };
    let it = alone(one);
    assert_eq!(it.verdict, Verdict::Inconclusive);
    because(&it, "one round has no scatter");
    assert!(!it.rounds_cannot_tell);
    assert!(it.effect.is_some());

    assert_eq!(alone(operator("op", vec![])).verdict, Verdict::NotMeasured);
    let mut dead = case("x", 0.0, &CALM);
    dead.rounds.iter_mut().for_each(|round| round.excluded = Some("exit 139".into()));
    let it = alone(operator("op", vec![dead]));
    assert_eq!(it.verdict, Verdict::NotMeasured);
    because(&it, "exit 139");
    assert_eq!(it.cases[0].excluded_rounds, 4);
}

#[test]
fn a_case_that_drops_out_is_left_out_of_all_rounds() {
    // Averaged where it is there, the case at 31 % would turn rounds 1 to 3 into an effect of 10 %.
    let mut partial = case("partial", 31.0, &CALM);
    partial.rounds[3].b_us = Some(0.0);
    let it = alone(operator("op", vec![case("x", 0.0, &CALM), case("y", 0.0, &CALM), partial]));
    assert_eq!(it.verdict, Verdict::Equivalent);
    because(&it, "1 of 3 cases are left out");
    assert_eq!(it.cases[2].left_out.as_deref(), Some("round 4: unmeasurable: side B reads `0` us"));
    assert_eq!((it.cases[2].rounds, it.cases[2].excluded_rounds, it.cases[2].q), (3, 1, None));
}

#[test]
fn a_minority_of_cases_has_no_verdict() {
    let mut cases: Vec<CaseInput> = ["x", "y", "z"].map(|name| case(name, 31.0, &CALM)).into();
    cases[1].rounds.truncate(3);
    cases[2].rounds.truncate(3);
    let it = alone(operator("op", cases));
    assert_eq!(it.verdict, Verdict::Inconclusive);
    because(&it, "fewer than half");
    assert!(it.rounds_cannot_tell, "a case that a round lacks stays left out");
    assert_eq!(it.p_adjusted, None);
}

#[test]
fn an_incomplete_round_that_nobody_asked_for_does_no_harm() {
    let mut cases = vec![case("x", 31.0, &CALM), case("y", 31.0, &CALM)];
    cases[0].rounds.push(CaseRound::pair(5, 40.0, 50.0));
    let it = alone(operator("op", cases.clone()));
    assert_eq!((it.verdict, it.rounds), (Verdict::Faster, 4));
    because(&it, "left out: 5");
    cases[1].rounds.push(CaseRound::pair(5, 65.0, 50.0));
    assert_eq!(alone(operator("op", cases)).rounds, 5);
}

#[test]
fn untouched_and_host_bound_cases_are_not_averaged_in() {
    let it = alone(operator(
        "op",
        vec![
            case("touched", 31.0, &CALM),
            CaseInput { untouched: true, ..case("untouched", 0.0, &CALM) },
            CaseInput { host_bound: true, ..case("host", -60.0, &CALM) },
        ],
    ));
    assert!((switchback_stats::percent(it.effect.unwrap()) - 31.0).abs() < 0.01);
    assert_eq!(it.cases.iter().map(|case| case.averaged).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(it.cases.iter().map(|case| case.q.is_some()).collect::<Vec<_>>(), [true, false, false]);
    // Over touched and untouched ones: the square root of 1.31.
    assert!((it.geometric_mean.unwrap() - 0.5 * 1.31_f64.ln()).abs() < 1e-4);

    let it = alone(operator("op", vec![CaseInput { host_bound: true, ..case("host", 31.0, &CALM) }]));
    assert_eq!(it.verdict, Verdict::Inconclusive);
    because(&it, "host-bound");
    assert!(it.rounds_cannot_tell);
    assert_eq!((it.rounds, it.effect), (4, None), "rounds were measured, only their effect is withheld");
}

#[test]
fn rounds_of_a_wrong_operator_are_counted() {
    let mut short = case("x", 31.0, &CALM);
    short.rounds.remove(2);
    let it = alone(OperatorInput { outputs_wrong: true, ..operator("op", vec![short]) });
    assert_eq!((it.verdict, it.rounds, it.effect), (Verdict::Wrong, 3, None));
    assert_eq!(it.missing_rounds, [3]);
}

#[test]
fn a_wrong_control_is_neither_in_the_floor_nor_the_worst() {
    let wrong = OperatorInput { outputs_wrong: true, ..control("wrong", 31.0) };
    let mut half = operator("half", vec![case("x", 31.0, &CALM), case("y", 9.0, &CALM)]);
    half.cases[1].untouched = true;
    half.outputs_wrong = true;
    let it = judged(&[control("calm", 0.3), wrong, half]).controls;
    assert_eq!((it.cases, it.operators, it.processes), (1, 1, 4));
    for reading in [it.floor, it.worst, it.largest] {
        assert!((switchback_stats::percent(reading.unwrap()) - 0.3).abs() < 0.01, "{reading:?}");
    }
    // Alone it leaves nothing that could be read.
    let alone = judged(&[OperatorInput { outputs_wrong: true, ..control("wrong", 31.0) }]).controls;
    assert_eq!((alone.cases, alone.floor, alone.worst), (0, None, None));
}

#[test]
fn sizes_of_readings_are_compared_in_percent() {
    // B takes twice as long: -50 %. The other reads +60 %, which is the smaller ratio and the larger figure.
    let it = judged(&[control("half", -50.0), control("more", 60.0)]).controls;
    let percent = |effect: Option<f64>| switchback_stats::percent(effect.unwrap());
    assert!((percent(it.worst) - 60.0).abs() < 0.1, "{:?}", it.worst);
    // 95 % of the way from 50 to 60.
    assert!((percent(it.floor) - 59.5).abs() < 0.1, "{:?}", it.floor);
    let slow = judged(&[control("half", -50.0)]).controls;
    assert!((percent(slow.worst) + 50.0).abs() < 0.1 && (percent(slow.floor) - 50.0).abs() < 0.1);
    // One round is no control, yet what it read is told.
    let once = OperatorInput {
        rounds_requested: Some(1),
        ..operator("once", vec![CaseInput { untouched: true, ..case("x", -50.0, &CALM[..1]) }])
    };
    let it = judged(&[once]).controls;
    assert_eq!((it.cases, it.floor), (0, None));
    assert!((percent(it.worst) + 50.0).abs() < 0.1);
}

#[test]
fn what_a_missing_control_refuses_more_rounds_do_not_give() {
    let process = |it: OperatorInput| OperatorInput { process_paired: true, ..it };
    let it = alone(process(operator("op", vec![case("x", 0.0, &CALM)])));
    because(&it, "EQUIVALENT is refused");
    assert_eq!((it.verdict, it.rounds_needed, it.rounds_cannot_tell), (Verdict::Inconclusive, None, true));
    // With a control that leaves room, the number of rounds at which the narrower interval fits is named.
    let mut all: Vec<OperatorInput> = (0..20).map(|it| process(control(&format!("c{it}"), 0.0))).collect();
    all.push(process(control("odd", 0.2)));
    all.push(process(operator("op", vec![case("x", 0.1, &[0.4, -0.4, 0.4, -0.4])])));
    let it = judged(&all).operators.pop().unwrap();
    because(&it, "EQUIVALENT is refused");
    assert!(it.rounds_needed.is_some_and(|rounds| rounds > 4) && !it.rounds_cannot_tell, "{it:?}");
}

#[test]
fn mixed_is_said_when_cases_go_both_ways() {
    let both = alone(operator("op", vec![case("up", 5.0, &CALM), case("down", -5.0, &CALM)]));
    assert!(both.mixed);
    let one = alone(operator("op", vec![case("up", 5.0, &CALM), case("flat", 0.0, &WILD)]));
    assert!(!one.mixed);
}

#[test]
fn controls_widen_and_refuse() {
    let subject = || operator("op", vec![case("x", 0.6, &CALM)]);
    assert_eq!(alone(subject()).verdict, Verdict::Faster);

    // Controls that read plus and minus 0.6 % in every round make 0.6 % nothing to speak of.
    let mut all = vec![subject(), operator("zero", vec![case("x", 0.0, &CALM)])];
    all.extend(
        (0..10).map(|number| control(&format!("c{number}"), if number % 2 == 0 { 0.6 } else { -0.6 })),
    );
    let it = judged(&all);
    assert!((switchback_stats::percent(it.controls.tau) - 0.6).abs() < 0.01);
    assert_eq!(it.operators[0].verdict, Verdict::Inconclusive);
    assert_eq!((it.operators[0].rounds_needed, it.operators[0].rounds_cannot_tell), (None, true));
    because(&it.operators[0], "more rounds would not tell");
    assert_eq!(it.operators[1].verdict, Verdict::Inconclusive);
    assert_eq!((it.controls.cases, it.controls.operators, it.controls.processes), (10, 10, 40));
    assert!((it.controls.upper95_operators - 0.258_866).abs() < 1e-5);

    // 1.645 tau is 0.987 %: more than the margin, and more than 0.95 % of margin too.
    because(&it.operators[1], "EQUIVALENT is out of reach");
    let tight = judge(&all, &Settings { margin_percent: 0.95, ..Settings::default() });
    assert!(tight.operators.iter().all(|it| it.verdict != Verdict::Equivalent));
    let wide = judge(&all, &Settings { margin_percent: 1.3, ..Settings::default() });
    assert_eq!(wide.operators[1].verdict, Verdict::Equivalent);
}

#[test]
fn process_pairing_with_a_fixed_order_is_capped_by_the_largest_control() {
    let process = |it: OperatorInput| OperatorInput { process_paired: true, ..it };
    let subject = |percent| process(operator("op", vec![case("x", percent, &CALM)]));
    let mut controls: Vec<OperatorInput> =
        (0..20).map(|number| process(control(&format!("c{number}"), 0.0))).collect();
    controls.push(process(control("odd", 3.0)));
    let with = |subject: OperatorInput| {
        let mut all = controls.clone();
        all.push(subject);
        judged(&all).operators.pop().unwrap()
    };
    let capped = with(subject(2.5));
    assert_eq!(capped.verdict, Verdict::Inconclusive);
    because(&capped, "capped");
    assert_eq!(with(subject(31.0)).verdict, Verdict::Faster);
    assert_eq!(with(OperatorInput { order_shuffled: true, ..subject(2.5) }).verdict, Verdict::Faster);

    // No control: an effect is stated with that said beside it, equality is not.
    let it = alone(subject(31.0));
    assert_eq!(it.verdict, Verdict::Faster);
    because(&it, "no control bounds what a case inherits from its neighbour");
    let it = alone(subject(0.0));
    assert_eq!(it.verdict, Verdict::Inconclusive);
    because(&it, "EQUIVALENT is refused");
}

#[test]
fn controls_of_another_pairing_or_timer_say_nothing() {
    let mut all = vec![operator("op", vec![case("x", 0.6, &CALM)])];
    for (number, (process_paired, timer)) in [(true, "gated"), (false, "direct")].into_iter().enumerate() {
        let mut other = control(&format!("c{number}"), 9.0);
        other.process_paired = process_paired;
        other.cases[0].timer = timer.into();
        all.push(other);
    }
    let it = judged(&all);
    assert_eq!(it.operators[0].verdict, Verdict::Faster);
    because(&it.operators[0], "no control was measured in this pairing and with this timer");
    assert_eq!(it.controls.bands.len(), 2);
}

#[test]
fn equality_needs_both_ends_inside() {
    // 0.45 % with a half width of about 0.1 %: the near end is inside the margin of 0.5 %, the far end is not.
    for percent in [0.45, -0.45] {
        let it = alone(operator("op", vec![case("x", percent, &[0.08, -0.08, 0.08, -0.08])]));
        assert_eq!(it.verdict, Verdict::Inconclusive, "{percent}");
        assert_eq!(it.p_value.map(|p| p < 0.05), Some(true));
    }
    // In process pairing the largest control, 0.3 %, comes off the room at either end.
    let process = |it: OperatorInput| OperatorInput { process_paired: true, ..it };
    for percent in [0.3, -0.3] {
        let mut all: Vec<OperatorInput> =
            (0..20).map(|number| process(control(&format!("c{number}"), 0.0))).collect();
        all.push(process(control("odd", 0.3)));
        all.push(process(operator("op", vec![case("x", percent, &CALM)])));
        let fixed = judged(&all).operators.pop().unwrap();
        assert_eq!(fixed.verdict, Verdict::Inconclusive, "{percent}");
        because(&fixed, "EQUIVALENT is refused");
        all.iter_mut().for_each(|it| it.order_shuffled = true);
        assert_eq!(judged(&all).operators.pop().unwrap().verdict, Verdict::Equivalent, "{percent}");
    }
}

#[test]
fn controls_that_would_have_been_called_are_counted() {
    // Ten controls read nothing; one reads 31 %, which would have been called had it been a touched operator.
    let mut all: Vec<OperatorInput> = (0..10).map(|number| control(&format!("c{number}"), 0.0)).collect();
    assert_eq!(judged(&all).controls.false_positives, 0);
    all.push(control("odd", 31.0));
    let it = judged(&all).controls;
    assert_eq!((it.false_positives, it.false_positive_operators), (1, 1));
    // Clopper and Pearson: one in eleven leaves 36.4 %.
    assert!((it.upper95_operators - 0.364).abs() < 5e-4, "{}", it.upper95_operators);
    assert!((it.largest.unwrap() - 1.31_f64.ln()).abs() < 1e-3);
}

#[test]
fn many_operators_raise_the_bar() {
    let shaky = || case("x", 1.6, &[0.9, -0.9, 0.3, -0.3]);
    assert_eq!(alone(operator("op", vec![shaky()])).verdict, Verdict::Faster);
    let mut all: Vec<OperatorInput> =
        (0..6).map(|number| operator(&format!("null {number}"), vec![case("x", 0.1, &WILD)])).collect();
    all.push(operator("op", vec![shaky()]));
    let it = judged(&all).operators.pop().unwrap();
    assert_eq!(it.verdict, Verdict::Inconclusive);
    assert!((it.p_adjusted.unwrap() / it.p_value.unwrap() - 7.0).abs() < 1e-9);
}

#[test]
fn readings_without_scatter_are_as_uncertain_as_their_last_digit() {
    let flat = |a_us: f64, b_us: f64| {
        let rounds = (1..=4).map(|round| CaseRound::pair(round, a_us, b_us)).collect();
        alone(operator("op", vec![CaseInput { case: "x".into(), rounds, ..CaseInput::default() }]))
    };
    // A step of 1 us in 5 us is 8 % of the ratio: nothing to be said.
    assert_eq!(flat(5.0, 5.0).verdict, Verdict::Inconclusive);
    let clear = flat(10.0, 5.0);
    assert_eq!(clear.verdict, Verdict::Faster);
    because(&clear, "its step is the error");
    assert_eq!(flat(5.125, 5.125).verdict, Verdict::Equivalent);
}

#[test]
fn rounds_go_to_those_that_need_them() {
    let settings = Settings::default();
    let precision = Precision { half_width_percent: 0.2, max_rounds: 6 };
    let mut busy = case("x", 0.0, &WILD);
    busy.rounds.extend((5..=6).map(|round| CaseRound::pair(round, 50.0, 52.0)));
    let all = [
        operator("calm", vec![case("x", 31.0, &CALM)]),
        operator("wild", vec![case("x", 0.0, &WILD)]),
        operator("young", vec![case("x", 0.0, &CALM[..2])]),
        operator("done", vec![busy]),
        operator("absent", vec![]),
    ];
    let needs = rounds_wanted(&all, &settings, &precision);
    assert_eq!(needs.iter().map(|it| it.wanted).collect::<Vec<_>>(), [false, true, true, false, false]);
    assert_eq!(needs.iter().map(|it| it.rounds).collect::<Vec<_>>(), [4, 4, 2, 6, 0]);

    // One operator, no prior: half width = t(3 degrees of freedom, 97.5 %) s / 2.
    let one = &all[..1];
    let effects: Vec<f64> = CALM.iter().map(|scatter| (1.31 + scatter / 100.0).ln()).collect();
    let centre = effects.iter().sum::<f64>() / 4.0;
    let deviation = (effects.iter().map(|effect| (effect - centre).powi(2)).sum::<f64>() / 3.0).sqrt();
    let half_width = 100.0 * (3.182_446_305 * deviation / 2.0).exp_m1();
    let need = rounds_wanted(one, &settings, &precision).remove(0);
    assert!((need.half_width_percent.unwrap() / half_width - 1.0).abs() < 1e-8);
    for (share, wanted) in [(0.99, true), (1.01, false)] {
        let precision = Precision { half_width_percent: share * half_width, max_rounds: 6 };
        assert_eq!(rounds_wanted(one, &settings, &precision)[0].wanted, wanted);
    }
    // Four touched operators are in the campaign: the level is alpha over four, t(99.375 %) = 5.391.
    assert!((needs[0].half_width_percent.unwrap() / half_width - 5.391 / 3.182).abs() < 1e-3);

    // Two rounds are too few whatever their width.
    let generous = Precision { half_width_percent: 50.0, max_rounds: 6 };
    let young = rounds_wanted(&all, &settings, &generous);
    assert_eq!(young.iter().map(|it| it.wanted).collect::<Vec<_>>(), [false, false, true, false, false]);

    // The width alone decides: turning the sign of every effect changes nothing.
    let mut turned = all.clone();
    for round in turned.iter_mut().flat_map(|it| &mut it.cases).flat_map(|case| &mut case.rounds) {
        std::mem::swap(&mut round.a_us, &mut round.b_us);
    }
    for (one, other) in needs.iter().zip(rounds_wanted(&turned, &settings, &precision)) {
        assert_eq!((one.wanted, &one.reason), (other.wanted, &other.reason));
    }
}
