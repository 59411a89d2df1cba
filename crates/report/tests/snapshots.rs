//! What the reports look like, kept with their column widths.

mod samples;

use switchback_model::case::CaseKey;
use switchback_model::cell::Purpose;
use switchback_model::conditions::Conditions;
use switchback_model::event::Timer;
use switchback_model::outcome::{Counts, Ending};
use switchback_model::report::{
    CalibratedBand, CalibratedFloor, CaseReport, Clocks, KernelReport, ProofCounts, Report, UnseenStage,
};
use switchback_model::side::CellSides;
use switchback_model::telemetry::TelemetrySummary;
use switchback_model::verdict::{ScreenVerdict, Verdict};
use switchback_report::terminal::{self, RunReport, RunRow, TerminalStyle};
use switchback_report::tsv::{ScreenRow, StatusRow};
use switchback_report::{explain, json, markdown, tsv};

fn plain(report: &Report, width: usize) -> String {
    terminal::render(report, &TerminalStyle::plain(width), &[])
}

/// A text without the breaks that a width put into it.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn terminal_demo() {
    let next = [
        ("report", "runs/demo-20261130T142233-abcd/report.md"),
        ("why", "switchback report runs/demo-20261130T142233-abcd --explain gelu"),
    ];
    insta::assert_snapshot!(terminal::render(&samples::demo(), &TerminalStyle::plain(100), &next));
}

#[test]
fn terminal_demo_coloured_has_the_same_text() {
    let style = TerminalStyle { width: 100, colour: true };
    let coloured = terminal::render(&samples::demo(), &style, &[]);
    assert!(coloured.contains("\u{1b}[32mFASTER\u{1b}[0m"), "{coloured}");
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        bare.push_str(before);
        rest = after.split_once('m').expect("a colour ends with m").1;
    }
    bare.push_str(rest);
    assert_eq!(bare, plain(&samples::demo(), 100));
}

#[test]
fn terminal_narrow() {
    insta::assert_snapshot!(plain(&samples::demo(), 60));
}

#[test]
fn terminal_nasty() {
    insta::assert_snapshot!(plain(&samples::nasty(), 100));
}

#[test]
fn terminal_nasty_narrow() {
    insta::assert_snapshot!(plain(&samples::nasty(), 60));
}

#[test]
fn terminal_no_operators() {
    insta::assert_snapshot!(plain(&samples::report(vec![]), 80));
}

#[test]
fn terminal_only_no_rows() {
    insta::assert_snapshot!(plain(&samples::only_no_rows(), 80));
}

#[test]
fn screen_alone() {
    insta::assert_snapshot!(terminal::screen_table(&samples::demo(), &TerminalStyle::plain(90)));
}

#[test]
fn cases_of_an_operator() {
    insta::assert_snapshot!(terminal::cases_table(&samples::demo().operators[4], &TerminalStyle::plain(100)));
}

#[test]
fn cases_with_wrong_outputs_have_no_figures() {
    insta::assert_snapshot!(terminal::cases_table(
        &samples::nasty().operators[5],
        &TerminalStyle::plain(100)
    ));
}

#[test]
fn run_alone() {
    let row = RunRow {
        case: case("torch.float16", "[torch.Size([64, 64])]", 0),
        timer: Some(Timer::Gated),
        latency_us: Some(6.18),
        samples: 480,
        baseline_us: Some(7.5),
        spread_pct: Some(0.42),
        ok: true,
        error: None,
    };
    let failed = RunRow {
        case: case("torch.float64", "[torch.Size([64, 64])]", 0),
        timer: None,
        latency_us: None,
        samples: 0,
        baseline_us: None,
        spread_pct: None,
        ok: false,
        error: Some("RuntimeError: \"mm\" not implemented\nfor 'Double'".into()),
    };
    let run = RunReport { operator: "mm".into(), benchmark: None, rows: vec![row, failed], cut_off: None };
    insta::assert_snapshot!(terminal::run_table(&run, &TerminalStyle::plain(100)));
}

fn case(dtype: &str, input: &str, occurrence: u32) -> CaseKey {
    CaseKey { dtype: dtype.into(), input: input.into(), occurrence }
}

/// A run of a fused operator whose inputs are mostly the same in every row.
fn run_of_a_benchmark() -> RunReport {
    let row = |dtype: &str, tokens: u32, occurrence, timer, latency_us| RunRow {
        case: case(
            dtype,
            &format!(
                "([torch.Size([{tokens}, 4096]), torch.Size([8, 14336, 4096]), torch.Size([{tokens}, 8]), 2], \
                 {{'renormalize': True, 'activation': 'silu', 'out': None}})"
            ),
            occurrence,
        ),
        timer: Some(timer),
        latency_us: Some(latency_us),
        samples: 480,
        baseline_us: (dtype == "torch.float16").then_some(2.0 * latency_us),
        spread_pct: Some(0.42),
        ok: true,
        error: None,
    };
    let failed = RunRow {
        latency_us: None,
        timer: None,
        samples: 0,
        spread_pct: None,
        ok: false,
        error: Some("OutOfResources: shared memory\nRequired: 300000".into()),
        ..row("torch.float16", 8192, 0, Timer::Gated, 1.0)
    };
    let unmade =
        RunRow { case: case("torch.float16", "input 5, which could not be made", 0), ..failed.clone() };
    let rows = vec![
        row("torch.float16", 1, 0, Timer::Gated, 6.18),
        row("torch.float16", 64, 0, Timer::Gated, 117.25),
        row("torch.float16", 64, 1, Timer::Direct, 118.0),
        failed,
        unmade,
        row("torch.bfloat16", 1, 0, Timer::Direct, 6.2),
    ];
    RunReport {
        operator: "fused_experts_impl".into(),
        benchmark: Some(("kernel".into(), "core".into())),
        rows,
        cut_off: None,
    }
}

#[test]
fn a_run_of_a_benchmark_says_once_what_all_rows_share() {
    insta::assert_snapshot!(terminal::run_table(&run_of_a_benchmark(), &TerminalStyle::plain(100)));
}

#[test]
fn success_is_green_and_failure_red() {
    let text = terminal::run_table(&run_of_a_benchmark(), &TerminalStyle { width: 100, colour: true });
    assert_eq!(text.matches("\u{1b}[32mSUCCESS\u{1b}[0m").count(), 4);
    assert_eq!(text.matches("\u{1b}[31mFAILED\u{1b}[0m").count(), 2);
    // Without colours a status begins its line, where people search for it.
    let plain = terminal::run_table(&run_of_a_benchmark(), &TerminalStyle::plain(100));
    assert_eq!(plain.lines().filter(|line| line.starts_with("SUCCESS")).count(), 4);
}

#[test]
fn markdown_demo() {
    insta::assert_snapshot!(markdown::render(&samples::demo()));
}

#[test]
fn markdown_nasty() {
    insta::assert_snapshot!(markdown::render(&samples::nasty()));
}

#[test]
fn markdown_only_no_rows() {
    insta::assert_snapshot!(markdown::render(&samples::only_no_rows()));
}

#[test]
fn json_nasty() {
    let text = json::render(&samples::nasty());
    assert_eq!(json::parse(&text).unwrap(), samples::nasty());
    insta::assert_snapshot!(text);
}

#[test]
fn tsv_report_and_cases() {
    insta::assert_snapshot!("tsv_report", tsv::report(&samples::nasty()));
    insta::assert_snapshot!("tsv_cases", tsv::cases(&samples::nasty()));
}

#[test]
fn tsv_screen_begins_with_the_columns_of_the_scripts() {
    let conditions =
        [("backend", "cuda"), ("device", "NVIDIA H200"), ("timer", "gated"), ("bench_level", "core")];
    let row = ScreenRow {
        operator: "perf_fft".into(),
        file: "fft".into(),
        dtypes: vec!["complex64".into()],
        rows: (12, 11),
        kernels: (3, 3),
        cvt: (15, 15),
        elapsed_s: (24.25, 23.0),
        verdict: ScreenVerdict::IrChanged,
        conditions: Conditions(conditions.map(|(field, value)| (field.into(), value.into())).into()),
        first_stage: Some("ttgir".into()),
        spec: "perf_fft:fft:complex64".into(),
        kernels_changed: 2,
        fingerprints: (Some("aa11".into()), Some("bb22".into())),
        reason: "two kernels\tdiffer".into(),
    };
    let none = ScreenRow { dtypes: vec![], verdict: ScreenVerdict::NoRows, first_stage: None, ..row.clone() };
    let text = tsv::screen(&[row, none]);
    assert!(text.starts_with(
        "op\top_file\tdtypes\trows_before\trows_after\tkernels_before\tkernels_after\tcvt_before\tcvt_after\t\
         elapsed_before\telapsed_after\tverdict\tbackend\tdevice\ttimer\tbench_level\tshape_mode\ttuner_cache\t\
         direct_repeat\tfirst_stage\tspec"
    ));
    insta::assert_snapshot!(text);
}

#[test]
fn tsv_status_begins_with_the_columns_of_the_scripts() {
    let counts = Counts { success: 19, replay_fallback: 2, ..Counts::default() };
    let row = StatusRow {
        device: "0".into(),
        operator: "mm".into(),
        purpose: Purpose::Round(3, CellSides::B),
        switch: "1".into(),
        rc: 0,
        elapsed_s: 41.1234,
        card_s: 32.5,
        counts,
        attempt: 1,
        ending: Ending::Completed,
        reason: String::new(),
        uuid: "GPU-1".into(),
        host: "node7".into(),
        started_utc: "2026-11-30T14:22:33.500Z".into(),
        telemetry: Some(TelemetrySummary {
            sampler: "nvml".into(),
            readings: 40,
            measured: 21,
            sm_clock_mhz: Some(1912.5),
            throttle: [("sw_power_cap".to_owned(), 20), ("sw_thermal_slowdown".to_owned(), 1)].into(),
            cpu_s: 0.01325,
            ..TelemetrySummary::default()
        }),
    };
    let cut_off = StatusRow {
        purpose: Purpose::Round(4, CellSides::Both),
        rc: 124,
        elapsed_s: 2400.0,
        counts: Counts::default(),
        attempt: 2,
        ending: Ending::Timeout,
        reason: "ended at the deadline of 2400 s".into(),
        telemetry: None,
        ..row.clone()
    };
    let text = tsv::status(&[row, cut_off]);
    assert!(text.starts_with(
        "device\tround\top\tside\tswitch\trc\telapsed_s\tsuccess\tfailed\treplay_fallback\tno_cudagraph\t\
         capture_poisoned\tcell\tattempt\tending\treason\tuuid\thost\tstarted_utc\tsampler\treadings\tsm_clock_mhz\t\
         throttle\tsampler_cpu_s\tcard_s\n"
    ));
    let columns: Vec<usize> = text.lines().map(|line| line.split('\t').count()).collect();
    assert_eq!(columns, [25; 3]);
    insta::assert_snapshot!(text);
}

#[test]
fn explain_what_was_measured() {
    insta::assert_snapshot!(explain::operator(&samples::demo(), "gelu").unwrap());
}

#[test]
fn explain_the_others() {
    let report = samples::demo();
    let nasty = samples::nasty();
    let others =
        ["exp", "transpose", "topk", "sort", "fft"].map(|name| explain::operator(&report, name).unwrap());
    let wrong = explain::operator(&nasty, "bidi\u{202e}txt").unwrap();
    let cut_off = explain::operator(&nasty, "cut_off").unwrap();
    insta::assert_snapshot!(format!("{}\n{wrong}\n{cut_off}", others.join("\n")));
    assert_eq!(explain::operator(&report, "geluu"), None);
    assert!(explain::operator(&report, "gelu::f32").is_some());
}

#[test]
fn what_is_measured_to_be_safe_is_not_said_to_differ() {
    let mut report = samples::demo();
    let it = report.operators.iter_mut().find(|it| it.operator == "sum").unwrap();
    it.first_stage = None;
    it.kernels = vec![KernelReport { kernel: "k".into(), variants: 1, changed: 0, first_stage: None }];
    let said = explain::operator(&report, "sum").unwrap();
    assert!(
        said.contains("IR_CHANGED: measured to be safe: identical as far as seen, and not all was seen."),
        "{said}"
    );
    assert!(plain(&report, 100).contains("sum         unknown"), "{}", plain(&report, 100));
    // A kernel that one side alone launches is a difference, though no stage is.
    let it = report.operators.iter_mut().find(|it| it.operator == "sum").unwrap();
    it.kernels[0].changed = 1;
    assert!(explain::operator(&report, "sum").unwrap().contains("IR_CHANGED: the sides differ."));
    assert!(plain(&report, 100).contains("sum         changed"));
}

#[test]
fn a_control_has_no_case_whose_code_differs() {
    let mut report = samples::demo();
    let it = report.operators.iter_mut().find(|it| it.operator == "transpose").unwrap();
    it.median_pct = Some(0.02);
    it.cases = vec![CaseReport { untouched: true, ..samples::case("f32 [8]", 2.0, 2.0) }];
    let said = explain::operator(&report, "transpose").unwrap();
    assert!(said.contains("Other summaries: median over cases +0.02 %."), "{said}");
    assert!(said.contains("1 case: 1 wall; 1 with identical code.\n"), "{said}");
    assert!(!said.contains("code differs"), "{said}");
}

#[test]
fn an_operator_left_out_says_so_and_not_that_rounds_are_missing() {
    let mut report = samples::demo();
    let it = report.operators.iter_mut().find(|it| it.operator == "sum").unwrap();
    (it.verdict, it.rounds, it.rounds_requested) = (Verdict::NotMeasured, 0, None);
    it.reasons = vec!["left out by `--verdicts NO_IR_DIFF`: it is IR_CHANGED".into()];
    let line =
        |report: &Report| plain(report, 100).lines().find(|it| it.starts_with("sum ")).unwrap().to_owned();
    assert!(
        line(&report).contains("left out by `--verdicts NO_IR_DIFF`: it is IR_CHANGED"),
        "{}",
        line(&report)
    );
    assert!(
        explain::operator(&report, "sum").unwrap().contains("Its code differs, and it was not measured.")
    );
    let it = report.operators.iter_mut().find(|it| it.operator == "sum").unwrap();
    (it.reasons, it.rounds_requested) = (vec![], Some(4));
    assert!(line(&report).contains("no round is complete"), "{}", line(&report));
}

#[test]
fn cases_left_out_are_told_in_every_format() {
    let mut report = samples::demo();
    let it = report.operators.iter_mut().find(|it| it.operator == "gelu").unwrap();
    it.cases[1].left_out = Some("fails on B".into());
    (it.cases[1].effect_pct, it.cases[1].b_us) = (None, None);
    let said = "1 of 4 cases left out: fails on B";
    let gelu = &report.operators[4];
    for text in [
        plain(&report, 200),
        markdown::render(&report),
        explain::operator(&report, "gelu").unwrap(),
        terminal::operator_with_cases(&report, gelu, &TerminalStyle::plain(200)),
    ] {
        assert!(unwrapped(&text).contains(said), "{text}");
    }
    assert!(terminal::cases_table(gelu, &TerminalStyle::plain(200)).contains("left out: fails on B"));
    // A wrong kernel has no speed, and may break inputs besides.
    report.operators[4].verdict = Verdict::Wrong;
    assert!(unwrapped(&plain(&report, 200)).contains(said));
}

#[test]
fn identical_code_in_one_round_or_in_none_whole_is_no_floor() {
    let mut report = samples::demo();
    report.controls = switchback_model::report::Controls { worst_pct: Some(51.7), ..Default::default() };
    let said = plain(&report, 200);
    assert!(
        said.contains("identical code read up to ±52 %, but no case of it has two rounds or more"),
        "{said}"
    );
}

#[test]
fn no_format_repeats_a_figure_where_nothing_was_measured() {
    let report = samples::only_no_rows();
    for text in [
        plain(&report, 100),
        markdown::render(&report),
        tsv::report(&report),
        tsv::cases(&report),
        explain::operator(&report, "fft").unwrap(),
        terminal::screen_table(&report, &TerminalStyle::plain(100)),
        terminal::cases_table(&report.operators[0], &TerminalStyle::plain(100)),
    ] {
        assert!(!text.contains("77"), "{text}");
    }
}

#[test]
fn a_row_without_a_figure_has_its_first_hint_but_for_code_that_was_not_compiled() {
    let mut report = samples::demo();
    for operator in &mut report.operators {
        operator.hints = vec!["first hint".into(), "second hint".into()];
    }
    report.operators.retain(|it| it.operator == "fft" || it.operator == "sort" || it.operator == "transpose");
    let text = plain(&report, 100);
    assert!(text.contains("takes c64: `fft::c64`; first hint\n"), "{text}");
    assert!(text.contains("ran without the compiler under test\n"), "{text}");
    assert!(text.contains("measure   1 control, duet, 4 rounds"), "{text}");
    assert!(!text.contains("second hint"), "{text}");
}

#[test]
fn an_operators_cases_with_bars_and_what_they_rest_on() {
    let mut report = samples::demo();
    report.operators[4].tuned_on = Some(switchback_model::side::Side::A);
    let wide = terminal::operator_with_cases(&report, &report.operators[4], &TerminalStyle::plain(140));
    let narrow = terminal::operator_with_cases(&report, &report.operators[4], &TerminalStyle::plain(60));
    let unmeasured = terminal::operator_with_cases(&report, &report.operators[0], &TerminalStyle::plain(80));
    insta::assert_snapshot!(format!("{wide}\n{narrow}\n{unmeasured}"));
}

#[test]
fn evidence_of_all_operators() {
    insta::assert_snapshot!(terminal::evidence(&samples::demo(), &TerminalStyle::plain(100)));
}

#[test]
fn evidence_says_what_is_not_known_and_what_failed() {
    let mut report = samples::demo();
    report.conditions.0.insert("clock_lock".into(), "1980 MHz".into());
    report.operators[4].proof = Some(ProofCounts { cases: 4, failed: 1 });
    report.operators[4].rounds_requested = Some(6);
    let told = switchback_report::facts::evidence(&report, &report.operators[4]);
    for part in [
        "4 of 6 rounds",
        "clock lock 1980 MHz;",
        "duet proof failed in 1 of 4 cases",
        "not tuned",
        "timers wall in 3, direct in 1",
    ] {
        assert!(told.contains(part), "{told}");
    }
    report.operators[4].clocks = Some(Clocks {
        cells: 4,
        sm_clock_mhz: Some((1905.0, 1980.0)),
        throttled: [("sw_power_cap".to_owned(), 1)].into(),
    });
    let told = switchback_report::facts::evidence(&report, &report.operators[4]);
    let clocks = "clock lock 1980 MHz, clocks 1905 to 1980 MHz over 4 cells, slowed in 1 cell (sw_power_cap)";
    assert!(told.contains(clocks), "{told}");
    report.operators[3].proof = None;
    let told = switchback_report::facts::evidence(&report, &report.operators[3]);
    assert!(told.contains("duet, its proof not recorded"), "{told}");
    report.pairing = Some(switchback_model::side::Pairing::Process);
    report.controls = switchback_model::report::Controls::default();
    report.operators[3].cases.clear();
    let told = switchback_report::facts::evidence(&report, &report.operators[3]);
    for part in ["a process a side", "floor not measured", "timer not known"] {
        assert!(told.contains(part), "{told}");
    }
}

/// A report in which nothing is left out, so that every field is written.
fn whole() -> Report {
    let mut report = samples::demo();
    let band = CalibratedBand { floor_pct: Some(0.1), below_us: Some(10.0), ..CalibratedBand::default() };
    report.calibration = Some(CalibratedFloor {
        campaign: "floor".into(),
        created_utc: "2026-11-29T08:00:00Z".into(),
        suite: "cpu".into(),
        pairing: Some(switchback_model::side::Pairing::Duet),
        rounds: 4,
        total: CalibratedBand { cases: 24, floor_pct: Some(0.12), ..CalibratedBand::default() },
        bands: vec![CalibratedBand { timer: "gated".into(), ..band }],
    });
    let it = &mut report.operators[3];
    it.tuned_on = Some(switchback_model::side::Side::A);
    it.rounds_cannot_tell = true;
    it.cases = vec![CaseReport { left_out: Some("fails on B".into()), ..samples::case("f32 [8]", 2.0, 1.0) }];
    it.unseen = vec![UnseenStage { stage: "sass".into(), reason: "two compilations differ".into() }];
    it.clocks = Some(Clocks { cells: 4, sm_clock_mhz: Some((1980.0, 1980.0)), ..Clocks::default() });
    report
}

#[test]
fn a_calibration_is_said_beside_the_controls_and_stands_in_json_as_values() {
    let report = whole();
    assert!(plain(&report, 120).contains(
        "calibrated before: `floor` of 2026-11-29, A against A, duet, 4 rounds: 95 % of 24 cases read within"
    ));
    let value: serde_json::Value = serde_json::from_str(&json::render(&report)).unwrap();
    assert_eq!(value["calibration"]["total"]["floor_pct"], 0.12);
    assert_eq!(value["operators"][3]["proof"], serde_json::json!({"cases": 8, "failed": 0}));
    assert_eq!(value["operators"][3]["clocks"]["sm_clock_mhz"], serde_json::json!([1980.0, 1980.0]));
    assert_eq!(json::parse(&json::render(&report)).unwrap(), report);
}

#[test]
fn every_field_of_the_json_is_documented() {
    fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
        match value {
            serde_json::Value::Array(all) => all.iter().for_each(|it| keys(it, found)),
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    found.insert(name.clone());
                    // What stands in these is named by others.
                    if !["switch", "conditions", "identity", "stamps", "throttled"].contains(&name.as_str()) {
                        keys(value, found);
                    }
                }
            }
            _ => {}
        }
    }
    let page = include_str!("../../../docs/report-json.md");
    let mut found = std::collections::BTreeSet::new();
    keys(&serde_json::to_value(whole()).unwrap(), &mut found);
    assert!(found.len() > 70, "{}", found.len());
    let missing: Vec<&String> = found.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not in docs/report-json.md: {missing:?}");
}
