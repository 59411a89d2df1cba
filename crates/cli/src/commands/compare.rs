//! `compare`: two single runs, guarded.

use switchback_engine::compare;
use switchback_model::conditions;
use switchback_model::exit_code::ExitCode;
use switchback_report::{json, terminal};

use crate::args::CompareArgs;
use crate::session;

pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let allowed = conditions::check_fields(args.allow.iter().map(String::as_str))?;
    let report = compare::compare(&args.a, &args.b, &allowed, env!("CARGO_PKG_VERSION"))?;
    if args.json {
        session::print(&json::render(&report));
        return Ok(ExitCode::Success);
    }
    let style = session::style();
    session::print(&terminal::render(&report, &style, &[]));
    for operator in &report.operators {
        session::print(&terminal::named_cases_table(operator, &style));
    }
    Ok(ExitCode::Success)
}
