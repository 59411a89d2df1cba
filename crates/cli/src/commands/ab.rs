//! `ab`: screen, measure, judge, on one card.

use switchback_engine::calibration::Calibration;
use switchback_engine::prepare;
use switchback_engine::request::Goal;
use switchback_model::exit_code::ExitCode;

use crate::args::AbArgs;
use crate::progress::Volume;
use crate::session;

pub fn run(args: &AbArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    session::one_card(&args.suite, "ab")?;
    launch(args, args.suite.devices.clone(), false, volume)
}

/// Does what `ab` and `campaign` do, on these cards.
pub fn launch(args: &AbArgs, devices: Vec<String>, fixed: bool, volume: Volume) -> anyhow::Result<ExitCode> {
    let fail_on = session::fail_on(&args.judge.fail_on)?;
    let mut ask = session::ask(
        Goal::Ab,
        &args.operators,
        session::switch(&args.switch)?,
        &args.suite,
        &args.measure,
        Some(&args.judge),
        session::side(&args.judge.tune_on),
    )?;
    ask.devices = devices;
    ask.fixed = fixed;
    let floor = args.floor.as_deref().map(Calibration::read).transpose()?;
    let prepared = prepare::prepare(ask, &session::program()?)?;
    let Some(floor) = floor else { return session::launch(prepared, &args.out, &fail_on, volume) };
    // A floor that cannot stand beside these rows is refused before hours go into them.
    let allowed = prepared.request.allowed.iter().cloned().collect();
    floor.check_request(&prepared.request, prepared.suite.as_ref(), &allowed)?;
    if args.out.dry_run {
        return session::launch(prepared, &args.out, &fail_on, volume);
    }
    session::print_findings(&prepared.findings, volume);
    let mut campaign = prepared.open(&session::place(&args.out))?;
    campaign.keep_floor(floor)?;
    session::run_to_end(&mut campaign, &fail_on, volume)
}
