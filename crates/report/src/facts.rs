//! What all formats agree on: which figures may be printed, what counts as what, how things add up.
//!
//! Decides nothing that judging decides; it only refuses to repeat a number that is no conclusion.

use switchback_model::event::OutputsVerdict;
use switchback_model::report::{CaseReport, OperatorReport, Report};
use switchback_model::verdict::{ScreenVerdict, Verdict};

use crate::number;
use crate::text::{count, one_line};

mod evidence;
mod left_out;
mod noise;
mod rounds;

pub use evidence::{evidence, pairing};
pub use left_out::left_out;
pub use noise::{calibrated, naive, noise, noise_beside, noise_of, noise_of_operators};
pub use rounds::{rounds_asked, rounds_measured, rounds_otherwise, rounds_that_tell, rounds_to_tell};

/// Reasons that are said where an operator has no figure; an explanation has them all.
const TOLD: usize = 3;

/// Where an operator stands in a report, in the order in which reports list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// B's outputs are wrong; no figure is printed.
    Wrong,
    /// Judged faster.
    Faster,
    /// Judged slower.
    Slower,
    /// Judged equivalent.
    Equivalent,
    /// The data do not tell yet.
    Inconclusive,
    /// Identical code, measured on purpose: the figure is noise.
    Control,
    /// Should have been measured and was not.
    Unmeasured,
    /// Identical code, skipped.
    Same,
    /// Ran without the compiler under test.
    NotCompiled,
    /// Nothing ran.
    NoRows,
}

/// Where an operator stands.
#[must_use]
pub fn standing(operator: &OperatorReport) -> Standing {
    match (operator.screen, operator.verdict) {
        (Some(ScreenVerdict::NoRows), _) => Standing::NoRows,
        (Some(ScreenVerdict::NotCompiled), _) => Standing::NotCompiled,
        (_, Verdict::Wrong) => Standing::Wrong,
        (Some(ScreenVerdict::NoIrDiff), Verdict::NotMeasured) => Standing::Same,
        (_, Verdict::NotMeasured) => Standing::Unmeasured,
        // Identical code that was measured is a control whatever judging called it.
        (Some(ScreenVerdict::NoIrDiff), _) => Standing::Control,
        _ if operator.control => Standing::Control,
        (_, Verdict::Faster) => Standing::Faster,
        (_, Verdict::Slower) => Standing::Slower,
        (_, Verdict::Equivalent) => Standing::Equivalent,
        (_, Verdict::Inconclusive) => Standing::Inconclusive,
    }
}

impl Standing {
    /// True where a figure says something: about the switch, or (a control) about the noise.
    #[must_use]
    pub fn has_figures(self) -> bool {
        matches!(self, Self::Faster | Self::Slower | Self::Equivalent | Self::Inconclusive | Self::Control)
    }

    /// True if the operator was measured for its own sake.
    #[must_use]
    pub fn is_judged(self) -> bool {
        self == Self::Wrong || (self.has_figures() && self != Self::Control)
    }

    /// The word in the column `verdict`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Wrong => "WRONG",
            Self::Faster => "FASTER",
            Self::Slower => "SLOWER",
            Self::Equivalent => "EQUIVALENT",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Control => "control",
            Self::Unmeasured | Self::Same | Self::NotCompiled => "not measured",
            Self::NoRows => "NO_ROWS",
        }
    }
}

/// Operators in the order of reports: by standing, those with a figure by its size, others as asked for.
#[must_use]
pub fn in_order(report: &Report) -> Vec<(Standing, &OperatorReport)> {
    let mut operators: Vec<_> = report.operators.iter().map(|it| (standing(it), it)).collect();
    operators.sort_by(|(standing_a, a), (standing_b, b)| {
        let size = |it| effect(it).map_or(0.0, |(effect, _)| effect.abs());
        standing_a.cmp(standing_b).then_with(|| {
            if standing_a.is_judged() { size(b).total_cmp(&size(a)) } else { std::cmp::Ordering::Equal }
        })
    });
    operators
}

/// An operator's effect and its interval, percent; none where a number would look like a conclusion.
#[must_use]
pub fn effect(operator: &OperatorReport) -> Option<(f64, Option<(f64, f64)>)> {
    let effect = operator.effect_pct.filter(|effect| effect.is_finite())?;
    standing(operator).has_figures().then_some((effect, finite(operator.ci_pct)))
}

/// A case's effect and its interval; none where the operator has none or the case's outputs are wrong.
#[must_use]
pub fn case_effect(operator: &OperatorReport, case: &CaseReport) -> Option<(f64, Option<(f64, f64)>)> {
    let effect = case.effect_pct.filter(|effect| effect.is_finite())?;
    case_counts(operator, case).then_some((effect, finite(case.ci_pct)))
}

/// A case's latencies, A's and B's, microseconds; none where [`case_effect`] has none for a reason.
#[must_use]
pub fn case_latencies(operator: &OperatorReport, case: &CaseReport) -> (Option<f64>, Option<f64>) {
    if case_counts(operator, case) { (case.a_us, case.b_us) } else { (None, None) }
}

fn case_counts(operator: &OperatorReport, case: &CaseReport) -> bool {
    standing(operator).has_figures() && case.outputs != Some(OutputsVerdict::Wrong)
}

fn finite(interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
    interval.filter(|(low, high)| low.is_finite() && high.is_finite())
}

/// True if nothing was seen to differ, and the operator is measured all the same because not all was seen.
#[must_use]
pub fn no_difference_seen(operator: &OperatorReport) -> bool {
    operator.screen == Some(ScreenVerdict::IrChanged)
        && operator.first_stage.is_none()
        && !operator.kernels.is_empty()
        && operator.kernels.iter().all(|kernel| kernel.changed == 0)
}

/// The word in the column `code`: the first stage that differs, `same`, `none`, `unknown` where not all was seen and what was
/// is identical, or `–` where nothing is known of it.
#[must_use]
pub fn code(operator: &OperatorReport) -> &str {
    match operator.screen {
        Some(ScreenVerdict::IrChanged) if no_difference_seen(operator) => "unknown",
        Some(ScreenVerdict::IrChanged) => operator.first_stage.as_deref().unwrap_or("changed"),
        Some(ScreenVerdict::NoIrDiff) => "same",
        Some(ScreenVerdict::NotCompiled) => "none",
        Some(ScreenVerdict::NoRows) | None => number::NONE,
    }
}

/// Why an operator has no figure, in one line; none if it has one.
#[must_use]
pub fn why_no_figure(operator: &OperatorReport) -> Option<String> {
    let standing = standing(operator);
    if standing.has_figures() {
        return None;
    }
    let told: Vec<String> =
        operator.reasons.iter().map(|it| one_line(it)).filter(|it| !it.is_empty()).take(TOLD).collect();
    let own = (!told.is_empty()).then(|| told.join("; "));
    Some(match standing {
        Standing::Same if operator.unseen.is_empty() => "identical code: a number would be noise".into(),
        Standing::Same => format!(
            "identical code, {} no evidence: a number would be noise",
            operator.unseen.iter().map(|it| one_line(&it.stage)).collect::<Vec<_>>().join(" and ")
        ),
        Standing::NotCompiled => "ran without the compiler under test".into(),
        Standing::Wrong => {
            let tally = OutputsTally::of(operator);
            match tally.wrong {
                0 => "outputs wrong: no speed is stated".into(),
                wrong => format!("outputs wrong in {wrong} of {}", count(tally.compared, "case", "cases")),
            }
        }
        Standing::NoRows => own.unwrap_or_else(|| "nothing was measured".into()),
        _ if operator.screen.is_none() => own.unwrap_or_else(|| "not screened yet".into()),
        _ if operator.rounds_requested.is_none() => own.unwrap_or_else(|| "no round was asked for".into()),
        _ => own.unwrap_or_else(|| "no round is complete".into()),
    })
}

/// The same with what to check, for the place where the figure would be; `no figure` if all else fails.
#[must_use]
pub fn why_no_figure_and_hint(report: &Report, operator: &OperatorReport) -> String {
    let mut parts: Vec<String> = why_no_figure(operator).into_iter().collect();
    parts.extend(remarks(report, operator));
    // A hint at what did not go through the compiler is an explanation, and a long one.
    if standing(operator) != Standing::NotCompiled {
        parts.extend(operator.hints.first().map(|it| one_line(it)));
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() { "no figure".into() } else { parts.join("; ") }
}

/// What is to be said beside an operator's figures, shortest first to be read.
#[must_use]
pub fn remarks(report: &Report, operator: &OperatorReport) -> Vec<String> {
    let mut out = Vec::new();
    let standing = standing(operator);
    if standing == Standing::Wrong && operator.control {
        out.push("a control: its code is identical".into());
    }
    if standing <= Standing::Control {
        out.extend(left_out(operator));
    }
    if !standing.has_figures() {
        return out;
    }
    let mut missing_told = false;
    if standing == Standing::Inconclusive {
        out.push(rounds_to_tell(report, operator));
        missing_told = operator.rounds_needed.is_none() && !operator.rounds_cannot_tell;
    }
    if operator.mixed {
        out.push("mixed: cases go both ways".into());
    }
    if matches!(standing, Standing::Faster | Standing::Slower) && operator.sign_stable == Some(false) {
        out.push("sign differs between rounds".into());
    }
    out.extend(rounds_otherwise(report, operator).filter(|_| !missing_told));
    out.extend(OutputsTally::of(operator).remarks());
    let host_bound = operator.cases.iter().filter(|case| case.host_bound).count();
    if host_bound > 0 {
        out.push(format!(
            "{} not averaged in",
            count(host_bound as u64, "host-bound case", "host-bound cases")
        ));
    }
    if operator.replay_fallbacks > 0 {
        out.push(format!(
            "{} not in the recording",
            count(operator.replay_fallbacks, "tuner key", "tuner keys")
        ));
    }
    out
}

/// How many operators have which screening verdict, and how many have none yet.
#[must_use]
pub fn screen_counts(report: &Report) -> ([(ScreenVerdict, usize); 4], usize) {
    let counts = ScreenVerdict::ALL
        .map(|verdict| (verdict, report.operators.iter().filter(|it| it.screen == Some(verdict)).count()));
    (counts, report.operators.iter().filter(|it| it.screen.is_none()).count())
}

/// Cases whose outputs were compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutputsTally {
    /// Cases that could be compared.
    pub compared: u32,
    /// Bit for bit equal.
    pub equal: u32,
    /// Different, as much as rounding explains.
    pub differs: u32,
    /// Different by more than that, and B no four times as far off as A.
    pub beyond: u32,
    /// Different, and no reference says how much of it is rounding.
    pub unreferenced: u32,
    /// Worse than rounding explains.
    pub wrong: u32,
    /// Could not be compared.
    pub not_comparable: u32,
}

impl OutputsTally {
    /// Counts an operator's cases: all that it has, where the report says so, else those that were measured.
    #[must_use]
    pub fn of(operator: &OperatorReport) -> Self {
        let kind = |verdict| {
            let cases = operator.cases.iter().filter(|case| case.outputs == Some(verdict)).count();
            u32::try_from(cases).unwrap_or(u32::MAX)
        };
        let of = |verdict| match operator.outputs_cases.get(&verdict) {
            Some(cases) => *cases,
            None if operator.outputs_cases.is_empty() => kind(verdict),
            None => 0,
        };
        let [equal, differs, beyond, unreferenced, wrong, not_comparable] = [
            OutputsVerdict::Equal,
            OutputsVerdict::Differs,
            OutputsVerdict::Beyond,
            OutputsVerdict::Unreferenced,
            OutputsVerdict::Wrong,
            OutputsVerdict::NotComparable,
        ]
        .map(of);
        let compared = [equal, differs, beyond, unreferenced, wrong].into_iter().fold(0, u32::saturating_add);
        Self { compared, equal, differs, beyond, unreferenced, wrong, not_comparable }
    }

    /// Adds up all operators.
    #[must_use]
    pub fn total(report: &Report) -> Self {
        report.operators.iter().map(Self::of).fold(Self::default(), |sum, it| Self {
            compared: sum.compared.saturating_add(it.compared),
            equal: sum.equal.saturating_add(it.equal),
            differs: sum.differs.saturating_add(it.differs),
            beyond: sum.beyond.saturating_add(it.beyond),
            unreferenced: sum.unreferenced.saturating_add(it.unreferenced),
            wrong: sum.wrong.saturating_add(it.wrong),
            not_comparable: sum.not_comparable.saturating_add(it.not_comparable),
        })
    }

    /// How many of each kind but equal ones, how a sentence calls them, and how a remark does: before and after their number.
    fn others(&self) -> [(u32, &'static str, [&'static str; 2]); 5] {
        [
            (self.wrong, "WRONG", ["outputs wrong", ""]),
            (
                self.unreferenced,
                "different, without a reference",
                ["outputs differ", ", without a reference"],
            ),
            (
                self.beyond,
                "different beyond rounding, B under 4 times as far off as A",
                ["outputs differ beyond rounding", ", B under 4 times as far off as A"],
            ),
            (self.differs, "different within rounding", ["outputs differ within rounding", ""]),
            (self.not_comparable, "not comparable", ["outputs not comparable", ""]),
        ]
    }

    /// What is to be said beside an operator's figures; nothing where all are equal.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let all = self.compared + self.not_comparable;
        self.others()
            .into_iter()
            .filter(|(number, ..)| *number > 0)
            .map(|(number, _, [before, after])| match number == all {
                true => format!("{before}{after}"),
                false => format!("{before} in {number} of {}{after}", count(all, "case", "cases")),
            })
            .collect()
    }

    /// `equal in 46 of 48 cases, 2 different within rounding`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut out = if self.compared == 0 {
            if self.not_comparable > 0 { String::new() } else { "not compared".to_owned() }
        } else {
            format!("equal in {} of {}", self.equal, count(self.compared, "case", "cases"))
        };
        for (number, what, _) in self.others() {
            if number > 0 {
                let comma = if out.is_empty() { "" } else { ", " };
                out.push_str(&format!("{comma}{number} {what}"));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchback_model::report::UnseenStage;

    fn operator(screen: Option<ScreenVerdict>, verdict: Verdict) -> OperatorReport {
        OperatorReport {
            operator: "op".into(),
            spec: "op".into(),
            screen,
            verdict,
            effect_pct: Some(5.0),
            ci_pct: Some((4.0, 6.0)),
            rounds: 4,
            ..OperatorReport::default()
        }
    }

    #[test]
    fn what_is_no_conclusion_has_no_figure() {
        for (screen, verdict) in [
            (Some(ScreenVerdict::NoRows), Verdict::Faster),
            (Some(ScreenVerdict::NotCompiled), Verdict::Slower),
            (Some(ScreenVerdict::IrChanged), Verdict::NotMeasured),
            (Some(ScreenVerdict::NoIrDiff), Verdict::NotMeasured),
            (None, Verdict::NotMeasured),
            (Some(ScreenVerdict::IrChanged), Verdict::Wrong),
        ] {
            let it = operator(screen, verdict);
            assert_eq!(effect(&it), None, "{screen:?} {verdict}");
            assert!(why_no_figure(&it).is_some(), "{screen:?} {verdict}");
        }
        let it = operator(Some(ScreenVerdict::IrChanged), Verdict::Faster);
        assert_eq!(effect(&it), Some((5.0, Some((4.0, 6.0)))));
        assert_eq!(why_no_figure(&it), None);
    }

    #[test]
    fn a_stage_that_tells_nothing_is_not_passed_over() {
        let mut it = operator(Some(ScreenVerdict::NoIrDiff), Verdict::NotMeasured);
        assert_eq!(why_no_figure(&it).unwrap(), "identical code: a number would be noise");
        let unseen = UnseenStage { stage: "sass".into(), reason: "two compilations differ".into() };
        it.unseen = vec![unseen];
        assert_eq!(why_no_figure(&it).unwrap(), "identical code, sass no evidence: a number would be noise");
    }

    #[test]
    fn identical_code_is_never_faster() {
        let it = operator(Some(ScreenVerdict::NoIrDiff), Verdict::Faster);
        assert_eq!(standing(&it), Standing::Control);
        assert_eq!(standing(&it).word(), "control");
    }
}
