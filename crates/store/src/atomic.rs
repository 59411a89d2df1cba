//! Files that are whole or absent: written beside, synced, renamed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;

/// Writes a file so that a reader sees the old text or the new one, never a part.
///
/// # Errors
/// The folder is missing, read-only or full; the file that was there is left as it was.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_with(path, |file| file.write_all(bytes))
}

/// The same for a text that comes in pieces and need not be in memory whole.
///
/// # Errors
/// As [`write()`], and those of `pieces`.
pub fn write_with(
    path: &Path,
    pieces: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let beside = beside(path);
    let result = File::create(&beside)
        .map(BufWriter::new)
        .and_then(|mut file| {
            pieces(&mut file)?;
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
        })
        .and_then(|()| std::fs::rename(&beside, path));
    if let Err(source) = result {
        let _ = std::fs::remove_file(&beside);
        return Err(StoreError::io("write", path)(source));
    }
    // The rename itself survives a power cut only once the folder is synced; a folder that cannot be opened for
    // that (some network file systems) still has the file.
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A name in the same folder that no other process or thread uses.
fn beside(path: &Path) -> std::path::PathBuf {
    static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.{count}.tmp", std::process::id()))
}

/// Writes a value as indented JSON with a final newline.
///
/// # Errors
/// As [`write()`].
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| StoreError::damaged(path, format!("not JSON: {error}")))?;
    text.push('\n');
    write(path, text.as_bytes())
}

/// Reads a value from JSON.
///
/// # Errors
/// The file cannot be read, or its JSON has another form (with line and column).
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let bytes = std::fs::read(path).map_err(StoreError::io("read", path))?;
    serde_json::from_slice(&bytes).map_err(|error| StoreError::damaged(path, error))
}

/// Reads a value from JSON, none if there is no such file.
///
/// # Errors
/// As [`read_json`], but for a missing file.
pub fn read_json_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StoreError> {
    match read_json(path) {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outcome.json");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let missing = folder.path().join("no/such/folder.json");
        let error = write(&missing, b"x").unwrap_err();
        assert!(error.to_string().contains("folder.json"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn json_of_another_form_names_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        std::fs::write(&path, "{\n  \"a\": \"text\"\n}").unwrap();
        let error = read_json::<std::collections::BTreeMap<String, u32>>(&path).unwrap_err().to_string();
        assert!(error.contains("x.json") && error.contains("line 2"), "{error}");
        assert_eq!(read_json_if_there::<u32>(&folder.path().join("none")).unwrap(), None);
    }
}
