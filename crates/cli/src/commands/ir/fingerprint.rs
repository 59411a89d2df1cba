//! `ir fingerprint`: what compiled code hashes to, per kernel, variant and stage, and as a whole.

use switchback_engine::code::{self, FoundKind, fingerprint};
use switchback_model::exit_code::ExitCode;
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
