//! What needs a card: both GPU suites under a switch that Triton really has, and what must come out.
//!
//! `DISABLE_MMA_V3` takes Hopper's matrix instructions away: matmuls differ from `ttgir` on, nothing else does.

mod cards;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::step::Step;

/// Runs the checks.
///
/// # Errors
/// No card, or a verdict that must come out and did not.
pub fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let option = |name: &str| {
        arguments.iter().position(|argument| *argument == name).and_then(|at| arguments.get(at + 1)).copied()
    };
    // The cpu suite's virtual cards need none.
    if arguments.contains(&"--campaign") && option("--suite") == Some("cpu") {
        return cards::run(root, arguments);
    }
    let cards = Command::new("nvidia-smi").arg("-L").output();
    if !cards.is_ok_and(|output| output.status.success() && !output.stdout.is_empty()) {
        bail!("no NVIDIA card here: `nvidia-smi -L` lists none");
    }
    if arguments.contains(&"--campaign") {
        return cards::run(root, arguments);
    }
    Step::new("build", root, &["cargo", "build", "--release", "--quiet"]).run()?;
    let program = root.join("target/release/switchback").to_string_lossy().into_owned();
    let python = option("--python").unwrap_or("python3");
    let common = ["--switch", "DISABLE_MMA_V3", "--rounds", "3", "--python", python];
    let triton = root.join("runs/gpu-triton");
    check(
        root,
        &program,
        "triton",
        &triton,
        &common,
        &[],
        &[("matmul", "IR_CHANGED"), ("add_autotuned", "NO_IR_DIFF")],
    )?;
    let Some(flaggems) = option("--flaggems-dir") else {
        println!("== flaggems: skipped, `--flaggems-dir DIR` names a checkout");
        return Ok(());
    };
    let options = ["--flaggems-dir", flaggems, "--dtypes", "float16", "--level", "core"];
    let expected =
        [("mm", "IR_CHANGED"), ("softmax", "NO_IR_DIFF"), ("topk", "NO_IR_DIFF"), ("sort", "NO_IR_DIFF")];
    check(root, &program, "flaggems", &root.join("runs/gpu-flaggems"), &common, &options, &expected)
}

fn check(
    root: &Path,
    program: &str,
    suite: &str,
    out: &Path,
    common: &[&str],
    options: &[&str],
    expected: &[(&str, &str)],
) -> anyhow::Result<()> {
    let out_text = out.to_string_lossy().into_owned();
    let mut argv = vec![program, "ab", "--suite", suite, "--out", &out_text];
    argv.extend(common);
    argv.extend(options);
    argv.extend(expected.iter().map(|(operator, _)| operator));
    Step::new(suite, root, &argv).run()?;
    let text =
        std::fs::read_to_string(out.join("report.json")).context("the campaign left no report.json")?;
    let report: Value = serde_json::from_str(&text)?;
    for (operator, screen) in expected {
        let found = report["operators"]
            .as_array()
            .and_then(|operators| operators.iter().find(|it| it["operator"] == *operator))
            .map_or(&Value::Null, |it| &it["screen"]);
        if found != screen {
            bail!("{suite}: `{operator}` must be {screen}, is {found}");
        }
    }
    Ok(())
}
