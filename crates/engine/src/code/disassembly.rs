//! Machine code as a reader wants it: through the disassembler that Triton brings along, where one is found.
//!
//! A view: what is the same was decided on the bytes that run. Without a disassembler what differs is counted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use switchback_model::order::Command;

use super::{CompiledCode, StageText};
use crate::program;

/// Where it lies below Triton's folder.
const BELOW_TRITON: &str = "backends/nvidia/bin/nvdisasm";
/// What lies beside it and is named in a kernel's metadata.
const LIBRARY_FOLDER: &str = "backends/nvidia/lib/";
/// The longest a disassembly may take; real ones take milliseconds.
const LIMIT: Duration = Duration::from_secs(60);

/// A disassembler.
#[derive(Debug, Clone)]
pub(super) struct Disassembler(PathBuf);

impl Disassembler {
    /// Looks where the compilers of both sides are known to lie.
    pub fn find(sides: [&CompiledCode; 2]) -> Option<Self> {
        sides.into_iter().flat_map(places).find(|path| path.is_file()).map(Self)
    }

    /// The text of a cubin; none where the disassembler cannot read it.
    pub fn text(&self, cubin: &StageText) -> Option<Vec<u8>> {
        let argv = [self.0.as_path(), Path::new("-c"), cubin.path.as_path()]
            .map(|word| word.to_string_lossy().into_owned());
        let output = program::run(&Command { argv: argv.into(), ..Command::default() }, LIMIT);
        (output.status == Some(0) && !output.stdout.is_empty()).then(|| output.stdout.into_bytes())
    }
}

fn places(code: &CompiledCode) -> Vec<PathBuf> {
    let recorded = code.versions.get("triton_path").map(PathBuf::from);
    let beside_module = recorded.and_then(|path| Some(path.parent()?.join(BELOW_TRITON)));
    // `["libdevice", "…/triton/backends/nvidia/lib/libdevice.10.bc"]` in a kernel's metadata.
    let libraries = code.kernels.iter().filter_map(|kernel| kernel.options.get("extern_libs"));
    let beside_library = libraries
        .flat_map(|libraries| libraries.as_array().cloned().unwrap_or_default())
        .filter_map(|pair| pair.get(1).and_then(Value::as_str).map(str::to_owned))
        .filter_map(|path| {
            let triton = path.split(LIBRARY_FOLDER).next().filter(|start| start.len() < path.len())?;
            Some(Path::new(triton).join(BELOW_TRITON))
        });
    let mut places: Vec<PathBuf> = beside_module.into_iter().chain(beside_library).collect();
    places.dedup();
    places
}
