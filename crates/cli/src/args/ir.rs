//! The arguments of the commands below `ir`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with compiled code.
#[derive(Debug, Subcommand)]
pub enum IrCommand {
    /// What changed: kernels, first differing stage, operations, resources, side by side.
    Diff(IrDiffArgs),
    /// Digests per kernel, variant and stage, and one over everything.
    Fingerprint(IrFingerprintArgs),
    /// Compile what was recorded again, without a card, and say whether it comes out as recorded.
    Recompile(IrRecompileArgs),
}

/// Arguments of `ir diff`.
#[derive(Debug, Args)]
pub struct IrDiffArgs {
    /// A campaign; or side A: an attempt, a single run, or any folder with compiled kernels (`TRITON_CACHE_DIR`).
    #[arg(value_name = "DIR_OR_A")]
    pub a: PathBuf,
    /// An operator of the campaign; or side B's folder.
    #[arg(value_name = "OP_OR_B")]
    pub b: String,
    /// Only this kernel, and all of its variants side by side.
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Stage to show side by side [default: the first that differs].
    #[arg(long, value_name = "STAGE")]
    pub stage: Option<String>,
}

/// Arguments of `ir fingerprint`.
#[derive(Debug, Args)]
pub struct IrFingerprintArgs {
    /// Campaigns, attempts, or any folders with compiled kernels.
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// Print JSON, an object a line.
    #[arg(long)]
    pub json: bool,
    /// New folder for the texts under readable names, with `index.tsv` and `naming.md`.
    #[arg(long, value_name = "OUT")]
    pub names: Option<PathBuf>,
}

/// Arguments of `ir recompile`.
#[derive(Debug, Args)]
pub struct IrRecompileArgs {
    /// A campaign, a run, an attempt, or any folder with `.ttir` and its `.json` (`TRITON_CACHE_DIR`).
    #[arg(value_name = "SOURCE")]
    pub source: PathBuf,
    /// Operators of the recording; of a plain folder kernels [default: all].
    #[arg(value_name = "OP", env = "SWITCHBACK_OPS")]
    pub operators: Vec<String>,
    /// Interpreter with Triton, which is all that it needs [default: the recording's, else `python3`].
    #[arg(long, value_name = "PATH", env = "SWITCHBACK_PYTHON")]
    pub python: Option<String>,
    /// A variable of the compiler's environment; `NAME=` unsets it.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// New folder that keeps the texts; `ir diff` compares them.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
