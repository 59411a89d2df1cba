//! Which environments are compiled in, and which options are passed along.
//!
//! An option that a variable decides must not be passed, or the recorded value would hide what the switch does. So
//! options that were recorded as the compiler's own defaults (in the recording's environment) are left to it; only what
//! a launch chose is passed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use switchback_model::side::Side;
use switchback_model::switch::{Switch, Variables};

use super::child::Described;
use super::recording::Recorded;

/// Index of the recording's own environment.
pub(super) const A: usize = 0;
/// Index of the same, compiled a second time.
pub(super) const A_AGAIN: usize = 1;

/// One environment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Environment {
    /// Names its folder.
    pub name: String,
    /// Variables over those of the recording.
    pub variables: Variables,
}

/// All environments, and which two of them each switch compares.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    /// The recording's own twice, then those of the switches.
    pub environments: Vec<Environment>,
    /// Per switch: A's and B's index.
    pub sides: Vec<(usize, usize)>,
}

/// One kernel as it is compiled.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    pub name: String,
    pub ttir: Vec<u8>,
    pub target: Value,
    pub options: Map<String, Value>,
}

/// Plans the environments; a side that sets what the recording had set already is the recording's own.
pub(super) fn plan(switches: &[Switch], base: &Variables) -> Plan {
    let mut plan = Plan::default();
    for name in ["A", "A-again"] {
        plan.environments.push(Environment { name: name.into(), variables: Variables::new() });
    }
    for switch in switches {
        let mut side = |side: Side| {
            let variables = switch.side(side).clone();
            if variables.iter().all(|(name, value)| base.get(name).unwrap_or(&None) == value) {
                return A;
            }
            let known = plan.environments.iter().position(|it| it.variables == variables);
            known.unwrap_or_else(|| {
                let name =
                    switchback_store::path_name::path_name(&switchback_model::switch::describe(&variables));
                plan.environments.push(Environment { name, variables });
                plan.environments.len() - 1
            })
        };
        let sides = (side(Side::A), side(Side::B));
        plan.sides.push(sides);
    }
    plan
}

/// The kernels with the options that are passed along.
pub(super) fn with_options(kernels: &[Recorded], described: &Described) -> Vec<Kernel> {
    kernels
        .iter()
        .map(|recorded| {
            let empty = Map::new();
            let defaults = described.defaults(&recorded.target).unwrap_or(&empty);
            Kernel {
                name: recorded.kernel.kernel.clone(),
                ttir: recorded.ttir.clone(),
                target: recorded.target.clone(),
                options: chosen(&recorded.kernel.options, defaults),
            }
        })
        .collect()
}

/// Recorded options that the compiler knows and would not have chosen itself.
fn chosen(recorded: &BTreeMap<String, Value>, defaults: &Map<String, Value>) -> Map<String, Value> {
    defaults
        .iter()
        .filter_map(|(name, default)| {
            let value = recorded.get(name)?;
            if name == "extern_libs" {
                return libraries(value, default).map(|libraries| (name.clone(), libraries));
            }
            (!value.is_null() && !same(value, default)).then(|| (name.clone(), value.clone()))
        })
        .collect()
}

/// Whether two values say the same; the order in which a set was written is no difference.
fn same(one: &Value, two: &Value) -> bool {
    match (one.as_array(), two.as_array()) {
        (Some(one), Some(two)) => {
            let sorted = |values: &[Value]| {
                let mut texts: Vec<String> = values.iter().map(Value::to_string).collect();
                texts.sort();
                texts
            };
            sorted(one) == sorted(two)
        }
        _ => one == two,
    }
}

/// Device libraries that are not the compiler's own: those lie in its installation, which is elsewhere here.
fn libraries(recorded: &Value, default: &Value) -> Option<Value> {
    let pairs = |value: &Value| -> Vec<(String, String)> {
        let pair = |name: &Value, path: &Value| Some((name.as_str()?.to_owned(), path.as_str()?.to_owned()));
        match value {
            Value::Array(items) => items.iter().filter_map(|item| pair(item.get(0)?, item.get(1)?)).collect(),
            Value::Object(items) => items
                .iter()
                .filter_map(|(name, path)| Some((name.clone(), path.as_str()?.to_owned())))
                .collect(),
            _ => Vec::new(),
        }
    };
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let own: Vec<(String, String)> =
        pairs(default).into_iter().map(|(name, path)| (name, file(&path))).collect();
    let foreign: Map<String, Value> = pairs(recorded)
        .into_iter()
        .filter(|(name, path)| !own.contains(&(name.clone(), file(path))))
        .map(|(name, path)| (name, Value::String(path)))
        .collect();
    (!foreign.is_empty()).then_some(Value::Object(foreign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_side_that_the_recording_was_already_on_is_not_compiled_twice() {
        let switch = |text: &str| {
            let mut it = Switch::default();
            it.add(text).unwrap();
            it.complete().unwrap()
        };
        let base = Variables::from([("ONE".to_owned(), Some("0".to_owned()))]);
        let it = plan(&[switch("ONE"), switch("TWO"), switch("TWO=:1")], &base);
        let names: Vec<&str> = it.environments.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["A", "A-again", "ONE%3D1", "TWO%3D0", "TWO%3D1"]);
        assert_eq!(it.sides, [(A, 2), (3, 4), (A, 4)]);
    }

    #[test]
    fn only_what_a_launch_chose_is_passed() {
        let recorded = json!({
            "num_warps": 8, "num_stages": 3, "enable_fp_fusion": true, "maxnreg": null, "name": "k", "shared": 4,
            "supported": ["b", "a"],
            "extern_libs": [["libdevice", "/opt/x/libdevice.10.bc"], ["mine", "/home/mine.bc"]],
        });
        let defaults = json!({
            "num_warps": 4, "num_stages": 3, "enable_fp_fusion": true, "maxnreg": null, "supported": ["a", "b"],
            "extern_libs": [["libdevice", "/usr/y/libdevice.10.bc"]],
        });
        let recorded = recorded.as_object().unwrap().clone().into_iter().collect();
        let chosen = Value::Object(chosen(&recorded, defaults.as_object().unwrap()));
        assert_eq!(chosen, json!({"num_warps": 8, "extern_libs": {"mine": "/home/mine.bc"}}));
    }
}
