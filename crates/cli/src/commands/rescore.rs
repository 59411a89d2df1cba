//! `rescore`: judges what is on disk by today's rules and says which verdicts are others.

use switchback_engine::scripts::{self, ScriptDir, ScriptScreen};
use switchback_engine::{judge, prepare, rescore};
use switchback_model::conditions;
use switchback_model::exit_code::ExitCode;
use switchback_report::text::{count, one_line, printable};

use crate::args::RescoreArgs;
use crate::exports;
use crate::failure::Message;
use crate::progress::Volume;
use crate::session;

pub fn run(args: &RescoreArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let fail_on = session::fail_on(&args.fail_on)?;
    let allowed = conditions::check_fields(args.allow.iter().map(String::as_str))?;
    match scripts::recognise(&args.dir)? {
        Some(ScriptDir::Screen(screen)) => return of_scripts(&screen, volume),
        Some(_) => {
            return Err(Message::usage(
                format!("`{}` has no table that could be scored again", args.dir.display()),
                "`switchback report` judges rounds of the scripts by today's rules each time",
            ));
        }
        None => {}
    }
    // With the folder's lock: tables of a campaign that runs are its own to write.
    let mut campaign = prepare::rescore(&args.dir, &session::program()?)?;
    campaign.request.allowed.extend(allowed);
    let report = judge::judge(&mut campaign)?;
    let former = rescore::former(&campaign.dir)?;
    let kept = rescore::keep(&campaign.dir)?;
    exports::write(&campaign, &report)?;

    let changes = rescore::changes(&former, &report);
    print_changes(&changes);
    let known = former.screen.len().max(former.judged.len()) as u64;
    session::print(&match (known, changes.len() as u64) {
        (0, _) => "no former table to compare with; the tables were written".to_owned(),
        (known, 0) => format!("no verdict changed, of {}", count(known, "operator", "operators")),
        (known, changed) => format!(
            "{} changed, of {}",
            count(changed, "verdict", "verdicts"),
            count(known, "operator", "operators")
        ),
    });
    if volume > Volume::Quiet {
        for reason in &former.unreadable {
            anstream::eprintln!("note: the former {} was not compared", printable(reason));
        }
        if !kept.is_empty() {
            anstream::eprintln!("note: the former tables are kept: {}", kept.join(", "));
        }
    }
    let failed = report.operators.iter().any(|operator| fail_on.contains(&operator.verdict));
    Ok(if failed { ExitCode::FailOn } else { ExitCode::Success })
}

/// A screening of the scripts: its table, by the code that lies beside it.
fn of_scripts(screen: &ScriptScreen, volume: Volume) -> anyhow::Result<ExitCode> {
    let it = scripts::rescore(screen)?;
    print_changes(&it.changes);
    let operators = count(it.operators as u64, "operator", "operators");
    session::print(&match it.changes.len() as u64 {
        0 => format!("no verdict changed, of {operators}"),
        changed => format!("{} changed, of {operators}", count(changed, "verdict", "verdicts")),
    });
    if volume > Volume::Quiet {
        for reason in &it.left {
            anstream::eprintln!("note: left as it was: {}", printable(reason));
        }
        anstream::eprintln!("note: the former table is kept: {}", it.kept);
    }
    Ok(ExitCode::Success)
}

/// Verdicts that are others than the tables said, a line each.
fn print_changes(changes: &[rescore::Change]) {
    for change in changes {
        session::print(&format!(
            "{}  {}: {} → {}",
            one_line(&change.operator),
            change.what,
            change.before,
            change.now
        ));
    }
}
