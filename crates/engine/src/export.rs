//! Facts for the tables at the top of a campaign's folder; crate `report` writes them down.

use switchback_ir::Fingerprint;
use switchback_model::cell::CellKey;
use switchback_model::conditions::Conditions;
use switchback_model::operator::OperatorSpec;
use switchback_model::outcome::Outcome;
use switchback_model::side::Side;
use switchback_store::ir_objects;

use crate::campaign::Campaign;
use crate::error::EngineError;
use crate::request::{Goal, Request};
use crate::screen::Screened;
use crate::state::Attempt;

/// What `screen.tsv` says of one operator; pairs are A (before) and B (after).
#[derive(Debug, Clone)]
pub struct ScreenFacts {
    /// The operator.
    pub operator: OperatorSpec,
    /// What screening found.
    pub screened: Screened,
    /// Rows that ran.
    pub rows: (u64, u64),
    /// Compiled kernels that cases launch.
    pub kernels: (u64, u64),
    /// `convert_layout` operations in their `ttgir`: they explain a change, they do not decide it.
    pub cvt: (u64, u64),
    /// Seconds of the card's time that the screening cells took.
    pub elapsed_s: (f64, f64),
    /// Fingerprints of all that cases launch.
    pub fingerprints: (Option<String>, Option<String>),
    /// Conditions of side A's cell.
    pub conditions: Conditions,
}

/// Screened operators in the order they were asked for.
///
/// # Errors
/// A text cannot be read.
pub fn screen_facts(campaign: &Campaign) -> Result<Vec<ScreenFacts>, EngineError> {
    let mut facts = Vec::new();
    for operator in &campaign.request.operators {
        let Some(screened) = campaign.screened.get(&operator.operator) else { continue };
        let evidence =
            Side::BOTH.map(|side| campaign.screen_evidence.get(&(operator.operator.clone(), side)));
        let both = |read: &dyn Fn(Side, &crate::evidence::Evidence) -> u64| {
            let of = |side: Side| evidence[usize::from(side == Side::B)].map_or(0, |it| read(side, it));
            (of(Side::A), of(Side::B))
        };
        let mut cvt = [0, 0];
        for (index, side) in Side::BOTH.into_iter().enumerate() {
            for (_, _, name) in evidence[index]
                .iter()
                .flat_map(|it| &it.texts)
                .filter(|(of, stage, _)| *of == side && stage == "ttgir")
            {
                let text = ir_objects::get(&campaign.dir.ir_dir(), name)?;
                cvt[index] +=
                    count(&text, b"ttg.convert_layout") + count(&text, b"triton_gpu.convert_layout");
            }
        }
        let elapsed = |side: Side| {
            evidence[usize::from(side == Side::B)]
                .and_then(|it| it.outcome.as_ref())
                .map_or(0.0, Outcome::card_s)
        };
        let fingerprint = |side: Side| {
            evidence[usize::from(side == Side::B)]
                .and_then(|it| Fingerprint::of(&it.kernels(side)))
                .map(|fingerprint| fingerprint.to_string())
        };
        facts.push(ScreenFacts {
            operator: operator.clone(),
            screened: screened.clone(),
            rows: both(&|_, it| it.rows_ok()),
            kernels: both(&|side, it| it.kernels(side).len() as u64),
            cvt: (cvt[0], cvt[1]),
            elapsed_s: (elapsed(Side::A), elapsed(Side::B)),
            fingerprints: (fingerprint(Side::A), fingerprint(Side::B)),
            conditions: evidence[0].map(|it| it.conditions.clone()).unwrap_or_default(),
        });
    }
    Ok(facts)
}

fn count(text: &[u8], word: &[u8]) -> u64 {
    text.windows(word.len()).filter(|window| *window == word).count() as u64
}

/// What `status.tsv` says of one attempt.
#[derive(Debug, Clone)]
pub struct StatusFacts {
    /// The cell.
    pub cell: CellKey,
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// The switch's values on the cell's side.
    pub switch: String,
}

/// All attempts that have ended, in the order in which they were started.
#[must_use]
pub fn status_facts(campaign: &Campaign) -> Vec<StatusFacts> {
    let mut facts: Vec<StatusFacts> = campaign
        .state
        .cells()
        .flat_map(|(cell, attempts)| {
            (1u32..).zip(attempts).filter_map(|(number, attempt)| facts_of(campaign, cell, number, attempt))
        })
        .collect();
    facts.sort_by(|one, two| one.outcome.started_utc.cmp(&two.outcome.started_utc));
    facts
}

/// A cell's latest attempt, if it has ended.
#[must_use]
pub fn latest_status(campaign: &Campaign, cell: &CellKey) -> Option<StatusFacts> {
    let attempts = campaign.state.attempts(&cell.operator, cell.purpose);
    let number = u32::try_from(attempts.len()).ok()?;
    facts_of(campaign, cell, number, attempts.last()?)
}

fn facts_of(campaign: &Campaign, cell: &CellKey, number: u32, attempt: &Attempt) -> Option<StatusFacts> {
    let switch = campaign.request.switch();
    let outcome = attempt.outcome.clone()?;
    let switch = match crate::orders::single_side(cell.purpose) {
        Some(side) if campaign.request.goal != Goal::Run => values(switch.side(side)),
        Some(_) => String::new(),
        None => format!("{}:{}", values(&switch.a), values(&switch.b)),
    };
    Some(StatusFacts { cell: cell.clone(), attempt: number, outcome, switch })
}

/// A lone variable's bare value, as the scripts had it; several with their names.
fn values(variables: &switchback_model::switch::Variables) -> String {
    match variables.len() {
        1 => variables.values().next().cloned().flatten().unwrap_or_else(|| "unset".into()),
        _ => switchback_model::switch::describe(variables),
    }
}

/// True if cells failed, were cut off or are left: the campaign is not complete.
#[must_use]
pub fn is_incomplete(campaign: &Campaign) -> bool {
    let request: &Request = &campaign.request;
    let left = campaign.next().is_some();
    let failed =
        request.operators.iter().any(|operator| campaign.failed_attempt(&operator.operator).is_some());
    left || failed
}
