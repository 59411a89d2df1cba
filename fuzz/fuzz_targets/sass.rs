//! `sass`: a disassembly.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use switchback_ir::Stage;

fuzz_target!(|bytes: &[u8]| {
    common::check(&Stage::Sass, bytes);
});
