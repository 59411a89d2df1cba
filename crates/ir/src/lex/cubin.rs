//! NVIDIA's machine code as the driver loads it: an ELF file, of which the sections that run are kept.
//!
//! A cubin holds paths of sources and generated files (line tables), names (symbol and string tables) and a note with
//! the assembler's command line; the same code compiled in another folder differs in them and in nothing else. Sections
//! that refer to symbols by number (`.nv.info`, the call graph, relocations) change with the number of debug symbols;
//! what they say stands in the `ptx` stage as well. Kept are all other sections by name and content (instructions,
//! constants, shared memory) and each kernel's register count, from the head of its section.

use object::elf::SHT_NOBITS;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

use crate::output::Output;

/// The first bytes of an ELF file.
pub(crate) const MAGIC: &[u8] = b"\x7fELF";

/// Sections that say where code came from and how it is linked, not what runs.
const LEFT_OUT: [&str; 8] =
    ["debug", ".note", "symtab", "strtab", ".comment", ".nv.info", ".nv.callgraph", ".rel"];
/// Where a code section's head keeps the register count; the bits below are a symbol's number.
const REGISTERS_SHIFT: u32 = 24;
/// The part of the file's flags that says what the code is for: the card and how addresses are kept. From version 8 of
/// the format on the highest byte moves with the number of debug sections (seen: 9 with line tables, 6 without).
const FLAGS_OF_CODE: u32 = 0x00ff_ffff;

/// Writes the sections that run, ordered by name; a file that is no whole ELF is kept as it stands.
pub(crate) fn write(bytes: &[u8], output: &mut Output) {
    match sections(bytes) {
        Ok(code) => {
            output.raw(&code);
            output.raw = false;
        }
        Err(reason) => {
            output.raw(bytes);
            output.incomplete = true;
            output.warn(format!("cubin cannot be read ({reason}): compared byte by byte"));
        }
    }
}

fn sections(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let told = |error: object::Error| error.to_string();
    let header = elf::FileHeader64::<Endianness>::parse(bytes).map_err(told)?;
    let endian = header.endian().map_err(told)?;
    let table = header.sections(endian, bytes).map_err(told)?;
    let mut kept: Vec<(&[u8], u64, u32, &[u8])> = Vec::new();
    for section in table.iter() {
        let name = table.section_name(endian, section).map_err(told)?;
        let readable = String::from_utf8_lossy(name);
        if name.is_empty() || LEFT_OUT.iter().any(|word| readable.contains(word)) {
            continue;
        }
        let data = if section.sh_type(endian) == SHT_NOBITS {
            &[][..]
        } else {
            section.data(endian, bytes).map_err(told)?
        };
        kept.push((name, section.sh_size(endian), section.sh_info(endian) >> REGISTERS_SHIFT, data));
    }
    if kept.is_empty() {
        return Err("it has no section that runs".into());
    }
    kept.sort_unstable();
    let mut code = (header.e_flags(endian) & FLAGS_OF_CODE).to_le_bytes().to_vec();
    for (name, size, registers, data) in kept {
        code.extend((name.len() as u64).to_le_bytes());
        code.extend(name);
        code.extend(size.to_le_bytes());
        code.extend(registers.to_le_bytes());
        code.extend(data);
    }
    Ok(code)
}
