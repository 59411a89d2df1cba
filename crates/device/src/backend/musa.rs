//! Moore Threads: only what the scripts before switchback were seen to rely on, on an MTT S5000.
//!
//! No listing tool is named, since none was confirmed; no error text is known to be fatal or poisoning (whole tables
//! of `dropout`, `rand` and `masked_select` fell back case by case without harm), so none is listed rather than
//! guessed. `mthreads-gmi -q --json` is confirmed for telemetry.

use super::Backend;
use crate::telemetry::SamplerKind;

pub(super) static MUSA: Backend = Backend {
    name: "musa",
    visibility: &["MUSA_VISIBLE_DEVICES"],
    companions: &[],
    vendor: "mthreads",
    capture_supported: true,
    capture_denied: &[],
    capture_fatal: &[],
    capture_poisoned: &[],
    capture_recoverable: &[],
    device_errors: &[],
    mm_cluster: false,
    device_lost: &[],
    list_argv: &[],
    sampler: Some(SamplerKind::MthreadsGmi),
    read_listing: |_| Vec::new(),
};
