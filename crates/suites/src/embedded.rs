//! The Python files inside the binary, and the digest of all that touches a measurement.
//!
//! The list is made by the build script from the folder itself, so it cannot forget a file. Invariant: the digest
//! covers each file's path and text and the shape of the child's command, and nothing of the engine.

use sha2::{Digest, Sha256};

use crate::suite::EmbeddedFile;

/// Path below `python/` and text of every shipped file, sorted by path.
static FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/embedded_files.rs"));

/// The folder of the probe.
pub const PROBE: &str = "switchback_probe/";
/// The folder of the triton suite's kernels.
pub const KERNELS: &str = "kernels/";

/// The shipped files of some folders, sorted by path.
#[must_use]
pub fn files(folders: &[&str]) -> Vec<EmbeddedFile> {
    FILES
        .iter()
        .filter(|(path, _)| folders.iter().any(|folder| path.starts_with(folder)))
        .map(|&(path, text)| EmbeddedFile { path, text })
        .collect()
}

/// SHA-256, in hexadecimal, over files and the words of a command.
///
/// Each part goes in with its length before it, so that no two lists of parts run together.
#[must_use]
pub fn digest(files: &[EmbeddedFile], words: &[String]) -> String {
    let mut sha = Sha256::new();
    let mut add = |part: &str| {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part.as_bytes());
    };
    for file in files {
        add(file.path);
        add(file.text);
    }
    for word in words {
        add(word);
    }
    hexadecimal(&sha.finalize())
}

/// SHA-256 of bytes, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn file(path: &'static str, text: &'static str) -> EmbeddedFile {
        EmbeddedFile { path, text }
    }

    /// What lies in the folder, counted by walking it here, is what was embedded.
    #[test]
    fn every_python_file_of_the_folder_is_embedded() {
        fn walk(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    walk(&path, found);
                } else if path.extension().is_some_and(|extension| extension == "py") {
                    found.push(path);
                }
            }
        }
        let python = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        let mut found = Vec::new();
        for folder in [PROBE, KERNELS] {
            walk(&python.join(folder), &mut found);
        }
        let mut found: Vec<String> = found
            .iter()
            .map(|path| path.strip_prefix(&python).unwrap().to_str().unwrap().to_owned())
            .collect();
        found.sort();
        let embedded = files(&[PROBE, KERNELS]);
        assert_eq!(embedded.iter().map(|file| file.path).collect::<Vec<_>>(), found);
        let plugin = embedded.iter().find(|file| file.path == "switchback_probe/plugin.py").unwrap();
        assert!(plugin.text.contains("pytest_collection_finish"), "its text is there too");
        assert!(files(&[PROBE]).iter().all(|file| !file.path.starts_with(KERNELS)));
    }

    #[test]
    fn sha256_is_that_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn the_digest_moves_with_text_path_and_argv_and_parts_do_not_run_together() {
        let words = ["python".to_owned()];
        let digests = [
            digest(&[file("a", "bc")], &words),
            digest(&[file("ab", "c")], &words),
            digest(&[file("a", "bd")], &words),
            digest(&[file("a", "bc")], &["python3".to_owned()]),
            digest(&[], &words),
        ];
        for (index, one) in digests.iter().enumerate() {
            assert!(digests[index + 1..].iter().all(|other| other != one), "{index}");
        }
        assert_eq!(digests[0], digest(&[file("a", "bc")], &words));
    }
}
