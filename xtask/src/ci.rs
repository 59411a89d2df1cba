//! All that must hold of a commit, in the order in which a fault is cheapest to see.

use std::path::Path;

use anyhow::bail;

use crate::python::{self, Interpreters, TRITON_VERSIONS};
use crate::step::Step;

/// The steps, in order.
const STEPS: [&str; 6] = ["format", "lint", "doc", "rust", "kills", "python"];

/// Runs the steps that are named, or all.
///
/// # Errors
/// The first step that fails.
pub fn run(root: &Path, wanted: &[&str]) -> anyhow::Result<()> {
    if let Some(unknown) = wanted.iter().find(|step| !STEPS.contains(step)) {
        bail!("`{unknown}` is no step; there are: {}", STEPS.join(", "));
    }
    for step in STEPS.iter().filter(|step| wanted.is_empty() || wanted.contains(step)) {
        match *step {
            "format" => Step::new("format", root, &["cargo", "fmt", "--all", "--check"]).run()?,
            "lint" => lint(root)?,
            "doc" => Step::new("doc", root, &["cargo", "doc", "--workspace", "--no-deps", "--quiet"])
                .env("RUSTDOCFLAGS", "-D warnings")
                .run()?,
            "rust" => rust(root)?,
            // `cargo xtask kills` alone kills 200 times.
            "kills" => crate::kills::run(root, &["--kills", "20"])?,
            _ => python_tests(root)?,
        }
    }
    println!("== all steps passed");
    Ok(())
}

fn lint(root: &Path) -> anyhow::Result<()> {
    let clippy = ["cargo", "clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    Step::new("lint", root, &clippy).run()
}

fn rust(root: &Path) -> anyhow::Result<()> {
    // The Triton that judges canonical forms independently is the one of the cards.
    let interpreters = python::setup(root)?;
    let oracle = TRITON_VERSIONS.iter().position(|version| *version == "3.6.0").unwrap_or(0);
    Step::new("rust", root, &["cargo", "test", "--workspace", "--quiet"])
        .env("SWITCHBACK_TEST_TRITON_PYTHON", &interpreters.triton[oracle])
        .env("INSTA_UPDATE", "no")
        .run()
}

fn python_tests(root: &Path) -> anyhow::Result<()> {
    let Interpreters { triton, ruff } = python::setup(root)?;
    let sources = root.join("crates/suites/python");
    let ruff = ruff.to_string_lossy().into_owned();
    Step::new("ruff", &sources, &[&ruff, "check", "."]).run()?;
    for (version, interpreter) in TRITON_VERSIONS.iter().zip(&triton) {
        let interpreter = interpreter.to_string_lossy().into_owned();
        let name = format!("probe with Triton {version}");
        let tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"];
        let argv: Vec<&str> = std::iter::once(interpreter.as_str()).chain(tests).collect();
        Step::new(&name, &sources, &argv)
            .env("PYTHONPATH", &sources)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SWITCHBACK_TEST_TRITON_VERSION", version)
            .run()?;
    }
    Ok(())
}
