//! Runs programs as steps: named, timed, their output shown, a failure told with its command.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

/// A program to run in a folder.
pub struct Step<'a> {
    command: Command,
    shown: String,
    name: &'a str,
}

impl<'a> Step<'a> {
    /// A step that runs `argv` in `folder`.
    pub fn new(name: &'a str, folder: &Path, argv: &[&str]) -> Self {
        let mut command = Command::new(argv.first().copied().unwrap_or_default());
        command.args(argv.iter().skip(1)).current_dir(folder);
        Self { command, shown: argv.join(" "), name }
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it; its output goes where this process's goes.
    ///
    /// # Errors
    /// It cannot be started, or ends with another status than 0.
    pub fn run(self) -> anyhow::Result<()> {
        self.ended_with(&[0])
    }

    /// The same, where other statuses than 0 are no failure.
    ///
    /// # Errors
    /// It cannot be started, or ends with a status that is not among them.
    pub fn ended_with(mut self, good: &[i32]) -> anyhow::Result<()> {
        println!("== {}: {}", self.name, self.shown);
        let start = Instant::now();
        let status = self.command.status().with_context(|| format!("cannot start `{}`", self.shown))?;
        println!("== {}: {:.0} s", self.name, start.elapsed().as_secs_f64());
        if !status.code().is_some_and(|code| good.contains(&code)) {
            bail!("{}: `{}` ended with {status}", self.name, self.shown);
        }
        Ok(())
    }
}
