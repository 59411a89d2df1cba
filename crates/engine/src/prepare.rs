//! From what a user asks to a request: the suite, the card, the operators found, the checks passed.
//!
//! The campaign's folder is left to `folder`, what is said of a request to `facts`. Invariant: whatever is missing or wrong is
//! told before anything is made or measured.

mod facts;
mod folder;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use switchback_device::Backend;
use switchback_model::conditions::Conditions;
use switchback_model::finding::Finding;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::Regime;
use switchback_model::side::{Pairing, Side};
use switchback_model::switch::Switch;
use switchback_model::verdict::ScreenVerdict;
use switchback_stats::Precision;
use switchback_suites::registry;
use switchback_suites::suite::{Offered, Suite, SuiteOptions};

use crate::cards::{self, ChosenCard};
use crate::controls::Controls;
use crate::error::EngineError;
use crate::preflight;
use crate::recordings::{self, Recording};
use crate::request::{Goal, MeasureRequest, Request, RequestCard};

pub use facts::facts;
pub use folder::{Place, read, read_to_judge, rescore, resume};

/// What a user asks for, before it is held against the machine.
#[derive(Debug, Clone)]
pub struct Ask {
    /// How far to go.
    pub goal: Goal,
    /// The suite's name.
    pub suite: String,
    /// The suite's options.
    pub options: SuiteOptions,
    /// Operators as they were written; none means all that the suite offers.
    pub operators: Vec<OperatorSpec>,
    /// What the sides differ in; empty for a single run.
    pub switch: Switch,
    /// Pairing; none for the suite's own first choice.
    pub pairing: Option<Pairing>,
    /// Rounds.
    pub rounds: u32,
    /// Rounds by precision instead.
    pub precision: Option<Precision>,
    /// Margin, percent.
    pub margin_pct: f64,
    /// Operators with identical code to be measured as controls.
    pub controls: Controls,
    /// True to measure all operators with identical code.
    pub measure_identical: bool,
    /// True to measure controls one process a side as well.
    pub naive: bool,
    /// The side that tunes.
    pub tune_on: Side,
    /// Screening verdicts whose operators are measured; empty for those whose code changed.
    pub verdicts: Vec<ScreenVerdict>,
    /// Operators, by name, that are left out.
    pub exclude: Vec<String>,
    /// The run whose recordings are replayed.
    pub replay_from: Option<PathBuf>,
    /// True if each operator stays on the card that a fixed partition gives it.
    pub fixed: bool,
    /// Most cells on a card at once; none for what the machine's cores allow.
    pub cells_per_card: Option<u32>,
    /// Seed; none draws one.
    pub seed: Option<u64>,
    /// Seconds a cell may take.
    pub cell_timeout_s: f64,
    /// Seconds after which no cell is started.
    pub time_budget_s: Option<f64>,
    /// Fields of the conditions that may differ.
    pub allowed: BTreeSet<String>,
    /// How to measure.
    pub measure: MeasureRequest,
    /// The back end's name.
    pub backend: Option<String>,
    /// Cards by index or UUID.
    pub devices: Vec<String>,
    /// The version of switchback.
    pub version: String,
}

/// An ask that the machine can serve.
pub struct Prepared {
    /// The request.
    pub request: Request,
    /// The suite.
    pub suite: Box<dyn Suite>,
    /// The back end.
    pub backend: &'static Backend,
    /// All cards that were asked for.
    pub cards: Vec<ChosenCard>,
    /// What the checks found, failures aside.
    pub findings: Vec<Finding>,
    /// All that the suite offers.
    pub offered: Vec<Offered>,
    /// Another run's recordings that are replayed.
    pub recordings: Vec<Recording>,
}

/// Holds an ask against the machine: finds cards and operators, runs the checks.
///
/// # Errors
/// Whatever is missing or wrong, before anything is measured.
pub fn prepare(ask: Ask, program: &Path) -> Result<Prepared, EngineError> {
    // A misspelt suite, or one without its options, is told before the machine is looked at.
    registry::suite(&ask.suite, &ask.options, program)?;
    let cards =
        cards::choose(&ask.suite, ask.backend.as_deref(), &ask.devices, |name| std::env::var(name).ok())?;
    let Some(card) = cards.first().cloned() else {
        return Err(EngineError::usage("no card was named", "`--devices 0`"));
    };
    let mut options = ask.options;
    options.backend = card.backend.name.to_owned();
    if options.avoid_mm_cluster && !(card.backend.mm_cluster && ask.suite == "flaggems") {
        return Err(EngineError::usage(
            format!(
                "suite `{}` on back end `{}` has no cluster kernel to avoid",
                ask.suite, card.backend.name
            ),
            "`--avoid-mm-cluster` is for FlagGems' matrix product on Hopper; leave it out",
        ));
    }
    let suite = registry::suite(&ask.suite, &options, program)?;
    let scratch = scratch()?;
    preflight::unpack(suite.as_ref(), scratch.path())?;
    preflight::passed(preflight::check_paths(suite.as_ref(), scratch.path()))?;
    let offered = preflight::offered(suite.as_ref(), scratch.path())?;
    let asked = if ask.operators.is_empty() {
        offered
            .iter()
            .map(|it| OperatorSpec {
                operator: it.operator.clone(),
                file: it.file.clone(),
                dtypes: Vec::new(),
            })
            .collect()
    } else {
        ask.operators
    };
    let operators = without(suite.resolve(&asked, &offered)?, &ask.exclude)?;
    let mut findings = preflight::passed(preflight::check(suite.as_ref(), &operators, scratch.path()))?;
    findings.extend(cards.iter().filter_map(crate::doctor::capped));
    if suite.name() != "flaggems"
        && let Some(path) = &options.shape_file
    {
        findings.push(Finding::warning(
            "the shape file is not read",
            format!("suite `{}` reads no `{}`", suite.name(), path.display()),
            "`--shape-file` is of FlagGems' benchmark: operators here are measured with shapes of their own",
        ));
    }
    let names: BTreeSet<&str> = operators.iter().map(|operator| operator.operator.as_str()).collect();
    if names.len() < operators.len() {
        return Err(EngineError::usage(
            "an operator is named twice",
            "name it once with all its dtypes, as in `add::float16,float32`",
        ));
    }
    let pairings = suite.pairings();
    let pairing = match ask.pairing {
        None => pairings.first().copied().unwrap_or(Pairing::Process),
        Some(pairing) if pairings.contains(&pairing) => pairing,
        Some(pairing) => {
            return Err(EngineError::usage(
                format!("suite `{}` cannot pair by `{pairing}`", ask.suite),
                "`--pairing process` works with every suite",
            ));
        }
    };
    if ask.measure.regime == Regime::Sustained && !suite.sustains() {
        return Err(EngineError::usage(
            format!("suite `{}` has no `sustained` regime", ask.suite),
            "what settles is a card; the processor's suite measures bursts",
        ));
    }
    let pairing_falls_back =
        ask.pairing.is_none() && pairing == Pairing::Duet && pairings.contains(&Pairing::Process);
    let takes_dtypes = offered
        .iter()
        .filter(|it| names.contains(it.operator.as_str()) && !it.dtypes.is_empty())
        .map(|it| (it.operator.clone(), it.dtypes.clone()))
        .collect();
    let mut request = Request {
        schema: 1,
        switchback: ask.version,
        id: new_id(),
        created_utc: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        goal: ask.goal,
        suite: ask.suite,
        pairing,
        pairing_falls_back,
        rounds: ask.rounds,
        margin_pct: ask.margin_pct,
        controls: ask.controls,
        measure_identical: ask.measure_identical,
        naive: ask.naive,
        tune_on: ask.tune_on,
        seed: ask.seed.unwrap_or_else(|| rand::random::<u64>() >> 11),
        cell_timeout_s: ask.cell_timeout_s,
        time_budget_s: ask.time_budget_s,
        allowed: ask.allowed.into_iter().collect(),
        verdicts: ask.verdicts,
        fixed: ask.fixed,
        cells_per_card: ask.cells_per_card,
        replay_from: ask.replay_from.clone(),
        recorded: Vec::new(),
        operators,
        measure: ask.measure,
        precision: ask.precision,
        switch: (&ask.switch).into(),
        options,
        card: card.card,
        facts: card.facts,
        takes_dtypes,
        more_cards: cards.iter().skip(1).cloned().map(RequestCard::from).collect(),
    };
    request.check()?;
    check_cards(&request)?;
    let recordings = match &ask.replay_from {
        Some(run) => replayed(run, &mut request, suite.as_ref())?,
        None => Vec::new(),
    };
    Ok(Prepared { request, suite, backend: card.backend, cards, findings, offered, recordings })
}

/// Leaves operators out; one that is not there would be left in under the name that was meant.
fn without(mut operators: Vec<OperatorSpec>, names: &[String]) -> Result<Vec<OperatorSpec>, EngineError> {
    for name in names {
        let before = operators.len();
        operators.retain(|operator| operator.operator != *name);
        if operators.len() == before {
            return Err(EngineError::usage(
                format!("`{name}` is to be left out and is none of the operators"),
                "`--dry-run` lists them",
            ));
        }
    }
    Ok(operators)
}

/// Finds the recordings of another run, and notes in the request which operators have one.
fn replayed(run: &Path, request: &mut Request, suite: &dyn Suite) -> Result<Vec<Recording>, EngineError> {
    if !suite.tunes() {
        return Err(EngineError::usage(
            format!("suite `{}` has no tuners, so there is nothing to replay", request.suite),
            "leave `--replay-from` away",
        ));
    }
    let found = recordings::find(run, request)?;
    request.recorded = found.iter().map(|it| it.operator.clone()).collect();
    Ok(found)
}

/// Operators that a suite offers, and what the checks found, without asking for any.
///
/// # Errors
/// As [`prepare`].
pub fn operators(suite: &str, options: &SuiteOptions, program: &Path) -> Result<Vec<Offered>, EngineError> {
    let suite = registry::suite(suite, options, program)?;
    let scratch = scratch()?;
    preflight::unpack(suite.as_ref(), scratch.path())?;
    preflight::offered(suite.as_ref(), scratch.path())
}

/// What a suite's checks find on this machine, without asking for any operator.
///
/// # Errors
/// No such suite, or an option that it needs is missing.
pub fn checks(suite: &str, options: &SuiteOptions, program: &Path) -> Result<Vec<Finding>, EngineError> {
    let suite = registry::suite(suite, options, program)?;
    let scratch = scratch()?;
    preflight::unpack(suite.as_ref(), scratch.path())?;
    Ok(preflight::check(suite.as_ref(), &[], scratch.path()))
}

fn scratch() -> Result<tempfile::TempDir, EngineError> {
    tempfile::Builder::new().prefix("switchback-").tempdir().map_err(|source| {
        EngineError::Store(switchback_store::StoreError::Io {
            action: "create a folder in",
            path: std::env::temp_dir(),
            source,
        })
    })
}

fn new_id() -> String {
    format!("{:016x}", rand::random::<u64>())
}

/// Refuses cards that are named twice or are not alike, before a row of one stands beside a row of another.
fn check_cards(request: &Request) -> Result<(), EngineError> {
    let cards = request.cards();
    let allowed = request.allowed.iter().cloned().collect();
    let first = Conditions(cards[0].facts.clone());
    for (place, it) in cards.iter().enumerate().skip(1) {
        if cards[..place].iter().any(|other| other.card == it.card) {
            return Err(EngineError::usage(
                format!("card `{}` is named twice", it.card.index),
                "a card is measured on by one campaign at a time",
            ));
        }
        let differences = first.differences(&Conditions(it.facts.clone()), &allowed);
        if !differences.is_empty() {
            let index = it.card.index.clone();
            return Err(EngineError::OtherCard { first: cards[0].card.index.clone(), index, differences });
        }
    }
    Ok(())
}
