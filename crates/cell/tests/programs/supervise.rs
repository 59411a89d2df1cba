//! `switchback cell ORDER` for the tests, with times short enough to wait for.
//!
//! `TEST_GRACE_MS` sets the grace, the lock folder comes from `SWITCHBACK_LOCK_DIR` as it does for everybody.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use switchback_cell::{Settings, supervise_with};

fn main() -> ExitCode {
    let order = PathBuf::from(std::env::args_os().nth(1).expect("the order's path"));
    let grace_ms = std::env::var("TEST_GRACE_MS").expect("a grace").parse().expect("milliseconds");
    let settings = Settings {
        grace: Duration::from_millis(grace_ms),
        leak_time: Duration::from_millis(100),
        log_head_bytes: 64 * 1024,
        log_tail_bytes: 64 * 1024,
        ..Settings::from_environment()
    };
    ExitCode::from(supervise_with(&order, &settings))
}
