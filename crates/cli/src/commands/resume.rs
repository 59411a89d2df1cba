//! `resume`: go on with an unfinished campaign.

use switchback_engine::prepare;
use switchback_model::exit_code::ExitCode;

use crate::args::ResumeArgs;
use crate::progress::Volume;
use crate::session;

pub fn run(args: &ResumeArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let fail_on = session::fail_on(&args.fail_on)?;
    if args.dry_run {
        let campaign = prepare::read(&args.dir, &session::program()?)?;
        let text = campaign.next().map_or_else(
            || "nothing is left to be run".to_owned(),
            |(cell, phase)| format!("{} {cell} would be next", phase.name()),
        );
        session::print(&text);
        return Ok(ExitCode::Success);
    }
    let mut campaign = prepare::resume(&args.dir, &session::program()?)?;
    campaign.request.time_budget_s = args.time_budget;
    session::run_to_end(&mut campaign, &fail_on, volume)
}
