//! The database itself: its tables, and all of its SQL but that of `proofs`.
//!
//! What an entry means and whether it still holds is left to `entry`, when to read and when to write to the index. Invariant:
//! a file that is not ours, of another format or another campaign's, ends as empty tables of ours or as an error, never as
//! entries.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Entry, proofs};

/// Version of the tables and of what is in them; another one is made anew.
const FORMAT: i64 = 2;

/// How long another process that writes is waited for.
const BUSY: Duration = Duration::from_millis(250);

pub(super) type Opened = (Connection, HashMap<String, Entry>, HashMap<String, proofs::Entry>);

pub(super) fn open(path: &Path, owner: &str) -> rusqlite::Result<Opened> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    // Nothing is lost with it: it need not outlive a power cut.
    connection.pragma_update(None, "synchronous", "OFF")?;
    let format: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let is_ours = format == FORMAT
        && connection.query_row("SELECT campaign FROM owner", [], |row| row.get::<_, String>(0))? == owner;
    if !is_ours {
        connection.execute_batch(
            "BEGIN IMMEDIATE;
             DROP TABLE IF EXISTS owner; DROP TABLE IF EXISTS cells; DROP TABLE IF EXISTS proofs;
             CREATE TABLE owner (campaign TEXT NOT NULL);
             CREATE TABLE cells (cell TEXT PRIMARY KEY, folder TEXT NOT NULL, attempts TEXT NOT NULL,
                                 digest INTEGER NOT NULL) WITHOUT ROWID;",
        )?;
        connection.execute_batch(proofs::TABLE)?;
        connection.execute("INSERT INTO owner VALUES (?1)", [owner])?;
        connection.execute_batch(&format!("PRAGMA user_version = {FORMAT}; COMMIT;"))?;
    }
    let mut entries = HashMap::new();
    {
        let mut cells = connection.prepare("SELECT cell, folder, attempts, digest FROM cells")?;
        let mut rows = cells.query([])?;
        while let Some(row) = rows.next()? {
            let entry = Entry { folder: row.get(1)?, attempts: row.get(2)?, digest: row.get(3)? };
            entries.insert(row.get(0)?, entry);
        }
    }
    let proofs = proofs::all(&connection)?;
    Ok((connection, entries, proofs))
}

pub(super) fn enter(
    connection: &mut Connection,
    new: &[(String, Entry)],
    new_proofs: &[(String, proofs::Entry)],
) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    {
        let mut insert =
            transaction.prepare_cached("INSERT OR REPLACE INTO cells VALUES (?1, ?2, ?3, ?4)")?;
        for (key, entry) in new {
            insert.execute((key, &entry.folder, &entry.attempts, entry.digest))?;
        }
    }
    proofs::enter(&transaction, new_proofs)?;
    transaction.commit()
}

/// True if the file is no database of ours, whatever it is; a busy or unwritable one is left alone.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(error, _) => {
            matches!(error.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
        }
        // A table of another shape, a value of another type.
        _ => true,
    }
}
