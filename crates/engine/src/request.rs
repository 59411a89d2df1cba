//! The request: what a user asked for, resolved against the machine and written once (`campaign.toml`).
//!
//! It never changes after; everything that a campaign does follows from it and from the outcomes on disk.

mod check;
mod switch_table;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use switchback_model::card::Card;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::{CacheState, Regime, TimerChoice};
use switchback_model::side::{Pairing, Side};
use switchback_model::switch::Switch;
use switchback_model::verdict::ScreenVerdict;
use switchback_stats::Precision;
use switchback_stats::stopping::FIRST_LOOK;
use switchback_suites::suite::SuiteOptions;

use crate::controls::Controls;

pub use switch_table::SwitchTable;

/// How far a campaign goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// One measured run, no comparison.
    Run,
    /// Both sides' code, no times.
    Screen,
    /// Screening, then rounds of measuring.
    Ab,
}

/// How rows are measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureRequest {
    /// The timer that is asked for.
    pub timer: TimerChoice,
    /// Warm-up before a case's first sample, milliseconds.
    pub warmup_ms: f64,
    /// Time for a case's samples a side, milliseconds.
    pub sample_ms: f64,
    /// Calls of the benchmark's timing function a row (`direct`).
    pub direct_repeat: u32,
    /// Most blocks a side.
    pub blocks: u32,
    /// Most samples a block.
    pub block_length: u32,
    /// A case's sampling ends at this standard error within a process, percent; 0: never before its time is up.
    #[serde(default)]
    pub case_precision_pct: f64,
    /// What state the card is measured in.
    #[serde(default)]
    pub regime: Regime,
    /// Cache state before a sample.
    pub cache_state: CacheState,
    /// True if the benchmark's baseline is measured as well.
    pub with_baseline: bool,
}

/// A campaign's request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Version of this form.
    pub schema: u32,
    /// The version of switchback that made it.
    pub switchback: String,
    /// Names the campaign in every process of it.
    pub id: String,
    /// When it was made, RFC 3339, UTC.
    pub created_utc: String,
    /// How far it goes.
    pub goal: Goal,
    /// The suite's name.
    pub suite: String,
    /// How the sides are brought together.
    pub pairing: Pairing,
    /// True if an operator whose duet is not proven is measured one process a side instead.
    #[serde(default)]
    pub pairing_falls_back: bool,
    /// Rounds.
    pub rounds: u32,
    /// Effects smaller than this are of no interest, percent.
    pub margin_pct: f64,
    /// Operators with identical code that are measured on purpose.
    pub controls: Controls,
    /// True if all operators with identical code are measured.
    pub measure_identical: bool,
    /// True if controls are also measured one process a side, to show what that would have read.
    pub naive: bool,
    /// The side whose configs all cells replay.
    pub tune_on: Side,
    /// Seed of all draws.
    pub seed: u64,
    /// Seconds after which a cell is ended.
    pub cell_timeout_s: f64,
    /// Seconds after which no further cell is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget_s: Option<f64>,
    /// Fields of the conditions that may differ.
    #[serde(default)]
    pub allowed: Vec<String>,
    /// Screening verdicts whose operators are measured; empty for those whose code changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<ScreenVerdict>,
    /// True if each operator stays on the card that a fixed partition gives it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    /// Most cells on a card at once, of which at most one measures; none for what the machine's cores allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells_per_card: Option<u32>,
    /// The run whose recordings are replayed; copies of them lie in the campaign's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_from: Option<PathBuf>,
    /// Operators that have such a recording, and so no tuning cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<String>,
    /// The operators, resolved.
    pub operators: Vec<OperatorSpec>,
    /// How rows are measured.
    pub measure: MeasureRequest,
    /// Rounds by precision instead of [`Self::rounds`] for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// What the sides differ in.
    #[serde(default)]
    pub switch: SwitchTable,
    /// The suite's options.
    #[serde(default)]
    pub options: SuiteOptions,
    /// The card that is measured on; of several the first.
    pub card: Card,
    /// Conditions that the back end told: device, driver, power limit.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    /// Dtypes that operators take, where the suite's listing told.
    #[serde(default)]
    pub takes_dtypes: BTreeMap<String, Vec<String>>,
    /// Cards beside the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_cards: Vec<RequestCard>,
}

/// A card that a campaign measures on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCard {
    /// The card.
    pub card: Card,
    /// Conditions that the back end told of it: device, driver, power limit.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
}

impl Request {
    /// What A and B differ in.
    #[must_use]
    pub fn switch(&self) -> Switch {
        (&self.switch).into()
    }

    /// True if operators with this screening verdict are measured, controls aside.
    #[must_use]
    pub fn measures(&self, verdict: ScreenVerdict) -> bool {
        match verdict {
            ScreenVerdict::NoIrDiff if self.measure_identical => true,
            ScreenVerdict::IrChanged if self.verdicts.is_empty() => true,
            verdict => self.verdicts.contains(&verdict),
        }
    }

    /// True if an operator has a tuning cell, in a suite whose operators may be autotuned or not (`suite_tunes`).
    #[must_use]
    pub fn tunes(&self, operator: &str, suite_tunes: bool) -> bool {
        suite_tunes && !self.recorded.iter().any(|name| name == operator)
    }

    /// All cards, the first one first.
    #[must_use]
    pub fn cards(&self) -> Vec<RequestCard> {
        let first = RequestCard { card: self.card.clone(), facts: self.facts.clone() };
        std::iter::once(first).chain(self.more_cards.iter().cloned()).collect()
    }

    /// True if the sides are equal: what is measured is this machine's noise.
    #[must_use]
    pub fn is_calibration(&self) -> bool {
        self.goal == Goal::Ab && self.switch == SwitchTable::default()
    }

    /// Rounds that every operator gets.
    #[must_use]
    pub fn least_rounds(&self) -> u32 {
        self.precision.map_or(self.rounds, |precision| FIRST_LOOK.min(precision.max_rounds))
    }

    /// Rounds that no operator gets more of.
    #[must_use]
    pub fn most_rounds(&self) -> u32 {
        self.precision.map_or(self.rounds, |precision| precision.max_rounds)
    }

    /// The first field in which a repeated command line asks for something else than this request.
    ///
    /// Fields of the occasion (id, time, card, facts, time budget, how many cells a card has at once) are not the request's.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<(String, String, String)> {
        let comparable = |request: &Self| {
            let mut value = serde_json::to_value(request).unwrap_or_default();
            if let Some(fields) = value.as_object_mut() {
                for field in [
                    "switchback",
                    "id",
                    "created_utc",
                    "card",
                    "more_cards",
                    "facts",
                    "takes_dtypes",
                    "time_budget_s",
                    "cells_per_card",
                    "allowed",
                    "seed",
                ] {
                    fields.remove(field);
                }
            }
            value
        };
        first_difference("", &comparable(self), &comparable(other))
    }
}

fn first_difference(
    field: &str,
    here: &serde_json::Value,
    there: &serde_json::Value,
) -> Option<(String, String, String)> {
    if let (Some(one), Some(two)) = (here.as_object(), there.as_object()) {
        let names: std::collections::BTreeSet<&String> = one.keys().chain(two.keys()).collect();
        return names.into_iter().find_map(|name| {
            let path = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
            let null = serde_json::Value::Null;
            first_difference(&path, one.get(name).unwrap_or(&null), two.get(name).unwrap_or(&null))
        });
    }
    (here != there).then(|| (field.to_owned(), here.to_string(), there.to_string()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn request() -> Request {
        let mut switch = Switch::default();
        switch.add("PASS=:1").unwrap();
        switch.add("OTHER").unwrap();
        Request {
            schema: 1,
            switchback: "0.1.0".into(),
            id: "x".into(),
            created_utc: "2026-01-01T00:00:00Z".into(),
            goal: Goal::Ab,
            suite: "cpu".into(),
            pairing: Pairing::Process,
            pairing_falls_back: false,
            rounds: 3,
            margin_pct: 0.5,
            controls: Controls::Number(0),
            measure_identical: false,
            naive: false,
            tune_on: Side::A,
            seed: 7,
            cell_timeout_s: 60.0,
            time_budget_s: None,
            allowed: Vec::new(),
            verdicts: Vec::new(),
            fixed: false,
            cells_per_card: None,
            replay_from: None,
            recorded: Vec::new(),
            operators: vec!["add".parse().unwrap(), "sum".parse().unwrap()],
            measure: MeasureRequest {
                timer: TimerChoice::Auto,
                warmup_ms: 1.0,
                sample_ms: 10.0,
                direct_repeat: 1,
                blocks: 8,
                block_length: 4,
                case_precision_pct: 0.05,
                regime: Regime::Burst,
                cache_state: CacheState::Warm,
                with_baseline: false,
            },
            precision: None,
            switch: (&switch.complete().unwrap()).into(),
            options: SuiteOptions::default(),
            card: Card { backend: "cpu".into(), index: "0".into(), uuid: None, name: None },
            facts: BTreeMap::new(),
            takes_dtypes: BTreeMap::new(),
            more_cards: Vec::new(),
        }
    }

    #[test]
    fn a_request_survives_its_file_unset_variables_too() {
        let precision = Some(Precision { half_width_percent: 0.25, max_rounds: 12 });
        let it = Request { precision, ..request() };
        let folder = tempfile::tempdir().unwrap();
        let campaign =
            switchback_store::campaign_dir::CampaignDir::create(&folder.path().join("c"), &it).unwrap();
        let back: Request = campaign.request().unwrap();
        assert_eq!(back, it);
        assert_eq!(back.switch().a["PASS"], None);
        assert_eq!(back.switch().b["PASS"].as_deref(), Some("1"));
    }

    #[test]
    fn another_request_is_told_by_its_field() {
        let (it, mut other) = (request(), request());
        other.id = "y".into();
        // A campaign may go on where there is less memory, or more cores.
        other.cells_per_card = Some(2);
        assert_eq!(it.difference(&other), None);
        other.measure.sample_ms = 20.0;
        assert_eq!(it.difference(&other), Some(("measure.sample_ms".into(), "10.0".into(), "20.0".into())));
    }
}
