//! What the supervisor tells about the machine it runs on.

/// The host's name.
pub(crate) fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The kernel's release.
pub(crate) fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

pub(crate) use switchback_store::boot_id;

/// The wall clock, UTC, RFC 3339 with milliseconds.
pub(crate) fn utc() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
