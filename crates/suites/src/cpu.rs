//! The embedded suite: operators that switchback itself compiles with Cranelift, for a machine without a card.
//!
//! Its child is this very program (`switchback cpu-suite cell`), which is left to the crate of that name. The digest of
//! the measurement path returned here is the version alone; the child reports the real one in its `start` event.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use switchback_model::finding::Finding;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::Command;
use switchback_model::side::Pairing;

use crate::python::read_offered;
use crate::registry::Surroundings;
use crate::resolve::resolve;
use crate::suite::{
    CellRequest, Check, CheckOutput, Evidence, Offered, ProgramOutput, Suite, SuiteError, SuiteOptions,
};
use crate::symptom;

/// The embedded suite.
#[derive(Debug, Clone)]
pub struct Cpu {
    options: SuiteOptions,
    switchback_exe: PathBuf,
    cwd: PathBuf,
}

impl Cpu {
    /// The suite whose children are `switchback_exe`.
    #[must_use]
    pub fn new(options: SuiteOptions, switchback_exe: &Path, surroundings: &Surroundings) -> Self {
        Self { options, switchback_exe: switchback_exe.to_owned(), cwd: surroundings.cwd.clone() }
    }

    fn command(&self, action: &str) -> Command {
        Command {
            argv: vec![self.switchback_exe.to_string_lossy().into_owned(), "cpu-suite".into(), action.into()],
            cwd: self.cwd.clone(),
            env: self.options.env.clone(),
        }
    }
}

impl Suite for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn measurement_path(&self) -> String {
        concat!("cpu-suite ", env!("CARGO_PKG_VERSION")).into()
    }

    /// Nothing can be missing: the operators are in the program that asks.
    fn checks(&self, _operators: &[OperatorSpec], _probe_dir: &Path) -> Vec<Check> {
        Vec::new()
    }

    fn read_check(&self, check: &Check, _output: &CheckOutput) -> Finding {
        Finding::ok(&check.name, "")
    }

    fn list_command(&self, _probe_dir: &Path) -> Command {
        self.command("list")
    }

    fn read_list(&self, output: &ProgramOutput) -> Result<Vec<Offered>, SuiteError> {
        read_offered("switchback cpu-suite list", output)
    }

    fn resolve(&self, asked: &[OperatorSpec], offered: &[Offered]) -> Result<Vec<OperatorSpec>, SuiteError> {
        resolve(self.name(), asked, offered, &self.options.dtypes)
    }

    fn cell_command(&self, _request: &CellRequest<'_>) -> Command {
        self.command("cell")
    }

    fn sustains(&self) -> bool {
        false
    }

    fn pairings(&self) -> &'static [Pairing] {
        &[Pairing::Duet, Pairing::Process]
    }

    fn tunes(&self) -> bool {
        false
    }

    /// Cranelift gives one output for one input: a test compiles every operator in two processes.
    fn doubts_its_compiler(&self) -> bool {
        false
    }

    /// The cell draws the order of its cases from the order's seed.
    fn shuffles_cases(&self) -> bool {
        true
    }

    fn conditions(&self, operator: &OperatorSpec) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("suite".into(), self.name().into()),
            ("shape_mode".into(), "own".into()),
            ("dtypes".into(), chosen_dtypes(operator, &self.options)),
            ("metrics".into(), "latency".into()),
        ])
    }

    fn explain(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        symptom::explain(self.name(), None, evidence)
    }
}

/// The value of the condition `dtypes`: the operator's own choice, else the one for all, else `all`.
#[must_use]
pub fn chosen_dtypes(operator: &OperatorSpec, options: &SuiteOptions) -> String {
    let chosen = if operator.dtypes.is_empty() { &options.dtypes } else { &operator.dtypes };
    if chosen.is_empty() { "all".into() } else { chosen.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_of_the_operator_go_before_those_for_all() {
        let options = SuiteOptions { dtypes: vec!["f32".into()], ..SuiteOptions::default() };
        assert_eq!(chosen_dtypes(&"fft::c64,c128".parse().unwrap(), &options), "c64,c128");
        assert_eq!(chosen_dtypes(&"fft".parse().unwrap(), &options), "f32");
        assert_eq!(chosen_dtypes(&"fft".parse().unwrap(), &SuiteOptions::default()), "all");
    }

    #[test]
    fn children_are_this_program() {
        let suite = Cpu::new(SuiteOptions::default(), Path::new("/bin/sb"), &Surroundings::default());
        assert_eq!(suite.list_command(Path::new("/p")).argv, ["/bin/sb", "cpu-suite", "list"]);
        let list = ProgramOutput {
            status: Some(0),
            stdout: r#"[{"operator":"gelu","dtypes":["f32"],"detail":"4 cases"},{"operator":"fft","dtypes":["c64"]}]"#.into(),
            stderr: String::new(),
        };
        let offered = suite.read_list(&list).unwrap();
        assert_eq!(offered[0].detail, "4 cases");
        assert_eq!(suite.resolve(&["fft::c64".parse().unwrap()], &offered).unwrap()[0].dtypes, ["c64"]);
        assert!(
            suite.resolve(&["gleu".parse().unwrap()], &offered).unwrap_err().hint.unwrap().contains("`gelu`")
        );
    }
}
