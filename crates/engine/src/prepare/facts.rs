//! What a plan or a dry run says of a request before anything runs.
//!
//! Which of it is shown, and how, is left to whoever prints it. Invariant: only what the request itself says; no clock, no disk.

use std::collections::BTreeMap;

use crate::request::{Goal, Request};

/// Facts of a request that a plan or a dry run prints: name and value.
#[must_use]
pub fn facts(request: &Request) -> BTreeMap<&'static str, String> {
    let mut facts = BTreeMap::from([
        ("suite", request.suite.clone()),
        (
            "pairing",
            if request.pairing_falls_back {
                format!("{}, one process a side where that is not proven", request.pairing)
            } else {
                request.pairing.to_string()
            },
        ),
        (
            "rounds",
            request.precision.map_or_else(
                || request.rounds.to_string(),
                |precision| {
                    format!(
                        "{} to {}, until the half width is at most {} %",
                        request.least_rounds(),
                        precision.max_rounds,
                        precision.half_width_percent
                    )
                },
            ),
        ),
        ("controls", request.controls.to_string()),
        ("timer", request.measure.timer.to_string()),
        ("regime", request.measure.regime.to_string()),
        ("card", format!("{} {}", request.card.backend, indices(request))),
        ("cell timeout", format!("{} s", request.cell_timeout_s)),
        ("seed", request.seed.to_string()),
    ]);
    // Neither a single run nor screening has rounds.
    if request.goal != Goal::Ab {
        facts.remove("pairing");
        facts.remove("rounds");
        facts.remove("controls");
    }
    facts
}

fn indices(request: &Request) -> String {
    let indices: Vec<String> = request.cards().into_iter().map(|it| it.card.index).collect();
    indices.join(" ")
}
