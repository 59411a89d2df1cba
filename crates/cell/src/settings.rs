//! Times and sizes that a supervisor works with; tests shorten them.

use std::path::PathBuf;
use std::time::Duration;

/// Names the folder of the cards' locks instead of `/tmp/switchback-locks`; all who share the cards must agree on it.
const LOCK_DIR_VARIABLE: &str = "SWITCHBACK_LOCK_DIR";

/// Seconds between two readings of the card, instead of the sampler's own period; 0 for none.
const TELEMETRY_INTERVAL_VARIABLE: &str = "SWITCHBACK_TELEMETRY_INTERVAL";

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
    /// Time between two readings of the card; default none, which is the sampler's own (1 s through a library, 5 s with a
    /// tool), or what `SWITCHBACK_TELEMETRY_INTERVAL` says in seconds. Zero turns telemetry off.
    pub telemetry_interval: Option<Duration>,
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
            telemetry_interval: None,
            log_head_bytes: 48 * 1024 * 1024,
            log_tail_bytes: 16 * 1024 * 1024,
        }
    }
}

impl Settings {
    /// The defaults, with the folder of the locks and the sampling period that the environment names.
    ///
    /// A period that is no number of seconds is left out: a cell must not fail for want of telemetry.
    #[must_use]
    pub fn from_environment() -> Self {
        let mut settings = Self::default();
        if let Some(folder) = std::env::var_os(LOCK_DIR_VARIABLE).filter(|folder| !folder.is_empty()) {
            settings.lock_dir = folder.into();
        }
        settings.telemetry_interval = std::env::var(TELEMETRY_INTERVAL_VARIABLE)
            .ok()
            .and_then(|text| Duration::try_from_secs_f64(text.trim().parse().ok()?).ok());
        settings
    }
}
