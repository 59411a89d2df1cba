//! Interpreters for the tests of the probe: one a version of Triton, below `.cache/` in the checkout.
//!
//! Triton alone suffices to compile and, with the tests' driver stand-in, to launch; torch is never installed.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::step::Step;

/// Versions of Triton that the probe is tested with: the oldest, the one on our cards, the newest.
pub const TRITON_VERSIONS: [&str; 3] = ["3.2.0", "3.6.0", "3.9.0"];
/// Pinned, so that a new release cannot turn the tests red.
const PYTEST: &str = "pytest==8.4.2";
const RUFF: &str = "ruff==0.14.6";
const SETUPTOOLS: &str = "setuptools==80.9.0";

/// The interpreters that tests use.
pub struct Interpreters {
    /// One a version in [`TRITON_VERSIONS`], in its order.
    pub triton: Vec<PathBuf>,
    /// The linter's program.
    pub ruff: PathBuf,
}

/// Installs what is not there yet.
///
/// # Errors
/// No `python3`, or a package cannot be had.
pub fn setup(root: &Path) -> anyhow::Result<Interpreters> {
    let mut triton = Vec::new();
    for version in TRITON_VERSIONS {
        let package = format!("triton=={version}");
        triton.push(
            environment(root, &format!("triton-{version}"), &[&package, PYTEST, SETUPTOOLS])?.join("python"),
        );
    }
    let ruff = environment(root, "ruff", &[RUFF])?.join("ruff");
    Ok(Interpreters { triton, ruff })
}

/// A virtual environment's `bin`, made with exactly these packages; a mark says that it is whole.
fn environment(root: &Path, name: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = root.join(".cache/python").join(name);
    let mark = folder.join("switchback-packages");
    let wanted = packages.join("\n");
    let bin = folder.join("bin");
    if std::fs::read_to_string(&mark).is_ok_and(|there| there == wanted) {
        return Ok(bin);
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove `{}`", folder.display()))?;
    }
    let path = folder.to_string_lossy().into_owned();
    Step::new("setup", root, &["python3", "-m", "venv", &path]).run()?;
    let pip = bin.join("python").to_string_lossy().into_owned();
    let mut argv = vec![pip.as_str(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    argv.extend(packages);
    Step::new("setup", root, &argv).run()?;
    std::fs::write(&mark, wanted).with_context(|| format!("cannot write `{}`", mark.display()))?;
    Ok(bin)
}
