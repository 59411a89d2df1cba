//! `ir`: the compiled code itself: what it hashes to, what differs, and whether it can be made again without a card.

mod diff;
mod fingerprint;
mod recompile;

use switchback_model::exit_code::ExitCode;

use crate::args::IrCommand;
use crate::progress::Volume;

pub use recompile::{each as each_switch, screen as screen_from};

pub fn run(command: &IrCommand, volume: Volume) -> anyhow::Result<ExitCode> {
    match command {
        IrCommand::Diff(args) => diff::run(args),
        IrCommand::Fingerprint(args) => fingerprint::run(args),
        IrCommand::Recompile(args) => recompile::run(args, volume),
    }
}
