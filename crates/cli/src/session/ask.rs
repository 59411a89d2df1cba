//! From arguments to an ask, with a suite's defaults filled in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use switchback_engine::Precision;
use switchback_engine::SuiteOptions;
use switchback_engine::cards::ALL;
use switchback_engine::controls::Controls;
use switchback_engine::prepare::{Ask, Place};
use switchback_engine::request::{Goal, MeasureRequest};
use switchback_model::conditions;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::{CacheState, Regime, TimerChoice};
use switchback_model::side::{Pairing, Side};
use switchback_model::switch::{self, Switch};
use switchback_model::verdict::{ScreenVerdict, Verdict};

use super::shown::RUNS;
use crate::args::{
    JudgeArgs, MeasureArgs, OperatorArgs, OutArgs, PairingArg, RegimeArg, SuiteArgs, SwitchArgs, TimerArg,
};
use crate::failure::Message;

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
        cells_per_card: args.cells_per_card,
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
