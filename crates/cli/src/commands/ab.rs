//! `ab`: screen, measure, judge, on one card.

use switchback_engine::prepare;
use switchback_engine::request::Goal;
use switchback_model::exit_code::ExitCode;

use crate::args::AbArgs;
use crate::progress::Volume;
use crate::session;

pub fn run(args: &AbArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let fail_on = session::fail_on(&args.judge.fail_on)?;
    let ask = session::ask(
        Goal::Ab,
        &args.operators,
        session::switch(&args.switch)?,
        &args.suite,
        &args.measure,
        Some(&args.judge),
        session::side(&args.judge.tune_on),
    )?;
    let prepared = prepare::prepare(ask, &session::program()?)?;
    session::launch(prepared, &args.out, &fail_on, volume)
}
