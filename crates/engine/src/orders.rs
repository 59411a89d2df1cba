//! Orders: what one cell is told, from the request, the suite and what is done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use switchback_device::Backend;
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::conditions::Conditions;
use switchback_model::event::PROTOCOL;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::{Measure, Order, Tuning, Turn};
use switchback_model::side::{CellSides, Pairing, Side};
use switchback_store::StoreError;
use switchback_store::attempt::{self, AttemptDir};
use switchback_store::campaign_dir::CampaignDir;
use switchback_store::path_name::path_name;
use switchback_suites::suite::{CellRequest, Suite};

use crate::campaign::conditions_of_campaign;
use crate::request::{Goal, Request, RequestCard};
use crate::schedule::seed;
use crate::state::{Standing, State};

/// What a cell is given that neither the request nor its own name says.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The card.
    pub card: &'a RequestCard,
    /// How it shares the card, as [`Order::turn`] has it.
    pub turn: Option<Turn>,
    /// Whether its outputs are held against a reference, as [`Order::reference`] has it.
    pub reference: bool,
}

/// Claims a cell's next attempt and writes its order, for a card whose caches are its own.
///
/// # Errors
/// The campaign's folder cannot be written.
pub fn write(
    campaign: &CampaignDir,
    request: &Request,
    suite: &dyn Suite,
    backend: &Backend,
    state: &State,
    cell: &CellKey,
    given: Given<'_>,
) -> Result<AttemptDir, StoreError> {
    let Given { card, turn, reference } = given;
    let operator = request
        .operators
        .iter()
        .find(|operator| operator.operator == cell.operator)
        .cloned()
        .unwrap_or_else(|| OperatorSpec::named(&cell.operator));
    let recording = recording(campaign, request, state, &cell.operator);
    let measure = measure(request, suite, backend, cell, recording.clone());
    let sides = cell.purpose.sides();
    let caches = campaign.cache_dir().join(path_name(&card.card.lock_name())).join(path_name(&cell.operator));
    let cache_dir = caches.join(cache_name(cell.purpose));
    std::fs::create_dir_all(&cache_dir).map_err(|source| StoreError::Io {
        action: "create",
        path: cache_dir.clone(),
        source,
    })?;
    let (number, attempt) = attempt::claim(campaign, cell)?;
    let mut command = suite.cell_command(&CellRequest {
        operator: &operator,
        purpose: cell.purpose,
        measure: &measure,
        probe_dir: &campaign.probe_dir(),
        cache_dir: &cache_dir,
    });
    let switch = request.switch();
    // In duet pairing the child sets each side's variables itself: it must start with neither.
    for name in switch.names() {
        let value = match sides {
            CellSides::A => switch.a.get(&name).cloned().flatten(),
            CellSides::B => switch.b.get(&name).cloned().flatten(),
            CellSides::Both => None,
        };
        command.env.insert(name, value);
    }
    if request.goal == Goal::Run {
        for name in switch.names() {
            command.env.remove(&name);
        }
    }
    command.env.extend(backend.child_variables(&card.card));
    let order = Order {
        protocol: PROTOCOL,
        campaign: request.id.clone(),
        conditions: conditions(request, &card.facts, suite, &operator, cell.purpose, recording.as_deref()),
        identity: BTreeMap::from([
            ("switchback".to_owned(), request.switchback.clone()),
            ("seed".to_owned(), measure.seed.to_string()),
        ]),
        operator,
        purpose: cell.purpose,
        attempt: number,
        attempt_dir: attempt.path().to_owned(),
        ir_dir: campaign.ir_dir(),
        command,
        switch,
        measure,
        timeout_s: request.cell_timeout_s,
        card: card.card.clone(),
        compiled: match sides {
            CellSides::Both => Side::BOTH
                .into_iter()
                .map(|side| (side, caches.join(cache_name(Purpose::Screen(side)))))
                .collect(),
            CellSides::A | CellSides::B => BTreeMap::new(),
        },
        reference,
        turn,
    };
    attempt.write_order(&order)?;
    Ok(attempt)
}

/// The caches that a cell shares: those of its side, unless it is there to be a compilation of its own.
///
/// Screening compiles anew what a tuning cell compiled, so that a compiler that does not give one output for one input is
/// seen, and a second compilation finds nothing of the first.
fn cache_name(purpose: Purpose) -> String {
    match purpose {
        Purpose::Tune(_) | Purpose::Again(_) => purpose.to_string(),
        _ => purpose.sides().to_string(),
    }
}

/// The recording that an operator's cells replay: another run's, or its own once its tuning cell is done.
fn recording(campaign: &CampaignDir, request: &Request, state: &State, operator: &str) -> Option<PathBuf> {
    let path = if request.tunes(operator, true) {
        match state.standing(operator, Purpose::Tune(request.tune_on)) {
            Standing::Done(attempt) => attempt.dir.recording_path(),
            Standing::Open | Standing::Failed(_) => return None,
        }
    } else {
        campaign.recording_dir(operator)
    };
    path.join("records.json").is_file().then_some(path)
}

fn measure(
    request: &Request,
    suite: &dyn Suite,
    backend: &Backend,
    cell: &CellKey,
    recording: Option<PathBuf>,
) -> Measure {
    let it = &request.measure;
    let tuning = match cell.purpose {
        Purpose::Tune(_) => Tuning::Record,
        _ if suite.tunes() && recording.is_some() => Tuning::Replay,
        _ => Tuning::Off,
    };
    let timed = !matches!(cell.purpose, Purpose::Tune(_) | Purpose::Screen(_) | Purpose::Again(_));
    // Both sides of a round draw the same order of cases; another round draws another.
    let round = cell.purpose.round().map_or_else(|| cell.purpose.to_string(), |round| format!("r{round}"));
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Measure {
        timed,
        timer: it.timer,
        warmup_ms: it.warmup_ms,
        sample_ms: it.sample_ms,
        direct_repeat: it.direct_repeat,
        blocks: it.blocks,
        block_length: it.block_length,
        case_precision_pct: it.case_precision_pct,
        regime: it.regime,
        cache_state: it.cache_state,
        seed: seed(request.seed, &[&cell.operator, &round]),
        tuning,
        recording: (tuning == Tuning::Replay).then_some(recording).flatten(),
        with_baseline: it.with_baseline,
        keep_ir: true,
        capture_denied: owned(backend.capture_denied),
        capture_fatal: owned(backend.capture_fatal),
        capture_poisoned: owned(backend.capture_poisoned),
        capture_supported: backend.capture_supported,
        vendor: backend.vendor.to_owned(),
    }
}

/// Conditions that a round's rows will have, as far as they are known before anything is started.
#[must_use]
pub fn conditions_of_rounds(request: &Request, suite: &dyn Suite) -> Conditions {
    let sides = match request.pairing {
        Pairing::Duet => CellSides::Both,
        Pairing::Process => CellSides::A,
    };
    let known = request
        .operators
        .first()
        .map(|operator| conditions(request, &request.facts, suite, operator, Purpose::Round(1, sides), None));
    conditions_of_campaign(&Conditions(known.unwrap_or_default()))
}

fn conditions(
    request: &Request,
    facts: &BTreeMap<String, String>,
    suite: &dyn Suite,
    operator: &OperatorSpec,
    purpose: Purpose,
    recording: Option<&Path>,
) -> BTreeMap<String, String> {
    let it = &request.measure;
    let pairing = match purpose {
        Purpose::Round(_, CellSides::Both) => "duet",
        Purpose::Round(..) | Purpose::Naive(..) => "process",
        Purpose::Run | Purpose::Tune(_) | Purpose::Screen(_) | Purpose::Again(_) => "single",
    };
    let mut conditions = facts.clone();
    conditions.extend(suite.conditions(operator));
    let own = [
        ("backend", request.card.backend.clone()),
        ("suite", request.suite.clone()),
        ("timer", it.timer.to_string()),
        ("cache_state", format!("{:?}", it.cache_state).to_lowercase()),
        ("warmup_ms", it.warmup_ms.to_string()),
        ("sample_ms", it.sample_ms.to_string()),
        ("case_precision_pct", it.case_precision_pct.to_string()),
        ("blocks", format!("{} of {}", it.blocks, it.block_length)),
        ("regime", it.regime.to_string()),
        ("pairing", pairing.to_owned()),
        ("tuner_cache", "isolated".to_owned()),
        ("direct_repeat", it.direct_repeat.to_string()),
        ("measurement_path", suite.measurement_path()),
        ("recording", recording.map_or_else(|| "none".to_owned(), digest_of_recording)),
    ];
    for (field, value) in own {
        conditions.insert(field.to_owned(), value);
    }
    if it.with_baseline {
        // The baseline runs between the rows that are compared: another thermal state, another cache.
        let metrics = conditions.entry("metrics".to_owned()).or_default();
        metrics.push_str("+baseline");
    }
    conditions
}

/// Names a recording by its content, so that two campaigns with equal choices agree.
fn digest_of_recording(path: &Path) -> String {
    let mut hasher = Sha256::new();
    for name in ["meta.json", "records.json"] {
        hasher.update(std::fs::read(path.join(name)).unwrap_or_default());
        hasher.update([0]);
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The side that a cell of one side measures.
#[must_use]
pub fn single_side(purpose: Purpose) -> Option<Side> {
    match purpose.sides() {
        CellSides::A => Some(Side::A),
        CellSides::B => Some(Side::B),
        CellSides::Both => None,
    }
}
