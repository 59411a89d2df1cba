//! From attempts on disk to the report: conditions first, then rows, then the judge.

use std::collections::{BTreeMap, BTreeSet};

use switchback_model::case::CaseKey;
use switchback_model::cell::Purpose;
use switchback_model::conditions::Conditions;
use switchback_model::event::OutputsVerdict;
use switchback_model::operator::OperatorSpec;
use switchback_model::outcome::Outcome;
use switchback_model::report::{Clocks, Naive, OperatorReport, Report, SCHEMA};
use switchback_model::side::{CellSides, Pairing, Side};
use switchback_model::verdict::ScreenVerdict;
use switchback_stats::effect::percent;
use switchback_stats::input::{OperatorInput, Settings};
use switchback_stats::judgement::OperatorJudgement;

use crate::calibration::Calibration;
use crate::campaign::{Campaign, conditions_of_campaign};
use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::measure::{RoundEvidence, latency, measured_cases};
use crate::observer::Phase;
use crate::outputs;
use crate::parts::{Measured, controls_report, figures};
use crate::request::Goal;
use crate::schedule;
use crate::state::{Attempt, Standing};

mod findings;
mod left_out;

pub(crate) use findings::{explain, explained};

/// Judges what is on disk.
///
/// # Errors
/// Rows were measured under different conditions (told by field, before a latency is read), or a file is damaged.
pub fn judge(campaign: &mut Campaign) -> Result<Report, EngineError> {
    let request = campaign.request.clone();
    let rounds = read_rounds(campaign)?;
    let (conditions, identity) = common_conditions(campaign, &rounds)?;
    let controls: BTreeSet<String> = schedule::controls(&request, &campaign.screened).into_iter().collect();
    let mut inputs = Vec::new();
    let mut measured: BTreeMap<String, Measured> = BTreeMap::new();
    for operator in &request.operators {
        let name = &operator.operator;
        let it = measure_operator(campaign, name, rounds.get(name).map_or(&[][..], Vec::as_slice));
        inputs.push(operator_input(campaign, name, &it, &controls));
        measured.insert(name.clone(), it);
    }
    let settings = Settings {
        margin_percent: request.margin_pct,
        rounds_requested: request.least_rounds(),
        ..Settings::default()
    };
    let judgement = switchback_stats::judge::judge(&inputs, &settings);
    let operators = request
        .operators
        .iter()
        .zip(&judgement.operators)
        .map(|(spec, judged)| operator_report(campaign, spec, judged, &measured[&spec.operator], &controls))
        .collect::<Result<Vec<_>, EngineError>>()?;
    let floor = campaign.floor.as_ref().filter(|_| !conditions.0.is_empty());
    if let Some(floor) = floor {
        floor.check(&conditions, &request.allowed.iter().cloned().collect())?;
    }
    let calibration = floor.map(Calibration::floor);
    campaign.controls = Some(judgement.controls.clone());
    let any_round = rounds.values().any(|rounds| !rounds.is_empty());
    let mut findings = findings::of_campaign(campaign, &operators);
    findings.extend(crate::told::findings(campaign)?);
    findings.extend(findings::reading(campaign, &rounds)?);
    let mut report = Report {
        schema: SCHEMA,
        campaign: campaign.dir.name(),
        switchback: request.switchback.clone(),
        created_utc: request.created_utc.clone(),
        switch: request.switch(),
        suite: request.suite.clone(),
        pairing: any_round.then_some(request.pairing),
        rounds: request.least_rounds(),
        margin_pct: request.margin_pct,
        conditions,
        identity,
        allowed: request.allowed.clone(),
        operators,
        controls: controls_report(&judgement.controls),
        calibration,
        naive: naive(campaign, &controls)?,
        elapsed_s: elapsed(campaign),
        stamps: campaign.digests.stamps().clone(),
        findings,
    };
    if request.goal == Goal::Run {
        crate::runs::fill(campaign, &mut report)?;
    }
    Ok(report)
}

/// A round's evidence, owned.
struct RoundRead {
    round: u32,
    evidence: Vec<Evidence>,
}

fn read_rounds(campaign: &mut Campaign) -> Result<BTreeMap<String, Vec<RoundRead>>, EngineError> {
    let mut all = BTreeMap::new();
    if campaign.request.goal != Goal::Ab {
        return Ok(all);
    }
    for operator in &campaign.request.operators.clone() {
        let (mut rounds, mut dirs) = (Vec::new(), Vec::new());
        for round in 1..=campaign.rounds.rounds(&operator.operator) {
            let pairing = campaign.rounds.pairing(&operator.operator);
            let Some(attempts) = campaign.state.round(&operator.operator, round, pairing) else { continue };
            rounds.push((round, attempts.len()));
            dirs.extend(attempts.into_iter().map(|attempt| attempt.dir.clone()));
        }
        let read = campaign.take_evidence(&dirs)?;
        read.iter().for_each(|evidence| campaign.digests.count(evidence));
        let mut read = read.into_iter();
        let rounds = rounds
            .into_iter()
            .map(|(round, cells)| RoundRead { round, evidence: read.by_ref().take(cells).collect() })
            .collect();
        all.insert(operator.operator.clone(), rounds);
    }
    campaign.hold_nothing();
    Ok(all)
}

/// Compares the conditions of all rounds, and of an operator's rounds in all fields; returns those that agree.
fn common_conditions(
    campaign: &Campaign,
    rounds: &BTreeMap<String, Vec<RoundRead>>,
) -> Result<(Conditions, BTreeMap<String, String>), EngineError> {
    let allowed: BTreeSet<String> = campaign.request.allowed.iter().cloned().collect();
    let mut common: Option<(Conditions, BTreeMap<String, String>)> = None;
    let mut first = String::new();
    for (operator, rounds) in rounds {
        let pairing = campaign.rounds.pairing(operator);
        let cells = rounds.iter().flat_map(|round| {
            let sides: &[CellSides] = match pairing {
                Pairing::Duet => &[CellSides::Both],
                Pairing::Process => &[CellSides::A, CellSides::B],
            };
            let name = |sides: &CellSides| format!("{operator} {}", Purpose::Round(round.round, *sides));
            sides.iter().map(name).zip(&round.evidence)
        });
        let mut own: Option<(String, &Conditions)> = None;
        for (name, evidence) in cells {
            let (differences, before) = match &own {
                Some((own_name, own)) => (own.differences(&evidence.conditions, &allowed), own_name.clone()),
                None => {
                    own = Some((name.clone(), &evidence.conditions));
                    let comparable = conditions_of_campaign(&evidence.conditions);
                    match &common {
                        Some((common, _)) => (common.differences(&comparable, &allowed), first.clone()),
                        None => {
                            first.clone_from(&name);
                            common = Some((comparable, evidence.identity.clone()));
                            (Vec::new(), String::new())
                        }
                    }
                }
            };
            if !differences.is_empty() {
                return Err(EngineError::Conditions { differences, of: [before, name] });
            }
        }
    }
    if let Some((conditions, _)) = &mut common {
        // What was asked for; an operator that is paired otherwise says so itself.
        conditions.0.insert("pairing".to_owned(), campaign.request.pairing.to_string());
    }
    Ok(common.unwrap_or_else(|| {
        let screen = campaign.screen_evidence.values().find(|evidence| !evidence.conditions.0.is_empty());
        screen
            .map(|evidence| (conditions_of_campaign(&evidence.conditions), evidence.identity.clone()))
            .unwrap_or_default()
    }))
}

fn measure_operator(campaign: &Campaign, name: &str, rounds: &[RoundRead]) -> Measured {
    let pairing = campaign.rounds.pairing(name);
    let screens = Side::BOTH.map(|side| campaign.screen_evidence.get(&(name.to_owned(), side)));
    let views: Vec<RoundEvidence<'_>> = rounds
        .iter()
        .filter_map(|round| {
            let a = round.evidence.first()?;
            Some(RoundEvidence { round: round.round, a, b: round.evidence.get(1).unwrap_or(a) })
        })
        .collect();
    let cases = campaign
        .screened
        .get(name)
        .map(|screened| measured_cases(&views, pairing, screened, screens))
        .unwrap_or_default();
    let evidence: Vec<&Evidence> = rounds.iter().flat_map(|round| &round.evidence).collect();
    let fallbacks = evidence.iter().chain(screens.iter().flatten()).map(|evidence| evidence.fallbacks).sum();
    Measured {
        cases,
        outputs: outputs::compare(
            screens,
            &rounds.iter().map(|round| round.evidence.as_slice()).collect::<Vec<_>>(),
        ),
        fallbacks,
        failed_cells: failed_cells(campaign, name),
        clocks: clocks(&evidence),
    }
}

/// What the card's clock read in the cells of an operator's rounds.
fn clocks(evidence: &[&Evidence]) -> Option<Clocks> {
    let summaries: Vec<_> = evidence
        .iter()
        .filter_map(|it| it.outcome.as_ref()?.telemetry.as_ref())
        .filter(|it| it.measured > 0)
        .collect();
    let medians: Vec<f64> = summaries.iter().filter_map(|it| it.sm_clock_mhz).collect();
    let mut throttled: BTreeMap<String, u32> = BTreeMap::new();
    for reason in summaries.iter().flat_map(|it| &it.throttle).filter(|(_, readings)| **readings > 0) {
        *throttled.entry(reason.0.clone()).or_default() += 1;
    }
    let least = medians.iter().copied().reduce(f64::min);
    let most = medians.iter().copied().reduce(f64::max);
    (!summaries.is_empty()).then(|| Clocks {
        cells: u32::try_from(summaries.len()).unwrap_or(u32::MAX),
        sm_clock_mhz: least.zip(most),
        throttled,
    })
}

fn failed_cells(campaign: &Campaign, name: &str) -> Vec<String> {
    campaign
        .state
        .cells()
        .filter(|(cell, _)| cell.operator == name && matches!(cell.purpose, Purpose::Round(..)))
        .filter_map(|(cell, _)| match campaign.state.standing(name, cell.purpose) {
            Standing::Failed(Attempt { damage: Some(damage), .. }) => {
                Some(format!("{}: {damage}", cell.purpose))
            }
            Standing::Failed(attempt) => {
                let outcome = attempt.outcome.as_ref()?;
                Some(format!(
                    "{}: ended with status {} after {:.0} s{}",
                    cell.purpose,
                    outcome.shell_status(),
                    outcome.elapsed_s,
                    if outcome.reason.is_empty() { String::new() } else { format!(", {}", outcome.reason) }
                ))
            }
            Standing::Open | Standing::Done(_) => None,
        })
        .collect()
}

/// Rounds that count although the card's readings speak against them, a sentence each.
fn doubts(campaign: &Campaign, name: &str) -> Vec<String> {
    (1..=campaign.rounds.rounds(name))
        .filter_map(|round| {
            let (tries, doubt) = campaign.state.doubt(name, round, campaign.rounds.pairing(name))?;
            let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
            Some(format!("round {round} was measured {times} and is kept all the same: {doubt}"))
        })
        .collect()
}

fn operator_input(
    campaign: &Campaign,
    name: &str,
    measured: &Measured,
    controls: &BTreeSet<String>,
) -> OperatorInput {
    let screened = campaign.screened.get(name);
    let calibration = campaign.request.is_calibration();
    let mut remarks = measured.failed_cells.clone();
    if campaign.suite().tunes() && !measured.cases.is_empty() {
        remarks.push(format!("configs were tuned on side {}", campaign.request.tune_on));
    }
    if measured.fallbacks > 0 {
        remarks.push(format!(
            "{} tuner keys were not in the recording: their configs may differ between the sides",
            measured.fallbacks
        ));
    }
    remarks.extend(doubts(campaign, name));
    if let Some(reason) = campaign.rounds.fell_back(name) {
        remarks.push(format!("one process a side, for a duet of it is not proven: {reason}"));
    }
    if let Some(reason) = campaign.rounds.stopped(name) {
        remarks.push(format!("{} rounds by `--precision`: {reason}", campaign.rounds.rounds(name)));
    }
    OperatorInput {
        operator: name.to_owned(),
        // Equal sides are identical whatever a compiler that does not compile twice alike makes of them.
        control: controls.contains(name) || calibration,
        all_identical: calibration || screened.is_some_and(|it| it.verdict == ScreenVerdict::NoIrDiff),
        outputs_wrong: measured.outputs.worst() == Some(OutputsVerdict::Wrong),
        process_paired: campaign.rounds.pairing(name) == Pairing::Process,
        order_shuffled: campaign.suite().shuffles_cases(),
        rounds_requested: Some(campaign.rounds.rounds(name)),
        remarks,
        cases: measured.cases.iter().map(|case| case.input.clone()).collect(),
    }
}

fn operator_report(
    campaign: &Campaign,
    spec: &OperatorSpec,
    judged: &OperatorJudgement,
    measured: &Measured,
    controls: &BTreeSet<String>,
) -> Result<OperatorReport, EngineError> {
    let screened = campaign.screened.get(&spec.operator);
    let is_measured = !measured.cases.is_empty();
    let mut reasons: Vec<String> = screened.map(|it| it.reasons.clone()).unwrap_or_default();
    if is_measured {
        reasons.extend(judged.reasons.iter().cloned());
    } else {
        reasons.extend(measured.failed_cells.iter().cloned());
        reasons.extend(left_out::by_verdict(campaign, spec, controls));
    }
    let hints = explain(campaign, spec, screened.map(|it| it.verdict))?;
    let mut it = figures(spec, judged, measured, screened);
    if is_measured {
        it.rounds_requested = Some(campaign.rounds.rounds(&spec.operator));
        it.tuned_on = campaign.suite().tunes().then_some(campaign.request.tune_on);
        it.pairing = Some(campaign.rounds.pairing(&spec.operator));
        it.proof = (campaign.rounds.pairing(&spec.operator) == Pairing::Duet).then(|| measured.proof());
        it.cases.extend(left_out::cases(campaign, spec, measured));
    } else if left_out::to_be_measured(campaign, spec, controls) {
        it.rounds_requested = Some(campaign.rounds.rounds(&spec.operator));
    }
    it.control = controls.contains(&spec.operator) || (is_measured && campaign.request.is_calibration());
    it.reasons = reasons;
    it.hints = hints;
    Ok(it)
}

/// What one process a side would have read on the controls' cases: one round, no repeat.
fn naive(campaign: &mut Campaign, controls: &BTreeSet<String>) -> Result<Option<Naive>, EngineError> {
    if !campaign.request.naive {
        return Ok(None);
    }
    let mut effects: Vec<f64> = Vec::new();
    for operator in controls {
        let Some(attempts) = campaign.state.naive_round(operator, 1) else { continue };
        let dirs: Vec<_> = attempts.iter().map(|attempt| attempt.dir.clone()).collect();
        let mut sides: Vec<BTreeMap<CaseKey, f64>> = Vec::new();
        for dir in dirs {
            let evidence = Evidence::read(&dir, &campaign.dir.ir_dir(), &mut campaign.digests)?;
            sides.push(
                evidence
                    .rows
                    .iter()
                    .filter_map(|row| {
                        latency(row, Pairing::Process)
                            .ok()
                            .map(|(latency_us, _)| (row.case.clone(), latency_us))
                    })
                    .collect(),
            );
        }
        if let [a, b] = &sides[..] {
            effects.extend(a.iter().filter_map(|(case, a_us)| {
                let effect = b.get(case).and_then(|b_us| switchback_stats::effect::effect(*a_us, *b_us));
                // JSON has no infinity: a ratio that percent cannot hold is no latency to be reported.
                effect.map(percent).filter(|it| it.is_finite())
            }));
        }
    }
    if effects.is_empty() {
        return Ok(None);
    }
    let sizes: Vec<f64> = effects.iter().map(|effect| effect.abs()).collect();
    let worst =
        effects.iter().copied().fold(0.0, |worst: f64, it| if it.abs() > worst.abs() { it } else { worst });
    Ok(Some(Naive {
        cases: u32::try_from(effects.len()).unwrap_or(u32::MAX),
        over_1_pct: u32::try_from(sizes.iter().filter(|size| **size > 1.0).count()).unwrap_or(u32::MAX),
        worst_pct: worst,
        floor_pct: switchback_stats::effect::quantile(&sizes, 0.95).unwrap_or(0.0),
    }))
}

/// Seconds of cards, by phase: cells that got ready or waited beside others took none of a card's time.
fn elapsed(campaign: &Campaign) -> Vec<(String, f64)> {
    let mut seconds: BTreeMap<Phase, f64> = BTreeMap::new();
    for (cell, attempts) in campaign.state.cells() {
        let phase = match cell.purpose {
            Purpose::Tune(_) => Phase::Tune,
            Purpose::Screen(_) | Purpose::Again(_) => Phase::Screen,
            Purpose::Round(..) | Purpose::Naive(..) | Purpose::Run => Phase::Measure,
        };
        let spent: f64 =
            attempts.iter().filter_map(|attempt| attempt.outcome.as_ref()).map(Outcome::card_s).sum();
        *seconds.entry(phase).or_default() += spent;
    }
    seconds.into_iter().map(|(phase, spent)| (phase.name().to_owned(), spent)).collect()
}
