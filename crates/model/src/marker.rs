//! The words that the scripts before switchback wrote into logs, and that people still search for.

/// A tuner's key was not in the recording, so the config came from elsewhere.
pub const REPLAY_FALLBACK: &str = "AUTOTUNE_REPLAY_FALLBACK";
/// A case could not be captured and was timed `direct`.
pub const NO_CUDAGRAPH: &str = "BENCHMARK_DIRECT_NO_CUDAGRAPH";
/// A failed capture made every later capture of the process fail.
pub const CAPTURE_POISONED: &str = "BENCHMARK_CAPTURE_POISONED";
/// Another vendor's implementation was loaded.
pub const FOREIGN_VENDOR_MODULE: &str = "FOREIGN_VENDOR_MODULE";
/// A cell was ended at its deadline.
pub const CELL_TIMEOUT: &str = "CELL_TIMEOUT";
/// Both sides' code is identical after the first round.
pub const SWITCH_NO_IR_DIFF: &str = "SWITCH_NO_IR_DIFF";
/// A check before the first measurement failed.
pub const PREFLIGHT_FAILED: &str = "PREFLIGHT_FAILED";
