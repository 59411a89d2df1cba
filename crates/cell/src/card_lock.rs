//! The lock of a card: while a supervisor holds it, no other campaign measures there.
//!
//! A file a card, named by its UUID, in a folder that all users of the machine share. The lock is the kernel's
//! (`flock`): it goes with the process that held it, however that ended, so a file that is left means nothing. Its text
//! says who holds it, for people.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use switchback_model::card::Card;
use switchback_store::path_name::path_name;

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct CardLock {
    file: File,
}

/// Why a card's lock is not held.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LockError {
    /// Another supervisor holds it.
    #[error("card `{card}` is in use by {holder}")]
    InUse {
        /// The lock's name.
        card: String,
        /// What the file says, or that it says nothing.
        holder: String,
    },
    /// The file cannot be made or opened.
    #[error("card `{card}` cannot be locked in `{path}`: {source}")]
    Unusable {
        /// The lock's name.
        card: String,
        /// The file or its folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl CardLock {
    /// Takes a card's lock without waiting; `holder` is what others read while it is held.
    ///
    /// # Errors
    /// Another process holds it, or the folder cannot be used.
    pub(crate) fn take(folder: &Path, card: &Card, holder: &str) -> Result<Self, LockError> {
        let path = folder.join(path_name(&card.lock_name()) + ".lock");
        let unusable = |source| LockError::Unusable { card: card.lock_name(), path: path.clone(), source };
        make_folder(folder).map_err(unusable)?;
        let mut file = open(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let told = Read::by_ref(&mut file).take(500).read_to_string(&mut text).is_ok()
                    && !text.trim().is_empty();
                let holder = if told {
                    text.trim().to_owned()
                } else {
                    "a process that has not said who it is".into()
                };
                return Err(LockError::InUse { card: card.lock_name(), holder });
            }
        }
        // The text is a courtesy: a file of another user, opened for reading only, still locks.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(holder.as_bytes()));
        Ok(Self { file })
    }
}

impl Drop for CardLock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Makes the folder, writable for all users and, like `/tmp`, sticky.
fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o1777).create(folder) {
        // The mode that was asked for has gone through the umask.
        Ok(()) => fs::set_permissions(folder, fs::Permissions::from_mode(0o1777)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // A link that somebody put there could lead anywhere.
            let is_folder = fs::symlink_metadata(folder)?.is_dir();
            if is_folder { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) }
        }
        Err(error) => Err(error),
    }
}

/// Opens the file, made writable for all users if it is not there.
///
/// An existing one is opened without `O_CREAT`, which the kernel refuses for other users' files in a sticky folder
/// (`fs.protected_regular`), and for reading alone where it cannot be written: that is enough for a lock.
fn open(path: &Path) -> io::Result<File> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let existing = |write| OpenOptions::new().read(true).write(write).custom_flags(no_link).open(path);
    for _ in 0..8 {
        let error = match existing(true).or_else(|error| {
            if error.kind() == io::ErrorKind::PermissionDenied { existing(false) } else { Err(error) }
        }) {
            Ok(file) if file.metadata()?.is_file() => return Ok(file),
            Ok(_) => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
            Err(error) => error,
        };
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o666).open(path) {
            Ok(file) => {
                file.set_permissions(fs::Permissions::from_mode(0o666))?;
                return Ok(file);
            }
            // Another supervisor was faster: open its file.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(uuid: &str) -> Card {
        Card { backend: "cuda".into(), index: "0".into(), uuid: Some(uuid.into()), name: None }
    }

    #[test]
    fn a_card_is_held_once_and_others_are_free() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("locks");
        let lock = CardLock::take(&folder, &card("GPU-1"), "pid 7").unwrap();
        let error = CardLock::take(&folder, &card("GPU-1"), "pid 8").unwrap_err();
        assert_eq!(error.to_string(), "card `GPU-1` is in use by pid 7");
        CardLock::take(&folder, &card("GPU-2"), "pid 8").unwrap();
        drop(lock);
        CardLock::take(&folder, &card("GPU-1"), "pid 8").unwrap();
    }

    #[test]
    fn folder_and_file_are_for_all_users() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("locks");
        let _lock = CardLock::take(&folder, &card("../x"), "pid 7").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&folder), 0o1777);
        let files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "a name from outside leaves the folder");
        assert_eq!(mode(&files[0]), 0o666);
    }

    #[test]
    fn a_link_in_the_lock_s_place_is_refused() {
        let outside = tempfile::tempdir().unwrap();
        let victim = outside.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, outside.path().join("GPU-1.lock")).unwrap();
        let error = CardLock::take(outside.path(), &card("GPU-1"), "pid 7").unwrap_err();
        assert!(matches!(error, LockError::Unusable { .. }), "{error}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}
