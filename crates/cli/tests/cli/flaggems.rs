//! The suites that run Python, as far as a machine without torch lets them: listing, names, checks.

use crate::support::{Ran, Sandbox};

/// A FlagGems checkout in miniature.
const MINI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../suites/python/tests/flaggems_mini");

/// False where there is no interpreter to list operators with.
fn has_python() -> bool {
    let there = std::process::Command::new("python3").args(["-c", ""]).status().is_ok_and(|it| it.success());
    if !there {
        eprintln!("skipped: there is no `python3`");
    }
    there
}

fn ab(sandbox: &Sandbox, operator: &str) -> Ran {
    let mut arguments = vec!["ab", operator, "--suite", "flaggems", "--flaggems-dir", MINI, "--switch", "X"];
    arguments.extend(["--backend", "cpu", "--out", "out"]);
    sandbox.run(&arguments)
}

#[test]
fn operators_of_a_checkout_are_listed_without_a_card() {
    if !has_python() {
        return;
    }
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["ops", "--suite", "flaggems", "--flaggems-dir", MINI, "--json"]).code(0);
    let offered: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let sort = offered.as_array().unwrap().iter().find(|it| it["operator"] == "perf_sort").unwrap();
    assert_eq!(sort["file"], "sort");
    sandbox.run(&["ops", "--suite", "flaggems", "--flaggems-dir", MINI]).code(0).prints("perf_sort:sort");
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn names_are_held_against_the_checkout_before_anything_runs() {
    if !has_python() {
        return;
    }
    let sandbox = Sandbox::new();
    let ran = ab(&sandbox, "sort:perf_sort").code(2).prints_nothing();
    ran.says("`sort:perf_sort` is the wrong way round").says("hint: write `perf_sort:sort`, operator first");
    ab(&sandbox, "perf_sorted").code(2).says("offers no operator `perf_sorted`").says("nearest: `perf_sort`");
    ab(&sandbox, "perf_sort:add").code(2).says("file `add` holds no operator `perf_sort`");
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn a_checkout_that_is_not_there_fails_the_preflight() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["ab", "sort", "--suite", "flaggems", "--switch", "X", "--backend", "cpu"];
    sandbox.run(&arguments).code(2).says("`--flaggems-dir DIR` names it");
    arguments.extend(["--flaggems-dir", "nowhere"]);
    let ran = sandbox.run(&arguments).code(3).prints_nothing();
    let ran =
        ran.says("error: PREFLIGHT_FAILED check=FlagGems directory exists: `").says("nowhere` is not there");
    assert_eq!(ran.stderr.matches("check=FlagGems directory exists").count(), 1, "{}", ran.stderr);
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn an_interpreter_that_is_not_there_fails_the_preflight() {
    let sandbox = Sandbox::new();
    for suite in [&["triton"][..], &["flaggems", "--flaggems-dir", MINI]] {
        let mut arguments =
            vec!["ab", "softmax", "--switch", "X", "--backend", "cpu", "--python", "/nonexistent"];
        arguments.push("--suite");
        arguments.extend(suite);
        let ran = sandbox.run(&arguments).code(3).prints_nothing().says("PREFLIGHT_FAILED check=interpreter");
        ran.says("interpreter `/nonexistent`").says("`--python PATH`");
    }
    let ran = sandbox.run(&["ops", "--suite", "triton", "--python", "/nonexistent"]).code(3);
    ran.says("PREFLIGHT_FAILED");
    let ran = sandbox.run(&["doctor", "--suite", "triton", "--python", "/nonexistent", "--backend", "cpu"]);
    ran.code(3).prints("FAILURE  interpreter imports").prints("/nonexistent");
}

#[test]
fn an_interpreter_without_the_library_is_told_which_module_it_lacks() {
    if !has_python() {
        return;
    }
    let sandbox = Sandbox::new();
    // An interpreter that sees no installed package.
    std::fs::write(sandbox.path("bare"), "#!/bin/sh\nexec python3 -S -s \"$@\"\n").unwrap();
    let mut permissions = std::fs::metadata(sandbox.path("bare")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(sandbox.path("bare"), permissions).unwrap();
    let bare = sandbox.path("bare").display().to_string();
    let ran = sandbox.run(&[
        "ab",
        "softmax",
        "--suite",
        "triton",
        "--backend",
        "cpu",
        "--switch",
        "X",
        "--python",
        &bare,
    ]);
    ran.code(3).says("PREFLIGHT_FAILED").says("`torch`: ModuleNotFoundError").says("PYTHONPATH");
}
