//! What a report is to be read with: files that could not be read whole, a switch that changes nothing, what is left to
//! be run, and the suite's own explanation of an operator without rows.

use std::collections::BTreeMap;

use switchback_model::cell::Purpose;
use switchback_model::event::OutputsVerdict;
use switchback_model::finding::Finding;
use switchback_model::operator::OperatorSpec;
use switchback_model::report::OperatorReport;
use switchback_model::side::Side;
use switchback_model::switch;
use switchback_model::verdict::ScreenVerdict;
use switchback_suites::suite;

use super::RoundRead;
use crate::campaign::Campaign;
use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::request::Goal;
use crate::state::Standing;

/// The suite's explanation of an operator that has no rows or nothing compiled, a sentence each.
pub(crate) fn explain(
    campaign: &Campaign,
    spec: &OperatorSpec,
    verdict: Option<ScreenVerdict>,
) -> Result<Vec<String>, EngineError> {
    Ok(explained(campaign, spec, verdict)?.iter().map(Finding::sentence).collect())
}

/// The same as findings.
pub(crate) fn explained(
    campaign: &Campaign,
    spec: &OperatorSpec,
    verdict: Option<ScreenVerdict>,
) -> Result<Vec<Finding>, EngineError> {
    let failed = campaign.failed_attempt(&spec.operator).map(|(_, attempt)| attempt.dir.clone());
    let attempt = match verdict {
        Some(ScreenVerdict::NotCompiled) => {
            match campaign.state.standing(&spec.operator, Purpose::Screen(Side::A)) {
                Standing::Done(attempt) => Some(attempt.dir.clone()),
                Standing::Open | Standing::Failed(_) => None,
            }
        }
        Some(ScreenVerdict::IrChanged | ScreenVerdict::NoIrDiff) if failed.is_none() => None,
        _ => failed,
    };
    let Some(dir) = attempt else { return Ok(Vec::new()) };
    let evidence =
        Evidence::read(&dir, &campaign.dir.ir_dir(), &mut crate::evidence::DigestCache::default())?;
    let log = dir.log()?;
    Ok(campaign.suite().explain(&suite::Evidence {
        operator: &spec.operator,
        status: evidence.status().unwrap_or(-1),
        rows: evidence.rows_ok(),
        failed: evidence.inputs_failed(),
        kernels: evidence.launched.values().map(|launched| launched.kernels.len() as u64).sum(),
        log: &log,
        errors: &evidence.errors,
        foreign_vendors: &evidence.foreign_vendors,
        takes_dtypes: &campaign.takes_dtypes(&spec.operator),
    }))
}

/// What could not be read of the attempts that count, and attempts that do not count because they cannot be read.
pub(super) fn reading(
    campaign: &Campaign,
    rounds: &BTreeMap<String, Vec<RoundRead>>,
) -> Result<Vec<Finding>, EngineError> {
    let mut findings: Vec<Finding> = campaign
        .state
        .damages()
        .map(|(cell, damage)| {
            let hint = match campaign.state.standing(&cell.operator, cell.purpose) {
                Standing::Open => {
                    format!("`switchback resume {}` measures the cell again", campaign.dir.root().display())
                }
                Standing::Failed(attempt) if attempt.damage.is_some() => {
                    "it was measured again, and no better: is the disk sound?".into()
                }
                Standing::Done(_) | Standing::Failed(_) => "another attempt of the cell counts".into(),
            };
            Finding::warning(format!("{cell} cannot be read"), damage, hint)
        })
        .collect();
    let mut say = |place: String, notes: &[String]| {
        if let [first, others @ ..] = notes {
            let more =
                if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
            findings.push(Finding::warning(
                format!("{place} is not read whole"),
                format!("{first}{more}"),
                "what stood there is left out, all around it is kept",
            ));
        }
    };
    for ((operator, side), evidence) in &campaign.screen_evidence {
        say(format!("`{operator}`, {}", Purpose::Screen(*side)), &evidence.notes);
    }
    for (operator, rounds) in rounds {
        for round in rounds {
            for evidence in &round.evidence {
                say(format!("`{operator}`, round {}", round.round), &evidence.notes);
            }
        }
    }
    if campaign.request.goal == Goal::Run {
        for spec in &campaign.request.operators {
            if let Standing::Done(attempt) = campaign.state.standing(&spec.operator, Purpose::Run) {
                let log = attempt.dir.events()?;
                let mut notes = crate::evidence::torn_lines(&log);
                notes.extend(attempt.outcome.as_ref().and_then(|it| crate::evidence::lost_rows(it, &log)));
                say(format!("`{}`", spec.operator), &notes);
            }
        }
    }
    Ok(findings)
}

/// What the whole run should be read with.
pub(super) fn of_campaign(campaign: &Campaign, operators: &[OperatorReport]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let request = &campaign.request;
    let names = request.switch().name();
    let screened: Vec<ScreenVerdict> = operators.iter().filter_map(|operator| operator.screen).collect();
    let compiled = screened
        .iter()
        .filter(|verdict| matches!(verdict, ScreenVerdict::IrChanged | ScreenVerdict::NoIrDiff));
    let (compiled, changed) =
        (compiled.count(), screened.iter().filter(|verdict| **verdict == ScreenVerdict::IrChanged).count());
    let switched = request.goal != Goal::Run && !request.is_calibration();
    if screened.len() == operators.len() && compiled > 0 && changed == 0 && switched {
        let verb = if compiled == 1 { "operator compiles" } else { "operators compile" };
        let otherwise = operators.iter().filter(|operator| {
            !matches!(operator.outputs, None | Some(OutputsVerdict::Equal | OutputsVerdict::NotComparable))
        });
        let outputs = match otherwise.count() {
            0 => String::new(),
            1 => "; the outputs of one differ all the same".to_owned(),
            number => format!("; the outputs of {number} differ all the same"),
        };
        findings.push(Finding::warning(
            "the switch changes no code",
            format!(
                "{compiled} {verb} to identical code under both settings ({} against {}){outputs}",
                switch::describe(&request.switch().a),
                switch::describe(&request.switch().b)
            ),
            format!("is `{names}` misspelt, or read under another name or value by this compiler?"),
        ));
    }
    findings.extend(crate::unset::kept(&campaign.dir).and_then(|it| it.finding()));
    if let Some((cell, _)) = campaign.next() {
        findings.push(Finding::warning(
            "the campaign is not finished",
            format!("cells are left, `{cell}` is next"),
            format!("`switchback resume {}` goes on", campaign.dir.root().display()),
        ));
    }
    findings
}
