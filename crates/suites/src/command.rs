//! Any program that speaks the cell protocol (`docs/cell-protocol.md`).
//!
//! `--suite command --command 'PROGRAM ARGUMENTS…'`, split at white space: in the arguments `{operator}`, `{file}` and
//! `{dtypes}` (joined by `,`; empty for all) stand for the cell's. Operators are asked for with the three left empty, `--list` behind all arguments, and
//! `SWITCHBACK_LIST=1` in the environment; a JSON array of operators is taken, and anything else (a program that
//! cannot list ends with an error or prints its usage) means that operators are taken as given. So a program that knows
//! neither and would start to measure must look at `SWITCHBACK_LIST`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use switchback_model::finding::Finding;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::Command;
use switchback_model::side::Pairing;

use crate::cpu::chosen_dtypes;
use crate::embedded;
use crate::python::{read_offered, read_path_check};
use crate::registry::Surroundings;
use crate::resolve::resolve;
use crate::suite::{
    CellRequest, Check, CheckAction, CheckOutput, Evidence, Offered, ProgramOutput, Suite, SuiteError,
    SuiteOptions,
};
use crate::symptom;
use crate::triton::isolate_compiler;

/// What stands for the cell's own in the arguments.
const PLACEHOLDERS: [&str; 3] = ["{operator}", "{file}", "{dtypes}"];

/// The suite of a foreign program.
#[derive(Debug, Clone)]
pub struct CommandSuite {
    options: SuiteOptions,
    cwd: PathBuf,
}

impl CommandSuite {
    /// From options and surroundings; the program runs in the working folder.
    ///
    /// # Errors
    /// The options name no program.
    pub fn new(options: SuiteOptions, surroundings: &Surroundings) -> Result<Self, SuiteError> {
        if options.command.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(SuiteError::new(
                "suite `command` was given no program",
                "`--command 'PROGRAM ARGUMENTS'`; `{operator}` in an argument is the operator's name",
            ));
        }
        Ok(Self { options, cwd: surroundings.cwd.clone() })
    }

    fn program(&self) -> &str {
        &self.options.command[0]
    }
}

impl Suite for CommandSuite {
    fn name(&self) -> &'static str {
        "command"
    }

    /// The command's words; the program itself may change behind them, unless it reports a digest of its own.
    fn measurement_path(&self) -> String {
        embedded::digest(&[], &self.options.command)
    }

    fn checks(&self, _operators: &[OperatorSpec], _probe_dir: &Path) -> Vec<Check> {
        // A bare name is looked up in `PATH` when it is started; a path can be looked at before.
        if !self.program().contains('/') {
            return Vec::new();
        }
        let path = self.cwd.join(self.program());
        vec![Check { name: "program exists".into(), action: CheckAction::FileExists(path) }]
    }

    fn read_check(&self, check: &Check, output: &CheckOutput) -> Finding {
        read_path_check(check, output, "a relative path starts at the folder where `switchback` is called")
    }

    fn list_command(&self, _probe_dir: &Path) -> Command {
        let nothing = [const { String::new() }; 3];
        let mut argv: Vec<String> = self.options.command.iter().map(|word| fill(word, &nothing)).collect();
        argv.push("--list".into());
        let mut env = self.options.env.clone();
        env.insert("SWITCHBACK_LIST".into(), Some("1".into()));
        Command { argv, cwd: self.cwd.clone(), env }
    }

    /// Never an error: a program need not be able to list.
    fn read_list(&self, output: &ProgramOutput) -> Result<Vec<Offered>, SuiteError> {
        Ok(read_offered(self.program(), output).unwrap_or_default())
    }

    fn resolve(&self, asked: &[OperatorSpec], offered: &[Offered]) -> Result<Vec<OperatorSpec>, SuiteError> {
        resolve(self.name(), asked, offered, &self.options.dtypes)
    }

    fn cell_command(&self, request: &CellRequest<'_>) -> Command {
        let operator = request.operator;
        let values = [operator.operator.clone(), operator.file_name().to_owned(), operator.dtypes.join(",")];
        let argv = self.options.command.iter().map(|word| fill(word, &values)).collect();
        let mut command = Command { argv, cwd: self.cwd.clone(), env: self.options.env.clone() };
        isolate_compiler(&mut command, request.cache_dir);
        command
    }

    /// Duet is left to programs that say they can; none can be asked before it runs.
    fn pairings(&self) -> &'static [Pairing] {
        &[Pairing::Process]
    }

    fn tunes(&self) -> bool {
        false
    }

    fn conditions(&self, operator: &OperatorSpec) -> BTreeMap<String, String> {
        let mut conditions = BTreeMap::from([
            ("suite".into(), self.name().into()),
            ("dtypes".into(), chosen_dtypes(operator, &self.options)),
        ]);
        if let Some(mode) = &self.options.mode {
            conditions.insert("mode".into(), mode.clone());
        }
        if let Some(level) = &self.options.level {
            conditions.insert("bench_level".into(), level.clone());
        }
        conditions
    }

    fn explain(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        symptom::explain(self.name(), None, evidence)
    }
}

/// Puts values in the place of placeholders, in one pass: a value that looks like a placeholder stays as it is.
fn fill(word: &str, values: &[String; 3]) -> String {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match PLACEHOLDERS.iter().zip(values).find(|(placeholder, _)| rest.starts_with(**placeholder)) {
            Some((placeholder, value)) => {
                filled.push_str(value);
                rest = &rest[placeholder.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(words: &[&str]) -> Result<CommandSuite, SuiteError> {
        let options = SuiteOptions {
            command: words.iter().map(|word| (*word).to_owned()).collect(),
            ..SuiteOptions::default()
        };
        CommandSuite::new(options, &Surroundings { cwd: "/home/u".into(), ..Surroundings::default() })
    }

    #[test]
    fn placeholders_are_filled_once() {
        let values = ["{file}".to_owned(), "f".to_owned(), "a,b".to_owned()];
        assert_eq!(fill("x={operator}/{file}:{dtypes}{other}{", &values), "x={file}/f:a,b{other}{");
    }

    #[test]
    fn a_list_is_asked_with_empty_placeholders_and_its_lack_is_no_error() {
        let suite = suite(&["./bench", "--op={operator}", "--fast"]).unwrap();
        let command = suite.list_command(Path::new("/probe"));
        assert_eq!(command.argv, ["./bench", "--op=", "--fast", "--list"]);
        assert_eq!(command.env["SWITCHBACK_LIST"].as_deref(), Some("1"));
        let usage = ProgramOutput { status: Some(2), stdout: "usage".into(), stderr: String::new() };
        let offered = suite.read_list(&usage).unwrap();
        let asked = ["anything".parse().unwrap()];
        assert_eq!(suite.resolve(&asked, &offered).unwrap(), asked);
    }

    #[test]
    fn no_program_is_refused_and_a_path_is_looked_at() {
        assert!(suite(&[]).is_err());
        assert!(suite(&["bench"]).unwrap().checks(&[], Path::new("/p")).is_empty());
        let checks = suite(&["./bench"]).unwrap().checks(&[], Path::new("/p"));
        assert_eq!(checks[0].action, CheckAction::FileExists("/home/u/./bench".into()));
    }
}
