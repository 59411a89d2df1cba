//! `sass` as a cubin: an ELF file, whatever its head claims.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchback_ir::{Stage, canonical, digest};

/// The first bytes of an ELF file; the fuzzer need not find them.
const MAGIC: &[u8] = b"\x7fELF";

fuzz_target!(|bytes: &[u8]| {
    let file = [MAGIC, bytes.strip_prefix(MAGIC).unwrap_or(bytes)].concat();
    let whole = canonical(&Stage::Sass, &file);
    let streamed = digest(&Stage::Sass, &file);
    assert_eq!((streamed.incomplete, &streamed.warnings), (whole.incomplete, &whole.warnings));
    // Sections may lie over each other, so that a small file claims much; what is kept is bounded all the same.
    assert!(whole.text.len() <= 64 * file.len() + 4096, "{} of {}", whole.text.len(), file.len());
});
