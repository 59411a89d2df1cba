//! The entry of a cell: what its attempts' outcomes said, and the files that it was made of.
//!
//! Where entries lie is left to `database`, what is done without one to the index. Invariant: an entry speaks for the disk only
//! while its own digest holds and folder and outcomes carry the stamps that it was made with.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use switchback_model::cell::CellKey;
use switchback_model::outcome::Outcome;

use super::Recorded;
use crate::attempt::AttemptDir;
use crate::campaign_dir::CampaignDir;
use crate::error::StoreError;

/// A folder that changed this shortly before it was read may have changed once more without showing it: file systems count
/// time in ticks. Such an entry is not trusted.
const TICK_NS: i128 = 1_000_000_000;

/// What tells a file from any other, and from itself after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Stamp(u64, u64, i64, i64);

impl Stamp {
    /// The stamp of a file; none if it is not there.
    pub(super) fn of(path: &Path) -> Result<Option<Self>, StoreError> {
        match std::fs::metadata(path) {
            Ok(it) => Ok(Some(Self(it.ino(), it.size(), it.mtime(), it.mtime_nsec()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("read", path)(error)),
        }
    }

    fn changed_ns(self) -> i128 {
        i128::from(self.2) * 1_000_000_000 + i128::from(self.3)
    }
}

/// One attempt in an entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) number: u32,
    pub(super) stamp: Option<Stamp>,
    pub(super) outcome: Option<Outcome>,
}

/// The entry of a cell, as it lies in the database.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) folder: String,
    pub(super) attempts: String,
    pub(super) digest: i64,
}

impl Entry {
    pub(super) fn new(key: &str, folder: Stamp, read_ns: i128, known: &[Known]) -> Option<Self> {
        let folder = serde_json::to_string(&(folder, read_ns.to_string())).ok()?;
        let attempts = serde_json::to_string(known).ok()?;
        let digest = digest(key, &folder, &attempts);
        Some(Self { folder, attempts, digest })
    }

    /// Its attempts, if it is as it was written.
    pub(super) fn valid(&self, key: &str) -> Option<Vec<Known>> {
        if digest(key, &self.folder, &self.attempts) != self.digest {
            return None;
        }
        serde_json::from_str(&self.attempts).ok()
    }
}

/// The attempts of an entry, if cell and outcomes are the files that it was made of.
pub(super) fn still(
    campaign: &CampaignDir,
    cell: &CellKey,
    entry: &Entry,
    known: Vec<Known>,
) -> Result<Option<Vec<Recorded>>, StoreError> {
    let Ok((folder, read_ns)) = serde_json::from_str::<(Stamp, String)>(&entry.folder) else {
        return Ok(None);
    };
    let path = campaign.cell_dir(cell);
    let trusted = read_ns.parse().is_ok_and(|read_ns: i128| read_ns - folder.changed_ns() > TICK_NS);
    if !trusted || Stamp::of(&path)? != Some(folder) {
        return Ok(None);
    }
    let mut recorded = Vec::with_capacity(known.len());
    for it in known {
        let dir = AttemptDir::at(&path.join(it.number.to_string()));
        if Stamp::of(&dir.outcome_path())? != it.stamp {
            return Ok(None);
        }
        recorded.push(Recorded { dir, outcome: it.outcome, damage: None });
    }
    Ok(Some(recorded))
}

fn digest(key: &str, folder: &str, attempts: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    (key, folder, attempts).hash(&mut hasher);
    hasher.finish().cast_signed()
}
