//! Whether a duet round was found proven when its events were last read, and if not, why not.
//!
//! What proven means, and by what, is left to whoever reads the events: it says it in a text, the basis. A proof that is
//! kept counts only for the same attempt, whose outcome, events and identity are the very files that were read then, on the
//! same basis.

use std::collections::HashMap;

use rusqlite::{Connection, Transaction};
use switchback_model::cell::CellKey;

use super::{Index, Stamp, key};
use crate::attempt::AttemptDir;
use crate::error::StoreError;

pub(super) const TABLE: &str =
    "CREATE TABLE proofs (cell TEXT PRIMARY KEY, made_of TEXT NOT NULL, reason TEXT,
                                                     digest INTEGER NOT NULL) WITHOUT ROWID;";

/// A proof, as it lies in the database.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    made_of: String,
    reason: Option<String>,
    digest: i64,
}

/// A look at the proof of a cell's attempt: what its result is made of.
///
/// Taken before the events are read, so that what changes while they are read makes another look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    key: String,
    made_of: String,
}

impl Look {
    /// The look at an attempt, on a basis: whatever else the result depends on.
    ///
    /// None for an attempt that has not ended, or whose folder has no number.
    ///
    /// # Errors
    /// A file of the attempt is there and cannot be looked at.
    pub fn at(cell: &CellKey, attempt: &AttemptDir, basis: &str) -> Result<Option<Self>, StoreError> {
        let outcome = Stamp::of(&attempt.outcome_path())?;
        let (Some(outcome), Some(number)) = (outcome, attempt.number()) else { return Ok(None) };
        // The outcome is written last, after it nothing is: all three are what they will be.
        let stamps =
            [Some(outcome), Stamp::of(&attempt.events_path())?, Stamp::of(&attempt.identity_path())?];
        let made_of = serde_json::to_string(&(number, stamps, basis)).ok();
        Ok(made_of.map(|made_of| Self { key: key(cell), made_of }))
    }
}

impl Index {
    /// What the same look found before: nothing if it was proven, else why not. None if there was none.
    ///
    /// Told once; whoever asks keeps it.
    pub fn proof(&mut self, look: &Look) -> Option<Option<String>> {
        let entry = self.proofs.remove(&look.key)?;
        let holds = entry.made_of == look.made_of
            && digest(&look.key, &entry.made_of, entry.reason.as_deref()) == entry.digest;
        holds.then_some(entry.reason)
    }

    /// Keeps what a look found, to be entered with the next [`Index::save`]; it takes the place of earlier looks at the cell.
    pub fn keep_proof(&mut self, look: Look, reason: Option<&str>) {
        if self.connection.is_none() {
            return;
        }
        let digest = digest(&look.key, &look.made_of, reason);
        let entry = Entry { made_of: look.made_of, reason: reason.map(str::to_owned), digest };
        self.new_proofs.push((look.key, entry));
    }
}

pub(super) fn all(connection: &Connection) -> rusqlite::Result<HashMap<String, Entry>> {
    let mut entries = HashMap::new();
    let mut proofs = connection.prepare("SELECT cell, made_of, reason, digest FROM proofs")?;
    let mut rows = proofs.query([])?;
    while let Some(row) = rows.next()? {
        let entry = Entry { made_of: row.get(1)?, reason: row.get(2)?, digest: row.get(3)? };
        entries.insert(row.get(0)?, entry);
    }
    Ok(entries)
}

pub(super) fn enter(transaction: &Transaction<'_>, new: &[(String, Entry)]) -> rusqlite::Result<()> {
    // In the order of the table: a hundred thousand come at once when a campaign is read for the first time.
    let mut new: Vec<&(String, Entry)> = new.iter().collect();
    new.sort_by_key(|(key, _)| key);
    let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO proofs VALUES (?1, ?2, ?3, ?4)")?;
    for (key, entry) in new {
        insert.execute((key, &entry.made_of, &entry.reason, entry.digest))?;
    }
    Ok(())
}

fn digest(key: &str, made_of: &str, reason: Option<&str>) -> i64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (key, made_of, reason).hash(&mut hasher);
    hasher.finish().cast_signed()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::campaign_dir::CampaignDir;
    use crate::index::FILE;
    use crate::index::tests::{Place, cell};

    const REASON: &str = "side B launches `k` as it was compiled for side A";

    /// Keeps of one cell that it is proven and of another why it is not.
    fn kept() -> Place {
        let place = Place::new();
        let mut index = Index::open(&place.campaign, "id");
        for (purpose, reason) in [("r1_A", None), ("r1_B", Some(REASON))] {
            fs::write(attempt(&place, purpose).events_path(), "{}\n").unwrap();
            index.keep_proof(look(&place, purpose, "rule 1"), reason);
        }
        index.save();
        place
    }

    fn attempt(place: &Place, purpose: &str) -> AttemptDir {
        AttemptDir::at(&place.campaign.cell_dir(&cell(purpose)).join("1"))
    }

    fn look(place: &Place, purpose: &str, basis: &str) -> Look {
        Look::at(&cell(purpose), &attempt(place, purpose), basis).unwrap().unwrap()
    }

    /// What is known of both on a basis: whether it is, and the reason.
    fn known(place: &Place, owner: &str, basis: &str) -> [Option<Option<String>>; 2] {
        let mut index = Index::open(&place.campaign, owner);
        ["r1_A", "r1_B"].map(|purpose| index.proof(&look(place, purpose, basis)))
    }

    fn all_known() -> [Option<Option<String>>; 2] {
        [Some(None), Some(Some(REASON.to_owned()))]
    }

    #[test]
    fn what_was_found_is_known_on_the_same_basis_only() {
        let place = kept();
        assert_eq!(known(&place, "id", "rule 1"), all_known());
        assert_eq!(known(&place, "id", "rule 2"), [None, None]);
        assert_eq!(known(&place, "id", "rule 1"), all_known(), "asking changes nothing on the disk");
        let mut index = Index::open(&place.campaign, "id");
        index.keep_proof(look(&place, "r1_B", "rule 2"), None);
        index.save();
        assert_eq!(known(&place, "id", "rule 2"), [None, Some(None)]);
        assert_eq!(known(&place, "id", "rule 1"), [Some(None), None], "the later look took its place");
    }

    #[test]
    fn an_attempt_that_changed_is_looked_at_again() {
        let files: [fn(&AttemptDir); 3] = [
            |attempt| attempt.write_outcome(&attempt.outcome().unwrap().unwrap()).unwrap(),
            |attempt| fs::write(attempt.events_path(), "{}\n{}\n").unwrap(),
            |attempt| attempt.write_identity(&crate::attempt::RunIdentity::default()).unwrap(),
        ];
        for change in files {
            let place = kept();
            change(&attempt(&place, "r1_A"));
            assert_eq!(known(&place, "id", "rule 1"), [None, Some(Some(REASON.to_owned()))]);
        }
        // Of another attempt of the cell nothing is known, of one that has not ended there is no look.
        let place = kept();
        let second = place.attempt("r1_B");
        assert_eq!(Look::at(&cell("r1_B"), &second, "rule 1").unwrap(), None);
        second.write_outcome(&attempt(&place, "r1_B").outcome().unwrap().unwrap()).unwrap();
        let look = Look::at(&cell("r1_B"), &second, "rule 1").unwrap().unwrap();
        assert_eq!(Index::open(&place.campaign, "id").proof(&look), None);
    }

    #[test]
    fn of_a_deleted_damaged_foreign_or_copied_database_nothing_is_known() {
        let place = kept();
        let copy = place.copied();
        assert_eq!(known(&copy, "id", "rule 1"), [None, None], "copied");
        let path = place.campaign.top(FILE);
        let sql = |text: &str| Connection::open(&path).unwrap().execute(text, []).unwrap();
        assert_eq!(sql("UPDATE proofs SET reason = NULL"), 2);
        assert_eq!(known(&place, "id", "rule 1"), [Some(None), None], "a reason that was taken away");
        assert_eq!(known(&kept(), "another", "rule 1"), [None, None], "foreign");
        let place = kept();
        fs::write(place.campaign.top(FILE), "no database").unwrap();
        assert_eq!(known(&place, "id", "rule 1"), [None, None], "damaged");
        let place = kept();
        fs::remove_file(place.campaign.top(FILE)).unwrap();
        assert_eq!(known(&place, "id", "rule 1"), [None, None], "deleted");
    }

    #[test]
    fn where_there_is_no_index_nothing_is_kept() {
        let place = kept();
        let mut index = Index::none();
        index.keep_proof(look(&place, "r1_A", "rule 1"), None);
        index.save();
        assert_eq!(index.proof(&look(&place, "r1_A", "rule 1")), None);
        assert!(CampaignDir::open(place.campaign.root()).is_ok());
    }
}
