//! The suites by name, and what they must know of their surroundings.
//!
//! The one place of this crate that looks at the machine: working folder, inherited module path, digest of the shape
//! file. Everything after it is a value made from values.

use std::path::{Path, PathBuf};

use crate::command::CommandSuite;
use crate::cpu::Cpu;
use crate::embedded::sha256;
use crate::flaggems::FlagGems;
use crate::resolve::nearest;
use crate::suite::{Suite, SuiteError, SuiteOptions};
use crate::triton::Triton;

/// Names of the suites, as `--suite` takes them.
pub const NAMES: [&str; 4] = ["cpu", "triton", "flaggems", "command"];

/// What of the machine goes into a suite's commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The working folder, absolute; relative paths in options start here.
    pub cwd: PathBuf,
    /// The inherited `PYTHONPATH`: where a compiler's build usually comes from, so it must not be lost.
    pub python_path: Option<String>,
    /// SHA-256 of the shape file, if there is one that can be read.
    pub shape_digest: Option<String>,
}

impl Surroundings {
    /// Looks at the process's own.
    #[must_use]
    pub fn here(options: &SuiteOptions) -> Self {
        Self {
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            python_path: std::env::var("PYTHONPATH").ok().filter(|path| !path.is_empty()),
            shape_digest: options
                .shape_file
                .as_deref()
                .and_then(|path| std::fs::read(path).ok())
                .map(|bytes| sha256(&bytes)),
        }
    }
}

/// A suite by its name, in the process's own surroundings.
///
/// # Errors
/// No suite has the name, or an option that it needs is missing.
pub fn suite(
    name: &str,
    options: &SuiteOptions,
    switchback_exe: &Path,
) -> Result<Box<dyn Suite>, SuiteError> {
    suite_in(name, options, switchback_exe, &Surroundings::here(options))
}

/// A suite by its name, in given surroundings.
///
/// # Errors
/// No suite has the name, or an option that it needs is missing.
pub fn suite_in(
    name: &str,
    options: &SuiteOptions,
    switchback_exe: &Path,
    surroundings: &Surroundings,
) -> Result<Box<dyn Suite>, SuiteError> {
    let options = absolute(options, &surroundings.cwd);
    Ok(match name {
        "cpu" => Box::new(Cpu::new(options, switchback_exe, surroundings)),
        "triton" => Box::new(Triton::new(options, surroundings)),
        "flaggems" => Box::new(FlagGems::new(options, surroundings)?),
        "command" => Box::new(CommandSuite::new(options, surroundings)?),
        other => {
            let near = nearest(other, NAMES, 1);
            let hint = match near.first() {
                Some(name) => format!("`{name}` is the nearest of {}", quoted(&NAMES)),
                None => format!("there are {}", quoted(&NAMES)),
            };
            return Err(SuiteError::new(format!("no suite is called `{other}`"), hint));
        }
    })
}

/// Makes paths absolute, as children run elsewhere. An interpreter without a `/` is looked up in `PATH`; links are
/// left as they are, since a virtual environment is recognised by the path of its link.
fn absolute(options: &SuiteOptions, cwd: &Path) -> SuiteOptions {
    let mut options = options.clone();
    options.flaggems_dir = options.flaggems_dir.map(|path| cwd.join(path));
    options.shape_file = options.shape_file.map(|path| cwd.join(path));
    options.python = options.python.map(|python| {
        if python.contains('/') { cwd.join(python).to_string_lossy().into_owned() } else { python }
    });
    options
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str) -> SuiteError {
        suite_in(name, &SuiteOptions::default(), Path::new("/bin/sb"), &Surroundings::default())
            .err()
            .expect("it is refused")
    }

    #[test]
    fn an_unknown_name_is_told_the_nearest() {
        let it = error("flagems");
        assert_eq!(it.message, "no suite is called `flagems`");
        assert_eq!(it.hint.unwrap(), "`flaggems` is the nearest of `cpu`, `triton`, `flaggems`, `command`");
        assert_eq!(error("zzz").hint.unwrap(), "there are `cpu`, `triton`, `flaggems`, `command`");
    }

    #[test]
    fn every_name_makes_the_suite_of_that_name() {
        let options = SuiteOptions {
            flaggems_dir: Some("FlagGems".into()),
            command: vec!["./bench".into()],
            ..SuiteOptions::default()
        };
        for name in NAMES {
            let suite = suite_in(name, &options, Path::new("/bin/sb"), &Surroundings::default()).unwrap();
            assert_eq!(suite.name(), name);
            assert!(!suite.pairings().is_empty());
        }
    }

    #[test]
    fn relative_paths_start_at_the_working_folder_and_a_bare_interpreter_stays() {
        let options = SuiteOptions {
            python: Some("venv/bin/python".into()),
            flaggems_dir: Some("FlagGems".into()),
            shape_file: Some("/abs/shapes.yaml".into()),
            ..SuiteOptions::default()
        };
        let it = absolute(&options, Path::new("/home/u"));
        assert_eq!(it.python.as_deref(), Some("/home/u/venv/bin/python"));
        assert_eq!(it.flaggems_dir.as_deref(), Some(Path::new("/home/u/FlagGems")));
        assert_eq!(it.shape_file.as_deref(), Some(Path::new("/abs/shapes.yaml")));
        let bare = SuiteOptions { python: Some("python3".into()), ..SuiteOptions::default() };
        assert_eq!(absolute(&bare, Path::new("/home/u")).python.as_deref(), Some("python3"));
    }

    #[test]
    fn the_shape_file_is_known_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shapes.yaml");
        std::fs::write(&path, "abc").unwrap();
        let options = SuiteOptions { shape_file: Some(path), ..SuiteOptions::default() };
        let digest = Surroundings::here(&options).shape_digest.unwrap();
        assert!(digest.starts_with("ba7816bf8f01cfea"), "{digest}");
    }
}
