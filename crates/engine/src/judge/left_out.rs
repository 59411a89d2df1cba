//! What was not measured although one might expect it: operators that `--verdicts` names not, cases that no round has.
//!
//! Cases that have rows and no latency are left to `parts`. Invariant: nothing that screening saw drops out without a word.

use std::collections::BTreeSet;

use switchback_model::case::CaseKey;
use switchback_model::operator::OperatorSpec;
use switchback_model::report::CaseReport;
use switchback_model::side::Side;
use switchback_model::verdict::ScreenVerdict;

use crate::campaign::Campaign;
use crate::parts::Measured;
use crate::request::Goal;

/// True if rounds of the operator were asked for, whether or not there are any.
pub(super) fn to_be_measured(campaign: &Campaign, spec: &OperatorSpec, controls: &BTreeSet<String>) -> bool {
    let screened = campaign.screened.get(&spec.operator);
    let measures = screened.is_some_and(|it| campaign.request.measures(it.verdict));
    campaign.request.goal == Goal::Ab && (measures || controls.contains(&spec.operator))
}

/// That `--verdicts` is why an operator whose code differs was not measured.
pub(super) fn by_verdict(
    campaign: &Campaign,
    spec: &OperatorSpec,
    controls: &BTreeSet<String>,
) -> Option<String> {
    let request = &campaign.request;
    let verdict = campaign.screened.get(&spec.operator)?.verdict;
    let left_out = verdict == ScreenVerdict::IrChanged && !to_be_measured(campaign, spec, controls);
    let asked: Vec<String> = request.verdicts.iter().map(ToString::to_string).collect();
    (request.goal == Goal::Ab && left_out)
        .then(|| format!("left out by `--verdicts {}`: it is {verdict}", asked.join(",")))
}

/// Cases that ran in screening and that no round has: never silently dropped.
pub(super) fn cases(campaign: &Campaign, spec: &OperatorSpec, measured: &Measured) -> Vec<CaseReport> {
    let known: BTreeSet<&CaseKey> = measured.cases.iter().map(|case| &case.case).collect();
    let mut found: Vec<&CaseKey> = Vec::new();
    for side in Side::BOTH {
        let screen = campaign.screen_evidence.get(&(spec.operator.clone(), side));
        for row in screen.iter().flat_map(|it| &it.rows) {
            if !known.contains(&row.case) && !found.contains(&&row.case) {
                found.push(&row.case);
            }
        }
    }
    found.into_iter().map(unmeasured).collect()
}

/// A case that no round has a row of.
fn unmeasured(case: &CaseKey) -> CaseReport {
    CaseReport {
        case: case.to_string(),
        left_out: Some("has no row in any round".into()),
        ..CaseReport::default()
    }
}
