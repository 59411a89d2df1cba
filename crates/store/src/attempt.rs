//! An attempt: one try of a cell, in a folder of its own that is claimed by making it.
//!
//! Attempts are the truth: what is in them is never changed, and all else can be derived from them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::conditions::Conditions;
use switchback_model::order::Order;
use switchback_model::outcome::Outcome;

use crate::atomic;
use crate::campaign_dir::CampaignDir;
use crate::error::StoreError;
use crate::event_reader::{self, EventLog};

/// The folder of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptDir {
    path: PathBuf,
}

/// Conditions of an attempt, and facts about who, where and with which versions (`run_identity.json`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunIdentity {
    /// What must agree with rows it is compared with.
    #[serde(default)]
    pub conditions: Conditions,
    /// What is recorded and not compared.
    #[serde(default)]
    pub identity: BTreeMap<String, String>,
}

/// Makes the folder of a cell's next attempt; its number counts from 1.
///
/// # Errors
/// The campaign's folder cannot be written.
pub fn claim(campaign: &CampaignDir, cell: &CellKey) -> Result<(u32, AttemptDir), StoreError> {
    let folder = campaign.cell_dir(cell);
    std::fs::create_dir_all(&folder).map_err(StoreError::io("create", &folder))?;
    let mut number = numbers(&folder)?.last().copied().unwrap_or(0) + 1;
    loop {
        let path = folder.join(number.to_string());
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok((number, AttemptDir { path })),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(StoreError::io("create", &path)(error)),
        }
    }
}

/// All attempts of a cell, the first one first.
///
/// # Errors
/// The folder is there and cannot be read.
pub fn attempts(campaign: &CampaignDir, cell: &CellKey) -> Result<Vec<AttemptDir>, StoreError> {
    let folder = campaign.cell_dir(cell);
    Ok(numbers(&folder)?
        .into_iter()
        .map(|number| AttemptDir { path: folder.join(number.to_string()) })
        .collect())
}

/// The purposes for which an operator has folders, sorted.
///
/// # Errors
/// The folder is there and cannot be read.
pub fn purposes(campaign: &CampaignDir, operator: &str) -> Result<Vec<Purpose>, StoreError> {
    let folder = campaign.cells_dir().join(crate::path_name::path_name(operator));
    let mut purposes: Vec<Purpose> = names(&folder)?.iter().filter_map(|name| name.parse().ok()).collect();
    purposes.sort_unstable();
    Ok(purposes)
}

fn numbers(folder: &Path) -> Result<Vec<u32>, StoreError> {
    let mut numbers: Vec<u32> = names(folder)?.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("read", folder)(error)),
    };
    entries
        .map(|entry| {
            entry
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .map_err(StoreError::io("read", folder))
        })
        .collect()
}

impl AttemptDir {
    /// An attempt's folder by its path, as a supervisor gets it.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `order.json`.
    #[must_use]
    pub fn order_path(&self) -> PathBuf {
        self.path.join("order.json")
    }

    /// `outcome.json`.
    #[must_use]
    pub fn outcome_path(&self) -> PathBuf {
        self.path.join("outcome.json")
    }

    /// The attempt's number, from 1: its folder's name.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        self.path.file_name()?.to_str()?.parse().ok()
    }

    /// Seconds since its order was written, and since anything in its folder was; none without an order.
    ///
    /// By the times that the file system keeps, which another machine may have written by another clock.
    #[must_use]
    pub fn signs_s(&self) -> Option<(f64, f64)> {
        let age_s = |path: &Path| {
            let modified = std::fs::metadata(path).and_then(|it| it.modified()).ok()?;
            Some(modified.elapsed().map_or(0.0, |age| age.as_secs_f64()))
        };
        let ordered_s = age_s(&self.order_path())?;
        let written = [self.events_path(), self.log_path(), self.telemetry_path()];
        let silent_s = written.iter().filter_map(|path| age_s(path)).fold(ordered_s, f64::min);
        Some((ordered_s, silent_s))
    }

    /// `events.jsonl`.
    #[must_use]
    pub fn events_path(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// `run.log`.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.path.join("run.log")
    }

    /// `telemetry.tsv`.
    #[must_use]
    pub fn telemetry_path(&self) -> PathBuf {
        self.path.join("telemetry.tsv")
    }

    /// `autotune_records/`.
    #[must_use]
    pub fn recording_path(&self) -> PathBuf {
        self.path.join("autotune_records")
    }

    /// Writes the order.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write_order(&self, order: &Order) -> Result<(), StoreError> {
        atomic::write_json(&self.order_path(), order)
    }

    /// Reads the order.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub fn order(&self) -> Result<Order, StoreError> {
        atomic::read_json(&self.order_path())
    }

    /// Writes how the attempt ended; only its supervisor does.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write_outcome(&self, outcome: &Outcome) -> Result<(), StoreError> {
        atomic::write_json(&self.outcome_path(), outcome)
    }

    /// Reads how the attempt ended; none while it runs, or if its supervisor was killed.
    ///
    /// # Errors
    /// It is there and damaged.
    pub fn outcome(&self) -> Result<Option<Outcome>, StoreError> {
        atomic::read_json_if_there(&self.outcome_path())
    }

    /// `run_identity.json`.
    #[must_use]
    pub fn identity_path(&self) -> PathBuf {
        self.path.join("run_identity.json")
    }

    /// Writes conditions and identity.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write_identity(&self, identity: &RunIdentity) -> Result<(), StoreError> {
        atomic::write_json(&self.identity_path(), identity)
    }

    /// Reads conditions and identity.
    ///
    /// # Errors
    /// They are there and damaged.
    pub fn identity(&self) -> Result<Option<RunIdentity>, StoreError> {
        atomic::read_json_if_there(&self.identity_path())
    }

    /// Reads the events.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn events(&self) -> Result<EventLog, StoreError> {
        event_reader::read(&self.events_path())
    }

    /// Reads the end of `run.log`, lossily decoded, at most so many bytes; empty if there is none.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn log_tail(&self, bytes: u64) -> Result<String, StoreError> {
        let path = self.log_path();
        let read = || -> std::io::Result<String> {
            let mut file = File::open(&path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
            let mut tail = Vec::new();
            file.take(bytes).read_to_end(&mut tail)?;
            Ok(String::from_utf8_lossy(&tail).into_owned())
        };
        match read() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            read => read.map_err(StoreError::io("read", &path)),
        }
    }

    /// Reads `run.log`, lossily decoded; empty if there is none.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn log(&self) -> Result<String, StoreError> {
        text(&self.log_path())
    }

    /// Reads `telemetry.tsv`, lossily decoded; empty if there is none.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn telemetry(&self) -> Result<String, StoreError> {
        text(&self.telemetry_path())
    }
}

fn text(path: &Path) -> Result<String, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(folder: &Path) -> CampaignDir {
        CampaignDir::create(&folder.join("x"), &BTreeMap::from([("a", 1)])).unwrap()
    }

    #[test]
    fn attempts_count_up_and_are_never_shared() {
        let folder = tempfile::tempdir().unwrap();
        let campaign = campaign(folder.path());
        let cell = CellKey { operator: "a/b".into(), purpose: "r1_A".parse().unwrap() };
        let claimed: Vec<u32> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| claim(&campaign, &cell).unwrap().0)).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let mut sorted = claimed.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=8).collect::<Vec<_>>());
        let paths = attempts(&campaign, &cell).unwrap();
        assert_eq!(paths.len(), 8);
        assert!(paths[7].path().ends_with("a%2Fb/r1_A/8"));
        assert_eq!(purposes(&campaign, "a/b").unwrap(), [cell.purpose]);
    }

    #[test]
    fn a_half_written_outcome_is_an_error_a_missing_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let attempt = AttemptDir::at(folder.path());
        assert_eq!(attempt.outcome().unwrap(), None);
        std::fs::write(folder.path().join("outcome.json"), "{\"ending\":").unwrap();
        assert!(matches!(attempt.outcome(), Err(StoreError::Damaged { .. })));
    }
}
