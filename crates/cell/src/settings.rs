//! Times and sizes that a supervisor works with; tests shorten them.

use std::path::PathBuf;
use std::time::Duration;

/// Names the folder of the cards' locks instead of `/tmp/switchback-locks`; all who share the cards must agree on it.
const LOCK_DIR_VARIABLE: &str = "SWITCHBACK_LOCK_DIR";

/// Times and sizes of a supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Folder of the cards' locks; default `/tmp/switchback-locks`, or what `SWITCHBACK_LOCK_DIR` says.
    ///
    /// It is the same for all users. Not below `TMPDIR` or `XDG_RUNTIME_DIR`: these differ between users and between
    /// jobs, whose locks would then never meet.
    pub lock_dir: PathBuf,
    /// Time from TERM to KILL; default 30 s.
    pub grace: Duration,
    /// Time that what the child left behind has to end by itself; default 500 ms.
    pub leak_time: Duration,
    /// Time after KILL before processes are reported as unkillable; default 60 s.
    pub kill_time: Duration,
    /// Time between two readings of the card; default 5 s, zero for none.
    pub telemetry_interval: Duration,
    /// Bytes of output kept from the beginning; default 48 MiB.
    pub log_head_bytes: u64,
    /// Bytes of output kept from the end, in memory until then; default 16 MiB.
    pub log_tail_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lock_dir: "/tmp/switchback-locks".into(),
            grace: Duration::from_secs(30),
            leak_time: Duration::from_millis(500),
            kill_time: Duration::from_secs(60),
            telemetry_interval: Duration::from_secs(5),
            log_head_bytes: 48 * 1024 * 1024,
            log_tail_bytes: 16 * 1024 * 1024,
        }
    }
}

impl Settings {
    /// The defaults, with the folder of the locks that the environment names.
    #[must_use]
    pub fn from_environment() -> Self {
        let mut settings = Self::default();
        if let Some(folder) = std::env::var_os(LOCK_DIR_VARIABLE).filter(|folder| !folder.is_empty()) {
            settings.lock_dir = folder.into();
        }
        settings
    }
}
