//! `campaign`: screen, measure, judge, over many cards at once.

use switchback_engine::cards::ALL;
use switchback_model::exit_code::ExitCode;

use crate::args::CampaignArgs;
use crate::commands::ab;
use crate::progress::Volume;

pub fn run(args: &CampaignArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let devices =
        if args.ab.suite.devices.is_empty() { vec![ALL.to_owned()] } else { args.ab.suite.devices.clone() };
    ab::launch(&args.ab, devices, args.fixed, volume)
}
