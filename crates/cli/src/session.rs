//! What commands share: from arguments to an ask, driving a campaign under Ctrl-C, printing its report.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Context;
use switchback_engine::SuiteOptions;
use switchback_engine::campaign::{Campaign, Drive};
use switchback_engine::cards::ALL;
use switchback_engine::controls::Controls;
use switchback_engine::executor::{Interrupt, LocalExecutor};
use switchback_engine::prepare::{Ask, Place, Prepared};
use switchback_engine::request::{Goal, MeasureRequest, Request};
use switchback_engine::rounds::Rounds;
use switchback_engine::{EngineError, Precision, export, judge, schedule, unset};
use switchback_model::conditions;
use switchback_model::exit_code::ExitCode;
use switchback_model::finding::{Finding, Severity};
use switchback_model::operator::OperatorSpec;
use switchback_model::order::{CacheState, Regime, TimerChoice};
use switchback_model::report::Report;
use switchback_model::side::{Pairing, Side};
use switchback_model::switch::{self, Switch};
use switchback_model::verdict::{ScreenVerdict, Verdict};
use switchback_report::terminal::{self, TerminalStyle};

use crate::args::{
    JudgeArgs, MeasureArgs, OperatorArgs, OutArgs, PairingArg, RegimeArg, SuiteArgs, SwitchArgs, TimerArg,
};
use crate::exports;
use crate::failure::{Message, print_hint};
use crate::progress::{Kernels, Progress, Volume};

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

/// Variables as `--env` gives them; the last one of a name counts.
pub fn variables(texts: &[String]) -> anyhow::Result<switch::Variables> {
    let mut env = switch::Variables::new();
    for text in texts {
        let mut one = Switch::default();
        one.set(Side::A, text)?;
        env.extend(one.a);
    }
    Ok(env)
}

/// The suite's options from its arguments.
pub fn suite_options(args: &SuiteArgs) -> anyhow::Result<SuiteOptions> {
    let env = variables(&args.env)?;
    let absolute = |path: &Option<PathBuf>| -> anyhow::Result<Option<PathBuf>> {
        path.as_ref()
            .map(|path| {
                std::path::absolute(path).with_context(|| format!("cannot find `{}`", path.display()))
            })
            .transpose()
    };
    Ok(SuiteOptions {
        python: args.python.clone(),
        flaggems_dir: absolute(&args.flaggems_dir)?,
        level: args.level.clone(),
        mode: args.mode.clone(),
        dtypes: args.dtypes.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect(),
        metrics: args.metrics.clone(),
        shape_file: absolute(&args.shape_file)?,
        avoid_mm_cluster: args.avoid_mm_cluster,
        command: args.command.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect(),
        backend: args.backend.clone().unwrap_or_default(),
        env,
    })
}

/// The switch from its arguments.
pub fn switch(args: &SwitchArgs) -> anyhow::Result<Switch> {
    let mut it = Switch::default();
    for text in &args.switch {
        it.add(text)?;
    }
    for text in &args.a {
        it.set(Side::A, text)?;
    }
    for text in &args.b {
        it.set(Side::B, text)?;
    }
    if it.is_empty() {
        return Err(Message::usage(
            "no switch was given",
            "`--switch NAME`, `--switch NAME=off:on`, or `--a` and `--b`",
        ));
    }
    Ok(it.complete()?)
}

/// Operators from their arguments; none means all that a suite of our own offers.
pub fn operators(args: &OperatorArgs, suite: &str) -> anyhow::Result<Vec<OperatorSpec>> {
    let mut specs: Vec<OperatorSpec> =
        words(&args.names).map(|text| Ok(text.parse()?)).collect::<anyhow::Result<_>>()?;
    if let Some(path) = &args.ops_file {
        specs.extend(operators_of_file(path)?);
    }
    let extra: Vec<OperatorSpec> =
        words(&args.extra_ops).map(|text| Ok(text.parse()?)).collect::<anyhow::Result<_>>()?;
    if specs.is_empty() && extra.is_empty() && !matches!(suite, "cpu" | "triton") {
        return Err(Message::usage(
            "no operator was named",
            format!("`switchback ops --suite {suite}` lists them; all at once take days"),
        ));
    }
    if specs.is_empty() && !extra.is_empty() && matches!(suite, "cpu" | "triton") {
        return Err(Message::usage(
            "`--extra-ops` adds to operators that are named, and none is",
            "without names all are measured",
        ));
    }
    specs.extend(extra);
    Ok(specs)
}

/// A list of a variable (or of one quoted argument) is words between white space, as the scripts' `OPS` was.
fn words(texts: &[String]) -> impl Iterator<Item = &str> {
    texts.iter().flat_map(|text| text.split_whitespace())
}

/// The same as texts, for what looks names up in a recording.
pub fn names(args: &OperatorArgs) -> anyhow::Result<Vec<String>> {
    let specs = if args.is_empty() { Vec::new() } else { operators(args, "")? };
    if let Some(name) = args.exclude.iter().find(|name| !specs.iter().any(|spec| spec.operator == **name)) {
        return Err(Message::usage(
            format!("`{name}` is to be left out and is none of the operators"),
            "name those that are meant",
        ));
    }
    let kept = specs.into_iter().filter(|spec| !args.exclude.contains(&spec.operator));
    Ok(kept.map(|spec| spec.to_string()).collect())
}

/// Operators of a file: one a line, empty lines and what follows `#` left out.
fn operators_of_file(path: &Path) -> anyhow::Result<Vec<OperatorSpec>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Message::usage(
            format!("cannot read `{}`: {error}", path.display()),
            "`--ops-file` has an operator a line",
        )
    })?;
    let mut specs = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let spec = line.parse().map_err(|error| {
            Message::usage(
                format!("`{}`, line {number}: {error}", path.display()),
                "a line is `OP[:FILE[:DTYPES]]`, what follows `#` is a remark",
            )
        })?;
        specs.push(spec);
    }
    if specs.is_empty() {
        return Err(Message::usage(
            format!("`{}` names no operator", path.display()),
            "a line is `OP[:FILE[:DTYPES]]`, what follows `#` is a remark",
        ));
    }
    Ok(specs)
}

/// How rows are measured, with the suite's defaults filled in.
pub fn measure(args: &MeasureArgs, suite: &str) -> MeasureRequest {
    let cpu = suite == "cpu";
    MeasureRequest {
        timer: match args.timer {
            TimerArg::Auto => TimerChoice::Auto,
            TimerArg::Gated => TimerChoice::Gated,
            TimerArg::Graph => TimerChoice::Graph,
            TimerArg::Direct => TimerChoice::Direct,
        },
        warmup_ms: args.warmup_ms.unwrap_or(if cpu { 2.0 } else { 200.0 }),
        sample_ms: args.sample_ms.unwrap_or(match args.timer {
            _ if cpu => 15.0,
            TimerArg::Direct => 100.0,
            TimerArg::Auto | TimerArg::Gated | TimerArg::Graph => 500.0,
        }),
        direct_repeat: args.direct_repeat,
        blocks: args.blocks.unwrap_or(if cpu { 40 } else { 400 }),
        block_length: args.block_length.unwrap_or(if cpu { 12 } else { 4 }),
        case_precision_pct: args.case_precision,
        regime: match args.regime {
            RegimeArg::Burst => Regime::Burst,
            RegimeArg::Sustained => Regime::Sustained,
        },
        cache_state: if args.l2 == "warm" || cpu { CacheState::Warm } else { CacheState::Flush },
        with_baseline: args.with_baseline,
    }
}

/// A name of a side, which the parser has already checked.
pub fn side(text: &str) -> Side {
    if text == "B" { Side::B } else { Side::A }
}

/// The ask of a command.
pub fn ask(
    goal: Goal,
    operators: &OperatorArgs,
    switch: Switch,
    suite: &SuiteArgs,
    args: &MeasureArgs,
    judge: Option<&JudgeArgs>,
    tune_on: Side,
) -> anyhow::Result<Ask> {
    Ok(Ask {
        goal,
        suite: suite.suite.clone(),
        options: suite_options(suite)?,
        operators: self::operators(operators, &suite.suite)?,
        exclude: operators.exclude.clone(),
        switch,
        pairing: match judge.map(|judge| judge.pairing) {
            None | Some(PairingArg::Auto) => None,
            Some(PairingArg::Process) => Some(Pairing::Process),
            Some(PairingArg::Duet) => Some(Pairing::Duet),
        },
        rounds: judge.map_or(1, |judge| judge.rounds),
        precision: judge.and_then(|judge| {
            let half_width_percent = judge.precision?;
            Some(Precision { half_width_percent, max_rounds: judge.max_rounds })
        }),
        margin_pct: judge.map_or(0.5, |judge| judge.margin),
        controls: judge.map_or(Controls::Number(0), |judge| judge.controls),
        measure_identical: judge.is_some_and(|judge| judge.measure_identical),
        verdicts: match judge {
            Some(judge) => screen_verdicts(&judge.verdicts)?,
            None => Vec::new(),
        },
        replay_from: match judge.and_then(|judge| judge.replay_from.as_ref()) {
            Some(path) => {
                Some(std::path::absolute(path).with_context(|| format!("cannot find `{}`", path.display()))?)
            }
            None => None,
        },
        fixed: false,
        naive: false,
        tune_on,
        seed: args.seed,
        cell_timeout_s: args.cell_timeout,
        time_budget_s: args.time_budget,
        allowed: match judge {
            Some(judge) => conditions::check_fields(judge.allow.iter().map(String::as_str))?,
            None => BTreeSet::new(),
        },
        measure: measure(args, &suite.suite),
        backend: suite.backend.clone(),
        devices: suite.devices.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Refuses several cards where a command measures on one: the others would be ignored.
pub fn one_card(suite: &SuiteArgs, command: &str) -> anyhow::Result<()> {
    if suite.devices.len() > 1 || suite.devices == [ALL] {
        return Err(Message::usage(
            format!("`{command}` measures on one card, `--devices` names several"),
            "`switchback campaign` measures on all of them at once",
        ));
    }
    Ok(())
}

/// Screening verdicts that `--verdicts` names.
fn screen_verdicts(texts: &[String]) -> anyhow::Result<Vec<ScreenVerdict>> {
    let mut verdicts = Vec::new();
    for text in texts {
        let verdict = text.parse().map_err(|error| {
            Message::usage(
                format!("`--verdicts`: {error}"),
                "it takes `IR_CHANGED` and `NO_IR_DIFF`, both by `,`",
            )
        })?;
        if !verdicts.contains(&verdict) {
            verdicts.push(verdict);
        }
    }
    Ok(verdicts)
}

/// Where a campaign's folder is to be.
pub fn place(out: &OutArgs) -> Place {
    out.out.clone().map_or_else(|| Place::Below(PathBuf::from(RUNS)), Place::Out)
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

/// Runs a campaign to its end, until Ctrl-C, or until its time is up.
pub fn drive(campaign: &mut Campaign, volume: Volume) -> anyhow::Result<Drive> {
    let interrupt = Interrupt::default();
    let signals = watch_signals(&interrupt)?;
    let mut executor = LocalExecutor::new(program()?);
    exports::begin(campaign)?;
    let mut progress = Progress::new(volume);
    let drive = campaign.drive(&mut executor, &interrupt, &mut progress);
    progress.finish();
    signals.close();
    Ok(drive?)
}

/// Counts Ctrl-C and TERM: the first ends what runs cleanly, the second kills it.
pub fn watch_signals(interrupt: &Interrupt) -> anyhow::Result<signal_hook::iterator::Handle> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for Ctrl-C")?;
    let handle = signals.handle();
    let interrupt = interrupt.clone();
    std::thread::spawn(move || {
        for _ in &mut signals {
            interrupt.request();
            let text = if interrupt.count() == 1 {
                "ending what runs; once more kills it"
            } else {
                "killing what runs"
            };
            anstream::eprintln!("note: {text}");
        }
    });
    Ok(handle)
}

/// Finds out, without the card, whether side A's setting gives the code of a variable that is not set.
///
/// Whoever does not want to wait for it stops it with Ctrl-C: the verdicts do not depend on it.
fn compare_with_unset(campaign: &Campaign, volume: Volume) -> anyhow::Result<()> {
    let Some(variables) = unset::wanted(campaign) else { return Ok(()) };
    let interrupt = Interrupt::default();
    let signals = watch_signals(&interrupt)?;
    let progress = Kernels::new(volume);
    let done = unset::compare(campaign, variables, &program()?, &interrupt, &mut |done, all| {
        progress.set(done, all);
    });
    progress.finish();
    signals.close();
    match done {
        Ok(_) | Err(EngineError::Interrupted) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Judges a campaign, writes its files, prints its report; returns the exit code. `raw` prints of a single run what the
/// benchmark itself wrote.
pub fn conclude(
    campaign: &mut Campaign,
    drive: Drive,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
    raw: bool,
) -> anyhow::Result<ExitCode> {
    let report = match judge::judge(campaign) {
        Ok(report) => report,
        Err(error) => {
            if volume > Volume::Quiet {
                anstream::eprintln!("note: what was measured is in `{}`", campaign.dir.root().display());
            }
            return Err(error.into());
        }
    };
    exports::end(campaign)?;
    exports::write(campaign, &report)?;
    let root = shown(campaign);
    let text = match campaign.request.goal {
        Goal::Run if raw => crate::commands::run_raw(campaign)?,
        Goal::Run => crate::commands::run_tables(campaign, &style())?,
        Goal::Screen => terminal::screen_table(&report, &style()),
        Goal::Ab if campaign.request.is_calibration() => {
            crate::commands::floor_table(campaign, &report, &style())
        }
        Goal::Ab => {
            let lines = next_lines(&root, &report);
            let lines: Vec<(&str, &str)> =
                lines.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            terminal::render(&report, &style(), &lines)
        }
    };
    print(&text);
    if campaign.request.goal != Goal::Ab {
        print(&format!("folder    {root}"));
    }
    // The other tables have them.
    if campaign.request.goal == Goal::Run {
        print_findings(&report.findings, volume);
    }
    if let Some(markers) = exports::totals(campaign).remark()
        && volume > Volume::Quiet
    {
        anstream::eprintln!("note: {markers}");
    }
    Ok(exit_code(campaign, drive, &report, fail_on, volume))
}

fn exit_code(
    campaign: &Campaign,
    drive: Drive,
    report: &Report,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
) -> ExitCode {
    let mut code = ExitCode::Success;
    if report.operators.iter().any(|operator| fail_on.contains(&operator.verdict)) {
        code = code.worse(ExitCode::FailOn);
    }
    if export::is_incomplete(campaign) {
        code = code.worse(ExitCode::Incomplete);
    }
    match drive {
        Drive::Finished => {}
        Drive::OutOfTime => {
            code = code.worse(ExitCode::Incomplete);
            if volume > Volume::Quiet {
                anstream::eprintln!(
                    "note: the time budget is used up; `switchback resume {}` goes on",
                    shown(campaign)
                );
            }
        }
        Drive::Interrupted => {
            code = code.worse(ExitCode::Interrupted);
            anstream::eprintln!("note: interrupted; `switchback resume {}` goes on", shown(campaign));
        }
        Drive::Stuck => code = code.worse(ExitCode::Environment),
    }
    code
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

fn next_lines(root: &str, report: &Report) -> Vec<(String, String)> {
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

/// Verdicts that `--fail-on` names.
pub fn fail_on(texts: &[String]) -> anyhow::Result<BTreeSet<Verdict>> {
    texts
        .iter()
        .map(|text| match text.parse() {
            Ok(verdict @ (Verdict::Slower | Verdict::Wrong | Verdict::Inconclusive | Verdict::Faster)) => {
                Ok(verdict)
            }
            _ => Err(Message::usage(
                format!("`--fail-on` cannot be `{text}`"),
                "it takes `slower`, `wrong`, `inconclusive`, `faster`, several by `,`",
            )),
        })
        .collect()
}

/// Prints what would be run, and starts nothing.
pub fn print_dry_run(prepared: &Prepared) {
    let request: &Request = &prepared.request;
    print(&dry_run_text(request, prepared.suite.tunes()));
}

fn dry_run_text(request: &Request, tunes: bool) -> String {
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

/// Opens a prepared campaign and drives it to its report.
pub fn launch(
    prepared: Prepared,
    out: &OutArgs,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
) -> anyhow::Result<ExitCode> {
    launch_as(prepared, out, fail_on, volume, false)
}

/// The same; `raw` as for [`conclude`].
pub fn launch_as(
    prepared: Prepared,
    out: &OutArgs,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
    raw: bool,
) -> anyhow::Result<ExitCode> {
    if out.dry_run {
        print_dry_run(&prepared);
        return Ok(ExitCode::Success);
    }
    print_findings(&prepared.findings, volume);
    let mut campaign = prepared.open(&place(out))?;
    run_to_end_as(&mut campaign, fail_on, volume, raw)
}

/// Drives a campaign and concludes, whatever happened on the way.
pub fn run_to_end(
    campaign: &mut Campaign,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
) -> anyhow::Result<ExitCode> {
    run_to_end_as(campaign, fail_on, volume, false)
}

fn run_to_end_as(
    campaign: &mut Campaign,
    fail_on: &BTreeSet<Verdict>,
    volume: Volume,
    raw: bool,
) -> anyhow::Result<ExitCode> {
    match drive(campaign, volume) {
        Ok(drive) => {
            if drive == Drive::Finished {
                compare_with_unset(campaign, volume)?;
            }
            conclude(campaign, drive, fail_on, volume, raw)
        }
        Err(error) => {
            if error.downcast_ref::<EngineError>().is_some() && volume > Volume::Quiet {
                anstream::eprintln!("note: what was measured is in `{}`", shown(campaign));
            }
            Err(error)
        }
    }
}
