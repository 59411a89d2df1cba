//! Which variant of a kernel a compiled text belongs to, told from the metadata beside it.
//!
//! Only what a launch chooses counts. Results of compiling (`shared`, scratch sizes), the cache's `hash`
//! and options that an environment variable sets are left out: the key must not move with the switch.
//! Constexprs are not in the metadata, so several texts may share a key; [`crate::compare`] allows that.

use serde_json::{Map, Value};

/// Options chosen by a launch or by a tuner's configuration, whatever the back end.
const LAUNCH_OPTIONS: [&str; 16] = [
    "cluster_dims",
    "kpack",
    "launch_cooperative_grid",
    "launch_pdl",
    "matrix_instr_nonkdim",
    "maxnreg",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "num_ctas",
    "num_stages",
    "num_warps",
    "reg_dec_producer",
    "reg_inc_consumer",
    "schedule_hint",
    "tensordesc_meta",
    "waves_per_eu",
];

/// The variant key of a kernel's metadata (the object in Triton's `.json` beside the texts).
///
/// Shape: `key=value` pairs joined by spaces, sorted by key; options that are absent or null are left
/// out. Empty if the metadata names no option of a launch.
#[must_use]
pub fn variant_of_metadata(metadata: &Map<String, Value>) -> String {
    LAUNCH_OPTIONS
        .iter()
        .filter_map(|option| match metadata.get(*option)? {
            Value::Null => None,
            value => Some(format!("{option}={value}")),
        })
        .collect::<Vec<_>>()
        .join(" ")
}
