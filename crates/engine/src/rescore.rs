//! Judging again what is on disk: which verdicts are others today, and the former tables kept beside the new.
//!
//! Attempts are the truth and rules change: a stamp that is taken out today, a stage that was unknown then. Nothing is
//! measured. Invariant: a former table is kept whole before the new one takes its place, and no kept one is written over.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use switchback_model::report::Report;
use switchback_model::verdict::{ScreenVerdict, Verdict};
use switchback_store::StoreError;
use switchback_store::campaign_dir::CampaignDir;

/// Tables that are kept, where they are there.
const KEPT: [&str; 3] = ["screen.tsv", "report.json", "report.tsv"];
/// What is put behind the name of a kept table.
const SUFFIX: &str = "before-rescore";

/// What the tables said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Former {
    /// By operator: the screening verdict and the first stage that differed, from `screen.tsv`.
    pub screen: BTreeMap<String, (ScreenVerdict, Option<String>)>,
    /// By operator: the final verdict, from `report.json`.
    pub judged: BTreeMap<String, Verdict>,
    /// Tables that are there and cannot be read, with the reason.
    pub unreadable: Vec<String>,
}

/// A verdict that is another today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The operator.
    pub operator: String,
    /// `screen` or `verdict`.
    pub what: &'static str,
    /// What the table said; `none` where it did not have the operator.
    pub before: String,
    /// What is said today.
    pub now: String,
}

/// Reads what the tables in a campaign's folder say.
///
/// # Errors
/// A table is there and cannot be read from the disk.
pub fn former(dir: &CampaignDir) -> Result<Former, StoreError> {
    let mut it = Former::default();
    if let Some(text) = read(dir, "screen.tsv")? {
        match screen_table(&text) {
            Ok(screen) => it.screen = screen,
            Err(reason) => it.unreadable.push(format!("`screen.tsv`: {reason}")),
        }
    }
    if let Some(text) = read(dir, "report.json")? {
        match serde_json::from_str::<Report>(&text) {
            Ok(report) => {
                it.judged = report
                    .operators
                    .into_iter()
                    .map(|operator| (operator.operator, operator.verdict))
                    .collect();
            }
            Err(error) => it.unreadable.push(format!("`report.json`: {error}")),
        }
    }
    Ok(it)
}

fn read(dir: &CampaignDir, name: &str) -> Result<Option<String>, StoreError> {
    let path = dir.top(name);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::Io { action: "read", path, source }),
    }
}

/// Reads `screen.tsv` by its header, as any version of it (or the scripts) wrote it.
fn screen_table(text: &str) -> Result<BTreeMap<String, (ScreenVerdict, Option<String>)>, String> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let column = |name: &str| header.iter().position(|column| *column == name);
    let (Some(operator), Some(verdict)) = (column("op"), column("verdict")) else {
        return Err("it has no columns `op` and `verdict`".into());
    };
    let stage = column("first_stage");
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let field = |at: usize| fields.get(at).copied().unwrap_or_default();
            let read = field(verdict).parse::<ScreenVerdict>().map_err(|error| error.to_string())?;
            let stage = stage.map(field).filter(|stage| !stage.is_empty()).map(str::to_owned);
            Ok((unescaped(field(operator)), (read, stage)))
        })
        .collect()
}

/// Takes back what the tables write as `\t`, `\n`, `\r` and `\\`.
fn unescaped(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('t') => text.push('\t'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some(other) => text.push(other),
            None => text.push('\\'),
        }
    }
    text
}

/// Copies the tables that are there to names of their own; returns those names.
///
/// # Errors
/// The folder cannot be written.
pub fn keep(dir: &CampaignDir) -> Result<Vec<String>, StoreError> {
    let mut kept = Vec::new();
    for name in KEPT {
        let path = dir.top(name);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(StoreError::Io { action: "read", path, source }),
        };
        kept.push(copy(dir, name, &bytes)?);
    }
    Ok(kept)
}

fn copy(dir: &CampaignDir, name: &str, bytes: &[u8]) -> Result<String, StoreError> {
    keep_as(dir.root(), name, bytes)
}

/// Writes a former table beside the new one, under the first name that is free; returns that name.
pub(crate) fn keep_as(root: &Path, name: &str, bytes: &[u8]) -> Result<String, StoreError> {
    for number in 1u32.. {
        let free = if number == 1 { format!("{name}.{SUFFIX}") } else { format!("{name}.{SUFFIX}.{number}") };
        let path: PathBuf = root.join(&free);
        let unwritable = |source| StoreError::Io { action: "write", path: path.clone(), source };
        match std::fs::File::options().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes).and_then(|()| file.sync_all()).map_err(unwritable)?;
                return Ok(free);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(unwritable(source)),
        }
    }
    Ok(name.to_owned())
}

/// Verdicts that are others today, in the report's order; operators that no table had are none.
#[must_use]
pub fn changes(former: &Former, report: &Report) -> Vec<Change> {
    let mut changes = Vec::new();
    for operator in &report.operators {
        let name = &operator.operator;
        if let Some((verdict, stage)) = former.screen.get(name) {
            let before = screen_words(Some(*verdict), stage.as_deref());
            let now = screen_words(operator.screen, operator.first_stage.as_deref());
            if before != now {
                changes.push(Change { operator: name.clone(), what: "screen", before, now });
            }
        }
        if let Some(verdict) = former.judged.get(name)
            && *verdict != operator.verdict
        {
            changes.push(Change {
                operator: name.clone(),
                what: "verdict",
                before: verdict.to_string(),
                now: operator.verdict.to_string(),
            });
        }
    }
    changes
}

fn screen_words(verdict: Option<ScreenVerdict>, stage: Option<&str>) -> String {
    let verdict = verdict.map_or_else(|| "none".to_owned(), |verdict| verdict.to_string());
    stage.map_or_else(|| verdict.clone(), |stage| format!("{verdict} at `{stage}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(folder: &Path) -> CampaignDir {
        CampaignDir::create(&folder.join("c"), &BTreeMap::from([("a", 1)])).unwrap()
    }

    #[test]
    fn the_scripts_table_reads_too_and_a_damaged_one_is_told() {
        let text = "op\trows_before\tverdict\nmm\t3\tIR_CHANGED\nfill\\tx\t1\tNO_TRITON\n";
        let read = screen_table(text).unwrap();
        assert_eq!(read["mm"], (ScreenVerdict::IrChanged, None));
        assert_eq!(read["fill\tx"], (ScreenVerdict::NotCompiled, None));
        assert!(screen_table("op\tverdict\nmm\tPERHAPS\n").unwrap_err().contains("PERHAPS"));
        let folder = tempfile::tempdir().unwrap();
        let dir = campaign(folder.path());
        dir.write_top("screen.tsv", "x\n").unwrap();
        dir.write_top("report.json", "{").unwrap();
        assert_eq!(former(&dir).unwrap().unreadable.len(), 2);
    }

    #[test]
    fn no_kept_table_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let dir = campaign(folder.path());
        assert!(keep(&dir).unwrap().is_empty());
        for (written, name) in [
            ("one", "screen.tsv.before-rescore"),
            ("two", "screen.tsv.before-rescore.2"),
            ("three", "screen.tsv.before-rescore.3"),
        ] {
            dir.write_top("screen.tsv", written).unwrap();
            assert_eq!(keep(&dir).unwrap(), [name]);
        }
        let kept = |name: &str| std::fs::read_to_string(dir.top(name)).unwrap();
        assert_eq!(kept("screen.tsv.before-rescore"), "one");
        assert_eq!(kept("screen.tsv.before-rescore.3"), "three");
    }
}
