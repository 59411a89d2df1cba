//! The digest of all that touches a measurement in this suite: its own sources.
//!
//! It is one of the conditions: rows measured before and after a change here are not comparable without saying so.

use sha2::{Digest, Sha256};

use crate::operands::hex;

macro_rules! sources {
    ($($path:literal),* $(,)?) => { &[$(($path, include_str!($path))),*] };
}

/// Path and text of every source file of the crate, sorted by path.
const SOURCES: &[(&str, &str)] = sources![
    "cell/kernels.rs",
    "cell/mod.rs",
    "cell/outputs.rs",
    "cell/sink.rs",
    "cell/start.rs",
    "cell/table.rs",
    "cell/timing.rs",
    "dtype.rs",
    "jit/compile.rs",
    "jit/mod.rs",
    "jit/native.rs",
    "jit/settings.rs",
    "lang/body.rs",
    "lang/math.rs",
    "lang/mod.rs",
    "lang/value.rs",
    "lib.rs",
    "list.rs",
    "measurement_path.rs",
    "operands.rs",
    "operators/elementwise.rs",
    "operators/fft.rs",
    "operators/matrix.rs",
    "operators/mod.rs",
    "operators/order.rs",
    "operators/reduction.rs",
    "operators/rows.rs",
    "reference/functions.rs",
    "reference/mod.rs",
];

/// SHA-256 over the crate's sources, in hexadecimal.
#[must_use]
pub fn measurement_path() -> String {
    let mut digest = Sha256::new();
    for (path, text) in SOURCES {
        digest.update(path.len().to_le_bytes());
        digest.update(path);
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    }
    hex(&digest.finalize())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_source_file_is_part_of_it() {
        fn collect(folder: &Path, root: &Path, paths: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    collect(&path, root, paths);
                } else {
                    paths.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
                }
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Vec::new();
        collect(&root, &root, &mut found);
        found.sort();
        let listed: Vec<&str> = SOURCES.iter().map(|(path, _)| *path).collect();
        assert_eq!(listed, found);
        assert_eq!(measurement_path().len(), 64);
    }
}
