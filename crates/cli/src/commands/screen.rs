//! `screen`: which operators does the switch touch?

use std::collections::BTreeSet;

use switchback_engine::prepare;
use switchback_engine::request::Goal;
use switchback_model::exit_code::ExitCode;

use crate::args::ScreenArgs;
use crate::progress::Volume;
use crate::session;

pub fn run(args: &ScreenArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let ask = session::ask(
        Goal::Screen,
        &args.operators,
        session::switch(&args.switch)?,
        &args.suite,
        &args.measure,
        None,
        session::side(&args.tune_on),
    )?;
    let prepared = prepare::prepare(ask, &session::program()?)?;
    session::launch(prepared, &args.out, &BTreeSet::new(), volume)
}
