//! `report`: a campaign's report again, in any format; `--explain` says why.

use switchback_engine::calibration::Calibration;
use switchback_engine::request::Goal;
use switchback_engine::{judge, prepare};
use switchback_model::conditions;
use switchback_model::exit_code::ExitCode;
use switchback_model::report::Report;
use switchback_report::{explain, json, terminal};

use crate::args::{FormatArg, ReportArgs};
use crate::exports;
use crate::failure::Message;
use crate::progress::Volume;
use crate::session;

pub fn run(args: &ReportArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let fail_on = session::fail_on(&args.fail_on)?;
    let allowed = conditions::check_fields(args.allow.iter().map(String::as_str))?;
    let mut campaign = prepare::read(&args.dir, &session::program()?)?;
    campaign.request.allowed.extend(allowed);
    if let Some(path) = &args.floor {
        campaign.floor = Some(Calibration::read(path)?);
    }
    let report = judge::judge(&mut campaign)?;
    if let Some(operator) = &args.explain {
        if campaign.request.goal == Goal::Run {
            return Err(Message::usage(
                format!("`{}` is a single run: there is no verdict to be explained", args.dir.display()),
                "`switchback compare RUN_A RUN_B` holds two of them side by side",
            ));
        }
        let text = explain::operator(&report, operator).ok_or_else(|| unknown(&report, operator))?;
        session::print(&text);
        return Ok(ExitCode::Success);
    }
    if let Some(operator) = &args.cases {
        let found = report.operators.iter().find(|it| it.operator == *operator || it.spec == *operator);
        let found = found.ok_or_else(|| unknown(&report, operator))?;
        session::print(&terminal::operator_with_cases(&report, found, &session::style()));
        return Ok(ExitCode::Success);
    }
    // The files are derived; a folder that cannot be written (another machine's, a read-only copy) is read all the same.
    if let Err(error) = exports::write(&campaign, &report)
        && volume > Volume::Quiet
    {
        anstream::eprintln!("note: the files in the folder are as they were: {error}");
    }
    let text = match args.format {
        FormatArg::Terminal => match campaign.request.goal {
            Goal::Run => super::run_tables(&campaign, &session::style())?,
            Goal::Screen => terminal::screen_table(&report, &session::style()),
            Goal::Ab if campaign.request.is_calibration() => {
                super::floor_table(&campaign, &report, &session::style())
            }
            Goal::Ab => {
                let mut text = terminal::render(&report, &session::style(), &[]);
                if volume == Volume::Verbose {
                    text.push_str(&terminal::evidence(&report, &session::style()));
                }
                text
            }
        },
        FormatArg::Markdown => exports::page(&campaign, &report)?,
        FormatArg::Json => json::render(&report),
        FormatArg::Tsv => exports::lines(&campaign, &report)?,
    };
    session::print(&text);
    // A table of single runs and lines for a program have no place for them; the other formats do.
    if campaign.request.goal == Goal::Run || args.format == FormatArg::Tsv {
        session::print_findings(&report.findings, volume);
    }
    let failed = report.operators.iter().any(|operator| fail_on.contains(&operator.verdict));
    Ok(if failed { ExitCode::FailOn } else { ExitCode::Success })
}

fn unknown(report: &Report, operator: &str) -> anyhow::Error {
    let nearest = report.operators.iter().map(|it| it.operator.as_str()).max_by(|one, two| {
        strsim::jaro_winkler(one, operator).total_cmp(&strsim::jaro_winkler(two, operator))
    });
    Message::usage(
        format!("`{operator}` is not in this campaign"),
        nearest.map_or_else(|| "it has no operator".to_owned(), |name| format!("the nearest is `{name}`")),
    )
}
