//! Compiled code from what a cell left: its compile events tell the kernels, its launch events those that count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use switchback_ir::{Stage, StageDigest};
use switchback_model::case::CaseKey;
use switchback_model::cell::Purpose;
use switchback_model::event::{Compile, EventBody, Launch};
use switchback_model::side::{Pairing, Side};
use switchback_store::StoreError;
use switchback_store::attempt::AttemptDir;
use switchback_store::ir_objects;

use super::{CompiledCode, CompiledKernel, Resources, StageText, variants};
use crate::campaign::Campaign;
use crate::error::EngineError;
use crate::measure::latency;
use crate::request::Goal;
use crate::state::Standing;

/// Folders from an attempt up to its campaign: cell, operator, `cells`, root.
const UP_TO_CAMPAIGN: usize = 4;

/// Whether a folder is an attempt's.
pub(super) fn is_attempt(path: &Path) -> bool {
    path.join("events.jsonl").is_file() || path.join("order.json").is_file()
}

/// All code of an attempt that lies somewhere, by sides.
pub(super) fn of_attempt_both(path: &Path) -> Result<Vec<(Side, CompiledCode)>, EngineError> {
    let path = std::fs::canonicalize(path).map_err(|source| StoreError::Io {
        action: "open",
        path: path.to_owned(),
        source,
    })?;
    let attempt = AttemptDir::at(&path);
    let ir_dir = ir_dir(&attempt)?;
    let mut sides = Vec::new();
    for side in Side::BOTH {
        let code = of_attempt(&attempt, &ir_dir, side, &BTreeMap::new())?;
        if !code.kernels.is_empty() {
            sides.push((side, code));
        }
    }
    if sides.is_empty() {
        return Err(EngineError::NoRun { path, detail: "it compiled no kernel".into() });
    }
    Ok(sides)
}

/// Where an attempt's texts lie: in its campaign, wherever that was moved to, else where its order says.
fn ir_dir(attempt: &AttemptDir) -> Result<PathBuf, EngineError> {
    let beside = attempt.path().ancestors().nth(UP_TO_CAMPAIGN).map(|root| root.join("ir"));
    if let Some(beside) = beside.filter(|path| path.is_dir()) {
        return Ok(beside);
    }
    Ok(attempt.order()?.ir_dir)
}

/// The code that an attempt's cases launch on a side.
///
/// `latencies_us` are the cases' latencies, where they are known; each is shared among the kernels that its case
/// launches, by launches.
///
/// # Errors
/// A text is missing or damaged.
pub fn of_attempt(
    attempt: &AttemptDir,
    ir_dir: &Path,
    side: Side,
    latencies_us: &BTreeMap<CaseKey, f64>,
) -> Result<CompiledCode, EngineError> {
    let log = attempt.events()?;
    let mut code = CompiledCode { origin: attempt.path().display().to_string(), ..CompiledCode::default() };
    if let Some(identity) = attempt.identity()? {
        code.versions = identity.identity;
        code.versions.extend(identity.conditions.0);
    }
    let mut compiled: BTreeMap<&str, &Compile> = BTreeMap::new();
    let mut launches: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    let mut launch_events: Vec<&Launch> = Vec::new();
    for body in log.bodies() {
        match body {
            EventBody::Compile(compile) if compile.side == side => {
                compiled.insert(&compile.id, compile);
            }
            EventBody::Launch(launch) if launch.side == side => launch_events.push(launch),
            EventBody::Start(start) => code.versions.extend(start.identity.clone()),
            _ => {}
        }
    }
    let mut unseen = 0;
    for launch in &launch_events {
        unseen += launch.unknown;
        let all: u64 = launch.compiled.iter().map(|it| it.launches).sum::<u64>() + launch.unknown;
        for it in &launch.compiled {
            if !compiled.contains_key(it.id.as_str()) {
                unseen += it.launches;
                continue;
            }
            #[allow(clippy::cast_precision_loss, reason = "launches of one call are few")]
            let share_us =
                latencies_us.get(&launch.case).map_or(0.0, |us| us * it.launches as f64 / all.max(1) as f64);
            let entry = launches.entry(&it.id).or_default();
            entry.0 += it.launches;
            entry.1 += share_us;
        }
    }
    if unseen > 0 {
        code.notes.push(format!("{unseen} launches were of kernels that no hook saw compiled"));
    }
    if launch_events.is_empty() && !compiled.is_empty() {
        code.notes.push("no launch was recorded: this is what was compiled, whether it ran or not".into());
        launches = compiled.keys().map(|id| (*id, (0, 0.0))).collect();
    }
    let mut digests: BTreeMap<(Stage, String), StageDigest> = BTreeMap::new();
    for (id, (launches, time_us)) in launches {
        let compile = compiled[id];
        let mut stages = BTreeMap::new();
        for (name, text) in &compile.stages {
            let stage = Stage::from_name(name);
            let key = (stage.clone(), text.clone());
            let digest = match digests.get(&key) {
                Some(digest) => digest.clone(),
                None => {
                    let digest = switchback_ir::digest(&stage, &ir_objects::get(ir_dir, text)?);
                    digests.insert(key, digest.clone());
                    digest
                }
            };
            stages.insert(stage, StageText { path: ir_dir.join(text), digest });
        }
        for (stage, reason) in &compile.missing {
            code.notes.push(format!("`{}`: no `{stage}`: {reason}", compile.kernel));
        }
        code.kernels.push(CompiledKernel {
            kernel: compile.kernel.clone(),
            variant: compile.variant.clone(),
            description: variants::of_event(compile),
            stages,
            resources: Resources {
                registers: compile.registers,
                spills: compile.spills,
                shared_bytes: compile.shared_bytes,
                compile_ms: compile.compile_ms.filter(|_| !compile.cache_hit),
            },
            options: compile.options.clone(),
            launches,
            time_us,
            place: compile.id.clone(),
        });
    }
    Ok(code.finish())
}

/// The code of an operator of a campaign on a side, from its screening or its single run.
///
/// # Errors
/// The operator has no such cell that left rows, or a text is missing.
pub fn of_operator(campaign: &Campaign, operator: &str, side: Side) -> Result<CompiledCode, EngineError> {
    let purpose = match campaign.request.goal {
        Goal::Run => Purpose::Run,
        Goal::Screen | Goal::Ab => Purpose::Screen(side),
    };
    let (Standing::Done(attempt) | Standing::Failed(attempt)) = campaign.state().standing(operator, purpose)
    else {
        return Err(EngineError::NoRun {
            path: campaign.dir.cells_dir(),
            detail: format!("`{operator}` has no `{purpose}` that has ended"),
        });
    };
    let latencies_us = latencies(campaign, operator, side)?;
    let mut code = of_attempt(&attempt.dir, &campaign.dir.ir_dir(), side, &latencies_us)?;
    if let Some(screened) = campaign.screened().get(operator) {
        code.unseen =
            screened.unseen.iter().map(|it| (Stage::from_name(&it.stage), it.reason.clone())).collect();
    }
    code.origin = format!(
        "{operator}, side {side}: {}",
        match campaign.request.goal {
            Goal::Run => "single run".to_owned(),
            _ => switchback_model::switch::describe(campaign.request.switch().side(side)),
        }
    );
    Ok(code)
}

/// Mean latency of each case over all cells that timed it on a side.
fn latencies(campaign: &Campaign, operator: &str, side: Side) -> Result<BTreeMap<CaseKey, f64>, EngineError> {
    let mut sums: BTreeMap<CaseKey, (f64, f64)> = BTreeMap::new();
    for (cell, _) in campaign.state().cells().filter(|(cell, _)| cell.operator == operator) {
        let pairing = match cell.purpose {
            Purpose::Round(_, switchback_model::side::CellSides::Both) => Pairing::Duet,
            Purpose::Round(..) | Purpose::Run => Pairing::Process,
            _ => continue,
        };
        let Standing::Done(attempt) = campaign.state().standing(operator, cell.purpose) else { continue };
        for body in attempt.dir.events()?.bodies() {
            let EventBody::Row(row) = body else { continue };
            if let (true, Ok((latency_us, _))) = (row.side == side, latency(row, pairing)) {
                let sum = sums.entry(row.case.clone()).or_default();
                *sum = (sum.0 + latency_us, sum.1 + 1.0);
            }
        }
    }
    Ok(sums.into_iter().map(|(case, (sum, rows))| (case, sum / rows)).collect())
}

/// The code of all operators of a campaign, by sides.
pub(super) fn of_campaign(campaign: &Campaign) -> Result<Vec<(Side, CompiledCode)>, EngineError> {
    let sides: &[Side] = if campaign.request.goal == Goal::Run { &[Side::A] } else { &Side::BOTH };
    let mut found = Vec::new();
    for side in sides {
        let mut all = CompiledCode {
            origin: format!("{}, side {side}", campaign.dir.root().display()),
            ..CompiledCode::default()
        };
        for spec in &campaign.request.operators {
            match of_operator(campaign, &spec.operator, *side) {
                Ok(code) => {
                    all.kernels.extend(code.kernels);
                    all.notes.extend(code.notes.into_iter().map(|note| format!("{}: {note}", spec.operator)));
                    all.versions.extend(code.versions);
                }
                Err(EngineError::NoRun { detail, .. }) => all.notes.push(detail),
                Err(error) => return Err(error),
            }
        }
        found.push((*side, all.finish_quietly()));
    }
    Ok(found)
}

impl CompiledCode {
    /// Merges what several operators launch; their notes were collected before.
    fn finish_quietly(self) -> Self {
        let notes = self.notes.clone();
        Self { notes, ..self.finish() }
    }
}
