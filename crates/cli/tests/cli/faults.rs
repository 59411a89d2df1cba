//! Faults of the machine, made real: a full disk and a read-only one (small mounts in a user namespace), a clock that is set
//! (a library in front of the C library's), a database that is not what it was, a cell that writes nonsense.
//!
//! `docs/faults.md` has all faults with their tests; those of single cells are in crate `cell`, killed processes in `kills`.

use std::process::Output;

use crate::support::{Sandbox, copy};

/// Runs a script in a user namespace in which `small` is a disk of its own of 80 MB; none where the machine forbids that, which
/// is said. `$SB` is the command.
fn on_a_small_disk(sandbox: &Sandbox, script: &str) -> Option<Output> {
    std::fs::create_dir(sandbox.path("small")).unwrap();
    let whole = format!("mount -t tmpfs -o size=80m tmpfs small || exit 77\n{script}");
    // The sandbox's own environment and locks; only the program is another one.
    let ours = sandbox.command(&[]);
    let mut command = std::process::Command::new("unshare");
    command.args(["-Urm", "--kill-child", "sh", "-c", &whole]).env("SB", ours.get_program());
    command.current_dir(ours.get_current_dir().unwrap());
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: there is no `unshare` to mount a small disk with: {error}");
            return None;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let forbidden = said.contains("unshare failed") || said.contains("unshare: ");
    if output.status.code() == Some(77) || forbidden && !output.status.success() {
        eprintln!("skipped: this machine allows no mounts in a user namespace: {said}");
        return None;
    }
    Some(output)
}

/// The arguments of a campaign of the speaker behind `wrapper`, quoted for a shell.
fn quoted(sandbox: &Sandbox, wrapper: &str, out: &str) -> String {
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", out]);
    let words: Vec<String> =
        arguments.iter().map(|it| format!("'{}'", it.replace("speaker.sh", wrapper))).collect();
    words.join(" ")
}

fn note(sandbox: &Sandbox, name: &str) -> String {
    std::fs::read_to_string(sandbox.path(&format!("notes/{name}"))).unwrap_or_default().trim().to_owned()
}

/// Fills the disk in one cell, then measures on it.
const FILLS: &str = r#"
if grep -q '"purpose": "r2_A"' "$SWITCHBACK_RUN_DIR/order.json" && [ "$2" = slow ] && [ ! -e "$1/filled" ]; then
    touch "$1/filled"
    cat /dev/zero > "${SWITCHBACK_RUN_DIR%/out/*}/filler" 2> /dev/null || true
fi
exec sh speaker.sh "$@"
"#;

#[test]
fn a_disk_that_fills_up_stops_the_campaign_and_what_was_measured_is_whole() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("fills.sh"), FILLS).unwrap();
    let script = format!(
        "$SB {} > notes/out1 2> notes/err1; echo $? > notes/code1\n\
         cp notes/cells notes/cells1\n\
         rm small/filler\n\
         $SB resume small/out > notes/out2 2> notes/err2; echo $? > notes/code2\n\
         cp -r small/out kept",
        quoted(&sandbox, "fills.sh", "small/out")
    );
    let Some(output) = on_a_small_disk(&sandbox, &script) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let error = note(&sandbox, "err1");
    assert_eq!(note(&sandbox, "code1"), "3", "{error}");
    assert!(error.contains("MiB left, and a cell may write more"), "{error}");
    assert!(error.contains("hint: the disk is full; what was measured is whole"), "{error}");
    assert_eq!(
        note(&sandbox, "cells1").lines().last(),
        Some("slow r2_A"),
        "nothing was begun on the full disk"
    );
    assert_eq!(note(&sandbox, "code2"), "0", "{}", note(&sandbox, "err2"));
    let slow = sandbox.operator("kept", "slow");
    assert_eq!((slow["verdict"].as_str(), slow["rounds"].as_u64()), (Some("FASTER"), Some(3)), "{slow}");
    let again = |cell: &str| sandbox.cells().iter().filter(|it| it.as_str() == cell).count();
    assert_eq!(["slow r1_A", "slow r1_B", "slow r2_A", "slow r3_A"].map(again), [1, 1, 2, 1]);
}

#[test]
fn a_read_only_folder_is_reported_and_refused_to_go_on_in() {
    let sandbox = Sandbox::new();
    let script = format!(
        "$SB {} > notes/out1 2> notes/err1; echo $? > notes/code1\n\
         rm -r small/out/cells/slow/r3_B\n\
         mount -o remount,ro small || exit 77\n\
         for command in report 'resume --dry-run' resume rescore; do\n\
         $SB $command small/out > \"notes/out $command\" 2> \"notes/err $command\"; echo $? > \"notes/code $command\"\n\
         done",
        quoted(&sandbox, "speaker.sh", "small/out")
    );
    let Some(output) = on_a_small_disk(&sandbox, &script) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(note(&sandbox, "code1"), "0", "{}", note(&sandbox, "err1"));
    let error = note(&sandbox, "err report");
    assert!(note(&sandbox, "out report").contains("\nslow "), "{}", note(&sandbox, "out report"));
    assert!(error.contains("note: the files in the folder are as they were:"), "{error}");
    assert_eq!(note(&sandbox, "out resume --dry-run"), "measure slow r3_B would be next");
    for command in ["resume", "rescore"] {
        let error = note(&sandbox, &format!("err {command}"));
        assert_eq!(note(&sandbox, &format!("code {command}")), "3", "{command}: {error}");
        assert!(error.contains("Read-only file system"), "{command}: {error}");
    }
    let cells = sandbox.cells().iter().filter(|cell| cell.as_str() == "slow r3_B").count();
    assert_eq!(cells, 1, "nothing was begun");
}

/// Sets the wall clock between the sides of two rounds, forth and back.
const SETS_THE_CLOCK: &str = r#"
case "$2 $(sed -n 's/.*"purpose": *"\([^"]*\)".*/\1/p' "$SWITCHBACK_RUN_DIR/order.json" | head -n 1)" in
'slow r1_A') echo 10800 > "$1/offset" ;;
'slow r2_B') echo -86400 > "$1/offset" ;;
esac
exec sh speaker.sh "$@"
"#;

#[test]
fn a_wall_clock_that_is_set_costs_no_cell() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("sets.sh"), SETS_THE_CLOCK).unwrap();
    std::fs::write(sandbox.path("notes/offset"), "0\n").unwrap();
    let library = sandbox.path("clock.so");
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/set_clock.c");
    match std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status()
    {
        Ok(status) => assert!(status.success(), "`cc` failed: {status}"),
        Err(error) => return eprintln!("skipped: there is no `cc` to build the clock with: {error}"),
    }
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    let arguments: Vec<String> = arguments.iter().map(|it| it.replace("speaker.sh", "sets.sh")).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = sandbox.command(&arguments);
    command.env("LD_PRELOAD", &library).env("CLOCK_OFFSET", sandbox.path("notes/offset"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    // The clock was really set: B of round 1 started three hours after its A, by the wall.
    let hour = |cell: &str| {
        let outcome = sandbox.json(&format!("out/cells/slow/{cell}/1/outcome.json"));
        let text = outcome["started_utc"].as_str().unwrap()[11..13].to_owned();
        text.parse::<i64>().unwrap()
    };
    assert!(
        [2, 3, 4].contains(&(hour("r1_B") - hour("r1_A")).rem_euclid(24)),
        "{} {}",
        hour("r1_A"),
        hour("r1_B")
    );
    let cells = sandbox.cells();
    let unique: std::collections::BTreeSet<&String> = cells.iter().collect();
    assert_eq!(unique.len(), cells.len(), "a cell ran again: {cells:?}");
    let slow = sandbox.operator("out", "slow");
    assert_eq!((slow["verdict"].as_str(), slow["rounds"].as_u64()), (Some("FASTER"), Some(3)), "{slow}");
}

#[test]
fn a_database_that_is_deleted_damaged_or_another_s_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let report =
        |folder: &str| std::fs::read_to_string(sandbox.path(&format!("{folder}/report.json"))).unwrap();
    let before = report("done");
    let count = sandbox.cells().len();
    let database = sandbox.path("done/campaign.db");
    assert!(database.is_file());
    let other = std::fs::read(&database).unwrap();
    let check = |what: &str| {
        for command in ["report", "resume", "rescore"] {
            sandbox.run(&[command, "done"]).code(0);
            assert_eq!(report("done"), before, "{what}, {command}");
        }
        assert_eq!(sandbox.cells().len(), count, "{what}");
        assert!(database.is_file(), "{what}: made again");
    };
    std::fs::remove_file(&database).unwrap();
    check("deleted");
    std::fs::write(&database, "no database").unwrap();
    check("damaged");
    // Another campaign's, under which nothing of this one is known.
    sandbox.run(&sandbox.speaker(&["slow", "same"], &["--out", "second"])).code(0);
    std::fs::copy(sandbox.path("second/campaign.db"), &database).unwrap();
    let count = sandbox.cells().len();
    sandbox.run(&["resume", "done"]).code(0);
    assert_eq!((report("done"), sandbox.cells().len()), (before.clone(), count), "another campaign's");
    // On another machine the folder is a copy, with or without its database.
    std::fs::write(&database, other).unwrap();
    copy(&sandbox.path("done"), &sandbox.path("copy"));
    std::fs::remove_file(sandbox.path("copy/report.json")).unwrap();
    sandbox.run(&["resume", "copy"]).code(0);
    assert_eq!(sandbox.cells().len(), count);
    assert_eq!(report("copy").replace("\"copy\"", "\"done\""), before);
}

/// Writes nonsense in front of what it measures: bytes, torn and nested JSON, rows of the wrong form, a line of 5 MB.
const BABBLES: &str = r#"
events="$SWITCHBACK_RUN_DIR/events.jsonl"
{
    head -c 4096 /dev/urandom | tr -d '\n'
    printf '\n\000\000\000\n{"kind":"ro\n[[[[\n{}\nnull\n"row"\n{"kind":"row"}\n{"kind":7,"t_s":1}\n'
    printf '{"kind":"row","t_s":1,"operator":"slow","side":"C","ok":true,"case":{"dtype":"f32","input":"[8]"}}\n'
    printf '{"kind":"row","t_s":"soon","operator":"slow","side":"A","ok":true,"case":{"dtype":"f32","input":"[8]"}}\n'
    printf '{"kind":"end","t_s":1,"status":0,"rows":-1}\n{"kind":"prophecy","t_s":1,"of":"doom"}\n'
    head -c 200000 /dev/zero | tr '\000' '['
    printf '\n{"kind":"note","t_s":1,"topic":"long","detail":"'
    head -c 5000000 /dev/zero | tr '\000' 'x'
    printf '"}\n'
} >> "$events"
exec sh speaker.sh "$@"
"#;

#[test]
fn a_cell_that_writes_nonsense_is_read_around_and_told() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("babbles.sh"), BABBLES).unwrap();
    let arguments = sandbox.speaker(&["slow", "same"], &["--out", "out"]);
    let arguments: Vec<String> = arguments.iter().map(|it| it.replace("speaker.sh", "babbles.sh")).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    sandbox.run(&arguments).code(0);
    let slow = sandbox.operator("out", "slow");
    assert_eq!((slow["verdict"].as_str(), slow["rounds"].as_u64()), (Some("FASTER"), Some(3)), "{slow}");
    let effect = slow["effect_pct"].as_f64().unwrap();
    assert!((effect - 25.0).abs() < 0.05, "{effect}");
    let outcome = sandbox.json("out/cells/slow/r1_A/1/outcome.json");
    assert_eq!(
        (outcome["ending"].as_str(), outcome["counts"]["success"].as_u64()),
        (Some("completed"), Some(2))
    );
    let reason = outcome["reason"].as_str().unwrap();
    assert!(reason.contains("of `events.jsonl` could not be read, the first is line 1"), "{reason}");
    let findings = sandbox.json("out/report.json")["findings"].to_string();
    assert!(findings.contains("`slow`, round 1 is not read whole"), "{findings}");
}

#[test]
fn every_test_that_the_table_of_faults_names_is_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = std::fs::read_to_string(root.join("docs/faults.md")).unwrap();
    let mut named = 0;
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let mut file = String::new();
        for word in row.rsplit('|').nth(1).unwrap().split('`').skip(1).step_by(2) {
            if word.ends_with(".rs") || word.ends_with(".py") {
                file = std::fs::read_to_string(root.join(word))
                    .unwrap_or_else(|error| panic!("{word}: {error}"));
            } else {
                let there = ["fn", "def"].iter().any(|begin| file.contains(&format!("{begin} {word}(")));
                assert!(there, "no test `{word}` where the table says");
                named += 1;
            }
        }
    }
    assert!(named >= 30, "{named}");
}
