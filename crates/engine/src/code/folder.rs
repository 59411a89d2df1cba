//! Compiled code from a plain folder: a `TRITON_CACHE_DIR`, a `TRITON_DUMP_DIR`, or any folder with such files.
//!
//! A kernel is a set of files that differ in their extension only, `mm_kernel.ttir`, `mm_kernel.ttgir`, …; the `.json`
//! among them tells its name and options. Files of any depth are found; one kernel name may come in many folders.
//! What such a folder cannot tell is said: files that were overwritten (they disagree with each other), cut off, or
//! listed by the cache and not there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use switchback_ir::{Stage, variant_of_metadata};
use switchback_store::StoreError;

use super::{CompiledCode, CompiledKernel, Resources, StageText, variants};
use crate::error::EngineError;

/// Deepest folder that is looked into; a cache has two levels.
const DEEPEST: usize = 12;
/// How the files begin in which Triton's cache lists what belongs together.
const GROUP_PREFIX: &str = "__grp__";

#[derive(Default)]
struct Files {
    metadata: Option<PathBuf>,
    stages: BTreeMap<Stage, PathBuf>,
}

/// Reads the compiled kernels below a folder.
///
/// # Errors
/// The folder cannot be read, or no compiled kernel lies below it.
pub fn of_folder(folder: &Path) -> Result<CompiledCode, EngineError> {
    let mut code = CompiledCode { origin: folder.display().to_string(), ..CompiledCode::default() };
    let mut found: BTreeMap<(PathBuf, String), Files> = BTreeMap::new();
    let mut groups = Vec::new();
    walk(folder, 0, &mut found, &mut groups)?;
    for group in groups {
        missing_members(&group, &mut code.notes);
    }
    let found: Vec<((PathBuf, String), Files)> =
        found.into_iter().filter(|(_, files)| !files.stages.is_empty()).collect();
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let chunk = found.len().div_ceil(workers).max(1);
    let read: Vec<Result<(CompiledKernel, Vec<String>), StoreError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = found
            .chunks(chunk)
            .map(|part| {
                scope.spawn(move || {
                    part.iter()
                        .map(|((place, stem), files)| kernel(folder, place, stem, files))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    if read.len() != found.len() {
        return Err(EngineError::NoRun {
            path: folder.to_owned(),
            detail: "its files could not be read to the end".into(),
        });
    }
    for one in read {
        let (kernel, notes) = one?;
        code.notes.extend(notes);
        if let Some(version) = kernel.options.get("triton_version").and_then(Value::as_str) {
            code.versions.insert("triton".into(), version.to_owned());
        }
        code.kernels.push(kernel);
    }
    if code.kernels.is_empty() {
        return Err(EngineError::NoRun {
            path: folder.to_owned(),
            detail: "no file of a known stage (`.ttir`, `.ttgir`, `.llir`, `.ptx`, …) lies below it".into(),
        });
    }
    let without: Vec<&str> = code
        .kernels
        .iter()
        .filter(|kernel| {
            !kernel.stages.contains_key(&Stage::Ttgir)
                && kernel.stages.keys().any(|stage| matches!(stage, Stage::Ttir | Stage::Llir | Stage::Ptx))
        })
        .map(|kernel| kernel.kernel.as_str())
        .collect();
    if !without.is_empty() {
        code.notes.push(format!("{} of {} kernels have no `ttgir`", without.len(), code.kernels.len()));
    }
    Ok(code.finish())
}

fn walk(
    folder: &Path,
    depth: usize,
    found: &mut BTreeMap<(PathBuf, String), Files>,
    groups: &mut Vec<PathBuf>,
) -> Result<(), StoreError> {
    let unreadable = |source| StoreError::Io { action: "read", path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            if depth < DEEPEST {
                walk(&path, depth + 1, found, groups)?;
            }
            continue;
        }
        // Names of kernels have no dot; files that are still being written have several (`x.ttir.tmp.pid_…`).
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((stem, extension)) = name.rsplit_once('.') else { continue };
        if stem.starts_with(GROUP_PREFIX) {
            groups.push(path);
            continue;
        }
        if stem.is_empty() || stem.contains(".tmp.") {
            continue;
        }
        let stage = Stage::from_name(extension);
        let key = || (folder.to_owned(), stem.to_owned());
        if extension == "json" {
            found.entry(key()).or_default().metadata = Some(path);
        } else if !matches!(stage, Stage::Other(_)) {
            let files = found.entry(key()).or_default();
            // A disassembly says less than the cubin that it was made from.
            if extension != "sass" || !files.stages.contains_key(&Stage::Sass) {
                files.stages.insert(stage, path);
            }
        }
    }
    Ok(())
}

/// Files that the cache lists and that are not there.
fn missing_members(group: &Path, notes: &mut Vec<String>) {
    let listed = std::fs::read(group)
        .ok()
        .and_then(|text| serde_json::from_slice::<Value>(&text).ok())
        .and_then(|value| value.get("child_paths").and_then(Value::as_object).cloned());
    let Some(listed) = listed else {
        notes.push(format!("`{}` cannot be read: the cache's list is cut off", group.display()));
        return;
    };
    let folder = group.parent().unwrap_or(group);
    for name in listed.keys() {
        // Paths in the list are those of the machine that wrote it; the names are what counts.
        if !name.contains('/') && !folder.join(name).exists() {
            notes.push(format!("`{}` lists `{name}`, which is not there", group.display()));
        }
    }
}

fn kernel(
    root: &Path,
    folder: &Path,
    stem: &str,
    files: &Files,
) -> Result<(CompiledKernel, Vec<String>), StoreError> {
    let mut notes = Vec::new();
    let place = folder.strip_prefix(root).unwrap_or(folder).join(stem).display().to_string();
    let mut metadata = Map::new();
    if let Some(path) = &files.metadata {
        let text = std::fs::read(path).map_err(|source| StoreError::Io {
            action: "read",
            path: path.clone(),
            source,
        })?;
        match serde_json::from_slice::<Map<String, Value>>(&text) {
            Ok(read) => metadata = read,
            Err(error) => notes.push(format!("`{place}.json` cannot be read ({error}): options unknown")),
        }
    }
    // Triton compiles a text by the name `@kernel`.
    let stem_name = stem.trim_start_matches('@');
    let name = metadata.get("name").and_then(Value::as_str).unwrap_or(stem_name).to_owned();
    let mut stages = BTreeMap::new();
    let mut registers = None;
    for (stage, path) in &files.stages {
        let text = std::fs::read(path).map_err(|source| StoreError::Io {
            action: "read",
            path: path.clone(),
            source,
        })?;
        if let Some(disagreement) = disagreement(stage, &text, &name, &metadata) {
            notes.push(format!("`{place}`: {disagreement}: overwritten by another kernel?"));
        }
        if *stage == Stage::Sass {
            registers = switchback_ir::registers_of_cubin(&text);
        }
        let digest = switchback_ir::digest(stage, &text);
        stages.insert(stage.clone(), StageText { path: path.clone(), digest });
    }
    let number = |key: &str| metadata.get(key).and_then(Value::as_u64);
    let hash = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kernel = CompiledKernel {
        variant: variant_of_metadata(&metadata),
        description: variants::of_metadata(&name, &metadata, &hash),
        stages,
        resources: Resources { registers, shared_bytes: number("shared"), ..Resources::default() },
        options: metadata.into_iter().collect(),
        launches: 0,
        time_us: 0.0,
        kernel: name,
        place,
    };
    Ok((kernel, notes))
}

/// In what a text contradicts the metadata beside it.
fn disagreement(stage: &Stage, text: &[u8], name: &str, metadata: &Map<String, Value>) -> Option<String> {
    let contains = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    // A name is compared where it is written as such; long names are cut in file names and not in texts.
    let textual = matches!(stage, Stage::Ttir | Stage::Ttgir | Stage::Llir | Stage::Ptx | Stage::Amdgcn);
    if textual && !metadata.is_empty() && !text.is_empty() && !contains(name.as_bytes()) {
        return Some(format!("`{stage}` holds no `{name}`"));
    }
    let warps = metadata.get("num_warps").and_then(Value::as_u64)?;
    let key: &[u8] = b"\"ttg.num-warps\" = ";
    let at = (*stage == Stage::Ttgir).then(|| text.windows(key.len()).position(|window| window == key))??;
    let digits: String = text[at + key.len()..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .map(|&byte| byte as char)
        .collect();
    (digits.parse() != Ok(warps)).then(|| format!("`ttgir` is for {digits} warps, the metadata for {warps}"))
}
