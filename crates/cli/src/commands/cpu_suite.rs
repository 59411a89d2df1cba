//! The embedded cpu suite's own programs, which its cells and listings run.

use std::path::PathBuf;

use anyhow::Context;

use crate::args::CpuSuiteCommand;
use crate::session;

pub fn run(command: &CpuSuiteCommand) -> anyhow::Result<u8> {
    match command {
        CpuSuiteCommand::List => {
            session::print(&serde_json::to_string(&switchback_cpu_suite::list())?);
            Ok(0)
        }
        CpuSuiteCommand::Cell => {
            let dir = std::env::var_os("SWITCHBACK_RUN_DIR")
                .map(PathBuf::from)
                .context("`SWITCHBACK_RUN_DIR` is not set: this is started by a cell's supervisor")?;
            let status = switchback_cpu_suite::run_cell_in(&dir)
                .with_context(|| format!("cannot measure the cell in `{}`", dir.display()))?;
            Ok(u8::try_from(status).unwrap_or(1))
        }
    }
}
