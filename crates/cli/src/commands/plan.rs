//! `plan`: the schedule and its cost, nothing started.

use std::path::Path;

use anyhow::Context;
use switchback_engine::controls::{Controls, ENOUGH};
use switchback_engine::plan::{self, Plan, PlannedOperator, ScreenedCost, plan};
use switchback_engine::request::{Goal, Request};
use switchback_engine::{prepare, scripts};
use switchback_model::exit_code::ExitCode;
use switchback_report::{number, text};

use crate::args::PlanArgs;
use crate::failure::Message;
use crate::progress::Volume;
use crate::session;

pub fn run(args: &PlanArgs, volume: Volume) -> anyhow::Result<ExitCode> {
    let ab = &args.ab;
    if ab.floor.is_some() {
        return Err(Message::usage(
            "`plan` measures nothing, so there is nothing to show `--floor` beside",
            "give it to `ab` or `report`",
        ));
    }
    let program = session::program()?;
    let screened = args.from.as_deref().map(|path| costs(path, &program)).transpose()?.unwrap_or_default();
    // A table names its operators, with file and dtypes: nobody has to write them down again.
    let named: Vec<String> = if ab.operators.is_empty() {
        screened.iter().map(|it| it.operator.to_string()).collect()
    } else {
        ab.operators.clone()
    };
    let ask = session::ask(
        Goal::Ab,
        &named,
        session::switch(&ab.switch)?,
        &ab.suite,
        &ab.measure,
        Some(&ab.judge),
        session::side(&ab.judge.tune_on),
    )?;
    let prepared = prepare::prepare(ask, &program)?;
    session::print_findings(&prepared.findings, volume);
    let devices: Vec<String> = prepared.cards.iter().map(|card| card.card.index.clone()).collect();
    let it = plan(&prepared.request, prepared.suite.tunes(), &devices, &screened);
    let rounds = prepare::facts(&prepared.request).remove("rounds").unwrap_or_default();
    session::print(&describe(&it, &rounds, &controls(&prepared.request, &it)));
    Ok(ExitCode::Success)
}

/// Costs of a screening: of a campaign's folder, of a folder of the scripts, or of a table alone.
fn costs(path: &Path, program: &Path) -> anyhow::Result<Vec<ScreenedCost>> {
    let table = match scripts::recognise(path)? {
        Some(scripts::ScriptDir::Screen(screen)) => screen.root.join("screen.tsv"),
        Some(_) => {
            return Err(Message::usage(
                format!("`{}` was not screened: it has no `screen.tsv`", path.display()),
                "`--from` takes a screened campaign, a folder with `screen.tsv`, or the table itself",
            ));
        }
        None if path.is_file() => path.to_owned(),
        None => return Ok(plan::costs(&prepare::read(path, program)?)),
    };
    let text =
        std::fs::read_to_string(&table).with_context(|| format!("cannot read `{}`", table.display()))?;
    Ok(scripts::screen_table(&text, &table.display().to_string())?)
}

/// Seconds, or from the least to the most where rounds go by precision.
fn cost(least_s: f64, most_s: f64) -> String {
    if least_s < most_s {
        format!("{} to {}", number::seconds(least_s), number::seconds(most_s))
    } else {
        number::seconds(least_s)
    }
}

/// What the controls are, and what share of the cost they take where that is known.
fn controls(request: &Request, plan: &Plan) -> String {
    let number = plan.operators.iter().filter(|it| it.control).count();
    let seconds = |it: &PlannedOperator| it.expected_s.unwrap_or(0.0);
    let of_controls: f64 = plan.operators.iter().filter(|it| it.control).map(seconds).sum();
    let all: f64 = plan.operators.iter().filter(|it| it.skipped.is_none()).map(seconds).sum();
    if number > 0 && all > 0.0 {
        return format!(
            "controls {number}, {} of {}: `--controls 0` saves them, and a bias of all rounds then goes unseen",
            number::seconds(of_controls),
            number::seconds(all)
        );
    }
    match request.controls {
        _ if request.measure_identical => "controls: all operators with identical code".into(),
        Controls::Auto if plan.unweighted => format!(
            "controls auto: up to {ENOUGH} operators with identical code are measured too, once screening has found them"
        ),
        Controls::Auto => "controls auto: no operator with identical code is there, or none is needed".into(),
        Controls::Number(number) => format!("controls {number}"),
    }
}

fn describe(plan: &Plan, rounds: &str, controls: &str) -> String {
    let mut lines = String::new();
    let width = plan.operators.iter().map(|it| text::width(&it.operator)).max().unwrap_or(8).clamp(8, 60);
    lines.push_str(&format!("{}  cells  expected\n", text::pad_right("operator", width)));
    for it in &plan.operators {
        let cost = match (&it.skipped, it.expected_s) {
            (Some(verdict), _) => format!("not measured: {verdict}"),
            (None, Some(expected_s)) => {
                let control =
                    if it.control { "  control: identical code, its noise is measured" } else { "" };
                format!("{}{control}", cost(expected_s, it.most_s.unwrap_or(expected_s)))
            }
            (None, None) => "unknown until screened".to_owned(),
        };
        lines.push_str(&format!(
            "{}  {:>5}  {cost}\n",
            text::pad_right(&text::one_line(&it.operator), width),
            it.cells
        ));
    }
    lines.push('\n');
    for card in &plan.cards {
        let cost = if plan.unweighted {
            format!("{} operators", card.operators.len())
        } else {
            cost(card.expected_s, card.most_s)
        };
        lines.push_str(&format!(
            "card {}  {cost}  {}\n",
            card.device,
            text::one_line(&card.operators.join(" "))
        ));
    }
    if plan.unweighted {
        lines.push_str("all operators weigh the same: `--from DIR` takes times from a screened campaign\n");
    }
    lines.push_str(&format!(
        "{controls}\nrounds {rounds}; most loaded card {:.2} times the even share\nnothing was started\n",
        plan.imbalance
    ));
    lines
}
