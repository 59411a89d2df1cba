//! The shipped Triton kernels: for a machine with a card and Triton, but without a library of operators.
//!
//! The child is the probe's runner; what it measures and how is the probe's. Invariant: caches of the compiler lie below
//! the request's cache folder, so sides never share one (Triton's key holds only variables that Triton knows).

use std::collections::BTreeMap;
use std::path::Path;

use switchback_model::finding::Finding;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::Command;
use switchback_model::side::Pairing;

use crate::cpu::chosen_dtypes;
use crate::embedded::{self, KERNELS, PROBE};
use crate::python::{Python, read_offered, read_path_check};
use crate::registry::Surroundings;
use crate::resolve::resolve;
use crate::suite::{
    CellRequest, Check, CheckOutput, EmbeddedFile, Evidence, Offered, ProgramOutput, Suite, SuiteError,
    SuiteOptions,
};
use crate::symptom;

/// The probe's module that runs the shipped kernels.
const RUNNER: &str = "switchback_probe.runner";
/// What the interpreter must import.
const MODULES: [&str; 2] = ["torch", "triton"];
/// The pairings that the probe can do, the preferred one first.
pub const PAIRINGS: &[Pairing] = &[Pairing::Duet, Pairing::Process];

/// The suite of shipped kernels.
#[derive(Debug, Clone)]
pub struct Triton {
    options: SuiteOptions,
    python: Python,
}

impl Triton {
    /// From options and surroundings.
    #[must_use]
    pub fn new(options: SuiteOptions, surroundings: &Surroundings) -> Self {
        Self { python: Python::new(&options, surroundings), options }
    }
}

impl Suite for Triton {
    fn name(&self) -> &'static str {
        "triton"
    }

    fn embedded(&self) -> Vec<EmbeddedFile> {
        embedded::files(&[PROBE, KERNELS])
    }

    fn measurement_path(&self) -> String {
        embedded::digest(&self.embedded(), &["-m".into(), RUNNER.into()])
    }

    fn checks(&self, _operators: &[OperatorSpec], probe_dir: &Path) -> Vec<Check> {
        vec![self.python.check(&MODULES, probe_dir, &[])]
    }

    fn read_check(&self, check: &Check, output: &CheckOutput) -> Finding {
        match output {
            CheckOutput::Program(output) => self.python.read_check(&check.name, output),
            CheckOutput::Exists(_) => {
                read_path_check(check, output, "the path is wrong, or not on this machine")
            }
        }
    }

    fn list_command(&self, probe_dir: &Path) -> Command {
        self.python.module(RUNNER, vec!["--list".into()], probe_dir, &[probe_dir])
    }

    fn read_list(&self, output: &ProgramOutput) -> Result<Vec<Offered>, SuiteError> {
        read_offered("python -m switchback_probe.runner --list", output)
    }

    fn resolve(&self, asked: &[OperatorSpec], offered: &[Offered]) -> Result<Vec<OperatorSpec>, SuiteError> {
        resolve(self.name(), asked, offered, &self.options.dtypes)
    }

    fn cell_command(&self, request: &CellRequest<'_>) -> Command {
        let mut command = self.python.module(RUNNER, Vec::new(), request.probe_dir, &[request.probe_dir]);
        isolate_compiler(&mut command, request.cache_dir);
        command
    }

    fn pairings(&self) -> &'static [Pairing] {
        PAIRINGS
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn tunes(&self) -> bool {
        true
    }

    /// Where cases are timed the runner draws their order from the order's seed.
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
        symptom::explain(self.name(), Some(self.python.interpreter()), evidence)
    }
}

/// Gives a command a compiler cache of its own. Inductor's is moved as well: a compiled baseline goes through Triton too.
pub fn isolate_compiler(command: &mut Command, cache_dir: &Path) {
    for (name, folder) in [("TRITON_CACHE_DIR", "triton"), ("TORCHINDUCTOR_CACHE_DIR", "inductor")] {
        let path = cache_dir.join(folder).to_string_lossy().into_owned();
        command.env.insert(name.into(), Some(path));
    }
}
