//! `report`: a campaign's report again, in any format; `--explain` says why.

use std::collections::BTreeSet;

use switchback_engine::calibration::Calibration;
use switchback_engine::request::Goal;
use switchback_engine::scripts::{self, ScriptDir};
use switchback_engine::{judge, prepare};
use switchback_model::conditions;
use switchback_model::exit_code::ExitCode;
use switchback_model::report::Report;
use switchback_model::verdict::Verdict;
use switchback_report::terminal::RunReport;
use switchback_report::{explain, json, markdown, terminal, tsv};

use crate::args::{FormatArg, ReportArgs};
use crate::exports;
use crate::failure::Message;
use crate::progress::Volume;
use crate::session;

/// The margin that folders of the scripts are judged by, percent: they asked for none.
const MARGIN_PCT: f64 = 0.5;

pub fn run(args: &ReportArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let fail_on = session::fail_on(&args.fail_on)?;
    let allowed = conditions::check_fields(args.allow.iter().map(String::as_str))?;
    if let Some(folder) = scripts::recognise(&args.dir)? {
        return of_scripts(args, &folder, &allowed, &fail_on, volume);
    }
    let mut campaign = prepare::read_to_judge(&args.dir, &session::program()?)?;
    campaign.request.allowed.extend(allowed);
    if let Some(path) = &args.floor {
        campaign.floor = Some(Calibration::read(path)?);
    }
    let report = judge::judge(&mut campaign)?;
    if args.raw {
        if campaign.request.goal != Goal::Run {
            return Err(not_raw(args));
        }
        session::print(&super::run_raw(&campaign)?);
        return Ok(ExitCode::Success);
    }
    let single = campaign.request.goal == Goal::Run;
    let runs = || super::run_reports(&campaign);
    if let Some(text) = about_one(args, &report, single.then_some(&runs))? {
        session::print(&text);
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

/// Reads single runs, each with why it has no row.
type Runs<'a> = &'a dyn Fn() -> anyhow::Result<Vec<(RunReport, Vec<String>)>>;

/// What `--explain` or `--cases` ask of one operator; none if neither was given.
///
/// `runs` reads the rows of single runs, which have no report of their own.
fn about_one(args: &ReportArgs, report: &Report, runs: Option<Runs<'_>>) -> anyhow::Result<Option<String>> {
    if let Some(operator) = &args.explain {
        if runs.is_some() {
            return Err(Message::usage(
                format!("`{}` is a single run: there is no verdict to be explained", args.dir.display()),
                "`switchback compare RUN_A RUN_B` holds two of them side by side",
            ));
        }
        return explain::operator(report, operator).map(Some).ok_or_else(|| unknown(report, operator));
    }
    if let Some(operator) = &args.cases {
        let found = report.operators.iter().find(|it| it.operator == *operator || it.spec == *operator);
        let found = found.ok_or_else(|| unknown(report, operator))?;
        if let Some(runs) = runs {
            let mut rows = runs()?;
            rows.retain(|(run, _)| run.operator == found.operator);
            return Ok(Some(super::run::tables_of(&rows, &session::style())));
        }
        return Ok(Some(terminal::operator_with_cases(report, found, &session::style())));
    }
    Ok(None)
}

/// A folder of the scripts: judged anew, written nowhere.
fn of_scripts(
    args: &ReportArgs,
    folder: &ScriptDir,
    allowed: &BTreeSet<String>,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
) -> anyhow::Result<ExitCode> {
    if args.floor.is_some() {
        return Err(Message::usage(
            format!("`{}` is of the scripts, which calibrated nothing", args.dir.display()),
            "`--floor` goes with campaigns of switchback",
        ));
    }
    let report = scripts::report(folder, allowed, MARGIN_PCT, env!("CARGO_PKG_VERSION"))?;
    let single = matches!(folder, ScriptDir::Run(_));
    if args.raw {
        let ScriptDir::Run(run) = folder else { return Err(not_raw(args)) };
        session::print(&String::from_utf8_lossy(&run.log()?.unwrap_or_default()));
        return Ok(ExitCode::Success);
    }
    let runs = match folder {
        ScriptDir::Run(run) => {
            let mut found = super::run::reports_of(scripts::runs(run)?.1);
            let of = |field: &str| report.conditions.get(field).unwrap_or("unknown").to_owned();
            for (run, _) in &mut found {
                run.benchmark = Some((of("mode"), of("bench_level")));
            }
            found
        }
        ScriptDir::Rounds(_) | ScriptDir::Screen(_) => Vec::new(),
    };
    let read = || Ok(runs.clone());
    if let Some(text) = about_one(args, &report, single.then_some(&read))? {
        session::print(&text);
        return Ok(ExitCode::Success);
    }
    let rows = || runs.iter().map(|(run, _)| run.clone()).collect::<Vec<_>>();
    let text = match args.format {
        FormatArg::Terminal if single => super::run::tables_of(&runs, &session::style()),
        FormatArg::Terminal => terminal::render(&report, &session::style(), &[]),
        FormatArg::Markdown if single => markdown::runs(&report, &rows()),
        FormatArg::Markdown => markdown::render(&report),
        FormatArg::Json => json::render(&report),
        FormatArg::Tsv if single => tsv::runs(&rows()),
        FormatArg::Tsv => tsv::report(&report),
    };
    session::print(&text);
    if single || args.format == FormatArg::Tsv {
        session::print_findings(&report.findings, volume);
    }
    let failed = report.operators.iter().any(|operator| fail_on.contains(&operator.verdict));
    Ok(if failed { ExitCode::FailOn } else { ExitCode::Success })
}

fn not_raw(args: &ReportArgs) -> anyhow::Error {
    Message::usage(
        format!("`{}` is no single run: `--raw` has nothing to print", args.dir.display()),
        "each attempt's folder has the benchmark's text in `run.log`",
    )
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
