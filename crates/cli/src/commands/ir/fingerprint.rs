//! `ir fingerprint`: what compiled code hashes to, per kernel, variant and stage, and as a whole.

use std::path::{Path, PathBuf};

use switchback_engine::code::{self, FoundKind, fingerprint};
use switchback_model::exit_code::ExitCode;
use switchback_model::side::Side;
use switchback_report::ir_fingerprint;

use crate::args::IrFingerprintArgs;
use crate::session;

pub fn run(args: &IrFingerprintArgs) -> anyhow::Result<ExitCode> {
    let program = session::program()?;
    let style = session::style();
    let mut first = true;
    for folder in &args.dirs {
        let found = code::find(folder, &program)?;
        for (side, code) in &found.sides {
            if let Some(names) = &args.names {
                code::names::write(
                    code,
                    &folder_of(names, args.dirs.len(), folder, found.sides.len(), *side),
                )?;
            }
            let it = fingerprint::fingerprint(code);
            if args.json {
                let line = serde_json::json!({
                    "origin": it.origin,
                    "side": (found.kind != FoundKind::Folder).then(|| side.to_string()),
                    "fingerprint": it.fingerprint,
                    "kernels": it.kernels.iter().map(|kernel| serde_json::json!({
                        "kernel": kernel.kernel,
                        "name": kernel.name,
                        "variant": kernel.variant,
                        "launches": kernel.launches,
                        "stages": kernel.stages.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                    })).collect::<Vec<_>>(),
                    "stamps": it.stamps,
                    "notes": it.notes,
                });
                session::print(&line.to_string());
                continue;
            }
            if !first {
                session::print("");
            }
            first = false;
            session::print(&ir_fingerprint::render(&values(it), &style));
        }
    }
    Ok(ExitCode::Success)
}

/// A folder of its own for each side and source; the asked one itself where there is only one.
fn folder_of(names: &Path, sources: usize, source: &Path, sides: usize, side: Side) -> PathBuf {
    let mut folder = names.to_owned();
    if sources > 1 {
        // Two sources of one name would meet in one folder, which is refused rather than mixed.
        folder.push(source.file_name().unwrap_or(source.as_os_str()));
    }
    if sides > 1 {
        folder.push(side.to_string());
    }
    folder
}

fn values(it: fingerprint::CodeFingerprint) -> ir_fingerprint::IrFingerprint {
    ir_fingerprint::IrFingerprint {
        origin: it.origin,
        fingerprint: it.fingerprint,
        kernels: it
            .kernels
            .into_iter()
            .map(|kernel| ir_fingerprint::Kernel {
                name: kernel.name,
                launches: kernel.launches,
                stages: kernel.stages,
            })
            .collect(),
        legend: it.legend,
        stamps: it.stamps,
        notes: it.notes,
    }
}
