//! Parts of a report that follow from the judge's values alone, shared by campaigns and single comparisons.

use switchback_model::operator::OperatorSpec;
use switchback_model::report::{CaseReport, Clocks, Controls, OperatorReport, ProofCounts};
use switchback_model::verdict::Verdict;
use switchback_stats::effect::{Interval, percent};
use switchback_stats::judgement::{CaseJudgement, ControlsSummary, OperatorJudgement};

use crate::measure::MeasuredCase;
use crate::outputs::CaseOutputs;
use crate::screen::Screened;

/// An operator's rounds, read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// Its cases.
    pub cases: Vec<MeasuredCase>,
    /// How their outputs compare.
    pub outputs: CaseOutputs,
    /// Tuner keys that were not in the recording.
    pub fallbacks: u64,
    /// Rounds' cells that failed, a sentence each.
    pub failed_cells: Vec<String>,
    /// What the card's clock read in its rounds' cells.
    pub clocks: Option<Clocks>,
}

impl Measured {
    /// How the duet's proof went.
    pub fn proof(&self) -> ProofCounts {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        ProofCounts {
            cases: count(self.cases.len()),
            failed: count(self.cases.iter().filter(|case| case.unproven.is_some()).count()),
        }
    }
}

fn pair(interval: Interval) -> (f64, f64) {
    let [low, high] = interval.percent();
    (low, high)
}

/// An operator's figures; whether it is a control, reasons and hints are the caller's to add.
pub(crate) fn figures(
    spec: &OperatorSpec,
    judged: &OperatorJudgement,
    measured: &Measured,
    screened: Option<&Screened>,
) -> OperatorReport {
    let verdict = if measured.cases.is_empty() && judged.verdict != Verdict::Wrong {
        Verdict::NotMeasured
    } else {
        judged.verdict
    };
    OperatorReport {
        operator: spec.operator.clone(),
        spec: spec.to_string(),
        screen: screened.map(|it| it.verdict),
        first_stage: screened.and_then(|it| it.first_stage.clone()),
        unseen: screened.map(|it| it.unseen.clone()).unwrap_or_default(),
        control: false,
        verdict,
        effect_pct: judged.effect.map(percent),
        ci_pct: judged.ci.map(pair),
        p_adjusted: judged.p_adjusted,
        rounds: judged.rounds,
        rounds_range_pct: judged.rounds_range.map(pair),
        sign_stable: judged.sign_stable,
        noise_a_pct: judged.noise_a.map(percent),
        noise_b_pct: judged.noise_b.map(percent),
        median_pct: judged.median_effect.map(percent),
        geometric_mean_pct: judged.geometric_mean.map(percent),
        outputs: measured.outputs.worst(),
        outputs_cases: measured.outputs.counts(),
        mixed: judged.mixed,
        rounds_needed: judged.rounds_needed,
        rounds_cannot_tell: judged.rounds_cannot_tell,
        reasons: Vec::new(),
        hints: Vec::new(),
        kernels: screened.map(|it| it.kernels.clone()).unwrap_or_default(),
        rounds_requested: None,
        pairing: None,
        tuned_on: None,
        proof: None,
        clocks: measured.clocks.clone(),
        replay_fallbacks: measured.fallbacks,
        cases: judged
            .cases
            .iter()
            .zip(&measured.cases)
            .map(|(judged_case, case)| (judged_case, case, left_out(judged, judged_case, case)))
            .map(|(judged, case, left_out)| CaseReport {
                case: judged.case.clone(),
                timer: case.timer,
                a_us: judged.a_us,
                b_us: judged.b_us,
                effect_pct: judged.effect.map(percent),
                ci_pct: judged.ci.map(pair),
                q: judged.q,
                rounds_pct: judged.round_effects.iter().map(|round| round.effect.map(percent)).collect(),
                untouched: judged.untouched,
                host_bound: judged.host_bound,
                clock_mhz: case.clock_mhz,
                left_out,
                outputs: measured.outputs.of(&case.case),
                notes: case
                    .notes
                    .iter()
                    .map(String::as_str)
                    .chain(measured.outputs.detail(&case.case))
                    .map(str::to_owned)
                    .collect(),
            })
            .collect(),
    }
}

/// Why a case counts nowhere although the operator's rounds are there: the side on which it fails, or the first fault.
fn left_out(operator: &OperatorJudgement, judged: &CaseJudgement, case: &MeasuredCase) -> Option<String> {
    // A round that all cases lack is the operator's to tell, not the case's.
    let mut faults = judged.round_effects.iter().filter(|it| !operator.missing_rounds.contains(&it.round));
    let first = faults.find_map(|it| Some((it.round, it.excluded.as_ref()?)))?;
    let said = || case.fault.clone().unwrap_or_else(|| format!("round {}: {}", first.0, first.1));
    (!judged.averaged).then(said)
}

/// What cases with identical code read.
pub(crate) fn controls_report(summary: &ControlsSummary) -> Controls {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Controls {
        cases: count(summary.cases),
        operators: count(summary.operators),
        processes: count(summary.processes),
        floor_pct: summary.floor.map(percent),
        worst_pct: summary.worst.map(|effect| percent(effect).abs()),
        tau_pct: (summary.operators > 0).then(|| percent(summary.tau)),
        false_positives: count(summary.false_positives),
        upper95: (summary.cases > 0).then_some(summary.upper95),
        false_positive_operators: count(summary.false_positive_operators),
        upper95_operators: (summary.operators > 0).then_some(summary.upper95_operators),
    }
}
