//! Machine code in cubins, made with Triton 3.6's `ptxas` from one recorded `.ptx` (`fill_scalar_kernel`, `sm_90a`).
//!
//! `one` and `other_path` differ in the path of the `.file` directive, `no_line_info` has no `.file`, `.loc` and debug
//! sections, `not_optimised` was assembled with `-O0`. `abi_8` and `abi_8_no_line_info` are the same two texts as `one` and
//! `no_line_info`, assembled with Triton 3.9's `ptxas-blackwell`, which writes a later version of the format.

use switchback_ir::{Digest, Stage, digest, registers_of_cubin};

fn read(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/cubin/{name}.cubin", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

fn code(name: &str) -> Digest {
    let it = digest(&Stage::from_name("cubin"), &read(name));
    assert!(!it.raw && !it.incomplete && it.warnings.is_empty(), "{name}: {it:?}");
    it.digest
}

#[test]
fn paths_and_line_tables_are_no_code() {
    assert_ne!(read("one"), read("other_path"));
    assert_eq!(code("one"), code("other_path"));
    assert_eq!(code("one"), code("no_line_info"));
}

#[test]
fn the_later_format_counts_debug_sections_in_its_head() {
    // `e_flags` lies at 0x30 of a 64-bit ELF head.
    let flags = |name: &str| read(name)[0x30..0x34].to_vec();
    assert_ne!(flags("abi_8"), flags("abi_8_no_line_info"));
    assert_eq!(code("abi_8"), code("abi_8_no_line_info"));
    assert_ne!(code("abi_8"), code("one"));
    let mut other_card = read("abi_8");
    other_card[0x31] ^= 1;
    assert_ne!(digest(&Stage::Sass, &other_card).digest, code("abi_8"));
}

#[test]
fn other_instructions_are_other_code() {
    assert_ne!(code("one"), code("not_optimised"));
}

#[test]
fn every_changed_byte_of_an_instruction_is_seen() {
    let bytes = read("one");
    // `.text.fill_scalar_kernel` begins at 0xc00 and is 0x280 bytes long, says `readelf -S`.
    for at in (0xc00..0xc00 + 0x280).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert_ne!(digest(&Stage::Sass, &changed).digest, code("one"), "byte {at:#x}");
    }
}

#[test]
fn a_changed_register_count_is_seen_and_a_symbol_s_number_is_not() {
    // The first attribute of `.nv.info`, at 0xadc says `readelf -S`: format 4, kind 0x2f, 8 bytes, a symbol, the count.
    let bytes = read("one");
    assert_eq!(bytes[0xadc..0xae8], [4, 0x2f, 8, 0, 9, 0, 0, 0, 10, 0, 0, 0]);
    let with = |at: usize, value: u8| {
        let mut changed = bytes.clone();
        changed[at] = value;
        digest(&Stage::Sass, &changed).digest
    };
    assert_ne!(with(0xae4, 11), code("one"));
    assert_eq!(with(0xae0, 10), code("one"));
}

/// Truth: what `cuobjdump -res-usage` prints of them.
#[test]
fn registers_are_those_that_the_vendor_s_tool_prints() {
    for (name, registers) in [("one", 10), ("not_optimised", 14), ("abi_8", 10)] {
        assert_eq!(registers_of_cubin(&read(name)), Some(registers), "{name}");
    }
    assert_eq!(registers_of_cubin(b"\x7fELF"), None);
    assert_eq!(registers_of_cubin(b""), None);
}

#[test]
fn a_cut_off_cubin_is_said_to_be_one() {
    let bytes = read("one");
    for length in [4, 64, 1000, bytes.len() / 2] {
        let it = digest(&Stage::Sass, &bytes[..length]);
        assert!(it.incomplete && !it.warnings.is_empty(), "{length}: {it:?}");
    }
}
