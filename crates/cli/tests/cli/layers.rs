//! Who may use whom: the crates' manifests against the agreed direction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What each crate may depend on; `model` is everybody's, and whoever is not named may use nothing else.
const ALLOWED: [(&str, &[&str]); 4] = [
    ("cli", &["engine", "report", "cell", "cpu-suite"]),
    ("engine", &["suites", "store", "device", "ir", "stats"]),
    ("cell", &["store", "device"]),
    ("cpu-suite", &["store"]),
];

/// Crates that map values to values: no clock, environment, process or file, so nothing that brings them either.
const PURE: [&str; 4] = ["model", "ir", "stats", "report"];
const IMPURE: [&str; 9] =
    ["fs-err", "jiff", "memmap2", "procfs", "rustix", "signal-hook", "tempfile", "rayon", "terminal_size"];

fn manifests() -> BTreeMap<String, toml::Table> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter_map(|entry| {
            let text = std::fs::read_to_string(entry.path().join("Cargo.toml")).ok()?;
            Some((entry.file_name().into_string().unwrap(), text.parse().unwrap()))
        })
        .collect()
}

/// Names of what a crate is built with; what its tests use is its own affair.
fn dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let tables = ["dependencies", "build-dependencies"].map(|name| manifest.get(name));
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let of_targets = targets
        .into_iter()
        .flat_map(|it| it.values())
        .flat_map(|target| ["dependencies", "build-dependencies"].map(|name| target.get(name)));
    for table in tables.into_iter().chain(of_targets).flatten() {
        names.extend(table.as_table().unwrap().keys().cloned());
    }
    names
}

fn own(names: &BTreeSet<String>) -> BTreeSet<&str> {
    names.iter().filter_map(|name| name.strip_prefix("switchback-")).collect()
}

#[test]
fn crates_use_each_other_in_one_direction() {
    let manifests = manifests();
    assert!(manifests.len() >= 11, "{:?}", manifests.keys());
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into_iter().collect();
    for (name, manifest) in &manifests {
        let mut may: BTreeSet<&str> =
            allowed.get(name.as_str()).copied().unwrap_or_default().iter().copied().collect();
        may.insert("model");
        let names = dependencies(manifest);
        let uses = own(&names);
        let too_many: Vec<_> = uses.difference(&may).collect();
        assert!(too_many.is_empty(), "`{name}` must not use {too_many:?}");
        assert!(name != "model" || uses.is_empty(), "`model` uses {uses:?}");
    }
    // The rule is not an empty one: these are used.
    for (name, uses) in ALLOWED {
        let names = dependencies(&manifests[name]);
        assert!(uses.iter().all(|it| own(&names).contains(it)), "`{name}` uses {:?}", own(&names));
    }
}

#[test]
fn crates_of_values_bring_nothing_that_touches_the_machine() {
    let manifests = manifests();
    for name in PURE {
        let names = dependencies(&manifests[name]);
        let impure: Vec<_> = IMPURE.iter().filter(|it| names.contains(**it)).collect();
        assert!(impure.is_empty(), "`{name}` uses {impure:?}");
    }
}

#[test]
fn crates_of_values_ask_the_machine_for_nothing() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let forbidden = [
        "std::fs",
        "std::env",
        "std::process",
        "std::net",
        "std::time",
        "Instant::now",
        "SystemTime",
        "std::io::",
    ];
    let mut files = 0;
    for name in PURE {
        let mut folders = vec![crates.join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                // Tests at a file's end may do as they like.
                let code = text.split("#[cfg(test)]").next().unwrap();
                let found: Vec<_> = forbidden
                    .iter()
                    .filter(|word| {
                        code.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(**word))
                    })
                    .collect();
                assert!(found.is_empty(), "{} uses {found:?}", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 40, "{files}");
}
