//! Where the tests find recorded texts: excerpts beside them, and the full recordings when they are there.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use switchback_ir::{KernelIr, Stage, digest, variant_of_metadata};

/// One recorded text.
pub struct Recorded {
    pub path: PathBuf,
    pub stage: Stage,
    pub text: Vec<u8>,
}

/// The excerpts that travel with the crate.
pub fn excerpts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The full recordings, if this machine has them.
pub fn full() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/h200-ir");
    folder.is_dir().then_some(folder)
}

/// Every file below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("folder of recordings is readable") {
            let path = entry.expect("entry is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every text of a known stage below a folder.
pub fn texts(folder: &Path) -> Vec<Recorded> {
    files(folder)
        .into_iter()
        .filter_map(|path| {
            let stage = Stage::from_name(path.extension()?.to_str()?);
            if matches!(stage, Stage::Other(_)) {
                return None;
            }
            let text = fs::read(&path).expect("recorded text is readable");
            Some(Recorded { path, stage, text })
        })
        .collect()
}

/// The kernels of one side, from the `.json` files below a folder and the texts beside them.
pub fn kernels(folder: &Path) -> Vec<KernelIr> {
    files(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let metadata = fs::read_to_string(&path).expect("metadata is readable");
            let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("metadata is JSON");
            let metadata = metadata.as_object().expect("metadata is an object");
            let stages: BTreeMap<_, _> = ["ttir", "ttgir", "llir", "ptx"]
                .into_iter()
                .filter_map(|name| {
                    let text = fs::read(path.with_extension(name)).ok()?;
                    let stage = Stage::from_name(name);
                    let digest = digest(&stage, &text).digest;
                    Some((stage, digest))
                })
                .collect();
            KernelIr {
                kernel: metadata["name"].as_str().expect("metadata names the kernel").to_owned(),
                variant: variant_of_metadata(metadata),
                stages,
            }
        })
        .collect()
}
