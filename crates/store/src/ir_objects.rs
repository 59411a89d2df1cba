//! IR texts, each stored once under its SHA-256, written when a kernel is compiled.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::atomic;
use crate::error::StoreError;

/// Stores a text and returns its digest in hexadecimal.
///
/// # Errors
/// The folder cannot be written.
pub fn put(ir_dir: &Path, text: &[u8]) -> Result<String, StoreError> {
    let name = sha256(text);
    let path = ir_dir.join(&name);
    if !path.exists() {
        atomic::write(&path, text)?;
    }
    Ok(name)
}

/// Reads a text by its digest and checks that it is the one.
///
/// # Errors
/// No such text, or another one under its name (a disk that lost bytes): it would give a wrong fingerprint.
pub fn get(ir_dir: &Path, name: &str) -> Result<Vec<u8>, StoreError> {
    let path = ir_dir.join(name);
    if name.len() != 64 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(StoreError::damaged(&path, "not the name of an IR text, which is a SHA-256"));
    }
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(StoreError::damaged(
                &path,
                "this text of compiled code is not there, and without it nothing can be said of the code; the folder `ir` belongs \
                 to the campaign wherever it is copied, and what was judged before stands in `report.json`",
            ));
        }
        read => read.map_err(StoreError::io("read", &path))?,
    };
    if sha256(&text) != name {
        return Err(StoreError::damaged(&path, "its text has another SHA-256 than its name says"));
    }
    Ok(text)
}

fn sha256(text: &[u8]) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let name = put(folder.path(), b"abc").unwrap();
        // The SHA-256 of "abc" is an example of FIPS 180-2, appendix B.1.
        assert_eq!(name, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(put(folder.path(), b"abc").unwrap(), name);
        assert_eq!(get(folder.path(), &name).unwrap(), b"abc");
    }

    #[test]
    fn damage_and_names_that_are_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let name = put(folder.path(), b"abc").unwrap();
        std::fs::write(folder.path().join(&name), b"ab").unwrap();
        assert!(get(folder.path(), &name).unwrap_err().to_string().contains("SHA-256"));
        assert!(get(folder.path(), "../secret").is_err());
        std::fs::remove_file(folder.path().join(&name)).unwrap();
        assert!(
            get(folder.path(), &name)
                .unwrap_err()
                .to_string()
                .contains("the folder `ir` belongs to the campaign")
        );
    }
}
