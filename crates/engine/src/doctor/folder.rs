//! What stands in the way of trusting a folder that is there: operators without rows or kernels, cells that ended otherwise than
//! well, inputs that failed.
//!
//! Reads and judges as `report` does. Invariant: that all is well is said of what was looked at, and of nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use switchback_model::cell::Purpose;
use switchback_model::finding::{Finding, Severity};
use switchback_model::report::{OperatorReport, Report};
use switchback_model::verdict::ScreenVerdict;
use switchback_store::campaign_dir::CampaignDir;

use crate::campaign::Campaign;
use crate::error::EngineError;
use crate::evidence::{DigestCache, Evidence};
use crate::request::Goal;
use crate::state::Standing;
use crate::{judge, prepare, scripts};

/// Cells that are named one by one.
const NAMED: usize = 3;

/// Applies the checklist to a campaign or a run: for each operator without rows or kernels, what to check; then cells that ended
/// with a status, and inputs that failed.
///
/// # Errors
/// The folder is no campaign, or a file in it is damaged.
pub fn run(root: &Path, program: &Path) -> Result<Vec<Finding>, EngineError> {
    if let Some(folder) = scripts::recognise(root)? {
        let report = scripts::report(&folder, &BTreeSet::new(), 0.5, "")?;
        return of_report(report, Vec::new(), Vec::new(), |operator| {
            Ok(operator.hints.iter().map(|it| Finding::failure("", it.clone(), "")).collect())
        });
    }
    if !CampaignDir::is_campaign(root) {
        return Err(EngineError::NoRun {
            path: root.to_owned(),
            detail: "there is no `campaign.toml` in it".into(),
        });
    }
    let mut campaign: Campaign = prepare::read_to_judge(root, program)?;
    let report = judge::judge(&mut campaign)?;
    let (statuses, well) = statuses(&campaign);
    let mut findings = single_runs(&campaign)?;
    let compiled = campaign.request.goal == Goal::Run && findings.is_empty();
    let compiled = compiled.then(|| "each launched compiled kernels".to_owned());
    findings.extend(statuses);
    of_report(report, findings, compiled.into_iter().chain(well).collect(), |operator| {
        let spec = campaign.request.operators.iter().find(|spec| spec.operator == operator.operator);
        spec.map_or_else(|| Ok(Vec::new()), |spec| judge::explained(&campaign, spec, operator.screen))
    })
}

/// What a report has to say of operators without rows or kernels, each with what the checklist says of it; then `others`. Where
/// nothing is amiss, what was looked at, with `well`.
fn of_report(
    report: Report,
    others: Vec<Finding>,
    well: Vec<String>,
    explained: impl Fn(&OperatorReport) -> Result<Vec<Finding>, EngineError>,
) -> Result<Vec<Finding>, EngineError> {
    let mut findings = Vec::new();
    for operator in &report.operators {
        // Rows without a compiled kernel are no fault of the run: the switch has nothing to act on there.
        let severity = match operator.screen {
            Some(ScreenVerdict::NotCompiled) => Severity::Warning,
            _ => Severity::Failure,
        };
        let says = operator.screen.map_or_else(|| "not screened".to_owned(), |verdict| verdict.to_string());
        let check = format!("{} ({says})", operator.operator);
        let told = if operator.hints.is_empty() { Vec::new() } else { explained(operator)? };
        let untold = matches!(operator.screen, Some(ScreenVerdict::NotCompiled | ScreenVerdict::NoRows));
        if told.is_empty() && untold {
            let detail = match &operator.reasons[..] {
                [] => "the checklist knows no reason".to_owned(),
                reasons => reasons.join("; "),
            };
            findings.push(Finding { check: check.clone(), severity, hint: None, detail });
        }
        for finding in told {
            let hint = finding.hint.filter(|hint| !hint.is_empty());
            findings.push(Finding { check: check.clone(), severity, hint, detail: finding.detail });
        }
        findings.extend(cases_left_out(operator));
    }
    findings.extend(others);
    let looked_at = looked_at(&report, &well);
    findings.extend(report.findings);
    if findings.is_empty() {
        findings.push(Finding::ok("the run", looked_at));
    }
    Ok(findings)
}

/// Cases of an operator that count nowhere.
fn cases_left_out(operator: &OperatorReport) -> Option<Finding> {
    let mut out = operator.cases.iter().filter_map(|case| Some((case, case.left_out.as_deref()?)));
    let (first, why) = out.next()?;
    let number = out.count() + 1;
    Some(Finding::warning(
        operator.operator.clone(),
        format!("{number} of {} cases left out, the first is `{}`: {why}", operator.cases.len(), first.case),
        format!("`report --cases {}` lists them", operator.operator),
    ))
}

/// In a sentence, what was looked at and found well.
fn looked_at(report: &Report, well: &[String]) -> String {
    let number = |screen: fn(Option<ScreenVerdict>) -> bool| {
        report.operators.iter().filter(|it| screen(it.screen)).count()
    };
    let compiled = number(|it| matches!(it, Some(ScreenVerdict::IrChanged | ScreenVerdict::NoIrDiff)));
    let unknown = number(|it| it.is_none());
    let mut parts = vec![match report.operators.len() {
        1 => "the one operator has rows".to_owned(),
        all => format!("all {all} operators have rows"),
    }];
    if compiled == report.operators.len() {
        parts.push("with compiled kernels on both sides".into());
    } else if compiled > 0 {
        parts.push(format!("{compiled} of them with compiled kernels on both sides"));
    }
    if unknown > 0 && well.is_empty() {
        parts.push(format!("of {unknown} nothing is known of the code"));
    }
    parts.extend(well.iter().cloned());
    parts.join(", ")
}

/// Cells whose latest attempt ended with another status than 0; else a sentence that says that none did.
fn statuses(campaign: &Campaign) -> (Option<Finding>, Option<String>) {
    let ended: Vec<(String, i32)> = campaign
        .state()
        .cells()
        .filter_map(|(cell, attempts)| Some((cell, attempts.last()?.outcome.as_ref()?)))
        .map(|(cell, outcome)| (cell.to_string(), outcome.shell_status()))
        .collect();
    let bad: Vec<String> = ended
        .iter()
        .filter(|(_, status)| *status != 0)
        .map(|(cell, status)| format!("`{cell}` with {status}"))
        .collect();
    if bad.is_empty() {
        let well = match ended.len() {
            0 => None,
            1 => Some("its cell ended with status 0".to_owned()),
            all => Some(format!("all {all} cells ended with status 0")),
        };
        return (None, well);
    }
    let more = if bad.len() > NAMED { format!(" and {} more", bad.len() - NAMED) } else { String::new() };
    let named = bad.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let finding = Finding::warning(
        "how cells ended",
        format!("{} of {} ended with another status than 0: {named}{more}", bad.len(), ended.len()),
        "`status.tsv` has a line of each, `run.log` of the attempt its last words; rows of a cell that ended by itself count all the same",
    );
    (Some(finding), None)
}

/// What single runs, which nothing screens, left of kernels and of inputs.
fn single_runs(campaign: &Campaign) -> Result<Vec<Finding>, EngineError> {
    let mut findings = Vec::new();
    if campaign.request.goal != Goal::Run {
        return Ok(findings);
    }
    for spec in &campaign.request.operators {
        let Standing::Done(attempt) = campaign.state().standing(&spec.operator, Purpose::Run) else {
            continue;
        };
        let it = Evidence::read(&attempt.dir, &campaign.dir.ir_dir(), &mut DigestCache::default())?;
        let rows = it.rows_ok();
        if rows > 0 && it.launched.values().all(|launched| launched.kernels.is_empty()) {
            findings.push(Finding::warning(
                spec.operator.clone(),
                format!(
                    "{rows} rows, and no launch of a kernel that the compiler under test made is recorded"
                ),
                "a switch of that compiler has nothing to act on there, or the suite records no launches",
            ));
        }
        let failed = it.inputs_failed();
        if rows > 0 && failed > 0 {
            let first = it.rows.iter().find(|row| !row.ok);
            let error =
                first.and_then(|row| row.error.as_deref()?.lines().next()).unwrap_or("no reason given");
            findings.push(Finding::warning(
                spec.operator.clone(),
                format!("{failed} of its inputs failed, the first with `{error}`"),
                "the others have rows",
            ));
        }
    }
    Ok(findings)
}
