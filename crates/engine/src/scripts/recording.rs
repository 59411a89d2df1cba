//! A recording of the scripts, made into one of ours.
//!
//! Known of them is `meta.json` with the back end. The choices lie in the other `.json` and `.jsonl` files of the folder, as
//! objects with a kernel, a key and a config, in lists or below names of kernels. What cannot be taken over whole is not
//! taken over at all: a recording with a hole would let both sides tune for themselves there. What ours names and the
//! scripts' may not (device class, compiler, tuner, module) stays empty: the probe takes an empty one for not known.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use switchback_model::side::Side;
use switchback_store::StoreError;
use switchback_store::script_dir::ScriptDir;

use crate::error::EngineError;

/// Version of our recordings.
const SCHEMA: u32 = 1;
/// Fields of a config that are no arguments of the kernel.
const LAUNCH_FIELDS: [&str; 4] = ["num_warps", "num_stages", "num_ctas", "maxnreg"];

/// A recording in our form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedRecording {
    /// `meta.json`.
    pub meta: Value,
    /// `records.json`.
    pub records: Value,
    /// Number of choices.
    pub choices: usize,
}

/// The back end that a recording was made on.
///
/// # Errors
/// A sentence: it is missing, damaged, or does not tell.
pub(crate) fn back_end(folder: &Path) -> Result<String, String> {
    let bytes = std::fs::read(folder.join("meta.json")).map_err(|_| {
        "`autotune_records/meta.json` is missing: whose recording it is is not known".to_owned()
    })?;
    let meta: Value = serde_json::from_slice(&bytes)
        .map_err(|error| format!("`autotune_records/meta.json` cannot be read: {error}"))?;
    meta.get("backend")
        .and_then(Value::as_str)
        .filter(|backend| !backend.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| "`autotune_records/meta.json` names no `backend`".to_owned())
}

/// Where an operator's recording lies in a folder of the scripts: of a run its own, of rounds that of the first on side A, of
/// a screening that of side A. `only` says that no other operator is asked for, so that a run's name need not tell whose it is.
#[must_use]
pub fn recording_of(folder: &ScriptDir, operator: &str, only: bool) -> Option<PathBuf> {
    match folder {
        ScriptDir::Run(run) => {
            let name = run.name();
            let named =
                name.strip_prefix(operator).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
            if named || only { run.recording() } else { None }
        }
        ScriptDir::Rounds(rounds) => {
            let of = rounds.operators.iter().find(|it| it.operator == operator)?;
            of.runs.get(&(1, Side::A))?.recording()
        }
        ScriptDir::Screen(screen) => screen.run(operator, Side::A).recording(),
    }
}

/// Reads an old recording (its folder, or that of its run) for a back end; `facts` are `device`, `compiler` and
/// `compiler_digest` as far as the run that it belongs to tells them.
///
/// # Errors
/// Another back end's recording, one that does not say whose it is, one without a choice, or with one that cannot be read.
pub fn convert(
    path: &Path,
    backend: &str,
    facts: &BTreeMap<String, String>,
) -> Result<ConvertedRecording, EngineError> {
    let inner = path.join("autotune_records");
    let folder = if inner.is_dir() { inner } else { path.to_owned() };
    let refused = |message: String, hint: &str| EngineError::usage(message, hint);
    let there = back_end(&folder).map_err(|reason| {
        refused(format!("`{}`: {reason}", folder.display()), "tune again in a new campaign")
    })?;
    if there != backend {
        return Err(refused(
            format!("`{}` is a recording of back end `{there}`, this is `{backend}`", folder.display()),
            "a recording is replayed only where it was made: tune again in a new campaign",
        ));
    }
    let mut records = Vec::new();
    for file in files(&folder)? {
        let unread = |detail: String| {
            refused(
                format!("`{}` cannot be taken over: {detail}", file.display()),
                "nothing of it is used, since both sides would tune for themselves where it has a hole: tune again",
            )
        };
        for value in values(&file).map_err(unread)? {
            gather(&value, None, &mut records).map_err(unread)?;
        }
    }
    if records.is_empty() {
        return Err(refused(
            format!("`{}` holds no choice", folder.display()),
            "tune again in a new campaign",
        ));
    }
    let mut meta = Map::from_iter([
        ("schema".to_owned(), json!(SCHEMA)),
        ("side".to_owned(), json!("A")),
        ("backend".to_owned(), json!(backend)),
        ("converted_from".to_owned(), json!(folder.display().to_string())),
    ]);
    for name in ["device", "compiler", "compiler_digest"] {
        meta.insert(name.to_owned(), json!(facts.get(name).cloned().unwrap_or_default()));
    }
    Ok(ConvertedRecording {
        meta: Value::Object(meta),
        choices: records.len(),
        records: json!({"schema": SCHEMA, "records": records}),
    })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let unreadable = |source| StoreError::Io { action: "read", path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let extension = path.extension().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        let is_meta = path.file_name().is_some_and(|name| name == "meta.json");
        if !is_meta && matches!(extension.as_str(), "json" | "jsonl") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn values(file: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    if file.extension().is_some_and(|extension| extension == "jsonl") {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        return lines
            .map(|(at, line)| serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1)))
            .collect();
    }
    serde_json::from_str(&text).map(|value| vec![value]).map_err(|error| error.to_string())
}

/// Takes the choices out of a value; `kernel` is the name that it lies below.
fn gather(value: &Value, kernel: Option<&str>, records: &mut Vec<Value>) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| gather(item, kernel, records)),
        Value::Object(object) if object.contains_key("config") || object.contains_key("key") => {
            records.push(record(object, kernel)?);
            Ok(())
        }
        Value::Object(object) => object.iter().try_for_each(|(name, inner)| match inner {
            Value::Array(_) | Value::Object(_) => {
                let list = matches!(name.as_str(), "records" | "choices" | "configs");
                gather(inner, if list { kernel } else { Some(name) }, records)
            }
            // A version, a time, a count: no choice.
            _ => Ok(()),
        }),
        other => Err(format!("`{other}` is no choice of a tuner")),
    }
}

fn record(object: &Map<String, Value>, kernel: Option<&str>) -> Result<Value, String> {
    let text = |names: &[&str]| names.iter().find_map(|name| object.get(*name)?.as_str());
    let kernel = text(&["kernel", "function", "fn", "name"])
        .or(kernel)
        .ok_or_else(|| "a choice names no `kernel`".to_owned())?;
    let key = object.get("key").ok_or_else(|| format!("a choice of `{kernel}` has no `key`"))?;
    let key = match key {
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => key.clone(),
        other => return Err(format!("the key of a choice of `{kernel}` is `{other}`, not a list of values")),
    };
    let config = object
        .get("config")
        .and_then(Value::as_object)
        .ok_or_else(|| format!("a choice of `{kernel}` has no `config` with fields"))?;
    let mut fields = Map::new();
    let mut arguments = config.get("kwargs").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, value) in config {
        match name.as_str() {
            "kwargs" => {}
            name if LAUNCH_FIELDS.contains(&name) => {
                fields.insert(name.to_owned(), value.clone());
            }
            name => {
                arguments.insert(name.to_owned(), value.clone());
            }
        }
    }
    fields.insert("kwargs".to_owned(), Value::Object(arguments));
    Ok(json!({
        "tuner": text(&["tuner"]).unwrap_or_default(),
        "kernel": kernel,
        "module": text(&["module"]).unwrap_or_default(),
        "key": key,
        "config": fields,
        "offered": 0,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let it = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(it.path().join(name), text).unwrap();
        }
        it
    }

    fn facts() -> BTreeMap<String, String> {
        BTreeMap::from([
            ("device".to_owned(), "H200".to_owned()),
            ("compiler".to_owned(), "triton 3.6".to_owned()),
        ])
    }

    const META: (&str, &str) = ("meta.json", r#"{"backend": "cuda", "time": 3}"#);

    #[test]
    fn choices_are_found_in_lists_in_lines_and_below_names() {
        let config = r#"{"kwargs": {"BLOCK": 64}, "num_warps": 4}"#;
        let expected = json!({
            "tuner": "", "kernel": "mm", "module": "", "key": [64, "fp16"],
            "config": {"kwargs": {"BLOCK": 64}, "num_warps": 4}, "offered": 0,
        });
        for (name, text) in [
            (
                "a.json",
                format!(
                    r#"{{"version": 1, "records": [{{"kernel": "mm", "key": [64, "fp16"], "config": {config}}}]}}"#
                ),
            ),
            ("a.jsonl", format!("{{\"fn\": \"mm\", \"key\": [64, \"fp16\"], \"config\": {config}}}\n\n")),
            ("a.json", format!(r#"{{"mm": [{{"key": [64, "fp16"], "config": {config}}}]}}"#)),
            (
                "a.json",
                r#"[{"kernel": "mm", "key": [64, "fp16"], "config": {"BLOCK": 64, "num_warps": 4}}]"#
                    .to_owned(),
            ),
        ] {
            let it = folder(&[META, (name, &text)]);
            let found = convert(it.path(), "cuda", &facts()).unwrap();
            assert_eq!(found.choices, 1);
            assert_eq!(found.records["records"][0], expected, "{text}");
            assert_eq!(
                (&found.meta["backend"], &found.meta["device"], &found.meta["compiler_digest"]),
                (&json!("cuda"), &json!("H200"), &json!(""))
            );
        }
    }

    #[test]
    fn what_cannot_be_taken_over_whole_is_refused() {
        let good = ("a.json", r#"[{"kernel": "mm", "key": [1], "config": {"BLOCK": 1}}]"#);
        let fault = |files: &[(&str, &str)], backend: &str| {
            convert(folder(files).path(), backend, &facts()).unwrap_err().to_string()
        };
        assert!(fault(&[META, good], "musa").ends_with("is a recording of back end `cuda`, this is `musa`"));
        assert!(fault(&[good], "cuda").contains("whose recording it is is not known"));
        assert!(fault(&[("meta.json", "{}"), good], "cuda").contains("names no `backend`"));
        assert!(fault(&[META], "cuda").ends_with("holds no choice"));
        for (text, detail) in [
            (
                r#"[{"kernel": "mm", "key": [1], "config": {"BLOCK": 1}}, {"kernel": "mm", "key": [2]}]"#,
                "no `config`",
            ),
            (r#"[{"key": [1], "config": {}}]"#, "a choice names no `kernel`"),
            (r#"[{"kernel": "mm", "key": "1, 2", "config": {}}]"#, "not a list of values"),
            (r#"["mm"]"#, "is no choice of a tuner"),
            (r#"[{"kernel": "mm""#, "EOF"),
        ] {
            let said = fault(&[META, ("a.json", text)], "cuda");
            assert!(said.contains("cannot be taken over") && said.contains(detail), "{said}");
        }
    }
}
