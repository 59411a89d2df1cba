//! `ir`: the compiled code itself: what it hashes to, what differs, and whether it can be made again without a card.

mod diff;
mod fingerprint;

use switchback_model::exit_code::ExitCode;

use crate::args::IrCommand;

pub fn run(command: &IrCommand) -> anyhow::Result<ExitCode> {
    match command {
        IrCommand::Diff(args) => diff::run(args),
        IrCommand::Fingerprint(args) => fingerprint::run(args),
    }
}
