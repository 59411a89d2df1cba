//! `docs/from-the-scripts.md`: every row names a test, and every test that it names is there.

use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../../docs/from-the-scripts.md");
const PLACES: [(&str, &str); 12] = [
    ("cli", "crates/cli/tests/cli"),
    ("probe", "crates/suites/python/tests"),
    ("suites", "crates/suites/tests"),
    ("suites-src", "crates/suites/src"),
    ("engine", "crates/engine/src"),
    ("cell", "crates/cell/tests"),
    ("cell-src", "crates/cell/src"),
    ("device", "crates/device/src"),
    ("ir", "crates/ir/tests"),
    ("report", "crates/report/tests"),
    ("store", "crates/store/src"),
    ("stats", "crates/stats/tests"),
];

/// Rows of tables whose last column says by which tests they are shown, with their line.
fn rows() -> Vec<(usize, Vec<&'static str>)> {
    let mut shown = false;
    let mut found = Vec::new();
    for (at, line) in PAGE.lines().enumerate() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if !line.starts_with('|') {
            shown = false;
        } else if cells.last() == Some(&"shown by") {
            shown = true;
        } else if shown && !line.starts_with("|---") {
            found.push((at + 1, cells));
        }
    }
    found
}

/// The file and the name of a test, as `place/file::name`.
fn test_of(text: &str) -> (PathBuf, String) {
    let (path, name) = text.split_once("::").unwrap_or_else(|| panic!("`{text}` names no test"));
    let (place, file) = path.split_once('/').unwrap_or_else(|| panic!("`{text}` names no place"));
    let (_, folder) =
        PLACES.iter().find(|(known, _)| *known == place).unwrap_or_else(|| panic!("`{place}` is no place"));
    let extension = if place == "probe" { "py" } else { "rs" };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    (root.join(folder).join(format!("{file}.{extension}")), name.to_owned())
}

#[test]
fn every_row_names_tests_that_are_there() {
    let rows = rows();
    assert!(rows.len() > 80, "{}", rows.len());
    for (line, cells) in &rows {
        assert_eq!(cells.len(), 3, "line {line}");
        let tests: Vec<&str> = cells[2].split('`').filter(|part| part.contains("::")).collect();
        assert!(!tests.is_empty(), "line {line} names no test");
        for test in tests {
            let (path, name) = test_of(test);
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("line {line}: `{test}`: {}: {error}", path.display()));
            let found = [format!("fn {name}("), format!("def {name}(")].iter().any(|it| text.contains(it));
            assert!(found, "line {line}: `{}` has no test `{name}`", path.display());
        }
    }
}

#[test]
fn every_variable_file_and_marker_of_the_scripts_has_a_row() {
    let words: String = rows().iter().map(|(_, cells)| format!("{}\n", cells[0])).collect();
    for word in [
        // Variables.
        "OPS",
        "OP_FILE",
        "DTYPES",
        "SHAPE_FILE",
        "SWITCH",
        "VENDOR",
        "ROUNDS",
        "CELL_TIMEOUT",
        "DEVICES",
        "SCREEN",
        "SWITCH_ALLOW_NO_IR_DIFF",
        "REPLAY_FROM",
        "OUT_DIR",
        "AB_ROOT",
        "VERDICT",
        "EXTRA_OPS",
        "DRY_RUN",
        "ZL_BACKEND",
        "ZL_DEVICE",
        "FLAGGEMS_DIR",
        "ZL_ISOLATE_TUNER_CACHE",
        "ZL_ENABLE_CUDAGRAPH",
        "ZL_DIRECT_REPEAT",
        "ZL_ENABLE_AUTOTUNE",
        "ZL_ENABLE_IR",
        "ZL_ENABLE_MM_CLUSTER",
        "PARALLEL_WARMUP_GPUS",
        "TELEMETRY_INTERVAL",
        "NO_COLOR",
        "RESCORE",
        "TRITON_CACHE_DIR",
        // Commands.
        "run_pytest.sh",
        "ab_rlc_test.sh",
        "ab_repeat.sh",
        "campaign.sh",
        "partition.py",
        "run_batch.py",
        "telemetry.py",
        "batch_summary.py",
        "--allow-caliber-mismatch",
        "--caliber",
        "_ir_fingerprint.sh",
        // Files.
        "run.log",
        "run_identity.json",
        "ttgir/",
        "index.tsv",
        "naming.md",
        "autotune_records/",
        "screen.tsv",
        "status.tsv",
        "telemetry.tsv",
        "telemetry.err",
        "summary.log",
        "plan.tsv",
        "before-rescore",
        "card<N>",
        // Markers and verdicts.
        "AUTOTUNE_REPLAY_FALLBACK",
        "BENCHMARK_DIRECT_NO_CUDAGRAPH",
        "BENCHMARK_CAPTURE_POISONED",
        "FOREIGN_VENDOR_MODULE",
        "SWITCH_NO_IR_DIFF",
        "PREFLIGHT_FAILED",
        "NO_TRITON",
        "IR_CHANGED",
        "NO_ROWS",
        // Columns.
        "cvt_",
        "elapsed_",
        "kernels_",
        "tuner_cache",
        "direct_repeat",
        "replay_fallback",
        "no_cudagraph",
        "capture_poisoned",
        "sm_clock_mhz",
        "Size Detail",
        // Plugins.
        "_device_setup_plugin",
        "_shape_iter_inject_plugin",
        "_bespoke_shape_plugin",
        "_autotune_record_plugin",
        "_timing_plugin",
        "_cudagraph_plugin",
        "_musa_benchmark_compat_plugin",
        "_pretty_report_plugin",
        "_ir_meta_plugin",
        "supports_cuda_graph",
        "capture_deny_ops",
        "classify_capture_error",
    ] {
        assert!(words.contains(word), "`{word}` has no row");
    }
}
