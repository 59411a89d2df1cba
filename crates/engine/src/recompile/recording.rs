//! What is to be compiled again: the kernels that cases launch, with their recorded texts, options and target.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use switchback_ir::Stage;
use switchback_model::side::Side;
use switchback_model::switch::Variables;
use switchback_store::campaign_dir::CampaignDir;

use crate::code::{self, CompiledCode, CompiledKernel};
use crate::error::EngineError;
use crate::request::Goal;

/// One recorded kernel.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    /// What was recorded.
    pub kernel: CompiledKernel,
    /// The recorded `ttir`.
    pub ttir: Vec<u8>,
    /// `{"backend", "arch", "warp_size"}`.
    pub target: Value,
}

/// A recording.
#[derive(Debug, Clone, Default)]
pub(super) struct Recording {
    /// Where it comes from.
    pub origin: String,
    /// Each kernel once, however many operators launch it.
    pub kernels: Vec<Recorded>,
    /// Operators, and which kernels they launch.
    pub operators: Vec<(String, Vec<usize>)>,
    /// Variables of the recorded side.
    pub env: Variables,
    /// The interpreter that recorded.
    pub python: Option<String>,
    /// Versions, as the recording tells them.
    pub versions: BTreeMap<String, String>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

impl Recording {
    /// What recorded it.
    pub fn recorded_by(&self) -> String {
        let known = |key: &str| self.versions.get(key).cloned();
        let compiler =
            known("compiler").or_else(|| known("triton").map(|version| format!("triton {version}")));
        compiler.unwrap_or_else(|| "a compiler of unknown version".into())
    }
}

/// Reads a recording.
///
/// # Errors
/// No such folder, an operator that is not in it, or no kernel that can be compiled again.
pub(super) fn read(source: &Path, operators: &[String], program: &Path) -> Result<Recording, EngineError> {
    let mut it = Recording { origin: source.display().to_string(), ..Recording::default() };
    let mut codes: Vec<(String, CompiledCode)> = Vec::new();
    if CampaignDir::is_campaign(source) {
        let campaign = crate::prepare::read(source, program)?;
        it.env = campaign.request.options.env.clone();
        if campaign.request.goal != Goal::Run {
            it.env.extend(campaign.request.switch().a);
        }
        it.python = campaign.request.options.python.clone();
        for spec in &campaign.request.operators {
            match code::of_operator(&campaign, &spec.operator, Side::A) {
                Ok(code) => codes.push((spec.operator.clone(), code)),
                Err(EngineError::NoRun { detail, .. }) => {
                    it.notes.push(detail);
                    codes.push((spec.operator.clone(), CompiledCode::default()));
                }
                Err(error) => return Err(error),
            }
        }
    } else {
        for (side, code) in code::find(source, program)?.sides {
            if side != Side::A {
                continue;
            }
            // A folder knows no operators: its kernels stand for them.
            let mut by_name: BTreeMap<String, CompiledCode> = BTreeMap::new();
            let CompiledCode { kernels, notes, versions, .. } = code;
            it.notes.extend(notes);
            it.versions = versions;
            for kernel in kernels {
                by_name.entry(kernel.kernel.clone()).or_default().kernels.push(kernel);
            }
            codes.extend(by_name);
        }
    }
    check_operators(operators, &codes)?;
    let mut known: BTreeMap<(Vec<u8>, String, String), usize> = BTreeMap::new();
    for (operator, code) in codes {
        if !operators.is_empty() && !operators.contains(&operator) {
            continue;
        }
        it.versions.extend(code.versions);
        let mut indices = Vec::new();
        for kernel in code.kernels {
            let recorded = match recorded(&kernel) {
                Ok(recorded) => recorded,
                Err(reason) => {
                    it.notes.push(format!("{operator}: `{}` is left out: {reason}", kernel.kernel));
                    continue;
                }
            };
            let options = serde_json::to_string(&kernel.options).unwrap_or_default();
            let key = (recorded.ttir.clone(), options, kernel.variant.clone());
            let index = *known.entry(key).or_insert_with(|| {
                it.kernels.push(recorded);
                it.kernels.len() - 1
            });
            if !indices.contains(&index) {
                indices.push(index);
            }
        }
        it.operators.push((operator, indices));
    }
    if it.kernels.is_empty() {
        let detail = it.notes.first().map_or_else(
            || "it recorded no `ttir` with its options".to_owned(),
            |note| format!("nothing in it can be compiled again: {note}"),
        );
        return Err(EngineError::NoRun { path: source.to_owned(), detail });
    }
    Ok(it)
}

fn check_operators(asked: &[String], there: &[(String, CompiledCode)]) -> Result<(), EngineError> {
    let names: Vec<&str> = there.iter().map(|(name, _)| name.as_str()).collect();
    match asked.iter().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(EngineError::usage(
            format!("`{name}` is not in this recording"),
            format!("there are: {}", names.join(", ")),
        )),
    }
}

fn recorded(kernel: &CompiledKernel) -> Result<Recorded, String> {
    let text = kernel.stages.get(&Stage::Ttir).ok_or("no `ttir` was kept of it")?;
    let target = kernel.options.get("target").filter(|target| target.is_object());
    let target = target.ok_or("its metadata names no target")?.clone();
    let ttir = text.read().map_err(|error| error.to_string())?;
    Ok(Recorded { kernel: kernel.clone(), ttir, target })
}
