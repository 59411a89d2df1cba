//! Folders that the scripts before switchback left: where their files lie, and what is there of them.
//!
//! ```text
//! <op>_<stamp>/                a run: run.log, run_identity.json, ttgir/**.ttgir, autotune_records/
//! <root>/<op>/r<k>_{A,B}/      rounds, each a run; the root may have status.tsv and summary.log
//! <root>/card<N>/<op>/…        the same of a campaign over cards
//! <root>/screen.tsv            a screening, with a run each in <op>_before/ and <op>_after/; the table may be lost
//! ```
//! Nothing is written here. What a file says is left to those who read it; what is missing is a value, never a guess.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use switchback_model::side::Side;

use crate::campaign_dir::CampaignDir;
use crate::error::StoreError;

/// The log of a run.
pub const LOG: &str = "run.log";
/// A screening's table.
pub const SCREEN: &str = "screen.tsv";
const IDENTITY: &str = "run_identity.json";
const IR: &str = "ttgir";
const RECORDS: &str = "autotune_records";

/// A folder of the scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptDir {
    /// One run.
    Run(ScriptRun),
    /// Rounds of one or several operators.
    Rounds(ScriptRounds),
    /// A screening.
    Screen(ScriptScreen),
}

/// The folder of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRun {
    path: PathBuf,
}

/// A root with rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRounds {
    /// The root.
    pub root: PathBuf,
    /// Its operators in the order of their names; one of several cards comes once a card.
    pub operators: Vec<ScriptOperator>,
}

/// One operator's rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOperator {
    /// The operator's name, that of its folder.
    pub operator: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Runs by round (from 1) and side.
    pub runs: BTreeMap<(u32, Side), ScriptRun>,
}

/// A root with a screening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptScreen {
    /// The root.
    pub root: PathBuf,
}

/// What `run_identity.json` holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptIdentity {
    /// Its values as texts, by name; what is no single value is left out.
    pub values: BTreeMap<String, String>,
}

/// Recognises a folder of the scripts; none for anything else, a campaign of switchback among it.
///
/// # Errors
/// A folder that cannot be read.
pub fn recognise(path: &Path) -> Result<Option<ScriptDir>, StoreError> {
    if !path.is_dir() || CampaignDir::is_campaign(path) || path.join("events.jsonl").exists() {
        return Ok(None);
    }
    if path.join(SCREEN).is_file() {
        return Ok(Some(ScriptDir::Screen(ScriptScreen { root: path.to_owned() })));
    }
    if ScriptRun::at(path).is_there() {
        return Ok(Some(ScriptDir::Run(ScriptRun::at(path))));
    }
    let screen = ScriptScreen { root: path.to_owned() };
    if !screen.operators()?.is_empty() {
        return Ok(Some(ScriptDir::Screen(screen)));
    }
    let mut operators = Vec::new();
    if let Some(one) = rounds_of(path)? {
        operators.push(one);
    } else {
        for folder in folders(path)? {
            if let Some(one) = rounds_of(&folder)? {
                operators.push(one);
            } else if name_of(&folder).strip_prefix("card").is_some_and(|card| !card.is_empty()) {
                for inner in folders(&folder)? {
                    operators.extend(rounds_of(&inner)?);
                }
            }
        }
    }
    Ok((!operators.is_empty()).then(|| ScriptDir::Rounds(ScriptRounds { root: path.to_owned(), operators })))
}

fn rounds_of(folder: &Path) -> Result<Option<ScriptOperator>, StoreError> {
    let runs: BTreeMap<(u32, Side), ScriptRun> = folders(folder)?
        .into_iter()
        .filter_map(|path| Some((round_of(&name_of(&path))?, ScriptRun::at(&path))))
        .collect();
    Ok((!runs.is_empty()).then(|| ScriptOperator {
        operator: name_of(folder),
        folder: folder.to_owned(),
        runs,
    }))
}

/// `r2_B` → round 2, side B.
fn round_of(name: &str) -> Option<(u32, Side)> {
    let (number, side) = name.strip_prefix('r')?.split_once('_')?;
    let side = match side {
        "A" => Side::A,
        "B" => Side::B,
        _ => return None,
    };
    let round = number.parse().ok().filter(|round| *round > 0)?;
    Some((round, side))
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Folders directly below one, by name.
fn folders(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(StoreError::io("read", path))? {
        let entry = entry.map_err(StoreError::io("read", path))?;
        if entry.path().is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// A file's bytes; none where there is no such file.
fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::io("read", path)(source)),
    }
}

impl ScriptRun {
    /// The run in a folder, whatever is in it.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder's name.
    #[must_use]
    pub fn name(&self) -> String {
        name_of(&self.path)
    }

    /// True if anything of a run lies in the folder.
    #[must_use]
    pub fn is_there(&self) -> bool {
        [LOG, IDENTITY].iter().any(|name| self.path.join(name).is_file())
            || [IR, RECORDS].iter().any(|name| self.path.join(name).is_dir())
    }

    /// Its log; none where there is none.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn log(&self) -> Result<Option<Vec<u8>>, StoreError> {
        read_if_there(&self.path.join(LOG))
    }

    /// What it was measured under; none where no such file is.
    ///
    /// # Errors
    /// It is there and is no JSON object.
    pub fn identity(&self) -> Result<Option<ScriptIdentity>, StoreError> {
        let path = self.path.join(IDENTITY);
        let Some(bytes) = read_if_there(&path)? else { return Ok(None) };
        let object = match serde_json::from_slice(&bytes) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return Err(StoreError::damaged(&path, "it is no JSON object")),
            Err(error) => return Err(StoreError::damaged(&path, error)),
        };
        let values = object
            .into_iter()
            .filter_map(|(name, value)| match value {
                Value::String(text) => Some((name, text)),
                Value::Bool(yes) => Some((name, u8::from(yes).to_string())),
                Value::Number(number) => Some((name, number.to_string())),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            })
            .collect();
        Ok(Some(ScriptIdentity { values }))
    }

    /// Its IR files by path relative to the dump, sorted; none where there is no dump at all. Only `.ttgir` counts: a dump
    /// also holds lists of names, which are the same on both sides of a run that compiled nothing.
    ///
    /// # Errors
    /// The dump cannot be read.
    pub fn ir_files(&self) -> Result<Option<BTreeMap<String, PathBuf>>, StoreError> {
        let root = self.path.join(IR);
        if !root.is_dir() {
            return Ok(None);
        }
        let mut found = BTreeMap::new();
        walk(&root, &root, &mut found)?;
        Ok(Some(found))
    }

    /// Where its recording lies, if it has one.
    #[must_use]
    pub fn recording(&self) -> Option<PathBuf> {
        Some(self.path.join(RECORDS)).filter(|path| path.is_dir())
    }
}

fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, PathBuf>) -> Result<(), StoreError> {
    for entry in std::fs::read_dir(folder).map_err(StoreError::io("read", folder))? {
        let entry = entry.map_err(StoreError::io("read", folder))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(StoreError::io("read", folder))?);
        if kind.is_dir() {
            walk(root, &path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "ttgir") {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            found.insert(parts.join("/"), path);
        }
    }
    Ok(())
}

impl ScriptRounds {
    /// A table or log of the root; of a campaign over cards each card's own, one behind the other. None where there is none.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn text(&self, name: &str) -> Result<Option<String>, StoreError> {
        let mut places = vec![self.root.clone()];
        for operator in &self.operators {
            places.extend(operator.folder.parent().map(Path::to_owned));
        }
        let mut text = String::new();
        for (at, place) in places.iter().enumerate() {
            if !places[..at].contains(place)
                && let Some(bytes) = read_if_there(&place.join(name))?
            {
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        Ok((!text.is_empty()).then_some(text))
    }
}

impl ScriptScreen {
    /// Operators that have a run here, by name, whatever the table says.
    ///
    /// # Errors
    /// The root cannot be read.
    pub fn operators(&self) -> Result<Vec<String>, StoreError> {
        let mut found: Vec<String> = folders(&self.root)?
            .iter()
            .filter(|path| ScriptRun::at(path).is_there())
            .filter_map(|path| {
                let name = name_of(path);
                let operator = name.strip_suffix("_before").or_else(|| name.strip_suffix("_after"))?;
                (!operator.is_empty()).then(|| operator.to_owned())
            })
            .collect();
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// The run of an operator on a side: `<op>_before` is A, `<op>_after` B.
    #[must_use]
    pub fn run(&self, operator: &str, side: Side) -> ScriptRun {
        let word = match side {
            Side::A => "before",
            Side::B => "after",
        };
        ScriptRun::at(&self.root.join(format!("{operator}_{word}")))
    }

    /// A file of the root; none where there is none.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn text(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(read_if_there(&self.root.join(name))?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn each_kind_of_folder_is_recognised_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "mm_1/run.log", "");
        write(root, "ab/mm/r1_A/run.log", "");
        write(root, "ab/mm/r1_B/run.log", "");
        write(root, "ab/mm/r12_B/run_identity.json", "{}");
        write(root, "ab/mm/round_3/run.log", "");
        write(root, "campaign/card0/topk/r1_A/run.log", "");
        write(root, "campaign/card7/sort/r1_A/run.log", "");
        write(root, "campaign/cards/sort/notes", "");
        write(root, "screening/screen.tsv", "");
        write(root, "ours/campaign.toml", "");
        write(root, "ours/screen.tsv", "");
        write(root, "attempt/events.jsonl", "");
        write(root, "attempt/run.log", "");
        write(root, "other/notes.txt", "");
        let kind = |name: &str| recognise(&root.join(name)).unwrap();
        assert!(matches!(kind("mm_1"), Some(ScriptDir::Run(run)) if run.name() == "mm_1"));
        assert!(matches!(kind("screening"), Some(ScriptDir::Screen(_))));
        write(root, "lost/b_after/run.log", "");
        write(root, "lost/a_before/run.log", "");
        write(root, "lost/a_after/run.log", "");
        let Some(ScriptDir::Screen(lost)) = kind("lost") else { panic!("{:?}", kind("lost")) };
        assert_eq!(lost.operators().unwrap(), ["a", "b"]);
        for name in ["ours", "attempt", "other", "absent"] {
            assert_eq!(kind(name), None, "{name}");
        }
        let rounds = |name: &str| match kind(name) {
            Some(ScriptDir::Rounds(rounds)) => rounds,
            other => panic!("{other:?}"),
        };
        let keys: Vec<_> = rounds("ab").operators[0].runs.keys().copied().collect();
        assert_eq!(keys, [(1, Side::A), (1, Side::B), (12, Side::B)]);
        assert_eq!(rounds("ab/mm").operators[0].operator, "mm");
        let names: Vec<String> =
            rounds("campaign").operators.into_iter().map(|operator| operator.operator).collect();
        assert_eq!(names, ["topk", "sort"]);
    }

    #[test]
    fn what_a_run_holds_is_read_and_what_it_lacks_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let run = ScriptRun::at(root);
        assert_eq!((run.log().unwrap(), run.identity().unwrap()), (None, None));
        assert_eq!((run.ir_files().unwrap(), run.recording()), (None, None));
        let text =
            r#"{"timer": "direct", "direct_repeat": 3, "isolated": true, "paths": [1], "device": null}"#;
        write(root, "run_identity.json", text);
        let values = run.identity().unwrap().unwrap().values;
        let expected = [("direct_repeat", "3"), ("isolated", "1"), ("timer", "direct")];
        assert_eq!(values.iter().map(|(name, it)| (&**name, &**it)).collect::<Vec<_>>(), expected);
        write(root, "ttgir/index.tsv", "");
        assert_eq!(run.ir_files().unwrap().unwrap().len(), 0);
        write(root, "ttgir/shape_2/k__fp16.ttgir", "");
        write(root, "ttgir/a.ttgir", "");
        let names: Vec<String> = run.ir_files().unwrap().unwrap().into_keys().collect();
        assert_eq!(names, ["a.ttgir", "shape_2/k__fp16.ttgir"]);
        write(root, "run_identity.json", "[1]");
        assert!(run.identity().unwrap_err().to_string().ends_with("it is no JSON object"));
        write(root, "run_identity.json", "{\"a\":");
        assert!(matches!(run.identity(), Err(StoreError::Damaged { .. })));
    }
}
