//! What is refused, with which exit code and which words, before anything is made on disk.

use crate::support::Sandbox;

/// Runs commands that are refused; gives what each said.
fn refused(sandbox: &Sandbox, code: i32, commands: &[&[&str]]) -> String {
    let mut text = String::new();
    for arguments in commands {
        let ran = sandbox.run(arguments).code(code).prints_nothing();
        text.push_str(&format!("$ switchback {}\n{}\n", arguments.join(" "), ran.stderr));
    }
    assert_eq!(sandbox.left(), [""; 0], "something was made");
    text
}

#[test]
fn usage() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "relu", "--switch", "X", "--out", "out"];
    let with = |more: &[&'static str]| [&ab[..], more].concat();
    let said = refused(
        &sandbox,
        2,
        &[
            &["ab", "softmx", "--switch", "X", "--out", "out"],
            &["ab", "relu", "relu", "--switch", "X", "--suite", "cpux"],
            &["ab", "relu", "--out", "out"],
            &["ab", "relu", "--switch", "=0:1", "--out", "out"],
            &["ab", "a:b:c:d", "--switch", "X", "--out", "out"],
            &["ab", "relu::f32", "relu::f64", "--switch", "X", "--out", "out"],
            &with(&["--rounds", "1"]),
            &with(&["--rounds", "1001"]),
            &with(&["--fail-on", "fast"]),
            &with(&["--margin", "0"]),
            &with(&["--sample-ms", "nan"]),
            &with(&["--blocks", "0"]),
            &with(&["--allow", "nonsense"]),
            &with(&["--regime", "sustained"]),
            &with(&["--case-precision", "nan"]),
            &with(&["--backend", "cude"]),
            &["ab", "--suite", "command", "--command", "true", "--switch", "X"],
            &["run", "relu", "--cell-timeout", "0"],
        ],
    );
    insta::assert_snapshot!(said);
    // How many virtual cards there are depends on the machine.
    let said = refused(&sandbox, 2, &[&with(&["--devices", "9999"])]);
    assert!(said.contains("`9999` is no card that `cpu` can use"), "{said}");
}

#[test]
fn a_plan_has_nothing_to_show_a_floor_beside() {
    let said =
        refused(&Sandbox::new(), 2, &[&["plan", "relu", "--switch", "X", "--floor", "calibration.json"]]);
    assert!(said.contains("`plan` measures nothing"), "{said}");
}

#[test]
fn another_request_in_the_same_folder_is_named_by_its_field() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let field = |arguments: &[&str]| {
        let ran = sandbox.run(arguments).code(2).prints_nothing();
        ran.says("is a campaign of another request").says("hint: give another `--out`").stderr
    };
    let said = field(&sandbox.speaker(&["slow", "same"], &["--out", "done", "--margin", "1"]));
    assert!(said.contains("`margin_pct` is `0.5` there, `1.0` here"), "{said}");
    let said = field(&sandbox.speaker(&["slow"], &["--out", "done"]));
    assert!(said.contains("`operators` is `[\"slow\",\"same\"]` there, `[\"slow\"]` here"), "{said}");
    let said = field(&sandbox.speaker(&["slow", "same"], &["--out", "done", "--b", "MORE=1"]));
    assert!(said.contains("MORE"), "{said}");
    field(&["run", "relu", "--out", "done"]);
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "unset", "--env", "GONE=", "--env", "E=1"]);
    sandbox.run(&arguments).code(0);
    sandbox.run(&arguments).code(0);
    // A drawn seed is no other request, and the folder is as it was.
    let count = sandbox.cells().len();
    sandbox.run(&sandbox.speaker(&["slow", "same"], &["--out", "done"])).code(0);
    assert_eq!(sandbox.cells().len(), count);
}

#[test]
fn dry_runs_and_plans_start_and_write_nothing() {
    let sandbox = Sandbox::new();
    let mut text = String::new();
    for arguments in [
        &["run", "relu", "--dry-run", "--seed", "1"][..],
        &["screen", "relu", "fft", "--switch", "X", "--dry-run", "--seed", "1", "--out", "out"],
        &["ab", "relu", "--switch", "X=off:on", "--dry-run", "--seed", "1", "--pairing", "process"],
        &["plan", "relu", "sum::f32", "--switch", "X", "--rounds", "3"],
    ] {
        let ran = sandbox.run(arguments).code(0).prints("nothing was started");
        text.push_str(&format!("$ switchback {}\n{}\n", arguments.join(" "), ran.stdout));
    }
    insta::assert_snapshot!(text);
    assert_eq!(sandbox.left(), [""; 0]);
    sandbox.run(&sandbox.speaker(&["slow"], &["--dry-run"])).code(0);
    assert_eq!(sandbox.cells(), [""; 0]);
}
