//! What the supervisor tells about the machine it runs on.

use std::sync::OnceLock;

/// The host's name.
pub(crate) fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The kernel's release.
pub(crate) fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The kernel's boot id, without which monotonic times of two files cannot be compared; empty if it is not told.
pub(crate) fn boot_id() -> &'static str {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    BOOT_ID.get_or_init(|| {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    })
}

/// The wall clock, UTC, RFC 3339 with milliseconds.
pub(crate) fn utc() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
