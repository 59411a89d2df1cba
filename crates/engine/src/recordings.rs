//! Another run's recordings: found, held against this campaign's card, copied into its folder.
//!
//! The compiler is known to cells only, and the probe refuses a recording of another one; what the machine tells before
//! anything is started is refused here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use switchback_model::cell::{CellKey, Purpose};
use switchback_model::conditions::Difference;
use switchback_store::attempt;
use switchback_store::campaign_dir::CampaignDir;
use switchback_store::{StoreError, atomic};

use crate::error::EngineError;
use crate::request::Request;
use crate::scripts::{self, ConvertedRecording, ScriptDir};

/// The files of a recording; `meta.json` names the back end, device class and compiler.
const FILES: [&str; 2] = ["meta.json", "records.json"];
/// One operator's recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The operator.
    pub operator: String,
    /// Its folder.
    pub path: PathBuf,
    /// Its files in our form, where the scripts left it in theirs.
    pub converted: Option<ConvertedRecording>,
}

/// The recordings that a run has for a request's operators, in the request's order.
///
/// # Errors
/// The folder is no run, has no recording for any of them, or recorded on another back end or class of device.
pub fn find(run: &Path, request: &Request) -> Result<Vec<Recording>, EngineError> {
    let none = |detail: String| EngineError::NoRun { path: run.to_owned(), detail };
    if !CampaignDir::is_campaign(run) {
        return match scripts::recognise(run)? {
            Some(folder) => of_scripts(&folder, run, request),
            None => Err(none("`--replay-from` takes a run or a campaign that tuned".into())),
        };
    }
    let dir = CampaignDir::open(run)?;
    let backend = dir.request::<Request>()?.card.backend;
    let mut found = Vec::new();
    for operator in &request.operators {
        let name = &operator.operator;
        let replayed = dir.recording_dir(name);
        let path = recorded(&dir, name)?.or_else(|| is_whole(&replayed).then_some(replayed));
        if let Some(path) = path {
            check(&backend, name, &path, request)?;
            found.push(Recording { operator: name.clone(), path, converted: None });
        }
    }
    if found.is_empty() {
        return Err(none("it has no recording of any of these operators".into()));
    }
    Ok(found)
}

/// The recordings of a folder that the scripts left, each taken over whole or refused.
fn of_scripts(folder: &ScriptDir, run: &Path, request: &Request) -> Result<Vec<Recording>, EngineError> {
    let mut found = Vec::new();
    for operator in &request.operators {
        let name = &operator.operator;
        let only = request.operators.len() == 1;
        let Some(path) = scripts::recording_of(folder, name, only) else { continue };
        let here = request.card.backend.clone();
        let there = scripts::back_end_of(&path).ok();
        let fields =
            [("backend", there, here.clone()), ("side", Some("A".to_owned()), request.tune_on.to_string())];
        let differences: Vec<Difference> = fields
            .into_iter()
            .filter(|(_, there, here)| there.as_ref().is_some_and(|there| there != here))
            .map(|(field, a, b)| Difference { field: field.to_owned(), a, b: Some(b) })
            .collect();
        if !differences.is_empty() {
            return Err(EngineError::OtherRecording { operator: name.clone(), differences });
        }
        let converted = Some(scripts::convert(&path, &here, &BTreeMap::new())?);
        found.push(Recording { operator: name.clone(), path, converted });
    }
    if found.is_empty() {
        let detail = "the scripts left no `autotune_records` of any of these operators in it".to_owned();
        return Err(EngineError::NoRun { path: run.to_owned(), detail });
    }
    Ok(found)
}

/// What a tuning cell recorded.
fn recorded(dir: &CampaignDir, operator: &str) -> Result<Option<PathBuf>, StoreError> {
    let tunes = attempt::purposes(dir, operator)?.into_iter().filter(|it| matches!(it, Purpose::Tune(_)));
    for purpose in tunes {
        for it in attempt::attempts(dir, &CellKey { operator: operator.to_owned(), purpose })? {
            let is_done = it.outcome().ok().flatten().is_some_and(|outcome| outcome.counts.success > 0);
            if is_done && is_whole(&it.recording_path()) {
                return Ok(Some(it.recording_path()));
            }
        }
    }
    Ok(None)
}

/// Refuses a recording of another back end, class of device or side than the request's.
fn check(backend: &str, operator: &str, path: &Path, request: &Request) -> Result<(), EngineError> {
    let meta: serde_json::Value = atomic::read_json(&path.join("meta.json"))?;
    let there = |field: &str| meta[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let fields = [
        ("backend", Some(backend.to_owned()), Some(request.card.backend.clone())),
        ("device", there("device"), request.facts.get("device").cloned()),
        ("side", there("side"), Some(request.tune_on.to_string())),
    ];
    let differences: Vec<Difference> = fields
        .into_iter()
        .filter(|(_, there, here)| there.is_some() && here.is_some() && there != here)
        .map(|(field, a, b)| Difference { field: field.to_owned(), a, b })
        .collect();
    if differences.is_empty() {
        return Ok(());
    }
    Err(EngineError::OtherRecording { operator: operator.to_owned(), differences })
}

fn is_whole(path: &Path) -> bool {
    FILES.iter().all(|name| path.join(name).is_file())
}

/// Copies recordings into a campaign's folder.
///
/// # Errors
/// A file cannot be read or written.
pub fn keep(recordings: &[Recording], dir: &CampaignDir) -> Result<(), StoreError> {
    for recording in recordings {
        let folder = dir.recording_dir(&recording.operator);
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { action, path, source }
        };
        std::fs::create_dir_all(&folder).map_err(io("create", &folder))?;
        if let Some(converted) = &recording.converted {
            for (name, value) in [("meta.json", &converted.meta), ("records.json", &converted.records)] {
                atomic::write(&folder.join(name), format!("{value:#}\n").as_bytes())?;
            }
            continue;
        }
        for name in FILES {
            let from = recording.path.join(name);
            let bytes = std::fs::read(&from).map_err(io("read", &from))?;
            atomic::write(&folder.join(name), &bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;

    /// A run with a recording of `add` that another campaign made and this one replays.
    fn run(folder: &Path, device: &str, side: &str) -> PathBuf {
        let root = folder.join("there");
        let dir = CampaignDir::create(&root, &request()).unwrap();
        let add = dir.recording_dir("add");
        std::fs::create_dir_all(&add).unwrap();
        let meta = format!("{{\"device\": \"{device}\", \"side\": \"{side}\"}}");
        std::fs::write(add.join("meta.json"), meta).unwrap();
        std::fs::write(add.join("records.json"), "{\"records\": []}").unwrap();
        root
    }

    #[test]
    fn a_recording_is_copied_whole_and_what_lacks_one_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut here = request();
        here.facts.insert("device".into(), "NVIDIA H200".into());
        let root = run(folder.path(), "NVIDIA H200", "A");
        let found = find(&root, &here).unwrap();
        assert_eq!(found.iter().map(|it| it.operator.as_str()).collect::<Vec<_>>(), ["add"]);
        let dir =
            CampaignDir::create_with(&folder.path().join("here"), &here, |dir| keep(&found, dir)).unwrap();
        let copy = dir.recording_dir("add");
        assert_eq!(std::fs::read_to_string(copy.join("records.json")).unwrap(), "{\"records\": []}");
        here.operators.remove(0);
        assert!(find(&root, &here).unwrap_err().to_string().contains("no recording of any"));
    }

    #[test]
    fn a_recording_of_another_device_or_side_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut here = request();
        here.facts.insert("device".into(), "NVIDIA H200".into());
        let error = find(&run(folder.path(), "NVIDIA A100", "B"), &here).unwrap_err();
        assert_eq!(error.exit_code(), switchback_model::exit_code::ExitCode::Refused);
        let said = error.to_string();
        for part in ["`add`", "`device` is `NVIDIA A100` there, `NVIDIA H200` here", "`side` is `B` there"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(find(folder.path(), &here).unwrap_err().to_string().contains("--replay-from"));
    }

    #[test]
    fn a_recording_of_the_scripts_is_written_in_our_form() {
        let folder = tempfile::tempdir().unwrap();
        let here = request();
        let old = folder.path().join("add_20260910-074112/autotune_records");
        std::fs::create_dir_all(&old).unwrap();
        let meta = format!("{{\"backend\": \"{}\"}}", here.card.backend);
        std::fs::write(old.join("meta.json"), meta).unwrap();
        let choice =
            r#"[{"kernel": "add_kernel", "key": [64, "fp16"], "config": {"BLOCK": 32, "num_warps": 4}}]"#;
        std::fs::write(old.join("choices.json"), choice).unwrap();
        let found = find(old.parent().unwrap(), &here).unwrap();
        assert_eq!(found.iter().map(|it| it.operator.as_str()).collect::<Vec<_>>(), ["add"]);
        let dir =
            CampaignDir::create_with(&folder.path().join("here"), &here, |dir| keep(&found, dir)).unwrap();
        let copy = dir.recording_dir("add");
        assert!(is_whole(&copy));
        let records: serde_json::Value = atomic::read_json(&copy.join("records.json")).unwrap();
        assert_eq!(records["records"][0]["config"]["kwargs"]["BLOCK"], 32);
        let meta: serde_json::Value = atomic::read_json(&copy.join("meta.json")).unwrap();
        assert_eq!((meta["schema"].as_u64(), meta["device"].as_str()), (Some(1), Some("")));

        std::fs::write(old.join("meta.json"), "{\"backend\": \"elsewhere\"}").unwrap();
        let error = find(old.parent().unwrap(), &here).unwrap_err();
        assert_eq!(error.exit_code(), switchback_model::exit_code::ExitCode::Refused);
        assert!(error.to_string().contains("`backend` is `elsewhere` there"), "{error}");
    }
}
