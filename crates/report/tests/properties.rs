//! Whatever a benchmark calls its operators: no panic, no control character, no line too long, no broken table.

mod samples;

use proptest::prelude::*;
use switchback_model::case::CaseKey;
use switchback_model::finding::Finding;
use switchback_model::report::{CaseReport, KernelReport, OperatorReport, Report};
use switchback_model::verdict::{ScreenVerdict, Verdict};
use switchback_report::terminal::{self, RunReport, RunRow, TerminalStyle};
use switchback_report::{explain, json, markdown, text, tsv};

fn outside() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z_|`<>&*\\\\\t\n\r\u{1b}\u{7}\u{9b}\u{202e}\u{200b}矩 ]{0,90}",]
}

fn number() -> impl Strategy<Value = Option<f64>> {
    proptest::option::of(prop_oneof![any::<f64>(), -200.0..200.0_f64, -0.2..0.2_f64])
}

fn pair() -> impl Strategy<Value = Option<(f64, f64)>> {
    (number(), number()).prop_map(|(low, high)| low.zip(high))
}

fn operators() -> impl Strategy<Value = OperatorReport> {
    let screen = proptest::option::of(proptest::sample::select(ScreenVerdict::ALL.to_vec()));
    let verdict = proptest::sample::select(vec![
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Equivalent,
        Verdict::Inconclusive,
        Verdict::Wrong,
        Verdict::NotMeasured,
    ]);
    (
        (outside(), outside(), outside(), outside(), outside()),
        (screen, verdict, any::<bool>(), any::<u32>()),
        (number(), pair(), number(), number(), pair()),
    )
        .prop_map(|(texts, (screen, verdict, control, rounds), figures)| {
            let (name, stage, reason, case, note) = texts;
            let (effect, ci, a_us, b_us, case_ci) = figures;
            OperatorReport {
                spec: format!("{name}:{stage}"),
                screen,
                first_stage: Some(stage.clone()),
                control,
                effect_pct: effect,
                ci_pct: ci,
                p_adjusted: a_us,
                rounds,
                rounds_range_pct: case_ci,
                noise_a_pct: a_us,
                noise_b_pct: b_us,
                rounds_needed: (rounds % 2 == 0).then_some(rounds),
                reasons: vec![reason.clone(), String::new()],
                hints: vec![reason],
                kernels: vec![KernelReport {
                    kernel: case.clone(),
                    variants: rounds,
                    changed: rounds,
                    first_stage: Some(stage),
                }],
                cases: vec![CaseReport {
                    a_us,
                    b_us,
                    effect_pct: effect,
                    ci_pct: case_ci,
                    q: ci.map(|it| it.0),
                    untouched: control,
                    notes: vec![note],
                    ..samples::case(&case, 1.0, 1.0)
                }],
                ..samples::operator(&name, ScreenVerdict::NoRows, verdict)
            }
        })
}

fn reports() -> impl Strategy<Value = Report> {
    (proptest::collection::vec(operators(), 0..6), outside(), outside(), number()).prop_map(
        |(operators, text, value, figure)| {
            let mut report = samples::report(operators);
            report.switch.b.insert(text.clone(), Some(value.clone()));
            report.suite.clone_from(&text);
            report.campaign.clone_from(&value);
            report.conditions.0.insert(text.clone(), value.clone());
            report.identity.insert(value.clone(), text.clone());
            report.stamps.insert(text.clone(), 1);
            report.allowed = vec![text.clone()];
            report.findings = vec![Finding::warning(text.clone(), value.clone(), text)];
            report.controls.cases = u32::from(figure.is_some());
            report.controls.floor_pct = figure;
            report.controls.upper95 = figure;
            report.elapsed_s = vec![("screen".into(), figure.unwrap_or(1.0)), (value, 2.0)];
            report
        },
    )
}

fn has_control(text: &str) -> bool {
    let hidden = ['\u{202e}', '\u{200b}', '\u{2066}', '\u{feff}'];
    text.chars().any(|it| (it.is_control() && it != '\n') || hidden.contains(&it))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn text_formats_let_no_control_character_out(report in reports(), width in 0_usize..140) {
        let style = TerminalStyle::plain(width);
        let mut texts = vec![
            terminal::render(&report, &style, &[]),
            terminal::screen_table(&report, &style),
            markdown::render(&report),
            json::render(&report),
        ];
        for operator in &report.operators {
            texts.push(terminal::cases_table(operator, &style));
            texts.push(explain::operator(&report, &operator.operator).unwrap());
            let row = RunRow {
                case: CaseKey { dtype: operator.spec.clone(), input: operator.operator.clone(), occurrence: 1 },
                timer: None,
                latency_us: operator.effect_pct,
                samples: 3,
                baseline_us: operator.p_adjusted,
                spread_pct: operator.effect_pct,
                ok: operator.control,
                error: Some(operator.spec.clone()),
            };
            for benchmark in [None, Some((operator.spec.clone(), operator.operator.clone()))] {
                let rows = vec![row.clone(), row.clone()];
                let run = RunReport { operator: operator.operator.clone(), benchmark, rows, cut_off: None };
                texts.push(terminal::run_table(&run, &style));
            }
        }
        for text in texts {
            prop_assert!(!has_control(&text), "{text:?}");
        }
    }

    #[test]
    fn no_line_is_longer_than_the_terminal(report in reports(), width in 60_usize..140) {
        let style = TerminalStyle::plain(width);
        for it in [terminal::render(&report, &style, &[]), terminal::screen_table(&report, &style)] {
            for line in it.lines() {
                prop_assert!(text::width(line) <= width, "{} > {width}: {line:?}\n{it}", text::width(line));
                prop_assert!(!line.ends_with(' '), "{line:?}");
            }
        }
    }

    #[test]
    fn every_line_of_a_table_has_all_its_columns(report in reports()) {
        for table in [tsv::report(&report), tsv::cases(&report)] {
            let columns: Vec<usize> = table.lines().map(|line| line.split('\t').count()).collect();
            prop_assert!(columns.iter().all(|it| *it == columns[0]), "{table}");
            prop_assert!(table.ends_with('\n'));
            prop_assert!(!table.chars().any(|it| it.is_control() && it != '\n' && it != '\t'));
        }
        prop_assert_eq!(tsv::report(&report).lines().count(), report.operators.len() + 1);
    }

    #[test]
    fn markdown_begins_no_tag_that_is_not_ours(report in reports()) {
        let page = markdown::render(&report);
        let (mut inside, mut escaped) = (false, false);
        let mut rest = String::new();
        for character in page.chars() {
            // Code spans hold no backtick, so they simply alternate; outside of them a backslash takes one away.
            if character == '`' && !escaped {
                inside = !inside;
            }
            if character == '\n' {
                prop_assert!(!inside, "a code span runs over a line: {page}");
            }
            if !inside {
                rest.push(character);
            }
            escaped = !inside && character == '\\' && !escaped;
        }
        for ours in ["<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>"] {
            rest = rest.replace(ours, "");
        }
        prop_assert!(!rest.contains('<'), "{rest}");
    }

    #[test]
    fn json_reads_back_to_the_same(report in reports()) {
        let mut finite = report;
        // JSON has no word for what is not finite; it reads back as absent.
        for operator in &mut finite.operators {
            for figure in [&mut operator.effect_pct, &mut operator.p_adjusted, &mut operator.noise_a_pct, &mut operator.noise_b_pct] {
                *figure = figure.filter(|it| it.is_finite());
            }
            operator.ci_pct = None;
            operator.rounds_range_pct = None;
            operator.cases.clear();
        }
        finite.controls = Default::default();
        finite.elapsed_s.clear();
        prop_assert_eq!(json::parse(&json::render(&finite)).unwrap(), finite);
    }
}
