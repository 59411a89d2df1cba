//! `doctor`: what of this machine, or of a run, stands in the way.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use switchback_engine::doctor;
use switchback_model::exit_code::ExitCode;
use switchback_model::finding::Severity;
use switchback_report::text::printable;

use crate::args::DoctorArgs;
use crate::session;

pub fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let program = session::program()?;
    let findings = match &args.dir {
        Some(dir) => doctor::run(dir, &program)?,
        None => doctor::machine(
            &args.suite.suite,
            &session::suite_options(&args.suite)?,
            args.suite.backend.as_deref(),
            Path::new("runs"),
            &program,
        )?,
    };
    if args.json {
        session::print(&serde_json::to_string_pretty(&findings)?);
    } else {
        let mut text = String::new();
        for finding in &findings {
            let (word, colour) = match finding.severity {
                Severity::Ok => ("ok     ", AnsiColor::Green),
                Severity::Warning => ("warning", AnsiColor::Yellow),
                Severity::Failure => ("FAILURE", AnsiColor::Red),
            };
            let style = Style::new().fg_color(Some(colour.into()));
            text.push_str(&format!(
                "{style}{word}{style:#}  {}: {}\n",
                printable(&finding.check),
                printable(&finding.detail)
            ));
            if let Some(hint) = &finding.hint {
                text.push_str(&format!("         hint: {}\n", printable(hint)));
            }
        }
        session::print(&text);
    }
    let failed = args.dir.is_none() && findings.iter().any(|finding| finding.severity == Severity::Failure);
    Ok(if failed { ExitCode::Environment } else { ExitCode::Success })
}
