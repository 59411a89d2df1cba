//! Parts of a report that follow from the judge's values alone, shared by campaigns and single comparisons.

use switchback_model::operator::OperatorSpec;
use switchback_model::report::{CaseReport, Clocks, Controls, OperatorReport, ProofCounts};
use switchback_model::verdict::Verdict;
use switchback_stats::effect::{Interval, percent};
use switchback_stats::judgement::{ControlsSummary, OperatorJudgement};

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
            .map(|(judged, case)| CaseReport {
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
                outputs: measured.outputs.of(&case.case),
                // Flags of their own say of these why they are not averaged in.
                notes: case
                    .notes
                    .iter()
                    .map(String::as_str)
                    .chain(measured.outputs.detail(&case.case))
                    .chain(
                        judged
                            .left_out
                            .iter()
                            .filter(|_| !judged.untouched && !judged.host_bound)
                            .map(String::as_str),
                    )
                    .map(str::to_owned)
                    .collect(),
            })
            .collect(),
    }
}

/// What cases with identical code read.
pub(crate) fn controls_report(summary: &ControlsSummary, judged: &[OperatorJudgement]) -> Controls {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let worst = judged
        .iter()
        .flat_map(|operator| &operator.cases)
        .filter(|case| case.untouched)
        .filter_map(|case| case.effect)
        .map(|effect| percent(effect.abs()))
        .reduce(f64::max);
    Controls {
        cases: count(summary.cases),
        processes: count(summary.processes),
        floor_pct: summary.floor.map(percent),
        worst_pct: worst,
        tau_pct: (summary.operators > 0).then(|| percent(summary.tau)),
        false_positives: count(summary.false_positives),
        upper95: (summary.cases > 0).then_some(summary.upper95),
    }
}
