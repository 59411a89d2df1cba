//! The suites' commands against the probe itself: what is embedded runs, and what it prints is read.
//!
//! Needs an interpreter with the standard library, no card, no torch; says so where there is none.

use std::path::Path;
use std::process;

use switchback_model::finding::Severity;
use switchback_model::order::Command;
use switchback_suites::suite::{CheckAction, CheckOutput, ProgramOutput, Suite, SuiteOptions};
use switchback_suites::{Surroundings, suite_in};

fn run(command: &Command) -> Option<ProgramOutput> {
    let mut child = process::Command::new(&command.argv[0]);
    child.args(&command.argv[1..]).current_dir(&command.cwd);
    for (name, value) in &command.env {
        match value {
            Some(value) => child.env(name, value),
            None => child.env_remove(name),
        };
    }
    let Ok(output) = child.output() else {
        eprintln!("skipped: `{}` cannot be started", command.argv[0]);
        return None;
    };
    Some(ProgramOutput {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// A suite with its files unpacked.
fn unpacked(name: &str) -> (Box<dyn Suite>, tempfile::TempDir) {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/tests/flaggems_mini");
    let options = SuiteOptions { flaggems_dir: Some(checkout), ..SuiteOptions::default() };
    let suite = suite_in(name, &options, Path::new("/bin/sb"), &Surroundings::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for file in suite.embedded() {
        let path = folder.path().join(file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.text).unwrap();
    }
    (suite, folder)
}

#[test]
fn the_lister_names_functions_files_marks_and_dtypes() {
    let (suite, folder) = unpacked("flaggems");
    let Some(output) = run(&suite.list_command(folder.path())) else { return };
    let offered = suite.read_list(&output).unwrap();
    let asked = ["sort".parse().unwrap(), "add:add:float16".parse().unwrap()];
    let resolved: Vec<String> =
        suite.resolve(&asked, &offered).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(resolved, ["sort:sort/perf_sort", "add::float16"]);
    let sort = offered.iter().find(|it| it.operator == "perf_sort").unwrap();
    assert_eq!((sort.file.as_deref(), sort.aliases.as_slice()), (Some("sort"), &["sort".to_owned()][..]));
    let error = suite.resolve(&["sort:perf_sort".parse().unwrap()], &offered).unwrap_err();
    assert_eq!(error.hint.unwrap(), "write `perf_sort:sort`, operator first");
}

#[test]
fn the_shipped_kernels_are_listed() {
    let (suite, folder) = unpacked("triton");
    let Some(output) = run(&suite.list_command(folder.path())) else { return };
    let offered = suite.read_list(&output).unwrap();
    for name in ["add", "softmax", "matmul", "sort"] {
        let it =
            offered.iter().find(|it| it.operator == name).unwrap_or_else(|| panic!("`{name}` is listed"));
        assert!(!it.dtypes.is_empty(), "{name}");
    }
}

#[test]
fn the_check_names_the_interpreter_and_the_module_that_it_lacks() {
    let (suite, folder) = unpacked("flaggems");
    let checks = suite.checks(&[], folder.path());
    let check = checks.last().unwrap();
    let CheckAction::Run(command) = &check.action else { panic!("{check:?}") };
    // No such module anywhere, whatever this machine has installed.
    let mut command = command.clone();
    command.argv.push("switchback_has_no_such_module".into());
    let Some(output) = run(&command) else { return };
    let finding = suite.read_check(check, &CheckOutput::Program(output));
    assert_eq!(finding.severity, Severity::Failure);
    assert!(finding.check.starts_with("interpreter imports torch, triton"), "{}", finding.check);
    assert!(finding.detail.contains("No module named 'switchback_has_no_such_module'"), "{}", finding.detail);
    assert!(finding.detail.contains("interpreter `/"), "its path is told: {}", finding.detail);
}
