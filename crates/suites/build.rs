//! Lists the Python files that the suites bring along, so that a new file cannot be forgotten.
//!
//! Writes `embedded_files.rs` into `OUT_DIR`: an array of path (relative to `python/`) and `include_str!`. What lies
//! in `python/tests` is not shipped, nor is what the interpreter leaves behind.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders below `python/` that are shipped, with all below them.
const SHIPPED: [&str; 2] = ["switchback_probe", "kernels"];

fn main() {
    let manifest_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let python_dir = manifest_dir.join("python");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=python");
    let mut paths = Vec::new();
    for folder in SHIPPED {
        println!("cargo::rerun-if-changed=python/{folder}");
        collect(&python_dir.join(folder), &mut paths);
    }
    let mut files: Vec<(String, PathBuf)> = paths
        .into_iter()
        .map(|path| {
            let relative = path.strip_prefix(&python_dir).expect("it was found below");
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            (parts.join("/"), path)
        })
        .collect();
    files.sort();
    let mut source = String::from("[\n");
    for (relative, path) in files {
        writeln!(source, "    ({relative:?}, include_str!({path:?})),").expect("a string takes all");
    }
    source.push_str("]\n");
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out_dir.join("embedded_files.rs"), source).expect("OUT_DIR can be written");
}

/// Adds the Python files of a folder and of those below it; a folder that is not there has none.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if entry.file_name() != "__pycache__" {
                collect(&path, paths);
            }
        } else if path.extension().is_some_and(|extension| extension == "py") {
            paths.push(path);
        }
    }
}
