//! A campaign's folder: its request, its lock and the places of everything else.

use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchback_model::cell::CellKey;

use crate::atomic;
use crate::error::StoreError;
use crate::path_name::path_name;

/// The request's file.
const REQUEST: &str = "campaign.toml";
/// The file that the one coordinator holds locked.
const LOCK: &str = "campaign.lock";
/// How often, and how long apart, the lock is asked for before somebody else is said to have it.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// The folder of another run's recordings.
const RECORDINGS: &str = "recordings";

/// With less than this on the disk no cell is begun: it holds a cell's `run.log` at its longest.
pub const LEAST_FREE_BYTES: u64 = 64 << 20;

/// A campaign's folder, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignDir {
    root: PathBuf,
}

/// Held by the one coordinator that works in a folder.
#[derive(Debug)]
pub struct CampaignLock {
    _file: File,
}

impl CampaignDir {
    /// Makes a campaign's folder and writes its request, which never changes after.
    ///
    /// A folder is taken that is empty, or has no more in it than a start that was killed before its request was written.
    ///
    /// # Errors
    /// The folder has something in it already, cannot be written, or another process is making it.
    pub fn create(root: &Path, request: &impl Serialize) -> Result<Self, StoreError> {
        Self::create_with(root, request, |_| Ok(()))
    }

    /// As [`Self::create`]; `fill` puts into the folder what must be there when the request is.
    ///
    /// # Errors
    /// As [`Self::create`], and those of `fill`.
    pub fn create_with(
        root: &Path,
        request: &impl Serialize,
        fill: impl FnOnce(&Self) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        std::fs::create_dir_all(root).map_err(StoreError::io("create", root))?;
        let it = Self { root: std::fs::canonicalize(root).map_err(StoreError::io("open", root))? };
        if !it.is_unbegun()? {
            return Err(StoreError::Exists { path: it.root });
        }
        let _lock = it.lock()?;
        if Self::is_campaign(&it.root) {
            return Err(StoreError::Exists { path: it.root });
        }
        it.make_folders()?;
        fill(&it)?;
        let text = toml::to_string_pretty(request)
            .map_err(|error| StoreError::damaged(&it.root.join(REQUEST), error))?;
        atomic::write(&it.root.join(REQUEST), text.as_bytes())?;
        Ok(it)
    }

    /// Makes the folders that cells need, where they are missing.
    ///
    /// # Errors
    /// The campaign's folder cannot be written.
    pub fn make_folders(&self) -> Result<(), StoreError> {
        for folder in [self.cells_dir(), self.ir_dir(), self.probe_dir(), self.cache_dir()] {
            std::fs::create_dir_all(&folder).map_err(StoreError::io("create", &folder))?;
        }
        Ok(())
    }

    /// True if nothing is in the folder but what [`Self::create_with`] makes before the request: nothing of anybody's is
    /// taken for a campaign, and a start that was killed does not keep its folder for ever.
    fn is_unbegun(&self) -> Result<bool, StoreError> {
        let read = |folder: &Path| std::fs::read_dir(folder).map_err(StoreError::io("read", folder));
        for entry in read(&self.root)? {
            let entry = entry.map_err(StoreError::io("read", &self.root))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_ours = match name.as_str() {
                "cells" | "ir" | "probe" | "cache" => {
                    entry.path().is_dir() && read(&entry.path())?.next().is_none()
                }
                RECORDINGS => entry.path().is_dir(),
                LOCK => true,
                _ => name.starts_with(&format!(".{REQUEST}.")),
            };
            if !is_ours {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens a campaign's folder.
    ///
    /// # Errors
    /// There is no request in it.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        if !Self::is_campaign(root) {
            return Err(StoreError::NoCampaign { path: root.to_owned() });
        }
        let root = std::fs::canonicalize(root).map_err(StoreError::io("open", root))?;
        Ok(Self { root })
    }

    /// True if a folder holds a request.
    #[must_use]
    pub fn is_campaign(root: &Path) -> bool {
        root.join(REQUEST).is_file()
    }

    /// Reads the request.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub fn request<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        let path = self.root.join(REQUEST);
        let text = std::fs::read_to_string(&path).map_err(StoreError::io("read", &path))?;
        toml::from_str(&text).map_err(|error| StoreError::damaged(&path, error))
    }

    /// Takes the folder for this process until the lock is dropped.
    ///
    /// Asks for a moment: a process that has let it go and starts another at that time holds it until that other one is
    /// what it is to be.
    ///
    /// # Errors
    /// Another process has it.
    pub fn lock(&self) -> Result<CampaignLock, StoreError> {
        let path = self.root.join(LOCK);
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        for attempt in 1..=LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(CampaignLock { _file: file }),
                Err(std::fs::TryLockError::Error(source)) => {
                    return Err(StoreError::io("lock", &path)(source));
                }
                Err(std::fs::TryLockError::WouldBlock) if attempt < LOCK_TRIES => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(std::fs::TryLockError::WouldBlock) => {}
            }
        }
        Err(StoreError::Locked { path: self.root.clone() })
    }

    /// True while a process has the folder ([`Self::lock`]).
    ///
    /// It is asked for beside others that only ask, so whoever takes the folder at that moment asks once more.
    ///
    /// # Errors
    /// The lock's file is there and cannot be opened, or the file system has no locks.
    pub fn is_locked(&self) -> Result<bool, StoreError> {
        let path = self.root.join(LOCK);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(StoreError::io("open", &path)(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(std::fs::TryLockError::WouldBlock) => Ok(true),
            Err(std::fs::TryLockError::Error(source)) => Err(StoreError::io("lock", &path)(source)),
        }
    }

    /// Looks whether there is room for another cell.
    ///
    /// A disk of which nothing is told (some network file systems say 0 blocks in all) is taken to have room.
    ///
    /// # Errors
    /// Less than [`LEAST_FREE_BYTES`] are left.
    pub fn check_space(&self) -> Result<(), StoreError> {
        let told = rustix::fs::statvfs(&self.root)
            .map_err(|error| StoreError::io("look at", &self.root)(error.into()))?;
        let free_bytes = told.f_bavail.saturating_mul(told.f_frsize);
        if told.f_blocks > 0 && free_bytes < LEAST_FREE_BYTES {
            return Err(StoreError::NoSpace { path: self.root.clone(), free_mib: free_bytes >> 20 });
        }
        Ok(())
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder's name, which names the campaign.
    #[must_use]
    pub fn name(&self) -> String {
        self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Where all cells lie.
    #[must_use]
    pub fn cells_dir(&self) -> PathBuf {
        self.root.join("cells")
    }

    /// Where the attempts of one cell lie.
    #[must_use]
    pub fn cell_dir(&self, cell: &CellKey) -> PathBuf {
        self.cells_dir().join(path_name(&cell.operator)).join(cell.purpose.to_string())
    }

    /// Where IR texts lie.
    #[must_use]
    pub fn ir_dir(&self) -> PathBuf {
        self.root.join("ir")
    }

    /// Where the suite's own files lie.
    #[must_use]
    pub fn probe_dir(&self) -> PathBuf {
        self.root.join("probe")
    }

    /// Where compilers and tuners keep their caches.
    #[must_use]
    pub fn cache_dir(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Where another run's recording of an operator lies, where the campaign replays one.
    #[must_use]
    pub fn recording_dir(&self, operator: &str) -> PathBuf {
        self.root.join(RECORDINGS).join(path_name(operator))
    }

    /// A file at the top of the folder: an export or a report.
    #[must_use]
    pub fn top(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file at the top of the folder, whole or not at all.
    ///
    /// # Errors
    /// The disk is full or the folder read-only.
    pub fn write_top(&self, name: &str, text: &str) -> Result<(), StoreError> {
        atomic::write(&self.top(name), text.as_bytes())
    }

    /// The same for a text that comes in pieces.
    ///
    /// # Errors
    /// As [`Self::write_top`], and those of `pieces`.
    pub fn write_top_with(
        &self,
        name: &str,
        pieces: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        atomic::write_with(&self.top(name), pieces)
    }

    /// Appends whole lines to a file at the top of the folder, with one write.
    ///
    /// # Errors
    /// There is no such file, the disk is full or the folder read-only.
    pub fn append_top(&self, name: &str, lines: &str) -> Result<(), StoreError> {
        let path = self.top(name);
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(lines.as_bytes()))
            .map_err(StoreError::io("append to", &path))
    }

    /// Writes one of the suite's files below `probe/`, `/` in the path as separator.
    ///
    /// # Errors
    /// The disk is full or the folder read-only.
    pub fn write_probe(&self, relative: &str, text: &str) -> Result<(), StoreError> {
        let path = self.probe_dir().join(relative);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(StoreError::io("create", folder))?;
        }
        if std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(());
        }
        atomic::write(&path, text.as_bytes())
    }
}

/// The folder of a new campaign: `runs/<name>-<UTC time>-<four random letters>`.
#[must_use]
pub fn new_root(runs: &Path, name: &str) -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    // A hasher of the standard library is seeded by the operating system, anew for each `RandomState`.
    let mut random = std::hash::RandomState::new().build_hasher().finish();
    let letters: String = std::iter::repeat_with(|| {
        let letter = char::from(b'a' + u8::try_from(random % 26).unwrap_or(0));
        random /= 26;
        letter
    })
    .take(4)
    .collect();
    runs.join(format!("{}-{now}-{letters}", path_name(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn request() -> BTreeMap<String, u32> {
        BTreeMap::from([("rounds".into(), 3)])
    }

    #[test]
    fn a_request_reads_back_and_its_folder_is_not_taken_twice() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("runs/x");
        let made = CampaignDir::create(&root, &request()).unwrap();
        assert_eq!(CampaignDir::open(&root).unwrap(), made);
        assert_eq!(made.request::<BTreeMap<String, u32>>().unwrap(), request());
        assert!(matches!(CampaignDir::create(&root, &request()), Err(StoreError::Exists { .. })));
        assert!(matches!(CampaignDir::open(folder.path()), Err(StoreError::NoCampaign { .. })));
    }

    #[test]
    fn a_start_that_was_killed_before_its_request_leaves_a_folder_that_can_be_taken() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("x");
        // Every place at which it can be killed.
        for left in
            ["", "campaign.lock", "cells", "ir", "probe", "cache", "recordings/mm", ".campaign.toml.7.0.tmp"]
        {
            std::fs::create_dir_all(root.join(left).parent().unwrap()).unwrap();
            if left.contains('.') {
                std::fs::write(root.join(left), "half a req").unwrap();
            } else {
                std::fs::create_dir_all(root.join(left)).unwrap();
            }
        }
        CampaignDir::create(&root, &request()).unwrap();
        // What is somebody's is left alone.
        for theirs in ["cells/mm", "notes", "ir/text", ".campaign"] {
            let root = folder.path().join(path_name(theirs));
            std::fs::create_dir_all(root.join(theirs)).unwrap();
            assert!(
                matches!(CampaignDir::create(&root, &request()), Err(StoreError::Exists { .. })),
                "{theirs}"
            );
        }
    }

    #[test]
    fn one_coordinator_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let made = CampaignDir::create(&folder.path().join("x"), &request()).unwrap();
        let lock = made.lock().unwrap();
        assert!(matches!(made.lock(), Err(StoreError::Locked { .. })));
        assert!(made.is_locked().unwrap());
        drop(lock);
        assert!(!made.is_locked().unwrap());
        made.lock().unwrap();
    }

    #[test]
    fn new_names_differ() {
        let names: std::collections::BTreeSet<PathBuf> =
            (0..20).map(|_| new_root(Path::new("runs"), "a/b")).collect();
        assert!(names.len() > 1);
        assert!(names.iter().all(|name| name.starts_with("runs") && name.components().count() == 2));
    }
}
