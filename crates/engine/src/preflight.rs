//! Checks before anything is measured: a wrong interpreter or file costs seconds here and a night later.

use std::path::Path;
use std::time::Duration;

use switchback_model::finding::{Finding, Severity};
use switchback_model::operator::OperatorSpec;
use switchback_suites::suite::{CheckAction, CheckOutput, Offered, Suite};

use crate::error::EngineError;
use crate::program;

/// Longest time for one check; importing a library on a cold disk takes tens of seconds.
const LIMIT: Duration = Duration::from_secs(180);

/// Writes the suite's own files below `probe_dir`.
///
/// # Errors
/// The folder cannot be written.
pub fn unpack(suite: &dyn Suite, probe_dir: &Path) -> Result<(), EngineError> {
    for file in suite.embedded() {
        let path = probe_dir.join(file.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|source| switchback_store::StoreError::Io {
                action: "create",
                path: folder.to_owned(),
                source,
            })?;
        }
        if std::fs::read(&path).is_ok_and(|there| there == file.text.as_bytes()) {
            continue;
        }
        switchback_store::atomic::write(&path, file.text.as_bytes())?;
    }
    Ok(())
}

/// Runs the suite's checks that need no program: a missing folder is told before a listing of it fails.
#[must_use]
pub fn check_paths(suite: &dyn Suite, probe_dir: &Path) -> Vec<Finding> {
    let mut checks = suite.checks(&[], probe_dir);
    checks.retain(|check| !matches!(check.action, CheckAction::Run(_)));
    checks.iter().map(|check| suite.read_check(check, &look(&check.action))).collect()
}

/// Runs the suite's checks, all of them, and returns what they found.
#[must_use]
pub fn check(suite: &dyn Suite, operators: &[OperatorSpec], probe_dir: &Path) -> Vec<Finding> {
    suite
        .checks(operators, probe_dir)
        .iter()
        .map(|check| suite.read_check(check, &look(&check.action)))
        .collect()
}

fn look(action: &CheckAction) -> CheckOutput {
    match action {
        CheckAction::FolderExists(path) => CheckOutput::Exists(path.is_dir()),
        CheckAction::FileExists(path) => CheckOutput::Exists(path.is_file()),
        CheckAction::Run(command) => CheckOutput::Program(program::run(command, LIMIT)),
    }
}

/// The findings as an error, if one of them stops measuring.
///
/// # Errors
/// At least one check failed.
pub fn passed(findings: Vec<Finding>) -> Result<Vec<Finding>, EngineError> {
    if findings.iter().any(|finding| finding.severity == Severity::Failure) {
        return Err(EngineError::Preflight(findings));
    }
    Ok(findings)
}

/// Operators that the suite offers.
///
/// A listing fails of its surroundings (interpreter, folder), so the checks are asked first why, which know more.
///
/// # Errors
/// The listing program failed, or printed something else.
pub fn offered(suite: &dyn Suite, probe_dir: &Path) -> Result<Vec<Offered>, EngineError> {
    let output = program::run(&suite.list_command(probe_dir), LIMIT);
    suite.read_list(&output).or_else(|error| {
        passed(check(suite, &[], probe_dir))?;
        let hint = error.hint.unwrap_or_else(|| "`switchback doctor` checks interpreter and folders".into());
        Err(EngineError::Preflight(vec![Finding::failure("operators can be listed", error.message, hint)]))
    })
}
