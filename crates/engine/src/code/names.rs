//! Texts under readable names: a folder to look into, beside the ones that are named by hash.
//!
//! A view that is written once into a new folder: `<name>.<stage>`, `index.tsv` that maps every name, `naming.md` that
//! explains the abbreviations. Nothing of the original is renamed.

use std::path::Path;

use switchback_ir::{IndexRow, VariantDescription, readable_names};
use switchback_store::{StoreError, atomic};

use super::CompiledCode;
use crate::error::EngineError;

/// Writes the texts of a side's code into a new folder; returns how many kernels it holds.
///
/// # Errors
/// The folder has something in it, cannot be written, or a text is gone.
pub fn write(code: &CompiledCode, folder: &Path) -> Result<usize, EngineError> {
    let unwritable = |source| StoreError::Io { action: "create", path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    if std::fs::read_dir(folder).map_err(unwritable)?.next().is_some() {
        return Err(StoreError::Exists { path: folder.to_owned() }.into());
    }
    let descriptions: Vec<VariantDescription> =
        code.kernels.iter().map(|kernel| kernel.description.clone()).collect();
    let names = readable_names(&descriptions);
    let mut index = format!("{}\tstages\tplace\n", IndexRow::TSV_HEADER);
    for (kernel, row) in code.kernels.iter().zip(&names.rows) {
        let mut stages = Vec::new();
        for (stage, text) in &kernel.stages {
            let name = format!("{}.{}", row.name, stage.name());
            atomic::write(&folder.join(&name), &text.read()?)?;
            stages.push(stage.name());
        }
        let place = kernel.place.replace(['\t', '\n', '\r'], " ");
        index.push_str(&format!("{}\t{}\t{place}\n", row.tsv(), stages.join(" ")));
    }
    atomic::write(&folder.join("index.tsv"), index.as_bytes())?;
    let naming = format!(
        "# Names\n\nTexts of {}.\n\nA name holds the kernel and the constants in which its variants differ; where they do not tell, the\ndtypes, the \
         arguments known to be divisible by 16 (`div16`), or the beginning of the hash. `index.tsv` has\neverything.\n\n{}",
        code.origin,
        names.legend_markdown()
    );
    atomic::write(&folder.join("naming.md"), naming.as_bytes())?;
    Ok(code.kernels.len())
}
