//! What commands print beside a report, and where things are.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Context;
use switchback_engine::campaign::Campaign;
use switchback_engine::prepare::Prepared;
use switchback_engine::request::{Goal, Request};
use switchback_engine::rounds::Rounds;
use switchback_engine::schedule;
use switchback_model::finding::{Finding, Severity};
use switchback_model::report::Report;
use switchback_model::side::Pairing;
use switchback_model::switch::{self};
use switchback_model::verdict::Verdict;
use switchback_report::terminal::TerminalStyle;

use crate::failure::print_hint;
use crate::progress::Volume;

/// Where campaigns go when nothing else is said.
pub const RUNS: &str = "runs";

/// This program, which supervises cells and runs the cpu suite.
pub fn program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find this program's own file")
}

/// The terminal as it is: its width, and whether colours are wanted.
pub fn style() -> TerminalStyle {
    let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0)).max(40);
    // `anstream` takes colours out where they are not wanted, so they are always put in for a terminal.
    TerminalStyle { width, colour: std::io::stdout().is_terminal() }
}

/// Prints to stdout; a reader that went away (`| head`) is no error.
pub fn print(text: &str) {
    use std::io::Write;
    let mut out = anstream::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
}

/// Prints what the checks found that is not as it should be.
pub fn print_findings(findings: &[Finding], volume: Volume) {
    if volume == Volume::Quiet {
        return;
    }
    for finding in findings.iter().filter(|finding| finding.severity != Severity::Ok) {
        anstream::eprintln!(
            "note: {}: {}",
            finding.check,
            switchback_report::text::printable(&finding.detail)
        );
        if let Some(hint) = &finding.hint {
            print_hint(hint);
        }
    }
}

/// A campaign's folder as the user would type it.
pub fn shown(campaign: &Campaign) -> String {
    let root = campaign.dir.root();
    let here = std::env::current_dir().ok();
    here.and_then(|here| root.strip_prefix(here).ok().map(Path::to_path_buf))
        .filter(|path| !path.as_os_str().is_empty())
        .unwrap_or_else(|| root.to_owned())
        .display()
        .to_string()
}

pub(super) fn next_lines(root: &str, report: &Report) -> Vec<(String, String)> {
    let mut lines = vec![("report".to_owned(), format!("{root}/report.md"))];
    let judged = report
        .operators
        .iter()
        .find(|operator| matches!(operator.verdict, Verdict::Faster | Verdict::Slower | Verdict::Wrong))
        .or_else(|| report.operators.iter().find(|operator| operator.verdict != Verdict::NotMeasured));
    if let Some(operator) = judged.or_else(|| report.operators.first()) {
        lines.push(("why".to_owned(), format!("switchback report {root} --explain {}", operator.operator)));
    }
    // Without a stage that differs there is no text to look at.
    let changed = judged.into_iter().chain(&report.operators).find(|operator| operator.first_stage.is_some());
    if let Some(operator) = changed {
        lines.push(("code".to_owned(), format!("switchback ir diff {root} {}", operator.operator)));
    }
    lines
}

/// Prints what would be run, and starts nothing.
pub fn print_dry_run(prepared: &Prepared) {
    let request: &Request = &prepared.request;
    print(&dry_run_text(request, prepared.suite.tunes()));
}

pub(super) fn dry_run_text(request: &Request, tunes: bool) -> String {
    let mut text = String::new();
    let switch = request.switch();
    if request.goal != Goal::Run {
        text.push_str(&format!("A  {}\nB  {}\n", switch::describe(&switch.a), switch::describe(&switch.b)));
    }
    for (name, value) in switchback_engine::prepare::facts(request) {
        text.push_str(&format!("{name:<12}  {value}\n"));
    }
    let specs: Vec<String> = request.operators.iter().map(ToString::to_string).collect();
    text.push_str(&format!("{:<12}  {}\n", "operators", specs.join(" ")));
    let cells =
        schedule::total_cells(request, tunes, &schedule::ScreenedOperators::new(), &Rounds::of(request));
    text.push_str(&format!("{:<12}  {cells}", "cells"));
    if request.goal == Goal::Ab {
        let a_round = if request.pairing == Pairing::Duet { 1 } else { 2 };
        let (least, most) = (a_round * request.least_rounds(), a_round * request.most_rounds());
        let rounds = if least < most { format!("{least} to {most}") } else { least.to_string() };
        text.push_str(&format!(" before measuring, then {rounds} an operator whose code differs"));
    }
    text.push_str("\nnothing was started\n");
    text
}
