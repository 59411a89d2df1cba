//! Processes of a campaign, found in `/proc`.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

/// A process that runs.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its command line.
    pub command: Vec<String>,
}

impl Process {
    /// The folder of the cell that a supervisor supervises.
    pub fn cell(&self) -> Option<PathBuf> {
        let at = self.command.iter().position(|word| word == "cell")?;
        Path::new(self.command.get(at + 1)?).parent()?.parent().map(Path::to_owned)
    }

    /// Kills it; false if it is gone.
    pub fn kill(&self) -> bool {
        Pid::from_raw(self.pid.cast_signed()).is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    }
}

/// All processes that run, with their parents; one that ends while it is looked at is left out.
fn all() -> anyhow::Result<Vec<(procfs::process::Process, procfs::process::Stat)>> {
    Ok(procfs::process::all_processes()?
        .flatten()
        .filter_map(|process| {
            let stat = process.stat().ok().filter(|stat| stat.state != 'Z')?;
            Some((process, stat))
        })
        .collect())
}

fn told(process: &procfs::process::Process) -> Process {
    Process { pid: process.pid.cast_unsigned(), command: process.cmdline().unwrap_or_default() }
}

/// The children of a process.
pub fn children(parent: u32) -> anyhow::Result<Vec<Process>> {
    let parent = parent.cast_signed();
    Ok(all()?.iter().filter(|(_, stat)| stat.ppid == parent).map(|(process, _)| told(process)).collect())
}

/// Supervisors whose orders lie below a folder.
pub fn supervisors(folder: &Path) -> anyhow::Result<Vec<Process>> {
    let own = std::process::id();
    Ok(all()?
        .iter()
        .map(|(process, _)| told(process))
        .filter(|process| process.pid != own)
        .filter(|process| process.cell().is_some_and(|cell| cell.starts_with(folder)))
        .collect())
}

/// Processes that have a folder in their command line or environment.
pub fn of_folder(folder: &Path) -> anyhow::Result<Vec<Process>> {
    let own = std::process::id();
    let folder = folder.to_string_lossy();
    Ok(all()?
        .iter()
        .filter(|(process, _)| process.pid.cast_unsigned() != own)
        .filter(|(process, _)| {
            let in_command = told(process).command.iter().any(|word| word.contains(folder.as_ref()));
            let run_dir = process
                .environ()
                .ok()
                .and_then(|variables| variables.get(std::ffi::OsStr::new("SWITCHBACK_RUN_DIR")).cloned());
            in_command || run_dir.is_some_and(|path| path.to_string_lossy().contains(folder.as_ref()))
        })
        .map(|(process, _)| told(process))
        .collect())
}
