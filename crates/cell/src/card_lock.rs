//! The lock of a card: while a supervisor holds it, no other campaign measures there.
//!
//! A file a card, named by its UUID, in a folder that all users of the machine share. The lock is the kernel's
//! (`flock`): it goes with the process that held it, however that ended, so a file that is left means nothing. Its text
//! says who holds it, for people; and, where cells of one campaign share it, which campaign that is. Which of those cells uses
//! the card is settled by a second file, the turn, that children lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{OFlags, Timespec, Timestamps, UTIME_NOW, futimens};
use switchback_model::card::Card;
use switchback_store::path_name::path_name;

/// How often, and how long apart, a lock is asked for that a cell of the same campaign may be about to share.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct CardLock {
    file: File,
    /// True if other cells of the campaign held it as well when it was taken.
    pub(crate) in_company: bool,
}

/// Who takes a lock.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    /// What others read while it is held; one line.
    pub(crate) who: String,
    /// The campaign and its folder, where the lock is shared with other cells of it.
    pub(crate) shared_by: Option<String>,
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
    /// Takes a card's lock; waits for nobody, but a moment for a cell of the same campaign that is just taking it.
    ///
    /// # Errors
    /// Another process holds it, or the folder cannot be used.
    pub(crate) fn take(folder: &Path, card: &Card, holder: &Holder) -> Result<Self, LockError> {
        let path = folder.join(path_name(&card.lock_name()) + ".lock");
        let unusable = |source| LockError::Unusable { card: card.lock_name(), path: path.clone(), source };
        make_folder(folder).map_err(unusable)?;
        let mut file = open(&path).map_err(unusable)?;
        let tries = if holder.shared_by.is_some() { TRIES } else { 1 };
        for attempt in 1..=tries {
            if attempt > 1 {
                std::thread::sleep(PAUSE);
            }
            match holder.shared_by.as_deref() {
                None if got(file.try_lock()).map_err(unusable)? => {
                    write(&mut file, holder);
                    return Ok(Self { file, in_company: false });
                }
                None => {}
                Some(campaign) => {
                    if let Some(in_company) = share(&mut file, holder, campaign).map_err(unusable)? {
                        return Ok(Self { file, in_company });
                    }
                }
            }
        }
        let who = read(&mut file).and_then(|text| text.lines().next().map(str::to_owned));
        let holder = who.unwrap_or_else(|| "a process that has not said who it is".into());
        Err(LockError::InUse { card: card.lock_name(), holder })
    }
}

/// Shares a lock with other cells of the campaign: whether there are any, or none if somebody else has it.
fn share(file: &mut File, holder: &Holder, campaign: &str) -> io::Result<Option<bool>> {
    if got(file.try_lock())? {
        write(file, holder);
        // Between the two somebody may have taken it: then it is asked for again.
        return Ok(got(file.try_lock_shared())?.then_some(false));
    }
    if !got(file.try_lock_shared())? {
        return Ok(None);
    }
    if read(file).is_some_and(|text| text.lines().nth(1) == Some(campaign)) {
        return Ok(Some(true));
    }
    file.unlock()?;
    Ok(None)
}

fn got(tried: Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(source)) => Err(source),
    }
}

/// Says who holds it. A courtesy where it is not shared: a file of another user, opened for reading only, still locks.
fn write(file: &mut File, holder: &Holder) {
    let text = format!("{}\n{}", holder.who, holder.shared_by.as_deref().unwrap_or_default());
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
}

fn read(file: &mut File) -> Option<String> {
    let mut text = String::new();
    file.rewind().ok()?;
    Read::by_ref(file).take(8192).read_to_string(&mut text).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

impl Drop for CardLock {
    fn drop(&mut self) {
        // Others of the campaign may still hold it: the last one takes the text away.
        if self.file.try_lock().is_ok() {
            let _ = self.file.set_len(0);
        }
        let _ = self.file.unlock();
    }
}

/// The file that cells of one campaign lock in turn, made if it is not there.
///
/// Nobody writes into it, so it is given the time of now: what cleans up `/tmp` would take it away for its age, and cells that
/// hold the old one and a new one would measure at once.
///
/// # Errors
/// The folder cannot be used.
pub(crate) fn turn_file(folder: &Path, card: &Card) -> Result<PathBuf, LockError> {
    let path = folder.join(path_name(&card.lock_name()) + ".turn");
    let unusable = |source| LockError::Unusable { card: card.lock_name(), path: path.clone(), source };
    let file = make_folder(folder).and_then(|()| open(&path)).map_err(unusable)?;
    let now = || Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    // Another user's that is for reading only is that user's to keep.
    let _ = futimens(&file, &Timestamps { last_access: now(), last_modification: now() });
    Ok(path)
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

    fn alone(who: &str) -> Holder {
        Holder { who: who.into(), shared_by: None }
    }

    #[test]
    fn a_card_is_held_once_and_others_are_free() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("locks");
        let lock = CardLock::take(&folder, &card("GPU-1"), &alone("pid 7")).unwrap();
        let error = CardLock::take(&folder, &card("GPU-1"), &alone("pid 8")).unwrap_err();
        assert_eq!(error.to_string(), "card `GPU-1` is in use by pid 7");
        CardLock::take(&folder, &card("GPU-2"), &alone("pid 8")).unwrap();
        drop(lock);
        CardLock::take(&folder, &card("GPU-1"), &alone("pid 8")).unwrap();
    }

    #[test]
    fn cells_of_one_campaign_share_a_card_and_nobody_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("locks");
        let of = |who: &str, campaign: &str| Holder { who: who.into(), shared_by: Some(campaign.into()) };
        let take = |holder: &Holder| CardLock::take(&folder, &card("GPU-1"), holder);
        let first = take(&of("pid 7", "one")).unwrap();
        let second = take(&of("pid 8", "one")).unwrap();
        assert_eq!((first.in_company, second.in_company), (false, true));
        for other in [of("pid 9", "two"), alone("pid 9")] {
            let error = take(&other).unwrap_err();
            assert_eq!(error.to_string(), "card `GPU-1` is in use by pid 7");
        }
        // Whoever took it first may be gone; the campaign still has it.
        drop(first);
        assert!(take(&of("pid 9", "two")).is_err());
        assert!(take(&of("pid 10", "one")).unwrap().in_company);
        drop(second);
        let other = take(&of("pid 9", "two")).unwrap();
        assert!(!other.in_company);
        drop(other);
        let by_itself = take(&alone("pid 11")).unwrap();
        assert!(take(&of("pid 12", "one")).is_err());
        drop(by_itself);
    }

    #[test]
    fn folder_and_file_are_for_all_users() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("locks");
        let _lock = CardLock::take(&folder, &card("../x"), &alone("pid 7")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&folder), 0o1777);
        let files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "a name from outside leaves the folder");
        assert_eq!(mode(&files[0]), 0o666);
    }

    #[test]
    fn the_file_of_the_turn_does_not_grow_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = turn_file(folder.path(), &card("GPU-1")).unwrap();
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(30 * 86_400);
        let times = fs::FileTimes::new().set_accessed(long_ago).set_modified(long_ago);
        File::open(&path).unwrap().set_times(times).unwrap();
        let ages = |path: &Path| {
            let it = fs::metadata(path).unwrap();
            [it.accessed(), it.modified()].map(|time| time.unwrap().elapsed().unwrap_or_default())
        };
        assert!(ages(&path).iter().all(|age| *age > Duration::from_secs(86_400)));
        assert_eq!(turn_file(folder.path(), &card("GPU-1")).unwrap(), path);
        assert!(ages(&path).iter().all(|age| *age < Duration::from_secs(3600)));
    }

    #[test]
    fn a_link_in_the_lock_s_place_is_refused() {
        let outside = tempfile::tempdir().unwrap();
        let victim = outside.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, outside.path().join("GPU-1.lock")).unwrap();
        let error = CardLock::take(outside.path(), &card("GPU-1"), &alone("pid 7")).unwrap_err();
        assert!(matches!(error, LockError::Unusable { .. }), "{error}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}
