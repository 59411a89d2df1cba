//! What a cell says of itself before it measures.

use std::collections::BTreeMap;

use switchback_model::event::{Capability, Start};
use switchback_model::order::Measure;

use crate::jit::{self, Settings};
use crate::measurement_path::measurement_path;

/// The `start` event's body: conditions that only the child knows, and facts beside them.
pub(super) fn start() -> Start {
    let target = Settings::from_variables(&BTreeMap::new()).map(|settings| settings.target());
    Start {
        pid: std::process::id(),
        conditions: [
            ("compiler", jit::compiler()),
            ("device", processor_name()),
            ("cache_state", "warm".to_owned()),
            ("measurement_path", measurement_path()),
        ]
        .map(|(field, value)| (field.to_owned(), value))
        .into(),
        identity: [
            ("cpu_suite", env!("CARGO_PKG_VERSION").to_owned()),
            ("target", target.unwrap_or_else(|error| error.to_string())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
    }
}

/// What the suite can tell and what it cannot.
pub(super) fn capabilities(measure: &Measure) -> Vec<Capability> {
    let capability = |hook: &str, available, detail: &str| Capability {
        hook: hook.into(),
        available,
        detail: detail.into(),
    };
    let mut capabilities = vec![
        capability("compile_listener", true, "the suite compiles by itself and keeps every stage"),
        capability("launch_hook", true, "the suite launches by itself"),
    ];
    if measure.with_baseline {
        capabilities.push(capability(
            "baseline",
            false,
            "the cpu suite has no second implementation to time",
        ));
    }
    capabilities
}

/// The processor's name as the kernel prints it, else the architecture.
fn processor_name() -> String {
    std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| model_name(&text).map(str::to_owned))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn model_name(cpuinfo: &str) -> Option<&str> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(field, _)| field.trim_end() == "model name")
        .map(|(_, name)| name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_by_its_first_core() {
        let text =
            "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon(R) @ 2.00GHz: a\n\nmodel name\t: other\n";
        assert_eq!(model_name(text), Some("Xeon(R) @ 2.00GHz: a"));
        assert_eq!(model_name("processor\t: 0\n"), None);
    }

    #[test]
    fn the_compiler_is_named_with_its_version() {
        let start = start();
        assert!(start.conditions["compiler"].starts_with("cranelift 0.135."), "{:?}", start.conditions);
        assert_eq!(start.conditions["cache_state"], "warm");
        assert!(!start.conditions["device"].is_empty());
    }
}
