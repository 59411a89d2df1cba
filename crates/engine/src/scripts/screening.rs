//! A screening of the scripts: its table, judged again by today's rules from what lies beside it.
//!
//! Invariant: of a table that is written anew only the column `verdict` changes, and the former one is kept whole.

use std::collections::{BTreeMap, BTreeSet};

use switchback_model::finding::Finding;
use switchback_model::operator::OperatorSpec;
use switchback_model::report::Report;
use switchback_model::side::Side;
use switchback_model::verdict::ScreenVerdict;
use switchback_store::StoreError;
use switchback_store::script_dir::{SCREEN, ScriptScreen};

use super::rounds::{self, OperatorRead};
use super::run;
use crate::error::EngineError;
use crate::plan::ScreenedCost;
use crate::rescore::{Change, keep_as};
use crate::screen::Screened;

/// A table by its header.
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Place of `op` and of `verdict`.
    places: (usize, usize),
}

impl Table {
    fn read(text: &str, named: &str) -> Result<Self, EngineError> {
        let split = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<String>>();
        let mut lines = text.lines();
        let header = split(lines.next().unwrap_or_default());
        let place = |name: &str| header.iter().position(|column| column == name);
        let (Some(operator), Some(verdict)) = (place("op"), place("verdict")) else {
            return Err(damaged(named, "it has no columns `op` and `verdict`"));
        };
        let rows: Vec<Vec<String>> = lines.filter(|line| !line.trim().is_empty()).map(split).collect();
        if let Some(at) = rows.iter().position(|row| row.len() <= operator.max(verdict)) {
            return Err(damaged(named, &format!("line {} is cut off", at + 2)));
        }
        Ok(Self { header, rows, places: (operator, verdict) })
    }

    fn field<'a>(&self, row: &'a [String], name: &str) -> Option<&'a str> {
        let at = self.header.iter().position(|column| column == name)?;
        row.get(at).map(|field| field.trim_end_matches('\r')).filter(|field| !field.is_empty())
    }

    fn verdict(&self, row: &[String], named: &str) -> Result<ScreenVerdict, EngineError> {
        let word = row[self.places.1].trim_end_matches('\r');
        word.parse()
            .map_err(|_| damaged(named, &format!("`{}` has the verdict `{word}`", row[self.places.0])))
    }

    fn spec(&self, row: &[String]) -> OperatorSpec {
        let operator = row[self.places.0].clone();
        let file = self.field(row, "op_file").filter(|file| *file != operator).map(str::to_owned);
        let dtypes = self
            .field(row, "dtypes")
            .filter(|dtypes| *dtypes != "<all>")
            .map(|dtypes| dtypes.split([' ', ',']).filter(|it| !it.is_empty()).map(str::to_owned).collect())
            .unwrap_or_default();
        OperatorSpec { operator, file, dtypes }
    }
}

fn damaged(path: &str, detail: &str) -> EngineError {
    StoreError::Damaged { path: path.into(), detail: detail.to_owned() }.into()
}

/// What a table tells of costs, ours or the scripts': operators with their verdicts and the seconds of a pair of cells.
///
/// # Errors
/// A table without operators or verdicts, or with a verdict that is none.
pub fn table(text: &str, named: &str) -> Result<Vec<ScreenedCost>, EngineError> {
    let table = Table::read(text, named)?;
    table
        .rows
        .iter()
        .map(|row| {
            let seconds = |name: &str| table.field(row, name)?.parse::<f64>().ok();
            Ok(ScreenedCost {
                operator: table.spec(row),
                screened: Screened::of(table.verdict(row, named)?),
                pair_s: seconds("elapsed_before").zip(seconds("elapsed_after")).map(|(a, b)| a + b),
            })
        })
        .collect()
}

/// Judges the pairs of a screening: one round each, and today's verdict on the code.
///
/// # Errors
/// A damaged table, pairs under different conditions, or the disk.
pub fn report(
    screen: &ScriptScreen,
    allowed: &BTreeSet<String>,
    margin_pct: f64,
    version: &str,
) -> Result<Report, EngineError> {
    let there = screen.text(SCREEN)?.is_some();
    let specs: Vec<OperatorSpec> = if there {
        let (_, table) = read_table(screen)?;
        table.rows.iter().map(|row| table.spec(row)).collect()
    } else {
        screen.operators()?.into_iter().map(OperatorSpec::named).collect()
    };
    let read = specs
        .into_iter()
        .map(|spec| read_pair(screen, spec))
        .collect::<Result<Vec<OperatorRead>, EngineError>>()?;
    let summary = screen.text("summary.log")?.unwrap_or_default();
    let switch = summary.split_whitespace().find_map(|word| word.strip_prefix("switch="));
    let name = screen.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut report = rounds::judge(&read, &name, switch, allowed, margin_pct, version)?;
    if !there {
        report.findings.push(Finding::warning(
            format!("`{SCREEN}` is missing"),
            "operators are those that have a run",
            "files and dtypes that were asked for are not known, and `rescore` has no table to write",
        ));
    }
    Ok(report)
}

fn read_table(screen: &ScriptScreen) -> Result<(String, Table), EngineError> {
    let path = screen.root.join(SCREEN).display().to_string();
    let text = screen.text(SCREEN)?.ok_or_else(|| damaged(&path, "it is missing"))?;
    let table = Table::read(&text, &path)?;
    Ok((text, table))
}

fn read_pair(screen: &ScriptScreen, spec: OperatorSpec) -> Result<OperatorRead, EngineError> {
    let mut runs = BTreeMap::new();
    for side in Side::BOTH {
        let run = screen.run(&spec.operator, side);
        if run.is_there() {
            let read = run::read(&run, side)?;
            let evidence = read.joined();
            runs.insert((1, side), (read, evidence));
        }
    }
    Ok(OperatorRead { spec, rounds: 1, runs, failures: Vec::new(), status: 1 })
}

/// What scoring again gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Rescored {
    /// Operators of the table.
    pub operators: usize,
    /// Verdicts that are others today.
    pub changes: Vec<Change>,
    /// The name under which the former table is kept.
    pub kept: String,
    /// Operators whose verdict is the table's still, and why.
    pub left: Vec<String>,
}

/// Scores a screening again by the code on disk, and writes its table anew.
///
/// # Errors
/// A damaged table, or the disk.
pub fn rescore(screen: &ScriptScreen) -> Result<Rescored, EngineError> {
    let (text, mut table) = read_table(screen)?;
    let path = screen.root.join(SCREEN);
    let named = path.display().to_string();
    let mut changes = Vec::new();
    let mut left = Vec::new();
    for row in &mut table.rows {
        let operator = row[table.places.0].clone();
        let word = row[table.places.1].trim_end_matches('\r').to_owned();
        if word.parse::<ScreenVerdict>().is_err() {
            return Err(damaged(&named, &format!("`{operator}` has the verdict `{word}`")));
        }
        let pair = read_pair(screen, OperatorSpec::named(&operator))?;
        let evidence = Side::BOTH.map(|side| pair.runs.get(&(1, side)).map(|(_, evidence)| evidence));
        let [Some(a), Some(b)] = evidence else {
            left.push(format!("`{operator}`: its runs are not there any more"));
            continue;
        };
        let verdict = if a.rows_ok() == 0 || b.rows_ok() == 0 {
            ScreenVerdict::NoRows
        } else if let Some(screened) = super::screened(a, b) {
            screened.verdict
        } else {
            // Rows, and no dump on a side: the scripts' word for it was `NO_TRITON`, and it stays what it was.
            left.push(format!("`{operator}`: no `ttgir` was kept on one of the sides"));
            continue;
        };
        // The scripts' own word stays in their table.
        let now = match verdict {
            ScreenVerdict::NotCompiled => "NO_TRITON".to_owned(),
            other => other.to_string(),
        };
        let same = word.parse::<ScreenVerdict>().is_ok_and(|it| it == verdict);
        if !same {
            changes.push(Change { operator, what: "screen", before: word, now: now.clone() });
            row[table.places.1] = now;
        }
    }
    let kept = keep_as(&screen.root, SCREEN, text.as_bytes())?;
    let mut written = table.header.join("\t");
    for row in &table.rows {
        written.push('\n');
        written.push_str(&row.join("\t"));
    }
    written.push('\n');
    switchback_store::atomic::write(&path, written.as_bytes())?;
    Ok(Rescored { operators: table.rows.len(), changes, kept, left })
}
