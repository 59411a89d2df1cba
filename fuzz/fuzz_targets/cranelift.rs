//! The cpu suite's stages: `clif`, `clif_opt`, `vcode`, `bytes`, and a stage without rules.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use switchback_ir::Stage;

fuzz_target!(|bytes: &[u8]| {
    for name in ["clif", "clif_opt", "vcode", "bytes", "unknown"] {
        common::check(&Stage::from_name(name), bytes);
    }
});
