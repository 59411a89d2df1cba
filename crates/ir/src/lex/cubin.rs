//! NVIDIA's machine code as the driver loads it: an ELF file, of which the sections that run are kept.
//!
//! A cubin holds paths of sources and generated files (line tables), names (symbol and string tables) and a note with
//! the assembler's command line; the same code compiled in another folder differs in them and in nothing else. Sections
//! that refer to symbols by number (`.nv.info`, the call graph, relocations) change with the number of debug symbols; of
//! `.nv.info` only what a launch depends on is kept, without the numbers: registers, stack and limits of threads. All
//! other sections are kept by name and content (instructions, constants, shared memory).

use object::elf::SHT_NOBITS;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

use crate::output::Output;

/// The first bytes of an ELF file.
pub(crate) const MAGIC: &[u8] = b"\x7fELF";

/// Sections that say where code came from and how it is linked, not what runs.
const LEFT_OUT: [&str; 7] = ["debug", ".note", "symtab", "strtab", ".comment", ".nv.callgraph", ".rel"];
/// Where a code section's head keeps the register count in files for older cards; the bits below are a symbol's number.
const REGISTERS_SHIFT: u32 = 24;
/// How the names of the sections begin that hold attributes; one for the file, one a kernel.
const INFO: &[u8] = b".nv.info";
/// The format of an attribute whose value has a length of its own.
const SIZED_VALUE: u8 = 4;
// Kinds of attributes, as `cuobjdump -elf` names them: EIATTR_REGCOUNT, _FRAME_SIZE, _MIN_STACK_SIZE, _MAX_STACK_SIZE,
// each behind a symbol's number; _MAX_THREADS, _REQNTID, _MAXREG_COUNT, each of one kernel.
const REGISTER_COUNT: u8 = 0x2f;
const FRAME_SIZE: u8 = 0x11;
const LEAST_STACK: u8 = 0x12;
const MOST_STACK: u8 = 0x23;
const MOST_THREADS: u8 = 0x05;
const REQUIRED_THREADS: u8 = 0x10;
const MOST_REGISTERS: u8 = 0x1b;
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

/// The most registers a thread of any kernel in the file takes; none if it is no whole cubin that tells.
pub(crate) fn registers(bytes: &[u8]) -> Option<u64> {
    let header = elf::FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let table = header.sections(endian, bytes).ok()?;
    table
        .iter()
        .filter(|section| table.section_name(endian, section).is_ok_and(|name| name == INFO))
        .filter_map(|section| section.data(endian, bytes).ok())
        .flat_map(attributes)
        .filter(|attribute| attribute.kind == REGISTER_COUNT)
        .filter_map(|attribute| {
            Some(u64::from(u32::from_le_bytes(attribute.value.get(4..8)?.try_into().ok()?)))
        })
        .max()
}

/// One entry of a `.nv.info` section.
struct Attribute<'a> {
    kind: u8,
    value: &'a [u8],
}

/// Reads entries as far as they are whole: a format, a kind, then two bytes of value or of length.
fn attributes(mut data: &[u8]) -> Vec<Attribute<'_>> {
    let mut found = Vec::new();
    while let [format, kind, low, high, rest @ ..] = data {
        let (value, behind) = match *format {
            SIZED_VALUE => {
                let Some(parts) = rest.split_at_checked(usize::from(u16::from_le_bytes([*low, *high])))
                else {
                    break;
                };
                parts
            }
            1..SIZED_VALUE => (&data[2..4], rest),
            _ => break,
        };
        found.push(Attribute { kind: *kind, value });
        data = behind;
    }
    found
}

/// What of a `.nv.info` section a launch depends on; numbers of symbols are left out.
fn launch_attributes(data: &[u8]) -> Vec<u8> {
    let mut kept: Vec<(u8, &[u8])> = attributes(data)
        .into_iter()
        .filter_map(|attribute| match attribute.kind {
            REGISTER_COUNT | FRAME_SIZE | LEAST_STACK | MOST_STACK => {
                Some((attribute.kind, attribute.value.get(4..).unwrap_or(attribute.value)))
            }
            MOST_THREADS | REQUIRED_THREADS | MOST_REGISTERS => Some((attribute.kind, attribute.value)),
            _ => None,
        })
        .collect();
    kept.sort_unstable();
    let mut bytes = Vec::new();
    for (kind, value) in kept {
        bytes.push(kind);
        bytes.extend((value.len() as u64).to_le_bytes());
        bytes.extend(value);
    }
    bytes
}

fn sections(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let told = |error: object::Error| error.to_string();
    let header = elf::FileHeader64::<Endianness>::parse(bytes).map_err(told)?;
    let endian = header.endian().map_err(told)?;
    let table = header.sections(endian, bytes).map_err(told)?;
    let mut kept: Vec<(&[u8], u64, u32, &[u8])> = Vec::new();
    let mut attributes: Vec<(&[u8], Vec<u8>)> = Vec::new();
    for section in table.iter() {
        let name = table.section_name(endian, section).map_err(told)?;
        let readable = String::from_utf8_lossy(name);
        if name.starts_with(INFO) {
            attributes.push((name, launch_attributes(section.data(endian, bytes).map_err(told)?)));
            continue;
        }
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
    attributes.sort_unstable();
    let mut code = (header.e_flags(endian) & FLAGS_OF_CODE).to_le_bytes().to_vec();
    for (name, size, registers, data) in kept {
        code.extend((name.len() as u64).to_le_bytes());
        code.extend(name);
        code.extend(size.to_le_bytes());
        code.extend(registers.to_le_bytes());
        code.extend(data);
    }
    for (name, bytes) in attributes {
        code.extend((name.len() as u64).to_le_bytes());
        code.extend(name);
        code.extend((bytes.len() as u64).to_le_bytes());
        code.extend(bytes);
    }
    Ok(code)
}
