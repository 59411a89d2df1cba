//! What a child says of itself: that it is up, what it runs on and could set, that it waited, noticed, failed or is done.
//!
//! What it compiled is left to `code`, what it measured to `measured`. Invariant: only what an event is about
//! must be there, all else has a default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::case::CaseKey;

/// Body of a `start` event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Process id of the child.
    #[serde(default)]
    pub pid: u32,
    /// Conditions that only the child can know (names as in [`crate::conditions`]).
    #[serde(default)]
    pub conditions: BTreeMap<String, String>,
    /// Versions and facts that are recorded but not compared.
    #[serde(default)]
    pub identity: BTreeMap<String, String>,
}

/// Body of a `conditions` event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Values by field (names as in [`crate::conditions`]); each replaces what was known of it before.
    #[serde(default)]
    pub conditions: BTreeMap<String, String>,
}

/// Body of a `capability` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capability {
    /// The hook: `compile_listener`, `launch_hook`, `libtuner_replay`, …
    pub hook: String,
    /// Whether it could be set.
    pub available: bool,
    /// How it was set, or why it could not be.
    #[serde(default)]
    pub detail: String,
}

/// Body of a `turn` event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Waited {
    /// Seconds that it waited for the card after all that it could do without it.
    #[serde(default)]
    pub waited_s: f64,
}

/// Body of a `note` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// A marker's name where there is one (see [`crate::marker`]), else a short topic.
    pub topic: String,
    /// The note.
    #[serde(default)]
    pub detail: String,
}

/// Body of an `error` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Where it happened: `collect`, `setup`, `dtype`, `case`, `tuner`, …
    pub place: String,
    /// The error's text, first line first.
    pub error: String,
    /// The case, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<CaseKey>,
}

/// Body of an `end` event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The exit status that the child is going to return.
    #[serde(default)]
    pub status: i32,
    /// Rows that were measured.
    #[serde(default)]
    pub rows: u64,
}
