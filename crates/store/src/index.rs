//! `campaign.db`: what the attempts' outcomes said when they were last read, and whether duet rounds were found proven
//! (`proofs`), so that a campaign of a hundred thousand cells opens in seconds.
//!
//! Never the truth. An entry counts only while cell and outcome are the very files that it was made of (inode, size, time of the
//! last change) and its own digest holds; everything else is read from the disk and entered anew. So the database may be deleted,
//! damaged, of another campaign or of another machine, and nothing changes but the time that opening takes. Where it
//! cannot be written, there is none.

mod database;
mod entry;
mod proofs;

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use switchback_model::cell::CellKey;
use switchback_model::outcome::Outcome;

use self::entry::{Entry, Known, Stamp};
use crate::attempt::{self, AttemptDir};
use crate::campaign_dir::CampaignDir;
use crate::error::StoreError;

pub use proofs::Look;

/// The file, at the top of the campaign's folder.
pub const FILE: &str = "campaign.db";

/// An attempt as the disk has it.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its folder.
    pub dir: AttemptDir,
    /// How it ended; none if it has not, or if that cannot be read.
    pub outcome: Option<Outcome>,
    /// Why its outcome cannot be read, where there is one.
    pub damage: Option<String>,
}

/// An open index.
#[derive(Debug, Default)]
pub struct Index {
    connection: Option<Connection>,
    entries: HashMap<String, Entry>,
    /// Read from the disk since the last [`Index::save`].
    new: Vec<(String, Entry)>,
    reads: u64,
    proofs: HashMap<String, proofs::Entry>,
    /// Found since the last [`Index::save`].
    new_proofs: Vec<(String, proofs::Entry)>,
}

impl Index {
    /// No index: everything is read from the disk.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Opens a campaign's index; `owner` is the campaign's id. One that is not there, damaged or another campaign's is made anew.
    #[must_use]
    pub fn open(campaign: &CampaignDir, owner: &str) -> Self {
        let path = campaign.top(FILE);
        let opened = database::open(&path, owner).or_else(|error| {
            if database::is_damage(&error) && std::fs::remove_file(&path).is_ok() {
                return database::open(&path, owner);
            }
            Err(error)
        });
        match opened {
            Ok((connection, entries, proofs)) => {
                Self { connection: Some(connection), entries, proofs, ..Self::default() }
            }
            Err(_) => Self::none(),
        }
    }

    /// A cell's attempts, the first one first: from the index where it still holds, else from the disk.
    ///
    /// # Errors
    /// A folder or an outcome is there and cannot be read; one whose text is damaged is no error but told.
    pub fn attempts(&mut self, campaign: &CampaignDir, cell: &CellKey) -> Result<Vec<Recorded>, StoreError> {
        let key = key(cell);
        if let Some(entry) = self.entries.remove(&key)
            && let Some(known) = entry.valid(&key)
            && let Some(recorded) = entry::still(campaign, cell, &entry, known)?
        {
            return Ok(recorded);
        }
        self.read(campaign, cell, key)
    }

    /// A cell's attempts as they are on the disk now; entered at once.
    ///
    /// # Errors
    /// As [`Self::attempts`].
    pub fn refresh(&mut self, campaign: &CampaignDir, cell: &CellKey) -> Result<Vec<Recorded>, StoreError> {
        let recorded = self.read(campaign, cell, key(cell))?;
        self.save();
        Ok(recorded)
    }

    /// Enters what was read from the disk since the last time; entries of cells that were not asked for are forgotten.
    pub fn save(&mut self) {
        self.entries.clear();
        let (new, proofs) = (std::mem::take(&mut self.new), std::mem::take(&mut self.new_proofs));
        if new.is_empty() && proofs.is_empty() {
            return;
        }
        // An index that cannot be written is none from now on; what it had is checked against the disk by whoever opens it.
        if let Some(connection) = &mut self.connection
            && database::enter(connection, &new, &proofs).is_err()
        {
            self.connection = None;
        }
    }

    /// How many cells were read from the disk because no entry of theirs held.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads
    }

    fn read(
        &mut self,
        campaign: &CampaignDir,
        cell: &CellKey,
        key: String,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.reads += 1;
        // Before the listing: what comes into the folder while it is read changes its time after this.
        let folder = Stamp::of(&campaign.cell_dir(cell))?;
        let now_ns = now_ns();
        let mut recorded = Vec::new();
        let mut known = Some(Vec::new());
        for dir in attempt::attempts(campaign, cell)? {
            let stamp = Stamp::of(&dir.outcome_path())?;
            let (outcome, damage) = match dir.outcome() {
                Ok(outcome) => (outcome, None),
                Err(error @ StoreError::Damaged { .. }) => (None, Some(error.to_string())),
                Err(error) => return Err(error),
            };
            // What is damaged is looked at each time, and what came between the two looks is not entered.
            let whole = damage.is_none() && stamp.is_some() == outcome.is_some();
            known = known.filter(|_| whole);
            if let (Some(known), Some(number)) = (&mut known, dir.number()) {
                known.push(Known { number, stamp, outcome: outcome.clone() });
            }
            recorded.push(Recorded { dir, outcome, damage });
        }
        if let (Some(known), Some(folder)) = (known, folder)
            && self.connection.is_some()
            && let Some(entry) = Entry::new(&key, folder, now_ns, &known)
        {
            self.new.push((key, entry));
        }
        Ok(recorded)
    }
}

/// A cell's key in the database: no operator's name holds a line end that a purpose could follow.
fn key(cell: &CellKey) -> String {
    format!("{}\n{}", cell.purpose, cell.operator)
}

fn now_ns() -> i128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::{self, FileTimes};
    use std::time::Duration;

    use super::*;
    use switchback_model::card::Card;
    use switchback_model::outcome::{Counts, Ending};

    fn outcome(reason: &str) -> Outcome {
        Outcome {
            ending: Ending::Completed,
            exit_status: Some(0),
            signal: None,
            reason: reason.into(),
            started_utc: "2026-11-30T10:00:00Z".into(),
            started_s: 1.0,
            elapsed_s: 2.0,
            turn_s: None,
            shared: false,
            boot_id: "b".into(),
            card: Card { backend: "cpu".into(), index: "0".into(), uuid: None, name: None },
            host: "h".into(),
            counts: Counts::default(),
            leaked_processes: 0,
            telemetry: None,
            device_fault: None,
            foreign: Vec::new(),
        }
    }

    pub(super) struct Place {
        folder: tempfile::TempDir,
        pub(super) campaign: CampaignDir,
    }

    pub(super) fn cell(purpose: &str) -> CellKey {
        CellKey { operator: "a/b".into(), purpose: purpose.parse().unwrap() }
    }

    impl Place {
        /// A campaign of three cells, one of them with two attempts; all of them lie there for an hour.
        pub(super) fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let campaign =
                CampaignDir::create(&folder.path().join("x"), &BTreeMap::from([("a", 1)])).unwrap();
            let it = Self { folder, campaign };
            for (purpose, reason) in [("r1_A", "one"), ("r1_B", "two"), ("r2_A", "three"), ("r2_A", "four")] {
                it.attempt(purpose).write_outcome(&outcome(reason)).unwrap();
            }
            for purpose in ["r1_A", "r1_B", "r2_A"] {
                it.age(purpose);
            }
            it
        }

        pub(super) fn attempt(&self, purpose: &str) -> AttemptDir {
            attempt::claim(&self.campaign, &cell(purpose)).unwrap().1
        }

        /// Sets the time of a cell's folder back.
        fn age(&self, purpose: &str) {
            let time = SystemTime::now() - Duration::from_secs(3600);
            let folder = fs::File::open(self.campaign.cell_dir(&cell(purpose))).unwrap();
            folder.set_times(FileTimes::new().set_modified(time)).unwrap();
        }

        /// A copy of the whole folder.
        pub(super) fn copied(&self) -> Self {
            let copy = self.folder.path().join("y");
            let copied =
                std::process::Command::new("cp").arg("-a").arg(self.campaign.root()).arg(&copy).status();
            assert!(copied.unwrap().success());
            Self { folder: tempfile::tempdir().unwrap(), campaign: CampaignDir::open(&copy).unwrap() }
        }

        /// What all cells say, and how many of them were read from the disk for it.
        fn read(&self) -> (Vec<String>, u64) {
            let mut index = Index::open(&self.campaign, "id");
            let mut said = Vec::new();
            for purpose in ["r1_A", "r1_B", "r2_A"] {
                for it in index.attempts(&self.campaign, &cell(purpose)).unwrap() {
                    let text =
                        it.outcome.map(|outcome| outcome.reason).or(it.damage.map(|_| "damaged".into()));
                    said.push(text.unwrap_or_else(|| "open".into()));
                }
            }
            index.save();
            (said, index.reads())
        }
    }

    fn told(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    const ALL: [&str; 4] = ["one", "two", "three", "four"];

    #[test]
    fn the_second_time_nothing_is_read() {
        let place = Place::new();
        assert_eq!(place.read(), (told(&ALL), 3));
        assert_eq!(place.read(), (told(&ALL), 0));
    }

    #[test]
    fn what_has_changed_is_read_and_nothing_else() {
        let place = Place::new();
        place.read();
        // An outcome that was replaced by one of the same length, a new attempt, an outcome that came after.
        place.attempt("r1_A");
        let first = AttemptDir::at(&place.campaign.cell_dir(&cell("r1_B")).join("1"));
        first.write_outcome(&outcome("too")).unwrap();
        assert_eq!(place.read(), (told(&["one", "open", "too", "three", "four"]), 2));
        place.age("r1_A");
        place.read();
        let second = AttemptDir::at(&place.campaign.cell_dir(&cell("r1_A")).join("2"));
        second.write_outcome(&outcome("late")).unwrap();
        assert_eq!(place.read().0, told(&["one", "late", "too", "three", "four"]));
        fs::remove_dir_all(place.campaign.cell_dir(&cell("r2_A"))).unwrap();
        assert_eq!(place.read().0, told(&["one", "late", "too"]));
    }

    #[test]
    fn a_folder_that_has_just_changed_is_not_trusted() {
        let place = Place::new();
        place.attempt("r1_A");
        place.read();
        assert_eq!(place.read().1, 1, "that folder is read again until it has lain for a second");
    }

    #[test]
    fn a_deleted_damaged_or_foreign_database_costs_time_only() {
        let place = Place::new();
        let path = place.campaign.top(FILE);
        place.read();
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(place.read(), (told(&ALL), 3), "deleted");
        for (damage, bytes) in [
            ("no database", b"this is no database, and long enough to be told from an empty one".repeat(20)),
            ("cut off", whole[..whole.len() / 2].to_vec()),
            ("empty", Vec::new()),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(place.read(), (told(&ALL), 3), "{damage}");
            assert_eq!(place.read(), (told(&ALL), 0), "{damage}, made again");
        }
        // Another campaign's, and one whose tables have other columns.
        assert_eq!(Index::open(&place.campaign, "another").entries.len(), 0);
        assert_eq!(place.read().1, 3);
        Connection::open(&path).unwrap().execute_batch("DROP TABLE cells; CREATE TABLE cells (x)").unwrap();
        assert_eq!(place.read(), (told(&ALL), 3));
    }

    #[test]
    fn a_changed_byte_in_an_entry_is_not_believed() {
        let place = Place::new();
        place.read();
        let changed = Connection::open(place.campaign.top(FILE))
            .unwrap()
            .execute("UPDATE cells SET attempts = replace(attempts, ':\"two\"', ':\"lie\"')", [])
            .unwrap();
        assert_eq!(changed, 3);
        assert_eq!(place.read(), (told(&ALL), 1));
    }

    #[test]
    fn a_copied_campaign_is_read_from_its_own_disk() {
        let place = Place::new();
        place.read();
        let copy = place.copied();
        assert_eq!(copy.read(), (told(&ALL), 3));
        assert_eq!(copy.read(), (told(&ALL), 0));
    }

    #[test]
    fn a_damaged_outcome_is_told_each_time_and_a_place_that_cannot_be_written_has_no_index() {
        let place = Place::new();
        let first = place.campaign.cell_dir(&cell("r1_A")).join("1/outcome.json");
        fs::write(&first, "{\"ending\":").unwrap();
        assert_eq!(place.read().0, told(&["damaged", "two", "three", "four"]));
        assert_eq!(place.read(), (told(&["damaged", "two", "three", "four"]), 1));
        fs::remove_file(place.campaign.top(FILE)).unwrap();
        fs::create_dir(place.campaign.top(FILE)).unwrap();
        assert_eq!(place.read().1, 3);
        assert_eq!(place.read().1, 3);
    }
}
