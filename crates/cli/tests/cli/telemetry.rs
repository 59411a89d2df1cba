//! Tables that grow while a campaign runs, and a card that is watched: what is written, what it costs, where it is summed up.

use std::os::unix::fs::PermissionsExt;

use rustix::process::{Signal, kill_process};

use crate::support::Sandbox;

/// A tool that lists one card and reads it, in the place of `nvidia-smi`; the library is looked for first and knows no such card.
const TOOL: &str = r#"#!/bin/sh
case "$*" in
*--query-gpu=index,uuid*) echo '0, GPU-cafe, Some Card, 580.1, 9.0, 500.00, 700.00, 700.00, 1980, 3201, 1980, 1980, Enabled, Disabled, 0:1' ;;
*--query-gpu=index,clocks*) echo '0, 1980, 3201, 43, 477.68, 97, 0x0000000000000004, 700.00, 500, 143771' ;;
esac
"#;

/// Arguments and environment of a campaign on that card.
fn on_a_card(sandbox: &Sandbox) -> (Vec<String>, String) {
    let tools = sandbox.path("tools");
    std::fs::create_dir(&tools).unwrap();
    std::fs::write(tools.join("nvidia-smi"), TOOL).unwrap();
    std::fs::set_permissions(tools.join("nvidia-smi"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    let arguments =
        arguments.into_iter().map(|it| if it == "cpu" { "cuda".to_owned() } else { it.to_owned() }).collect();
    (arguments, format!("{}:{}", tools.display(), std::env::var("PATH").unwrap()))
}

fn value<'a>(row: &'a [(String, String)], column: &str) -> &'a str {
    &row.iter().find(|(name, _)| name == column).unwrap_or_else(|| panic!("no column {column}")).1
}

#[test]
fn every_cell_s_readings_are_in_one_table_and_the_summary_says_what_they_cost() {
    let sandbox = Sandbox::new();
    let (arguments, path) = on_a_card(&sandbox);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = sandbox.command(&arguments).env("PATH", &path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));

    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("card 0: the power limit is 500 W, the card's own is 700 W"), "{said}");

    let text = std::fs::read_to_string(sandbox.path("out/telemetry.tsv")).unwrap();
    assert!(text.starts_with(
        "timestamp\tindex\tsm_clock_mhz\tmem_clock_mhz\ttemp_c\tpower_w\tutil_pct\tmonotonic_s\tboot_id\t"
    ));
    let readings = sandbox.table("out/telemetry.tsv");
    let cells: std::collections::BTreeSet<String> =
        readings.iter().map(|row| format!("{} {}", value(row, "operator"), value(row, "cell"))).collect();
    assert_eq!(cells, sandbox.cells().into_iter().collect());
    assert!(readings.iter().all(|row| value(row, "uuid") == "GPU-cafe" && value(row, "power_w") == "477.68"));

    let status = sandbox.table("out/status.tsv");
    assert_eq!(status.len(), sandbox.cells().len());
    for row in &status {
        assert_eq!((value(row, "sampler"), value(row, "uuid")), ("nvidia-smi", "GPU-cafe"));
        assert!(value(row, "sampler_cpu_s").parse::<f64>().unwrap() > 0.0);
    }
    let summary = std::fs::read_to_string(sandbox.path("out/summary.log")).unwrap();
    let count = sandbox.cells().len();
    assert!(summary.contains(&format!("\ncells     {count}, 0 with another status than 0\n")), "{summary}");
    assert!(
        summary.contains("\nmarkers   replay_fallback=0 no_cudagraph=0 capture_poisoned=0\n"),
        "{summary}"
    );
    let telemetry = summary.lines().last().unwrap();
    let expected =
        format!("telemetry {} readings of {count} of {count} cells with nvidia-smi, ", readings.len());
    assert!(
        telemetry.starts_with(&expected) && telemetry.contains("% of a processor; NVML: "),
        "{telemetry}"
    );

    // Derived: deleted, it is there again and the same.
    std::fs::remove_file(sandbox.path("out/telemetry.tsv")).unwrap();
    sandbox.run(&["report", "out"]).code(0);
    assert_eq!(std::fs::read_to_string(sandbox.path("out/telemetry.tsv")).unwrap(), text);
}

#[test]
fn tables_grow_cell_by_cell_and_a_killed_coordinator_loses_no_line_of_them() {
    let sandbox = Sandbox::new();
    let (arguments, path) = on_a_card(&sandbox);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    sandbox.hold("same screen_B");
    let mut command = sandbox.command(&arguments);
    let mut running = command.env("PATH", &path).stderr(std::process::Stdio::null()).spawn().unwrap();
    let [cell, supervisor, _] = sandbox.holding();
    // Another terminal sees it, on its card, with the card's reading.
    let seen = sandbox.run(&["watch", "out"]).code(0).stdout;
    assert!(seen.starts_with("screen   ") && seen.contains(" cells\n"), "{seen}");
    assert!(seen.contains(" s  same screen_B  1980 MHz  478 W  43 °C\n"), "{seen}");
    assert!(seen.contains("\nlast     ") && seen.contains(": status 0 after "), "{seen}");
    // All but the one that runs have ended.
    let ended = sandbox.cells().len() - 1;
    assert!(ended >= 3);
    assert_eq!(sandbox.table("out/status.tsv").len(), ended);
    assert!(sandbox.table("out/telemetry.tsv").len() >= ended);
    running.kill().unwrap();
    running.wait().unwrap();
    crate::support::wait_until("the cell has ended", || !crate::support::runs(supervisor));
    assert!(kill_process(cell, Signal::KILL).is_err());
    // The cell ended after the coordinator: it is in no table until somebody goes on.
    assert_eq!(sandbox.table("out/status.tsv").len(), ended);
    let output = sandbox.command(&["resume", "out"]).env("PATH", &path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = sandbox.run(&["watch", "out", "--once"]).code(0).stdout;
    assert!(seen.starts_with("finished ") && seen.contains(" cells\n") && !seen.contains("failed"), "{seen}");
    assert!(!seen.contains("  card "), "{seen}");
    let endings: Vec<String> =
        sandbox.table("out/status.tsv").iter().map(|row| value(row, "ending").to_owned()).collect();
    assert_eq!(endings.len(), sandbox.cells().len());
    assert_eq!(endings.iter().filter(|ending| *ending == "interrupted").count(), 1);
}

/// The same card with a clock that the benchmark sets.
const CLOCKED_TOOL: &str = r#"#!/bin/sh
case "$*" in
*--query-gpu=index,uuid*) echo '0, GPU-cafe, Some Card, 580.1, 9.0, 700.00, 700.00, 700.00, 1980, 3201, 1980, 1980, Enabled, Disabled, 0:1' ;;
*--query-gpu=index,clocks*) echo "0, $(cat "${0%/*}/../notes/clock"), 3201, 43, 477.68, 97, 0x0000000000000004, 700.00, 500, 143771" ;;
esac
"#;

#[test]
fn a_round_at_two_clocks_is_measured_again_and_kept_with_a_label_if_that_does_not_help() {
    let sandbox = Sandbox::new();
    let (_, path) = on_a_card(&sandbox);
    std::fs::write(sandbox.path("tools/nvidia-smi"), CLOCKED_TOOL).unwrap();
    std::fs::write(sandbox.path("notes/clock"), "1980\n").unwrap();
    std::fs::write(sandbox.path("clocked.sh"), include_str!("clocked.sh")).unwrap();
    let arguments = ["ab", "once", "ever", "--suite", "command", "--backend", "cuda", "--switch", "MY_PASS"];
    let command = ["--command", "sh clocked.sh {operator}", "--rounds", "3", "--pairing", "process"];
    let start = |arguments: &[&str]| {
        let mut it = sandbox.command(arguments);
        let it = it.env("PATH", &path).env("SWITCHBACK_TELEMETRY_INTERVAL", "0.01").output().unwrap();
        assert_eq!(it.status.code(), Some(0), "{}", String::from_utf8_lossy(&it.stderr));
    };
    start(&[&arguments[..], &command, &["--out", "out"]].concat());
    let ran = |cell: &str| sandbox.cells().iter().filter(|it| it.as_str() == cell).count();
    assert_eq!(["once r2_A", "once r2_B"].map(ran), [2, 2]);
    assert_eq!(["ever r2_A", "ever r2_B"].map(ran), [3, 3]);
    assert_eq!(["once r1_A", "ever r3_B"].map(ran), [1, 1]);
    let reasons = |name: &str| sandbox.operator("out", name)["reasons"].to_string();
    assert!(!reasons("once").contains("kept all the same"), "{}", reasons("once"));
    let label = "round 2 was measured 3 times and is kept all the same: clocks 4.0 % apart, A 1980 MHz and B 1900 MHz";
    assert!(reasons("ever").contains(label), "{}", reasons("ever"));
    // A later start decides by what is on disk: nothing is left to be measured.
    let count = sandbox.cells().len();
    start(&["resume", "out"]);
    assert_eq!(sandbox.cells().len(), count);
}
