//! The interface of a suite: checks, commands and environments as data.
//!
//! A suite starts nothing and reads no file: it says what to run, the engine runs it, and the suite reads what came
//! back. So every suite is tested without a process, and the engine knows nothing of pytest or Cranelift.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use switchback_model::cell::Purpose;
use switchback_model::finding::Finding;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::{Command, Measure};
use switchback_model::side::Pairing;
use switchback_model::switch::Variables;

/// What a user chose for the suite; part of the request and kept in `campaign.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteOptions {
    /// The interpreter that runs the benchmark; default `python3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// A FlagGems checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flaggems_dir: Option<PathBuf>,
    /// The benchmark's level: `core`, `comprehensive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The benchmark's mode: `kernel`, `operator`, `wrapper`, `cudagraph`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Dtypes for all operators that name none of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dtypes: Vec<String>,
    /// The benchmark's metrics; default `latency` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// A shape file of the benchmark's own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape_file: Option<PathBuf>,
    /// True to keep the library's matrix product off its cluster kernel.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub avoid_mm_cluster: bool,
    /// The program of `--suite command`, with its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The back end's name, by which a suite chooses its vendor.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub backend: String,
    /// Variables for every cell, from `--env`; kept as `NAME=VALUE`, and as `NAME` where it is unset.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", with = "assignments")]
    pub env: Variables,
}

/// Variables in a form without null (TOML has none, and an unset variable must not be lost in `campaign.toml`).
mod assignments {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Variables;

    pub(super) fn serialize<S: Serializer>(variables: &Variables, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(variables.iter().map(|(name, value)| match value {
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Variables, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        Ok(texts
            .into_iter()
            .map(|text| match text.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (text, None),
            })
            .collect())
    }
}

/// A file that the suite brings along; the engine writes it below the campaign's `probe/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddedFile {
    /// Path relative to `probe/`, `/` as separator.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// A check before anything is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What is looked at, in a few words.
    pub name: String,
    /// How it is looked at.
    pub action: CheckAction,
}

/// How a check looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckAction {
    /// A folder that must be there.
    FolderExists(PathBuf),
    /// A file that must be there.
    FileExists(PathBuf),
    /// A program whose output tells.
    Run(Command),
}

/// What a check saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutput {
    /// Whether the path was there.
    Exists(bool),
    /// What the program gave back.
    Program(ProgramOutput),
}

/// What a program gave back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Exit status; none if it could not be started or died of a signal.
    pub status: Option<i32>,
    /// Standard output, lossily decoded.
    pub stdout: String,
    /// Standard error, or why it could not be started.
    pub stderr: String,
}

/// An operator that a suite offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// The operator's name.
    pub operator: String,
    /// The file that holds it, where it is not the operator's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its dtypes, where the suite tells.
    #[serde(default)]
    pub dtypes: Vec<String>,
    /// A word on it: number of cases, what is special.
    #[serde(default)]
    pub detail: String,
    /// Other names by which it may be asked for: the library's own where the benchmark calls it differently
    /// (FlagGems: the test's marks).
    #[serde(default, alias = "marks", skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// What a cell is to run.
#[derive(Debug, Clone)]
pub struct CellRequest<'a> {
    /// The operator.
    pub operator: &'a OperatorSpec,
    /// What the cell is for.
    pub purpose: Purpose,
    /// How it measures.
    pub measure: &'a Measure,
    /// Where the embedded files lie.
    pub probe_dir: &'a Path,
    /// A cache folder of this operator and side (duet: of both, the child splits it).
    pub cache_dir: &'a Path,
}

/// What an attempt left, for the suite to explain a missing row.
#[derive(Debug, Clone, Default)]
pub struct Evidence<'a> {
    /// The operator.
    pub operator: &'a str,
    /// The child's exit status as a shell would say it.
    pub status: i32,
    /// Rows with a latency.
    pub rows: u64,
    /// Inputs with a row that says that they failed.
    pub failed: u64,
    /// Compiled kernels that cases launched.
    pub kernels: u64,
    /// `run.log`, without colours.
    pub log: &'a str,
    /// Texts of `error` events and failed rows.
    pub errors: &'a [String],
    /// Vendors whose modules were loaded although they are not this back end's.
    pub foreign_vendors: &'a [String],
    /// Dtypes that the operator takes, from [`Offered::dtypes`]; empty where that is not known.
    pub takes_dtypes: &'a [String],
}

/// What a suite cannot do or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SuiteError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl SuiteError {
    /// What is wrong and what to do about it.
    #[must_use]
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }
}

/// Where operators come from.
pub trait Suite {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Files to be written below the campaign's `probe/` before anything runs.
    fn embedded(&self) -> Vec<EmbeddedFile> {
        Vec::new()
    }

    /// Digest of all that touches a measurement: one of the conditions. A child that reports `measurement_path` in
    /// its `start` event knows better, and its value replaces this one.
    fn measurement_path(&self) -> String;

    /// Checks before anything is measured, in order.
    fn checks(&self, operators: &[OperatorSpec], probe_dir: &Path) -> Vec<Check>;

    /// What a check found.
    fn read_check(&self, check: &Check, output: &CheckOutput) -> Finding;

    /// The program that lists the suite's operators.
    fn list_command(&self, probe_dir: &Path) -> Command;

    /// Reads what that program printed.
    ///
    /// # Errors
    /// The program failed, or printed something else.
    fn read_list(&self, output: &ProgramOutput) -> Result<Vec<Offered>, SuiteError>;

    /// Finds the operators that were asked for among those on offer, with their files and `SuiteOptions::dtypes` filled in.
    ///
    /// # Errors
    /// An operator that is not there (with the nearest names), file and operator written the wrong way round.
    fn resolve(&self, asked: &[OperatorSpec], offered: &[Offered]) -> Result<Vec<OperatorSpec>, SuiteError>;

    /// The child of a cell. Side variables and the card's visibility are the engine's; `SuiteOptions::env` is
    /// already in the command, below what the suite itself must set (caches, module path).
    fn cell_command(&self, request: &CellRequest<'_>) -> Command;

    /// True if it can give each side a card for so long that the card settles; so it is unless a suite says otherwise.
    fn sustains(&self) -> bool {
        true
    }

    /// The pairings it can do, the preferred one first.
    fn pairings(&self) -> &'static [Pairing];

    /// True if its operators may be autotuned, so that tuning gets a cell of its own.
    fn tunes(&self) -> bool;

    /// True if its children can get ready without the card and then wait for their turn on it (`Order::turn`).
    fn takes_turns(&self) -> bool {
        false
    }

    /// True if its cells draw the order of cases anew from the seed, so that neighbours change between rounds.
    fn shuffles_cases(&self) -> bool {
        false
    }

    /// True if its compiler may give several outputs for one input, so that a difference between the sides counts only
    /// once a second compilation of one side came out alike.
    fn doubts_its_compiler(&self) -> bool {
        true
    }

    /// Conditions that follow from the options: level, mode, dtypes, metrics, shapes.
    fn conditions(&self, operator: &OperatorSpec) -> BTreeMap<String, String>;

    /// Why an attempt has no rows or no kernels, and what to do: the checklist's symptoms.
    fn explain(&self, evidence: &Evidence<'_>) -> Vec<Finding>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_variables_survive_a_form_without_null() {
        let variable = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        let env = [variable("GONE", None), variable("EMPTY", Some("")), variable("PATHS", Some("a=b:c"))];
        let options = SuiteOptions { env: env.into(), ..SuiteOptions::default() };
        let value = serde_json::to_value(&options).unwrap();
        assert_eq!(value, serde_json::json!({"env": ["EMPTY=", "GONE", "PATHS=a=b:c"]}));
        assert_eq!(serde_json::from_value::<SuiteOptions>(value).unwrap(), options);
    }
}
