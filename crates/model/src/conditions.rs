//! Conditions: all that must agree for two rows to be comparable.
//!
//! The one definition of the fields. A value that is unknown on one side only is a difference: it may hide one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The fields, in the order they are compared and printed.
pub const FIELDS: &[&str] = &[
    "backend",
    "device",
    "driver",
    "compute_capability",
    "power_limit_w",
    "clock_lock",
    "compiler",
    "compiler_digest",
    "torch",
    "library",
    "library_commit",
    "library_tuning",
    "python",
    "suite",
    "mode",
    "bench_level",
    "shape_mode",
    "mm_cluster",
    "dtypes",
    "metrics",
    "timer",
    "cache_state",
    "warmup_ms",
    "sample_ms",
    "case_precision_pct",
    "blocks",
    "regime",
    "pairing",
    "tuner_cache",
    "direct_repeat",
    "recording",
    "measurement_path",
];

/// The scripts' seven columns at the end of `screen.tsv`, all of them fields.
pub const SCRIPT_FIELDS: [&str; 7] =
    ["backend", "device", "timer", "bench_level", "shape_mode", "tuner_cache", "direct_repeat"];

/// Values of the fields; one that is missing is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conditions(pub BTreeMap<String, String>);

/// A field in which two sets of conditions differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The field.
    pub field: String,
    /// Its value in A; none is unknown.
    pub a: Option<String>,
    /// Its value in B; none is unknown.
    pub b: Option<String>,
}

impl Difference {
    /// The difference in words, by the names of what was compared.
    #[must_use]
    pub fn between(&self, [one, other]: [&str; 2]) -> String {
        let value = |value: &Option<String>| match value {
            Some(value) => format!("`{value}`"),
            None => "unknown".to_owned(),
        };
        format!("`{}` is {} in {one}, {} in {other}", self.field, value(&self.a), value(&self.b))
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.between(["A", "B"]))
    }
}

/// A name that is no field of the conditions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no field of the conditions")]
pub struct FieldError(pub String);

impl Conditions {
    /// The value of a field, none if it is unknown.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Fields in which two differ and that were not allowed to, in the order of [`FIELDS`].
    ///
    /// Fields that this version does not know are compared as well, after the others: a newer version may have
    /// added one for a reason.
    #[must_use]
    pub fn differences(&self, other: &Self, allowed: &BTreeSet<String>) -> Vec<Difference> {
        let known = FIELDS.iter().map(|field| (*field).to_owned());
        let unknown: BTreeSet<String> = self
            .0
            .keys()
            .chain(other.0.keys())
            .filter(|field| !FIELDS.contains(&field.as_str()))
            .cloned()
            .collect();
        known
            .chain(unknown)
            .filter(|field| !allowed.contains(field))
            .filter(|field| self.get(field) != other.get(field))
            .map(|field| Difference {
                a: self.get(&field).map(str::to_owned),
                b: other.get(&field).map(str::to_owned),
                field,
            })
            .collect()
    }
}

/// Checks names given to `--allow`.
///
/// # Errors
/// A name that is no field.
pub fn check_fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<BTreeSet<String>, FieldError> {
    names
        .into_iter()
        .map(
            |name| {
                if FIELDS.contains(&name) { Ok(name.to_owned()) } else { Err(FieldError(name.to_owned())) }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(pairs: &[(&str, &str)]) -> Conditions {
        Conditions(pairs.iter().map(|(field, value)| ((*field).into(), (*value).into())).collect())
    }

    #[test]
    fn a_difference_names_field_and_values() {
        let a = conditions(&[("bench_level", "core"), ("device", "H200")]);
        let b = conditions(&[("bench_level", "comprehensive"), ("device", "H200")]);
        let differences = a.differences(&b, &BTreeSet::new());
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].to_string(), "`bench_level` is `core` in A, `comprehensive` in B");
        let allowed = check_fields(["bench_level"]).unwrap();
        assert_eq!(a.differences(&b, &allowed), []);
    }

    #[test]
    fn unknown_on_one_side_is_a_difference_on_both_it_is_none() {
        let a = conditions(&[("torch", "2.11"), ("driver", "")]);
        let b = conditions(&[]);
        let differences = a.differences(&b, &BTreeSet::new());
        assert_eq!(differences[0].to_string(), "`torch` is `2.11` in A, unknown in B");
        assert_eq!(differences.len(), 1);
    }

    #[test]
    fn a_field_of_a_later_version_is_compared_too() {
        let differences =
            conditions(&[("moon", "full")]).differences(&conditions(&[("moon", "new")]), &BTreeSet::new());
        assert_eq!(differences[0].field, "moon");
    }

    #[test]
    fn names_to_allow_are_checked() {
        assert_eq!(check_fields(["levle"]), Err(FieldError("levle".into())));
        assert!(SCRIPT_FIELDS.iter().all(|field| FIELDS.contains(field)));
    }
}
