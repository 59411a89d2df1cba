//! What commands share: from arguments to an ask, driving a campaign, printing.

mod ask;
mod drive;
mod shown;

pub use ask::{ask, fail_on, names, one_card, place, side, suite_options, switch, variables};
pub use drive::{drive, launch, launch_as, run_to_end, watch_signals};
pub use shown::{RUNS, print, print_dry_run, print_findings, program, shown, style};
