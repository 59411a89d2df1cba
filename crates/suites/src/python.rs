//! What the suites that run Python share: interpreter, module path, check, list.
//!
//! Invariant: the inherited `PYTHONPATH` stays behind the probe's folder. A compiler's build is found through it, and an
//! interpreter that has lost it reaches all the right files and is still the wrong one.

use std::path::Path;

use serde_json::Value;
use switchback_model::finding::Finding;
use switchback_model::order::Command;
use switchback_model::switch::Variables;

use crate::registry::Surroundings;
use crate::suite::{Check, CheckAction, CheckOutput, Offered, ProgramOutput, SuiteError, SuiteOptions};

/// The interpreter where the options name none.
pub const DEFAULT_INTERPRETER: &str = "python3";

/// An interpreter and what its processes inherit.
#[derive(Debug, Clone)]
pub struct Python {
    interpreter: String,
    module_path: Option<String>,
    env: Variables,
}

impl Python {
    /// From options and surroundings. `PYTHONPATH` in `SuiteOptions::env` goes before the inherited one.
    #[must_use]
    pub fn new(options: &SuiteOptions, surroundings: &Surroundings) -> Self {
        let module_path = match options.env.get("PYTHONPATH") {
            Some(chosen) => chosen.clone(),
            None => surroundings.python_path.clone(),
        };
        Self {
            interpreter: options.python.clone().unwrap_or_else(|| DEFAULT_INTERPRETER.into()),
            module_path: module_path.filter(|path| !path.is_empty()),
            env: options.env.clone(),
        }
    }

    /// The interpreter as it is started.
    #[must_use]
    pub fn interpreter(&self) -> &str {
        &self.interpreter
    }

    /// `python -m MODULE ARGUMENTS…` with folders put before the module path.
    ///
    /// Output is unbuffered, so that a log ends where the process ended, and UTF-8 whatever the locale; the hash seed
    /// is fixed, as sets of configs would otherwise be walked in another order in each process.
    #[must_use]
    pub fn module(&self, module: &str, arguments: Vec<String>, cwd: &Path, folders: &[&Path]) -> Command {
        let mut env = self.env.clone();
        let path: Vec<String> = folders
            .iter()
            .map(|folder| folder.to_string_lossy().into_owned())
            .chain(self.module_path.clone())
            .collect();
        env.insert("PYTHONPATH".into(), Some(path.join(":")));
        for (name, value) in [("PYTHONUNBUFFERED", "1"), ("PYTHONUTF8", "1"), ("PYTHONHASHSEED", "0")] {
            env.entry(name.into()).or_insert_with(|| Some(value.into()));
        }
        let mut argv = vec![self.interpreter.clone(), "-m".into(), module.into()];
        argv.extend(arguments);
        Command { argv, cwd: cwd.to_owned(), env }
    }

    /// The check that the interpreter runs and imports some modules.
    #[must_use]
    pub fn check(&self, modules: &[&str], probe_dir: &Path, folders: &[&Path]) -> Check {
        let arguments = modules.iter().map(|module| (*module).to_owned()).collect();
        let folders: Vec<&Path> = std::iter::once(probe_dir).chain(folders.iter().copied()).collect();
        Check {
            name: check_name(modules),
            action: CheckAction::Run(self.module("switchback_probe.check", arguments, probe_dir, &folders)),
        }
    }

    /// What that check found: versions, or which import failed in which interpreter.
    #[must_use]
    pub fn read_check(&self, name: &str, output: &ProgramOutput) -> Finding {
        let Some(report) = report_in(&output.stdout) else {
            let why =
                last_line(&output.stderr).or_else(|| last_line(&output.stdout)).unwrap_or("it said nothing");
            let status =
                output.status.map_or("no exit status".into(), |status| format!("exit status {status}"));
            return Finding::failure(
                name,
                format!("interpreter `{}` did not run the check ({status}): {why}", self.interpreter),
                "name another interpreter with `--python PATH`",
            );
        };
        let executable = report["executable"].as_str().unwrap_or(&self.interpreter).to_owned();
        let mut versions = Vec::new();
        let mut faults = Vec::new();
        for (module, found) in report["modules"].as_object().into_iter().flatten() {
            match found["error"].as_str() {
                Some(error) => faults.push(format!("`{module}`: {}", error.lines().next().unwrap_or(error))),
                None => versions.push(format!("{module} {}", found["version"].as_str().unwrap_or("?"))),
            }
        }
        let devices: Option<Vec<&str>> = report["devices"]
            .as_array()
            .map(|devices| devices.iter().map(|device| device["name"].as_str().unwrap_or("?")).collect());
        if faults.is_empty() && output.status == Some(0) && devices.as_ref().is_some_and(Vec::is_empty) {
            let why = report["devices_error"].as_str().map(|error| format!(": {error}")).unwrap_or_default();
            return Finding::warning(
                name,
                format!("`{executable}`: {}; torch sees no device{why}", versions.join(", ")),
                "is the card hidden by a visibility variable, or this torch built without its back end?",
            );
        }
        versions.extend(devices.into_iter().flatten().map(|device| format!("device {device}")));
        if faults.is_empty() && output.status == Some(0) {
            return Finding::ok(name, format!("`{executable}`: {}", versions.join(", ")));
        }
        if faults.is_empty() {
            let why = last_line(&output.stderr).unwrap_or("the check gave no reason");
            faults.push(why.to_owned());
        }
        Finding::failure(
            name,
            format!("interpreter `{executable}`: {}", faults.join("; ")),
            "is it the right interpreter? `--python PATH` names another; a compiler's build is usually found through \
             `PYTHONPATH`, which cells inherit",
        )
    }
}

fn check_name(modules: &[&str]) -> String {
    match modules {
        [] => "interpreter runs".into(),
        [one] => format!("interpreter imports {one}"),
        [first @ .., last] => format!("interpreter imports {} + {last}", first.join(", ")),
    }
}

/// The JSON object in a program's output; imports may have printed lines of their own before it.
fn report_in(stdout: &str) -> Option<Value> {
    let whole = serde_json::from_str::<Value>(stdout.trim()).ok();
    whole
        .or_else(|| stdout.lines().rev().find_map(|line| serde_json::from_str(line.trim()).ok()))
        .filter(Value::is_object)
}

/// What a check for a path found.
#[must_use]
pub fn read_path_check(check: &Check, output: &CheckOutput, hint: &str) -> Finding {
    let path = match &check.action {
        CheckAction::FolderExists(path) | CheckAction::FileExists(path) => path.display().to_string(),
        CheckAction::Run(command) => command.argv.join(" "),
    };
    match output {
        CheckOutput::Exists(true) => Finding::ok(&check.name, format!("`{path}`")),
        CheckOutput::Exists(false) | CheckOutput::Program(_) => {
            Finding::failure(&check.name, format!("`{path}` is not there"), hint)
        }
    }
}

/// Reads a JSON array of operators from a lister's standard output.
///
/// # Errors
/// The program failed, or printed something else.
pub fn read_offered(program: &str, output: &ProgramOutput) -> Result<Vec<Offered>, SuiteError> {
    if output.status != Some(0) {
        let status = output.status.map_or("could not be run".into(), |status| format!("ended with {status}"));
        let why =
            last_line(&output.stderr).or_else(|| last_line(&output.stdout)).unwrap_or("it said nothing");
        return Err(SuiteError::new(
            format!("the program that lists operators, `{program}`, {status}: {why}"),
            "`switchback doctor` checks interpreter and folders",
        ));
    }
    // An import may print; the array is then the last line, or begins at the first `[` that starts a line.
    let text = output.stdout.trim();
    let from_bracket = text.match_indices('[').find(|(at, _)| *at == 0 || text.as_bytes()[at - 1] == b'\n');
    let candidates = [Some(text), text.lines().last(), from_bracket.map(|(at, _)| &text[at..])];
    let mut fault = String::new();
    for candidate in candidates.into_iter().flatten() {
        match serde_json::from_str::<Vec<Offered>>(candidate) {
            Ok(offered) => return Ok(offered),
            Err(error) if fault.is_empty() => fault = error.to_string(),
            Err(_) => {}
        }
    }
    let start: String = text.chars().take(80).collect();
    Err(SuiteError::new(
        format!("`{program}` printed no list of operators ({fault}): `{start}`"),
        "a list is a JSON array of objects with `operator`, `file`, `dtypes`, `detail`",
    ))
}

/// The last line that is not blank.
#[must_use]
pub fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchback_model::finding::Severity;

    fn python(chosen: Option<Option<&str>>) -> Python {
        let mut options = SuiteOptions::default();
        if let Some(value) = chosen {
            options.env.insert("PYTHONPATH".into(), value.map(str::to_owned));
        }
        let surroundings =
            Surroundings { python_path: Some("/build/triton".into()), ..Surroundings::default() };
        Python::new(&options, &surroundings)
    }

    fn path_of(python: &Python) -> String {
        let command = python.module("m", vec![], Path::new("/"), &[Path::new("/probe"), Path::new("/src")]);
        command.env["PYTHONPATH"].clone().unwrap()
    }

    #[test]
    fn the_probe_goes_first_and_what_was_inherited_stays() {
        assert_eq!(path_of(&python(None)), "/probe:/src:/build/triton");
        assert_eq!(path_of(&python(Some(Some("/mine")))), "/probe:/src:/mine");
        assert_eq!(path_of(&python(Some(None))), "/probe:/src");
    }

    fn program(status: i32, stdout: &str, stderr: &str) -> ProgramOutput {
        ProgramOutput { status: Some(status), stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn a_failed_import_names_the_interpreter() {
        let output = program(
            1,
            "some plugin says hello\n{\"executable\": \"/usr/bin/python3.11\", \"modules\": {\"torch\": {\"version\": \"2.11.0\"}, \
             \"triton\": {\"error\": \"ModuleNotFoundError: No module named 'triton'\"}}}\n",
            "",
        );
        let it = python(None).read_check("interpreter imports torch + triton", &output);
        assert_eq!(it.severity, Severity::Failure);
        assert_eq!(
            it.detail,
            "interpreter `/usr/bin/python3.11`: `triton`: \
             ModuleNotFoundError: No module named 'triton'"
        );
        assert!(it.hint.unwrap().contains("PYTHONPATH"));
    }

    #[test]
    fn an_interpreter_that_is_not_there_is_named_too() {
        let output =
            ProgramOutput { status: None, stdout: String::new(), stderr: "No such file or directory".into() };
        let it = python(None).read_check("interpreter imports torch", &output);
        assert_eq!(it.severity, Severity::Failure);
        assert!(it.detail.contains("interpreter `python3` did not run the check"), "{}", it.detail);
        assert!(it.detail.ends_with("No such file or directory"), "{}", it.detail);
    }

    #[test]
    fn versions_are_told_when_all_is_well() {
        let output =
            program(0, r#"{"executable": "/v/bin/python", "modules": {"torch": {"version": "2.11.0"}}}"#, "");
        let it = python(None).read_check("interpreter imports torch", &output);
        assert_eq!((it.severity, it.detail.as_str()), (Severity::Ok, "`/v/bin/python`: torch 2.11.0"));
    }

    #[test]
    fn devices_are_told_and_their_lack_is_a_warning() {
        let modules = r#""executable": "/v/bin/python", "modules": {"torch": {"version": "2.11.0"}}"#;
        let read = |devices: &str| {
            let output = program(0, &format!(r#"{{{modules}, "devices": {devices}}}"#), "");
            python(None).read_check("interpreter imports torch", &output)
        };
        let it = read(r#"[{"index": 0, "name": "NVIDIA H200"}]"#);
        assert_eq!(
            (it.severity, it.detail.as_str()),
            (Severity::Ok, "`/v/bin/python`: torch 2.11.0, device NVIDIA H200")
        );
        let it = read("[]");
        assert_eq!(it.severity, Severity::Warning);
        assert_eq!(it.detail, "`/v/bin/python`: torch 2.11.0; torch sees no device");
    }

    #[test]
    fn a_list_is_read_also_after_lines_of_imports() {
        let list = r#"[{"operator": "perf_sort", "file": "sort", "dtypes": ["float16"], "marks": ["sort"]}]"#;
        for text in [list.to_owned(), format!("[aten] warning\nhello\n{list}\n"), list.replace(", ", ",\n")] {
            let offered = read_offered("p", &program(0, &text, "")).unwrap();
            assert_eq!(offered.len(), 1, "{text}");
            assert_eq!(offered[0].aliases, ["sort"]);
        }
    }

    #[test]
    fn what_is_no_list_is_an_error_with_its_start() {
        let it = read_offered("p", &program(0, "usage: p", "")).unwrap_err();
        assert!(it.message.contains("`usage: p`"), "{}", it.message);
        let it = read_offered("p", &program(2, "", "Traceback\nImportError: x\n")).unwrap_err();
        assert_eq!(it.message, "the program that lists operators, `p`, ended with 2: ImportError: x");
    }
}
