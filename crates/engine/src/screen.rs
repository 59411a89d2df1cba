//! Screening: does the switch touch an operator's code? One rule, used after screening and for every round.
//!
//! When two texts are the same code is left to `ir`, what a second compilation puts in doubt to `again`. Invariant: what was not
//! seen is not called identical.

mod again;

use std::collections::{BTreeMap, BTreeSet};

use switchback_ir::{Comparison, Difference, IrVerdict, KernelIr, Stage, compare};
use switchback_model::case::CaseKey;
use switchback_model::report::{KernelReport, UnseenStage};
use switchback_model::side::Side;
use switchback_model::verdict::ScreenVerdict;

use self::again::two_compilations;
use crate::evidence::Evidence;

pub use again::Again;

/// What screening found for an operator.
#[derive(Debug, Clone)]
pub struct Screened {
    /// The verdict.
    pub verdict: ScreenVerdict,
    /// The first stage that differs.
    pub first_stage: Option<String>,
    /// Kernels, those that differ first.
    pub kernels: Vec<KernelReport>,
    /// Cases that ran on both sides, and whether all they launch is identical.
    pub untouched: BTreeMap<CaseKey, bool>,
    /// Stages that are no evidence, since two compilations of one side differ in them.
    pub unseen: Vec<UnseenStage>,
    /// Whether side A has to be compiled another time before a difference counts.
    pub again: Again,
    /// Sentences: what was seen and how far it goes.
    pub reasons: Vec<String>,
}

impl Screened {
    /// A verdict without code behind it.
    #[must_use]
    pub fn of(verdict: ScreenVerdict) -> Self {
        Self {
            verdict,
            first_stage: None,
            kernels: Vec::new(),
            untouched: BTreeMap::new(),
            unseen: Vec::new(),
            again: Again::NotNeeded,
            reasons: Vec::new(),
        }
    }

    /// The stages that are no evidence.
    #[must_use]
    pub fn unseen_stages(&self) -> BTreeSet<Stage> {
        self.unseen.iter().map(|it| Stage::from_name(&it.stage)).collect()
    }

    /// Whether a stage that both sides have is what differs: what another compilation may put in doubt.
    #[must_use]
    pub fn rests_on_a_stage(&self) -> bool {
        self.verdict == ScreenVerdict::IrChanged && self.first_stage.is_some()
    }
}

/// Compares both sides' code. Either side's evidence may be missing when its cell was not run.
///
/// `again` is a second compilation of one side, in other caches. A stage in which it differs from the first cannot tell
/// what the switch does: it is left out of the comparison, and named.
#[must_use]
pub fn screen(a: Option<&Evidence>, b: Option<&Evidence>, again: Option<(Side, &Evidence)>) -> Screened {
    let nothing = Evidence::default();
    let (a_ran, b_ran) = (a.is_some(), b.is_some());
    let (a, b) = (a.unwrap_or(&nothing), b.unwrap_or(&nothing));
    let mut reasons = Vec::new();
    if a.rows_ok() == 0 || b.rows_ok() == 0 {
        match (a.rows_ok(), b.rows_ok()) {
            (0, 0) => reasons.push("no input ran, on neither side".to_owned()),
            (0, _) => reasons.push("no input ran on side A".to_owned()),
            (_, 0) if b_ran => {
                reasons
                    .push("inputs run on side A and none on side B: the switch itself breaks it".to_owned());
            }
            _ => reasons.push("side B was not run".to_owned()),
        }
        if !a_ran {
            reasons.push("side A was not run".to_owned());
        }
        return Screened { reasons, ..Screened::of(ScreenVerdict::NoRows) };
    }
    for (side, evidence) in [(Side::A, a), (Side::B, b)] {
        if let Some(status) = evidence.status().filter(|status| *status != 0) {
            let failed = evidence.rows.iter().filter(|row| !row.ok).count();
            reasons.push(format!(
                "side {side} ended with status {status}: {} inputs ran, {failed} failed",
                evidence.rows_ok()
            ));
        }
    }
    reasons.extend(fails_on_one_side(a, b));
    let unseen_stages = again.map_or_else(Vec::new, |(side, again)| {
        two_compilations(side, if side == Side::A { a } else { b }, again)
    });
    for it in &unseen_stages {
        reasons.push(format!("`{}` is no evidence: {}", it.stage, it.reason));
    }
    let unreliable: BTreeSet<Stage> = unseen_stages.iter().map(|it| Stage::from_name(&it.stage)).collect();
    let untouched = cases_on_both(a, b)
        .into_iter()
        .map(|case| {
            let same = case_is_untouched(a, b, &case, &unreliable);
            (case, same)
        })
        .collect();
    let unseen: u64 = a.launched.values().chain(b.launched.values()).map(|launched| launched.unknown).sum();
    if unseen > 0 {
        reasons.push(format!("{unseen} launches were of kernels that no hook saw compiled"));
    }
    let comparison = compare(&a.kernels(Side::A), &b.kernels(Side::B), &unreliable);
    let (verdict, first_stage) = match comparison.verdict {
        IrVerdict::Changed => {
            (ScreenVerdict::IrChanged, comparison.first_stage.as_ref().map(|stage| stage.name().to_owned()))
        }
        IrVerdict::Same if unseen > 0 => {
            reasons.push("what was seen is identical, but not all was seen: measured to be safe".to_owned());
            (ScreenVerdict::IrChanged, None)
        }
        IrVerdict::Same => (ScreenVerdict::NoIrDiff, None),
        IrVerdict::NoIr => {
            let (in_a, in_b) = (a.kernels(Side::A).len(), b.kernels(Side::B).len());
            match (in_a, in_b) {
                (0, 0) => {
                    reasons
                        .push("inputs ran and launched nothing that the compiler under test made".to_owned());
                    (ScreenVerdict::NotCompiled, None)
                }
                (0, _) | (_, 0) => {
                    reasons.push(format!("compiled kernels: {in_a} on side A, {in_b} on side B"));
                    (ScreenVerdict::IrChanged, None)
                }
                _ if !unreliable.is_empty() => {
                    reasons.push("no stage is left that could tell: measured to be safe".to_owned());
                    (ScreenVerdict::IrChanged, None)
                }
                _ => {
                    reasons.push("kernels were launched, but no text of any stage was kept".to_owned());
                    (ScreenVerdict::NotCompiled, None)
                }
            }
        }
    };
    Screened {
        verdict,
        first_stage,
        kernels: kernel_reports(&comparison),
        untouched,
        unseen: unseen_stages,
        again: Again::NotNeeded,
        reasons,
    }
}

/// Inputs that run on one side and fail on the other, a sentence a side.
fn fails_on_one_side(a: &Evidence, b: &Evidence) -> Vec<String> {
    let fails = |here: &Evidence, side: Side, there: &Evidence| {
        let runs = |case: &CaseKey| there.rows.iter().any(|row| row.ok && row.case == *case);
        let failed: Vec<_> = here.rows.iter().filter(|row| !row.ok && runs(&row.case)).collect();
        let first = failed.first()?;
        let error = first.error.as_deref().and_then(|it| it.lines().next()).unwrap_or("no reason given");
        let (number, verb) = (failed.len(), if failed.len() == 1 { "input fails" } else { "inputs fail" });
        Some(format!(
            "{number} {verb} on side {side} and not on side {}, the first is `{}`: {error}",
            side.other(),
            first.case
        ))
    };
    [fails(a, Side::A, b), fails(b, Side::B, a)].into_iter().flatten().collect()
}

pub(crate) fn cases_on_both(a: &Evidence, b: &Evidence) -> BTreeSet<CaseKey> {
    let ran = |evidence: &Evidence| -> BTreeSet<CaseKey> {
        evidence.rows.iter().filter(|row| row.ok).map(|row| row.case.clone()).collect()
    };
    ran(a).intersection(&ran(b)).cloned().collect()
}

fn case_is_untouched(a: &Evidence, b: &Evidence, case: &CaseKey, unreliable: &BTreeSet<Stage>) -> bool {
    let unseen = |evidence: &Evidence, side| {
        evidence.launched.get(&(side, case.clone())).is_some_and(|launched| launched.unknown > 0)
    };
    let comparison = compare(&a.case_kernels(Side::A, case), &b.case_kernels(Side::B, case), unreliable);
    comparison.verdict == IrVerdict::Same && !unseen(a, Side::A) && !unseen(b, Side::B)
}

/// Whether a round launched, on a side, the code that screening saw there; else what differs.
///
/// Stages in `unseen` are no evidence here either.
///
/// # Errors
/// A sentence: the case and the kernel that differ.
pub fn same_code(
    screened: &Evidence,
    round: &Evidence,
    side: Side,
    case: &CaseKey,
    unseen: &BTreeSet<Stage>,
) -> Result<(), String> {
    let (expected, found) = (screened.case_kernels(side, case), round.case_kernels(side, case));
    // A stage that one of the cells did not keep at all (a disassembly, say) is no difference of the code.
    let stages = |kernels: &[KernelIr]| -> BTreeSet<Stage> {
        kernels.iter().flat_map(|kernel| kernel.stages.keys().cloned()).collect()
    };
    let mut left_out: BTreeSet<Stage> =
        stages(&expected).symmetric_difference(&stages(&found)).cloned().collect();
    left_out.extend(unseen.iter().cloned());
    let comparison = compare(&expected, &found, &left_out);
    match comparison.kernels.iter().find(|kernel| kernel.difference.is_change()) {
        None => Ok(()),
        Some(kernel) => Err(format!(
            "side {side} ran other code than screening saw: `{}` {}",
            kernel.kernel,
            parted(&kernel.difference)
        )),
    }
}

/// How a kernel of a round (B of the comparison) differs from that of screening (A of it).
fn parted(difference: &Difference) -> String {
    match difference {
        Difference::OnlyInA => "was launched in screening only".into(),
        Difference::OnlyInB => "was not launched in screening".into(),
        Difference::Count { a, b } => format!("has {a} texts in screening and {b} here"),
        Difference::MissingInA(stage) => format!("had no {stage} in screening"),
        Difference::MissingInB(stage) => format!("has no {stage} here"),
        Difference::Stage(stage) => format!("differs at {stage}"),
        Difference::Same | Difference::NoEvidence => format!("is {difference}"),
    }
}

pub(crate) fn kernel_reports(comparison: &Comparison) -> Vec<KernelReport> {
    let mut reports: BTreeMap<&str, KernelReport> = BTreeMap::new();
    let mut stages: BTreeMap<&str, &Stage> = BTreeMap::new();
    for kernel in &comparison.kernels {
        let report = reports.entry(&kernel.kernel).or_insert_with(|| KernelReport {
            kernel: kernel.kernel.clone(),
            variants: 0,
            changed: 0,
            first_stage: None,
        });
        report.variants += 1;
        if kernel.difference.is_change() {
            report.changed += 1;
            if let Some(stage) = kernel.difference.stage() {
                let first = stages.entry(&kernel.kernel).or_insert(stage);
                *first = (*first).min(stage);
                report.first_stage = Some(first.name().to_owned());
            }
        }
    }
    let mut reports: Vec<KernelReport> = reports.into_values().collect();
    reports.sort_by_key(|report| std::cmp::Reverse(report.changed.min(1)));
    reports
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Launched;
    use switchback_ir::Digest;
    use switchback_model::event::Row;

    pub(super) fn case(name: &str) -> CaseKey {
        CaseKey { dtype: "f32".into(), input: name.into(), occurrence: 0 }
    }

    /// Evidence of one side: (case, code of the one kernel that it launches, 0 for none).
    pub(super) fn evidence(side: Side, cases: &[(&str, u8)]) -> Evidence {
        let mut it = Evidence::default();
        for (name, code) in cases {
            it.rows.push(Row {
                operator: "add".into(),
                side,
                case: case(name),
                ok: true,
                error: None,
                timer: None,
                timer_reason: None,
                samples_us: Vec::new(),
                latency_us: None,
                baseline_us: None,
                host_us: None,
                host_bound: false,
                dropped: 0,
                clock_mhz: None,
                standard_error_pct: None,
                regime: switchback_model::order::Regime::Burst,
            });
            let kernels = (*code > 0)
                .then(|| KernelIr {
                    kernel: format!("kernel_{name}"),
                    variant: "v".into(),
                    stages: BTreeMap::from([
                        (Stage::Ttir, Digest([1; 32])),
                        (Stage::Ttgir, Digest([*code; 32])),
                    ]),
                })
                .into_iter()
                .collect();
            it.launched.insert((side, case(name)), Launched { kernels, unknown: 0 });
        }
        it
    }

    #[test]
    fn the_four_verdicts() {
        let a = evidence(Side::A, &[("one", 1), ("two", 1)]);
        let same = screen(Some(&a), Some(&evidence(Side::B, &[("one", 1), ("two", 1)])), None);
        assert_eq!(same.verdict, ScreenVerdict::NoIrDiff);
        let changed = screen(Some(&a), Some(&evidence(Side::B, &[("one", 2), ("two", 1)])), None);
        assert_eq!(changed.verdict, ScreenVerdict::IrChanged);
        assert_eq!(changed.first_stage.as_deref(), Some("ttgir"));
        assert_eq!(changed.untouched, BTreeMap::from([(case("one"), false), (case("two"), true)]));
        assert_eq!(changed.kernels[0].kernel, "kernel_one");
        let library = evidence(Side::A, &[("one", 0)]);
        let none = screen(Some(&library), Some(&evidence(Side::B, &[("one", 0)])), None);
        assert_eq!(none.verdict, ScreenVerdict::NotCompiled);
        assert_eq!(screen(Some(&Evidence::default()), None, None).verdict, ScreenVerdict::NoRows);
    }

    #[test]
    fn a_switch_that_breaks_an_operator_is_said_so() {
        let broken = screen(Some(&evidence(Side::A, &[("one", 1)])), Some(&Evidence::default()), None);
        assert_eq!(broken.verdict, ScreenVerdict::NoRows);
        assert!(broken.reasons[0].contains("the switch itself breaks it"));
    }

    #[test]
    fn code_on_one_side_only_is_a_change() {
        let it =
            screen(Some(&evidence(Side::A, &[("one", 1)])), Some(&evidence(Side::B, &[("one", 0)])), None);
        assert_eq!((it.verdict, it.first_stage), (ScreenVerdict::IrChanged, None));
    }

    #[test]
    fn what_no_hook_saw_is_not_called_identical() {
        let a = evidence(Side::A, &[("one", 1)]);
        let mut b = evidence(Side::B, &[("one", 1)]);
        b.launched.get_mut(&(Side::B, case("one"))).unwrap().unknown = 2;
        let it = screen(Some(&a), Some(&b), None);
        assert_eq!(it.verdict, ScreenVerdict::IrChanged);
        assert!(!it.untouched[&case("one")]);
    }

    #[test]
    fn a_round_with_other_code_is_told() {
        let seen = evidence(Side::A, &[("one", 1)]);
        assert_eq!(
            same_code(&seen, &evidence(Side::A, &[("one", 1)]), Side::A, &case("one"), &BTreeSet::new()),
            Ok(())
        );
        let told =
            same_code(&seen, &evidence(Side::A, &[("one", 3)]), Side::A, &case("one"), &BTreeSet::new())
                .unwrap_err();
        assert_eq!(told, "side A ran other code than screening saw: `kernel_one` differs at ttgir");
        let said = |screening: u8, round: u8| {
            let it = |code| evidence(Side::B, &[("one", code)]);
            same_code(&it(screening), &it(round), Side::B, &case("one"), &BTreeSet::new()).unwrap_err()
        };
        // Both are of side B: what was launched on one side of the comparison only was not on one side of the switch.
        assert!(said(1, 0).ends_with("`kernel_one` was launched in screening only"), "{}", said(1, 0));
        assert!(said(0, 1).ends_with("`kernel_one` was not launched in screening"), "{}", said(0, 1));
    }

    #[test]
    fn an_input_that_one_side_breaks_is_told() {
        let a = evidence(Side::A, &[("one", 1), ("two", 1), ("three", 1)]);
        let mut b = evidence(Side::B, &[("one", 2), ("two", 2), ("three", 2)]);
        assert_eq!(screen(Some(&a), Some(&b), None).reasons, [""; 0]);
        for row in &mut b.rows[..2] {
            (row.ok, row.error) = (false, Some("boom\n  at line 3".into()));
        }
        let it = screen(Some(&a), Some(&b), None);
        let said = format!("2 inputs fail on side B and not on side A, the first is `{}`: boom", case("one"));
        assert_eq!(it.reasons, [said]);
    }
}
