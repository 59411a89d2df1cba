//! The switch as `campaign.toml` holds it.
//!
//! What a switch means is left to `model`. Invariant: a switch that goes into the table and comes back is the same one, unset
//! variables too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchback_model::switch::Switch;

/// A switch as TOML can hold it, which has no null: "unset" variables are listed by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchTable {
    /// Variables that A leaves unset.
    #[serde(default)]
    pub unset_in_a: Vec<String>,
    /// Variables that B leaves unset.
    #[serde(default)]
    pub unset_in_b: Vec<String>,
    /// Variables that A sets.
    #[serde(default)]
    pub a: BTreeMap<String, String>,
    /// Variables that B sets.
    #[serde(default)]
    pub b: BTreeMap<String, String>,
}

impl From<&Switch> for SwitchTable {
    fn from(switch: &Switch) -> Self {
        let split = |variables: &switchback_model::switch::Variables| {
            let unset = variables.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name.clone());
            let set =
                variables.iter().filter_map(|(name, value)| value.clone().map(|value| (name.clone(), value)));
            (unset.collect(), set.collect())
        };
        let (unset_in_a, a) = split(&switch.a);
        let (unset_in_b, b) = split(&switch.b);
        Self { unset_in_a, unset_in_b, a, b }
    }
}

impl From<&SwitchTable> for Switch {
    fn from(table: &SwitchTable) -> Self {
        let join = |unset: &[String], set: &BTreeMap<String, String>| {
            unset
                .iter()
                .map(|name| (name.clone(), None))
                .chain(set.iter().map(|(name, value)| (name.clone(), Some(value.clone()))))
                .collect()
        };
        Self { a: join(&table.unset_in_a, &table.a), b: join(&table.unset_in_b, &table.b) }
    }
}
