//! `switchback.toml`, `SWITCHBACK_<FLAG>` and the command line: which goes before which.

use crate::support::{Ran, Sandbox};

/// The rounds that a dry run would measure.
fn rounds(sandbox: &Sandbox, variable: Option<&str>, flag: &[&str]) -> String {
    let mut arguments = vec!["ab", "relu", "--switch", "X", "--dry-run"];
    arguments.extend(flag);
    let mut command = sandbox.command(&arguments);
    if let Some(value) = variable {
        command.env("SWITCHBACK_ROUNDS", value);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("rounds")).unwrap().trim().to_owned()
}

fn with_file(text: &str, arguments: &[&str]) -> Ran {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("switchback.toml"), text).unwrap();
    sandbox.run(arguments)
}

#[test]
fn the_command_line_goes_before_the_variable_and_the_variable_before_the_file() {
    let sandbox = Sandbox::new();
    assert_eq!(rounds(&sandbox, None, &[]), "4");
    std::fs::write(sandbox.path("switchback.toml"), "rounds = 7\nsuite = \"cpu\"\n").unwrap();
    assert_eq!(rounds(&sandbox, None, &[]), "7");
    assert_eq!(rounds(&sandbox, Some("5"), &[]), "5");
    assert_eq!(rounds(&sandbox, Some("5"), &["--rounds", "9"]), "9");
    assert_eq!(rounds(&sandbox, None, &["--rounds", "9"]), "9");
}

#[test]
fn the_file_takes_lists_and_truths_and_applies_to_all_commands() {
    let text = "devices = [\"0\"]\nmeasure-identical = true\nmargin = 0.25\ncell_timeout = 60\n";
    let arguments = ["ab", "relu", "--switch", "X", "--dry-run"];
    with_file(text, &arguments).code(0).prints("cell timeout  60 s");
    with_file(text, &["ops"]).code(0).prints("relu");
}

#[test]
fn the_file_reaches_the_commands_below_ir() {
    let excerpts = concat!(env!("CARGO_MANIFEST_DIR"), "/../ir/tests/data/mm-switch");
    let (a, b) = (format!("{excerpts}/A"), format!("{excerpts}/B"));
    let ran =
        with_file("stage = \"ptx\"\nkernel = \"fill_scalar_kernel\"\n", &["ir", "diff", &a, &b]).code(0);
    assert!(ran.stdout.contains("fill_scalar_kernel") && !ran.stdout.contains("mm_kernel"), "{}", ran.stdout);
    let one = with_file("json = true\n", &["ir", "fingerprint", &a]).code(0);
    assert!(one.stdout.starts_with('{'), "{}", one.stdout);
    let none = with_file("python = \"/nonexistent\"\n", &["ir", "recompile", &a]).code(3);
    none.says("/nonexistent");
}

#[test]
fn what_is_wrong_in_the_file_is_told_by_its_name() {
    let arguments = ["ab", "relu", "--switch", "X", "--dry-run"];
    let ran = with_file("ronds = 7\n", &arguments).code(2).prints_nothing();
    ran.says("error: `switchback.toml`: `ronds` is no flag").says("hint: the nearest is `rounds`");
    with_file("rounds = \n", &arguments).code(2).says("`switchback.toml` is no TOML");
    with_file("rounds = \"many\"\n", &arguments).code(2).says("many");
    with_file("[ab]\nrounds = 7\n", &arguments).code(2).says("`ab`");
}

#[test]
fn a_wrong_variable_is_told_by_the_flag_that_it_stands_for() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["ab", "relu", "--switch", "X", "--dry-run"]);
    let output = command.env("SWITCHBACK_ROUNDS", "many").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("many") && text.contains("--rounds"), "{text}");
}
