//! `screen`: which operators does the switch touch? On the card, or from a recording without one.

use std::collections::BTreeSet;

use switchback_engine::prepare;
use switchback_engine::request::Goal;
use switchback_model::exit_code::ExitCode;
use switchback_model::side::Side;
use switchback_model::switch::Switch;

use crate::args::{OutArgs, ScreenArgs};
use crate::failure::Message;
use crate::progress::Volume;
use crate::session;

pub fn run(args: &ScreenArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    if let Some(from) = &args.from {
        return super::ir::screen_from(args, from, volume);
    }
    if args.each_switch.is_empty() {
        return one(args, session::switch(&args.switch)?, &args.out, volume);
    }
    if !(args.switch.switch.is_empty() && args.switch.a.is_empty() && args.switch.b.is_empty()) {
        return Err(Message::usage(
            "`--each-switch` and `--switch` cannot be given together",
            "`--each-switch` takes each switch by itself; `--from RUN` takes both, without a card",
        ));
    }
    let mut code = ExitCode::Success;
    for switch in super::ir::each_switch(&args.each_switch)? {
        let out = OutArgs {
            out: args.out.out.as_ref().map(|out| out.join(folder(&switch))),
            dry_run: args.out.dry_run,
        };
        let ended = one(args, switch, &out, volume)?;
        code = code.worse(ended);
        if ended == ExitCode::Interrupted {
            break;
        }
    }
    Ok(code)
}

fn one(args: &ScreenArgs, switch: Switch, out: &OutArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let ask = session::ask(
        Goal::Screen,
        &args.operators,
        switch,
        &args.suite,
        &args.measure,
        None,
        session::side(&args.tune_on),
    )?;
    let prepared = prepare::prepare(ask, &session::program()?)?;
    session::launch(prepared, out, &BTreeSet::new(), volume)
}

/// A folder's name for one of several switches: its variables and B's values.
fn folder(switch: &Switch) -> String {
    let described = switchback_model::switch::describe(switch.side(Side::B));
    described
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '=') {
                character
            } else {
                '_'
            }
        })
        .collect()
}
