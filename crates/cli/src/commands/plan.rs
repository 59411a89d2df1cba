//! `plan`: the schedule and its cost, nothing started.

use std::path::{Path, PathBuf};

use anyhow::Context;
use switchback_engine::campaign::Campaign;
use switchback_engine::cards::ALL;
use switchback_engine::controls::{Controls, ENOUGH};
use switchback_engine::plan::{self, Plan, ScreenedCost, Times};
use switchback_engine::prepare::{self, Prepared};
use switchback_engine::request::{Goal, Request};
use switchback_engine::schedule::ScreenedOperators;
use switchback_engine::scripts;
use switchback_model::exit_code::ExitCode;
use switchback_report::{number, text};

use crate::args::{OperatorArgs, PlanArgs};
use crate::failure::Message;
use crate::plan_table;
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
    let mut known = named(args, &program)?;
    if let (Some(campaign), true) = (&known.from, asks_for_nothing(args)) {
        let mut request = campaign.request.clone();
        request.fixed |= args.fixed;
        match request.goal {
            Goal::Ab => {}
            // It says which operators and which switch, not yet how often.
            Goal::Screen => (request.goal, request.rounds) = (Goal::Ab, ab.judge.rounds),
            Goal::Run => {
                return Err(Message::usage(
                    "`--from` names a run, which has no switch",
                    "name the switch and the operators: `switchback plan OP… --switch V`",
                ));
            }
        }
        let tunes = campaign.suite().tunes();
        let devices = match ab.suite.devices.as_slice() {
            [] => request.cards().iter().map(|it| it.card.index.clone()).collect(),
            named if named.iter().any(|it| it == ALL) => {
                return Err(Message::usage(
                    "`--devices all` asks this machine, and the plan is another campaign's",
                    "name the cards, `--devices 0,1`, or leave them to the campaign",
                ));
            }
            named => named.to_vec(),
        };
        return show(args, &Asked { request: &request, tunes, devices }, known);
    }
    // A table names its operators, with file and dtypes: nobody has to write them down again.
    let operators = if ab.operators.is_empty() && !known.costs.is_empty() {
        OperatorArgs {
            names: known.costs.iter().map(|it| it.operator.to_string()).collect(),
            exclude: ab.operators.exclude.clone(),
            ..OperatorArgs::default()
        }
    } else {
        ab.operators.clone()
    };
    let mut ask = session::ask(
        Goal::Ab,
        &operators,
        session::switch(&ab.switch)?,
        &ab.suite,
        &ab.measure,
        Some(&ab.judge),
        session::side(&ab.judge.tune_on),
    )?;
    if ask.devices.is_empty() {
        ask.devices = vec![ALL.to_owned()];
    }
    ask.fixed = args.fixed;
    let prepared = prepare::prepare(ask, &program)?;
    session::print_findings(&prepared.findings, volume);
    if matches!(known.times, Times::Nothing) {
        known = earlier(&prepared, &program);
    }
    let devices: Vec<String> = prepared.cards.iter().map(|card| card.card.index.clone()).collect();
    show(args, &Asked { request: &prepared.request, tunes: prepared.suite.tunes(), devices }, known)
}

/// What is planned.
struct Asked<'a> {
    request: &'a Request,
    /// True if the suite's operators have tuners.
    tunes: bool,
    devices: Vec<String>,
}

/// True if no operator and no switch is named: the campaign that `--from` names has both.
fn asks_for_nothing(args: &PlanArgs) -> bool {
    let switch = &args.ab.switch;
    args.ab.operators.is_empty() && switch.switch.is_empty() && switch.a.is_empty() && switch.b.is_empty()
}

fn show(args: &PlanArgs, asked: &Asked<'_>, known: Known) -> anyhow::Result<ExitCode> {
    if args.tsv {
        return table(args, asked, &known);
    }
    let Known { costs, from, times } = known;
    let it = plan::plan(asked.request, asked.tunes, &asked.devices, &costs, from.as_ref(), times);
    let rounds = prepare::facts(asked.request).remove("rounds").unwrap_or_default();
    session::print(&describe(&it, &rounds, &controls(asked.request, &it), args.fixed));
    Ok(ExitCode::Success)
}

/// What is known of what operators cost.
struct Known {
    costs: Vec<ScreenedCost>,
    /// The campaign, where it is one: its rounds tell more than its screening.
    from: Option<Campaign>,
    times: Times,
}

impl Known {
    fn of(campaign: Campaign, times: Times) -> Self {
        Self { costs: plan::costs(&campaign), from: Some(campaign), times }
    }
}

/// What was named: a campaign, a folder of the scripts, a table alone, or the folder that would be gone on with.
fn named(args: &PlanArgs, program: &Path) -> anyhow::Result<Known> {
    let Some(path) = &args.from else {
        return Ok(match args.ab.out.out.as_ref().filter(|out| out.join("campaign.toml").is_file()) {
            Some(out) => Known::of(prepare::read(out, program)?, Times::Named(out.clone())),
            None => Known { costs: Vec::new(), from: None, times: Times::Nothing },
        });
    };
    let times = Times::Named(path.clone());
    let table = match scripts::recognise(path)? {
        Some(scripts::ScriptDir::Screen(screen)) => screen.root.join("screen.tsv"),
        Some(_) => {
            return Err(Message::usage(
                format!("`{}` was not screened: it has no `screen.tsv`", path.display()),
                "`--from` takes a screened campaign, a folder with `screen.tsv`, or the table itself",
            ));
        }
        None if path.is_file() => path.to_owned(),
        None => return Ok(Known::of(prepare::read(path, program)?, times)),
    };
    let text =
        std::fs::read_to_string(&table).with_context(|| format!("cannot read `{}`", table.display()))?;
    let costs = scripts::screen_table(&text, &table.display().to_string())?;
    Ok(Known { costs, from: None, times })
}

/// An earlier campaign of the suite. One that nobody named and that cannot be read is no reason to plan nothing.
fn earlier(prepared: &Prepared, program: &Path) -> Known {
    let found = plan::earlier(Path::new(session::RUNS), &prepared.request);
    let read = found.and_then(|dir| Some(Known::of(prepare::read(&dir, program).ok()?, Times::Earlier(dir))));
    read.unwrap_or(Known { costs: Vec::new(), from: None, times: Times::Nothing })
}

/// Prints the fixed partition.
fn table(args: &PlanArgs, asked: &Asked<'_>, known: &Known) -> anyhow::Result<ExitCode> {
    let out = args.ab.out.out.clone().unwrap_or_else(|| PathBuf::from(session::RUNS).join("by-hand"));
    let out = std::path::absolute(out)?;
    let screened = match known.times {
        Times::Named(_) => plan::verdicts(asked.request, &known.costs),
        Times::Earlier(_) | Times::Nothing => ScreenedOperators::new(),
    };
    let pair_s = |name: &str| known.costs.iter().find(|it| it.operator.operator == name)?.pair_s;
    let parts = plan::fixed(asked.request, &screened, pair_s, asked.devices.len()).ok_or_else(|| {
        Message::usage(
            "a partition takes the times of screening, and not all operators are screened",
            "`switchback screen … --out DIR` first, then `--from DIR`",
        )
    })?;
    let replay_from = known.from.as_ref().filter(|_| asked.tunes).map(|it| it.dir.root());
    session::print(&plan_table::table(asked.request, &screened, &asked.devices, parts, &out, replay_from));
    Ok(ExitCode::Success)
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
    let of_controls = plan.operators.iter().filter(|it| it.control);
    let (number, seconds): (usize, f64) =
        of_controls.fold((0, 0.0), |(number, seconds), it| (number + 1, seconds + it.expected_s));
    if number > 0 {
        let measured = plan.operators.iter().filter(|it| it.skipped.is_none());
        let all: f64 = measured.map(|it| it.expected_s).sum();
        return format!(
            "{number}, {} of {}: `--controls 0` saves them, and a bias of all rounds then goes unseen",
            number::seconds(seconds),
            number::seconds(all)
        );
    }
    match request.controls {
        _ if request.measure_identical => "all operators with identical code".into(),
        Controls::Auto if !matches!(plan.times, Times::Named(_)) => format!(
            "auto: up to {ENOUGH} operators with identical code are measured too, once screening has found them"
        ),
        Controls::Auto => "auto: no operator with identical code is there, or none is needed".into(),
        Controls::Number(number) => number.to_string(),
    }
}

fn describe(plan: &Plan, rounds: &str, controls: &str, fixed: bool) -> String {
    let mut lines = String::new();
    let width = plan.operators.iter().map(|it| text::width(&it.operator)).max().unwrap_or(8).clamp(8, 60);
    lines.push_str(&format!("{}  cells  expected\n", text::pad_right("operator", width)));
    for it in &plan.operators {
        let cost = match &it.skipped {
            Some(verdict) => format!("not measured: {verdict}"),
            None => {
                let remark = match (it.known, it.control) {
                    (false, _) => "  a guess",
                    (true, true) => "  control: identical code, its noise is measured",
                    (true, false) => "",
                };
                format!("{}{remark}", cost(it.expected_s, it.most_s))
            }
        };
        lines.push_str(&format!(
            "{}  {:>5}  {cost}\n",
            text::pad_right(&text::one_line(&it.operator), width),
            it.cells
        ));
    }
    lines.push('\n');
    let of_operator = |name: &str| -> usize {
        plan.cards
            .iter()
            .flat_map(|card| &card.operators)
            .filter(|(operator, _)| operator == name)
            .map(|(_, rounds)| rounds)
            .sum()
    };
    for card in &plan.cards {
        let operators: Vec<String> = card
            .operators
            .iter()
            .map(|(name, rounds)| match of_operator(name) {
                all if all == *rounds => name.clone(),
                all => format!("{name} ({rounds} of {all} rounds)"),
            })
            .collect();
        lines.push_str(&format!(
            "card {}  {}  {}\n",
            card.device,
            cost(card.expected_s, card.most_s),
            text::one_line(&operators.join(" "))
        ));
    }
    lines.push('\n');
    let most_s = plan.cards.iter().map(|card| card.most_s).fold(0.0, f64::max);
    lines.push_str(&format!(
        "makespan  {}, {:.2} times the fair share of {} a card\n",
        cost(plan.makespan_s, most_s),
        plan.imbalance(),
        number::seconds(plan.fair_share_s)
    ));
    if let Some(heaviest) = plan.heaviest {
        let it = &plan.operators[heaviest];
        let spread = match (plan.is_spread(heaviest) && plan.cards.len() > 1, fixed) {
            (true, false) => ", more than a card's share: spread by its rounds",
            (true, true) => ", more than a card's share: without `--static` it would be spread by its rounds",
            (false, _) => "",
        };
        let name = text::one_line(&it.operator);
        lines.push_str(&format!("heaviest  {name}, {}{spread}\n", number::seconds(it.expected_s)));
    }
    // A table without times still says which operators are measured; what it does not say is not taken from it.
    let told = plan.operators.iter().any(|it| it.known && it.skipped.is_none());
    let times = match &plan.times {
        Times::Named(dir) if !told => format!(
            "guessed, {} a block: `{}` tells none of these operators",
            number::seconds(plan::unknown_s()),
            dir.display()
        ),
        Times::Named(dir) => format!("as cells took in `{}`", dir.display()),
        Times::Earlier(dir) => {
            format!(
                "as cells took in `{}`, the latest of this suite; `--from DIR` names another",
                dir.display()
            )
        }
        Times::Nothing => format!(
            "guessed, {} a block: `--from DIR` takes them from a screened campaign",
            number::seconds(plan::unknown_s())
        ),
    };
    lines.push_str(&format!(
        "times     {}\ncontrols  {controls}\nrounds    {rounds}\nnothing was started\n",
        text::one_line(&times)
    ));
    lines
}
