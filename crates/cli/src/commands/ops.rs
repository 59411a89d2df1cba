//! `ops`: operators that a suite offers.

use switchback_engine::prepare;
use switchback_model::exit_code::ExitCode;
use switchback_report::text;

use crate::args::OpsArgs;
use crate::session;

pub fn run(args: &OpsArgs) -> anyhow::Result<ExitCode> {
    let offered =
        prepare::operators(&args.suite.suite, &session::suite_options(&args.suite)?, &session::program()?)?;
    if args.json {
        session::print(&serde_json::to_string_pretty(&offered)?);
        return Ok(ExitCode::Success);
    }
    let specs: Vec<String> = offered
        .iter()
        .map(|it| match &it.file {
            Some(file) if *file != it.operator => text::one_line(&format!("{}:{file}", it.operator)),
            _ => text::one_line(&it.operator),
        })
        .collect();
    let width = specs.iter().map(|spec| text::width(spec)).max().unwrap_or(0).min(60);
    let mut lines = String::new();
    for (it, spec) in offered.iter().zip(&specs) {
        let line = format!(
            "{}  {}  {}",
            text::pad_right(spec, width),
            text::one_line(&it.dtypes.join(",")),
            text::one_line(&it.detail)
        );
        lines.push_str(line.trim_end());
        lines.push('\n');
    }
    session::print(&lines);
    Ok(ExitCode::Success)
}
