//! Reports made by hand, for the snapshots.

#![allow(dead_code, reason = "each test file uses some of them")]

use std::collections::BTreeMap;

use switchback_model::conditions::Conditions;
use switchback_model::event::{OutputsVerdict, Timer};
use switchback_model::finding::Finding;
use switchback_model::report::{
    CaseReport, Controls, KernelReport, Naive, OperatorReport, ProofCounts, Report, SCHEMA,
};
use switchback_model::side::Pairing;
use switchback_model::switch::Switch;
use switchback_model::verdict::{ScreenVerdict, Verdict};

pub fn report(operators: Vec<OperatorReport>) -> Report {
    let mut switch = Switch::default();
    switch.add("SWITCHBACK_CPU_ENABLE_NAN_CANONICALIZATION=true:false").unwrap();
    let conditions =
        [("backend", "cpu"), ("device", "x86-64"), ("compiler", "cranelift 0.135.8"), ("timer", "wall")];
    Report {
        schema: SCHEMA,
        campaign: "demo-20261130T142233-abcd".into(),
        switchback: "0.1.0".into(),
        created_utc: "2026-11-30T14:22:33Z".into(),
        switch,
        suite: "cpu".into(),
        pairing: Some(Pairing::Duet),
        rounds: 4,
        margin_pct: 0.5,
        conditions: Conditions(
            conditions.into_iter().map(|(field, value)| (field.to_owned(), value.to_owned())).collect(),
        ),
        identity: BTreeMap::from([("rustc".into(), "1.95.0".into())]),
        operators,
        elapsed_s: vec![("screen".into(), 0.42), ("measure".into(), 21.3)],
        ..Report::default()
    }
}

pub fn operator(name: &str, screen: ScreenVerdict, verdict: Verdict) -> OperatorReport {
    OperatorReport {
        operator: name.into(),
        spec: name.into(),
        screen: Some(screen),
        first_stage: (screen == ScreenVerdict::IrChanged).then(|| "clif".into()),
        verdict,
        ..OperatorReport::default()
    }
}

pub fn measured(name: &str, verdict: Verdict, effect: f64, low: f64, high: f64) -> OperatorReport {
    OperatorReport {
        effect_pct: Some(effect),
        ci_pct: Some((low, high)),
        p_adjusted: Some(0.004),
        rounds: 4,
        rounds_requested: Some(4),
        proof: Some(ProofCounts { cases: 8, failed: 0 }),
        rounds_range_pct: Some((low, high)),
        sign_stable: Some(low.signum() == high.signum()),
        noise_a_pct: Some(0.31),
        noise_b_pct: Some(0.22),
        outputs: Some(OutputsVerdict::Equal),
        outputs_cases: BTreeMap::from([(OutputsVerdict::Equal, 8)]),
        ..operator(name, ScreenVerdict::IrChanged, verdict)
    }
}

pub fn case(text: &str, a_us: f64, b_us: f64) -> CaseReport {
    let effect = 100.0 * (a_us / b_us - 1.0);
    CaseReport {
        case: text.into(),
        timer: Some(Timer::Wall),
        a_us: Some(a_us),
        b_us: Some(b_us),
        effect_pct: Some(effect),
        ci_pct: Some((effect - 0.6, effect + 0.6)),
        q: Some(0.000_002),
        rounds_pct: vec![Some(effect - 0.5), None, Some(effect + 0.5)],
        untouched: false,
        host_bound: false,
        clock_mhz: None,
        left_out: None,
        outputs: Some(OutputsVerdict::Equal),
        notes: vec![],
    }
}

/// The example of the product's description.
pub fn demo() -> Report {
    let mut operators = vec![
        OperatorReport { spec: "fft".into(), ..operator("fft", ScreenVerdict::NoRows, Verdict::NotMeasured) },
        measured("add_64MB", Verdict::Equivalent, 0.12, -0.2, 0.3),
        OperatorReport { rounds_needed: Some(11), ..measured("exp", Verdict::Inconclusive, 0.6, -0.9, 2.1) },
        measured("sum", Verdict::Faster, 384.0, 380.2, 388.4),
        measured("gelu", Verdict::Faster, 804.6, 796.1, 811.2),
        measured("scan", Verdict::Slower, -2.4, -3.1, -1.7),
        OperatorReport {
            control: true,
            screen: Some(ScreenVerdict::NoIrDiff),
            first_stage: None,
            ..measured("transpose", Verdict::Equivalent, 0.0, -0.1, 0.1)
        },
        operator("relu", ScreenVerdict::NoIrDiff, Verdict::NotMeasured),
        operator("topk", ScreenVerdict::NoIrDiff, Verdict::NotMeasured),
        operator("sort", ScreenVerdict::NotCompiled, Verdict::NotMeasured),
    ];
    operators[0].reasons.push("refuses f32, takes c64: `fft::c64`".into());
    let gelu = &mut operators[4];
    gelu.spec = "gelu::f32".into();
    gelu.cases = vec![
        case("f32 [4096,1024]", 1000.0, 110.0),
        case("f32 [64,64]", 9.9, 1.1),
        CaseReport { untouched: true, ci_pct: Some((-0.03, 0.05)), ..case("f32 [1]", 0.4001, 0.4) },
        CaseReport {
            host_bound: true,
            timer: Some(Timer::Direct),
            notes: vec!["gate never held: the operator synchronises inside".into()],
            ..case("f32 [16]", 170.0, 160.0)
        },
    ];
    gelu.kernels = vec![
        KernelReport {
            kernel: "gelu_f32x4".into(),
            variants: 2,
            changed: 2,
            first_stage: Some("clif".into()),
        },
        KernelReport { kernel: "fill".into(), variants: 1, changed: 0, first_stage: None },
    ];
    gelu.reasons.push("every case whose code differs is faster in every round".into());
    gelu.median_pct = Some(803.0);
    gelu.geometric_mean_pct = Some(799.8);
    let mut report = report(operators);
    report.controls = Controls {
        cases: 12,
        operators: 3,
        processes: 12,
        floor_pct: Some(0.11),
        worst_pct: Some(0.114),
        tau_pct: Some(0.02),
        false_positives: 0,
        upper95: Some(0.2209),
        false_positive_operators: 0,
        upper95_operators: Some(0.6316),
    };
    report.naive = Some(Naive { cases: 12, over_1_pct: 4, worst_pct: -6.31, floor_pct: 5.0 });
    report
}

/// Names that want to be more than names, and long ones.
pub fn nasty() -> Report {
    let long = "native_batch_norm_backward_with_running_statistics_and_channels_last_memory_format";
    let mut operators = vec![
        measured("\u{1b}[31mred\u{1b}[0m", Verdict::Faster, 12.34, 12.2, 12.5),
        measured("tab\tand|pipe", Verdict::Slower, -1.04, -1.08, -1.0),
        measured("<script>alert(1)</script>", Verdict::Equivalent, 0.0004, -0.009, 0.009),
        measured("矩阵乘法_kernel", Verdict::Inconclusive, 0.6, -0.9, 2.1),
        measured(long, Verdict::Faster, 123_456.7, 120_000.0, 130_000.0),
        measured("bidi\u{202e}txt", Verdict::Wrong, 50.0, 49.0, 51.0),
        operator("`tick` *star* _under_", ScreenVerdict::NoRows, Verdict::NotMeasured),
        operator("no\nline", ScreenVerdict::NotCompiled, Verdict::NotMeasured),
        OperatorReport { screen: None, ..operator("later", ScreenVerdict::NoRows, Verdict::NotMeasured) },
        operator("cut_off", ScreenVerdict::IrChanged, Verdict::NotMeasured),
    ];
    operators[0].mixed = true;
    operators[0].rounds = 3;
    operators[0].replay_fallbacks = 2;
    operators[4].outputs = Some(OutputsVerdict::Unreferenced);
    operators[4].outputs_cases = BTreeMap::from([
        (OutputsVerdict::Equal, 1),
        (OutputsVerdict::Differs, 2),
        (OutputsVerdict::Beyond, 1),
        (OutputsVerdict::Unreferenced, 3),
        (OutputsVerdict::NotComparable, 1),
    ]);
    operators[4].kernels = vec![KernelReport {
        kernel: format!("{long}_kernel|0\u{7}"),
        variants: 186,
        changed: 11,
        first_stage: Some("ttgir".into()),
    }];
    operators[4].cases = vec![CaseReport {
        notes: vec!["see <https://example.invalid> | @everyone".into()],
        ..case(
            "torch.float16 ([0.25, torch.Size([1024, 1024])], {'out': torch.Size([1024, 1024])})",
            5.5,
            5.0,
        )
    }];
    operators[5].outputs_cases = BTreeMap::from([(OutputsVerdict::Equal, 6), (OutputsVerdict::Wrong, 2)]);
    operators[5].reasons.push("2 of 8 cases: error 0.4 against a bound of 0.001".into());
    operators[5].cases = vec![
        CaseReport { outputs: Some(OutputsVerdict::Wrong), ..case("f32 [7]", 2.0, 1.0) },
        case("f32 [8]", 2.0, 1.0),
    ];
    operators[6]
        .reasons
        .push("RuntimeError:\n  \u{1b}[31mFAILED\u{1b}[0m: dtype={dtype} err=<<<{e}>>>".into());
    operators[6].hints.push("look at `cells/x/run.log`".into());
    operators[9].reasons.push("round 1: both sides ended at the deadline".into());
    let mut report = report(operators);
    report.allowed = vec!["bench_level".into()];
    report.stamps = BTreeMap::from([("ttg.rlc-*".into(), 23)]);
    report.findings = vec![
        Finding::ok("interpreter", "imports triton"),
        Finding::warning("switch", "`X` is read by no compiler\nhere", "check its spelling"),
    ];
    report.switch.set(switchback_model::side::Side::B, "EVIL=\u{1b}]0;title\u{7}").unwrap();
    report
}

/// Nothing could be run.
pub fn only_no_rows() -> Report {
    let mut operators = vec![
        operator("fft", ScreenVerdict::NoRows, Verdict::NotMeasured),
        operator("conv2d", ScreenVerdict::NoRows, Verdict::NotMeasured),
    ];
    operators[0].reasons.push("both sides failed: `RuntimeError: unsupported dtype`".into());
    operators[0].hints.push("name a dtype that it takes: `fft::complex64`".into());
    // Figures that must not be repeated: nothing was measured.
    operators[0].effect_pct = Some(77.7);
    operators[0].ci_pct = Some((77.6, 77.8));
    operators[0].cases = vec![case("f32 [7]", 777.7, 77.7)];
    let mut report = report(operators);
    report.pairing = None;
    report.elapsed_s = vec![("screen".into(), 125.0)];
    report
}
