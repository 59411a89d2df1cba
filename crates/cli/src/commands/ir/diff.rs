//! `ir diff`: what changed between two sides' code.

use std::path::Path;

use switchback_engine::code::{self, CompiledCode, diff};
use switchback_engine::{EngineError, prepare};
use switchback_model::exit_code::ExitCode;
use switchback_model::side::Side;
use switchback_report::ir_diff;

use crate::args::IrDiffArgs;
use crate::failure::Message;
use crate::session;

pub fn run(args: &IrDiffArgs) -> anyhow::Result<ExitCode> {
    let (a, b) = sides(args)?;
    let choice = diff::DiffChoice { kernel: args.kernel.clone(), stage: args.stage.clone() };
    let it = diff::diff(&a, &b, &choice)?;
    session::print(&ir_diff::render(&values(it), &session::style(), args.kernel.is_some()));
    Ok(ExitCode::Success)
}

/// Both sides: an operator of a campaign, or two folders.
fn sides(args: &IrDiffArgs) -> anyhow::Result<(CompiledCode, CompiledCode)> {
    let program = session::program()?;
    let second = Path::new(&args.b);
    if !second.is_dir() {
        let campaign = prepare::read(&args.a, &program)?;
        let operators: Vec<&str> =
            campaign.request.operators.iter().map(|spec| spec.operator.as_str()).collect();
        let Some(operator) = operators.iter().find(|name| **name == args.b) else {
            return Err(Message::usage(
                format!("`{}` is neither a folder nor an operator of this campaign", args.b),
                format!("its operators are: {}", operators.join(", ")),
            ));
        };
        if campaign.request.goal == switchback_engine::request::Goal::Run {
            return Err(Message::usage(
                "a single run has one side",
                "`switchback ir diff RUN_A RUN_B` compares two",
            ));
        }
        let side = |side| code::of_operator(&campaign, operator, side);
        return Ok((side(Side::A)?, side(Side::B)?));
    }
    let one = |path: &Path| -> Result<CompiledCode, EngineError> {
        let found = code::find(path, &program)?;
        let mut sides = found.sides;
        if sides.len() != 1 {
            return Err(EngineError::usage(
                format!("`{}` holds two sides", path.display()),
                "`switchback ir diff DIR OPERATOR` compares the sides of a campaign",
            ));
        }
        Ok(sides.remove(0).1)
    };
    Ok((one(&args.a)?, one(second)?))
}

fn values(it: diff::CodeDiff) -> ir_diff::IrDiff {
    ir_diff::IrDiff {
        a: it.a,
        b: it.b,
        outcome: match it.verdict {
            diff::CodeVerdict::Same => ir_diff::Outcome::Same,
            diff::CodeVerdict::Changed => ir_diff::Outcome::Changed,
            diff::CodeVerdict::NoIr => ir_diff::Outcome::NoEvidence,
        },
        first_stage: it.first_stage,
        ranked_by: match it.ranked_by {
            diff::RankedBy::Time => Some("time"),
            diff::RankedBy::Launches => Some("launches"),
            diff::RankedBy::Name => None,
        },
        kernels: it
            .kernels
            .into_iter()
            .map(|kernel| ir_diff::Kernel {
                name: kernel.kernel,
                share: kernel.share,
                first_stage: kernel.first_stage,
                variants: kernel.variants.into_iter().map(variant).collect(),
            })
            .collect(),
        legend: it.legend,
        stamps: it.stamps,
        notes: it.notes,
    }
}

fn variant(it: diff::VariantDiff) -> ir_diff::Variant {
    let takes = |resources: Option<code::Resources>, instructions: Option<u64>| {
        let resources = resources.unwrap_or_default();
        ir_diff::Takes {
            registers: resources.registers,
            spills: resources.spills,
            shared_bytes: resources.shared_bytes,
            instructions,
            compile_ms: resources.compile_ms,
        }
    };
    let (stage, in_a, in_b) = it.instructions.map_or((None, None, None), |it| (Some(it.stage), it.a, it.b));
    let shown_stage = it.shown.as_ref().map(|shown| shown.stage.clone());
    let (remark, lines, aliases) =
        it.shown.map_or((None, Vec::new(), Vec::new()), |shown| (shown.remark, shown.rows, shown.aliases));
    ir_diff::Variant {
        name: it.name,
        difference: it.difference,
        changed: it.changed,
        launches: it.launches,
        places: it.places,
        stages: it.stages,
        takes: (takes(it.resources.0, in_a), takes(it.resources.1, in_b)),
        instruction_stage: stage,
        operations: it.operations.into_iter().map(|it| (it.name, it.a, it.b)).collect(),
        shown_stage,
        lines: lines
            .into_iter()
            .map(|row| ir_diff::Line {
                kind: match row.kind {
                    diff::ShownKind::Same => ir_diff::LineKind::Same,
                    diff::ShownKind::Changed => ir_diff::LineKind::Changed,
                    diff::ShownKind::OnlyA => ir_diff::LineKind::OnlyA,
                    diff::ShownKind::OnlyB => ir_diff::LineKind::OnlyB,
                },
                a: row.a,
                b: row.b,
                source: row.source,
            })
            .collect(),
        aliases,
        remark,
    }
}
