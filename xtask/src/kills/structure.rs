//! What must be the same of a campaign that was killed and of one that was not, and what must never change in between.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;

/// A report without its figures: operators, what screening said, their rounds, their cases with the rounds of each.
#[derive(Debug, PartialEq, Eq)]
pub struct Structure {
    operators: BTreeMap<String, Operator>,
    /// Rounds by operator that are whole on disk: (round, sides).
    cells: BTreeSet<(String, String)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Operator {
    screen: Option<String>,
    first_stage: Option<String>,
    control: bool,
    rounds: Option<u64>,
    cases: BTreeMap<String, usize>,
}

impl Structure {
    /// Reads it from a finished campaign's folder.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(root.join("report.json")).context("there is no report")?;
        let report: Value = serde_json::from_str(&text)?;
        let text_of = |value: &Value| value.as_str().map(str::to_owned);
        let mut operators = BTreeMap::new();
        for operator in report["operators"].as_array().context("the report has no operators")? {
            let name = text_of(&operator["operator"]).context("an operator has no name")?;
            let mut cases = BTreeMap::new();
            for case in operator["cases"].as_array().into_iter().flatten() {
                let rounds = case["rounds_pct"].as_array().map_or(0, Vec::len);
                ensure!(
                    cases.insert(case["case"].to_string(), rounds).is_none(),
                    "`{name}` has a case twice: {}",
                    case["case"]
                );
            }
            let it = Operator {
                screen: text_of(&operator["screen"]),
                first_stage: text_of(&operator["first_stage"]),
                control: operator["control"] == true,
                rounds: operator["rounds"].as_u64(),
                cases,
            };
            ensure!(operators.insert(name.clone(), it).is_none(), "`{name}` is in the report twice");
        }
        let cells = cells(root)?
            .into_iter()
            .filter(|(_, attempts)| attempts.iter().any(|attempt| attempt.has_rows))
            .map(|(cell, _)| cell)
            .collect();
        Ok(Self { operators, cells })
    }
}

struct Attempt {
    path: PathBuf,
    outcome: Option<Vec<u8>>,
    has_rows: bool,
}

/// All attempts of all cells, by operator and cell.
fn cells(root: &Path) -> anyhow::Result<BTreeMap<(String, String), Vec<Attempt>>> {
    let mut cells = BTreeMap::new();
    for operator in folders(&root.join("cells"))? {
        for cell in folders(&operator)? {
            let mut attempts = Vec::new();
            for path in folders(&cell)? {
                let outcome = std::fs::read(path.join("outcome.json")).ok();
                let value: Value =
                    outcome.as_deref().map(serde_json::from_slice).transpose()?.unwrap_or_default();
                let has_rows =
                    value["ending"] == "completed" && value["counts"]["success"].as_u64() > Some(0);
                attempts.push(Attempt { path, outcome, has_rows });
            }
            cells.insert((name(&operator), name(&cell)), attempts);
        }
    }
    Ok(cells)
}

fn folders(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(path) else { return Ok(Vec::new()) };
    let mut folders: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    folders.retain(|path| path.is_dir());
    folders.sort();
    Ok(folders)
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What was on disk at the last look.
#[derive(Debug, Default)]
pub struct Attempts {
    outcomes: BTreeMap<PathBuf, Vec<u8>>,
    /// Attempts of each cell of a round that was whole.
    whole: BTreeMap<(String, String), usize>,
}

impl Attempts {
    /// Looks at the disk while nothing runs, and holds it against the last look.
    ///
    /// # Errors
    /// An outcome changed or is gone, or a round that was whole ran again.
    pub fn take_note(&mut self, root: &Path, pairing: &str) -> anyhow::Result<()> {
        let cells = cells(root)?;
        let mut outcomes = BTreeMap::new();
        for attempt in cells.values().flatten() {
            if let Some(outcome) = &attempt.outcome {
                outcomes.insert(attempt.path.clone(), outcome.clone());
            }
        }
        for (path, outcome) in &self.outcomes {
            ensure!(outcomes.get(path) == Some(outcome), "the outcome in `{}` changed", path.display());
        }
        self.outcomes = outcomes;
        for (cell, count) in &self.whole {
            let now = cells.get(cell).map_or(0, Vec::len);
            ensure!(now == *count, "{} {} was whole with {count} attempts and has {now}", cell.0, cell.1);
        }
        let done = |operator: &str, cell: &str| {
            cells
                .get(&(operator.to_owned(), cell.to_owned()))
                .is_some_and(|attempts| attempts.iter().any(|attempt| attempt.has_rows))
        };
        for ((operator, cell), attempts) in &cells {
            let Some((round, _)) = cell.split_once('_').filter(|(round, _)| round.starts_with('r')) else {
                continue;
            };
            let is_whole = match pairing {
                "duet" => done(operator, cell),
                _ => is_pair(&cells, operator, round),
            };
            if is_whole {
                self.whole.insert((operator.clone(), cell.clone()), attempts.len());
            }
        }
        Ok(())
    }
}

/// True if both sides of a round have rows of one card.
fn is_pair(cells: &BTreeMap<(String, String), Vec<Attempt>>, operator: &str, round: &str) -> bool {
    let cards = |side: &str| -> BTreeSet<String> {
        let cell = (operator.to_owned(), format!("{round}_{side}"));
        cells
            .get(&cell)
            .into_iter()
            .flatten()
            .filter(|attempt| attempt.has_rows)
            .filter_map(|attempt| attempt.outcome.as_deref())
            .filter_map(|outcome| serde_json::from_slice::<Value>(outcome).ok())
            .map(|outcome| outcome["card"]["index"].to_string())
            .collect()
    };
    cards("A").intersection(&cards("B")).next().is_some()
}
