//! What lies in a campaign's folder after crashes, full disks and tidy colleagues: read as far as it goes, never guessed.

use crate::support::{QUICK, Sandbox, copy};

/// Keeps the first bytes of a file.
fn cut(sandbox: &Sandbox, path: &str, bytes: usize) {
    let path = sandbox.path(path);
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.len() > bytes);
    std::fs::write(&path, &whole[..bytes]).unwrap();
}

#[test]
fn a_truncated_outcome_costs_its_cell_and_not_the_campaign() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let count = sandbox.cells().len();
    cut(&sandbox, "done/cells/slow/r2_B/1/outcome.json", 40);
    let ran = sandbox.run(&["report", "done"]).code(0).prints("slow r2_B cannot be read:");
    ran.prints("damaged:").prints("no verdict yet: 1 of 3 rounds is missing");
    sandbox.run(&["resume", "done"]).code(0).prints("another attempt of the cell counts");
    assert_eq!(sandbox.cells()[count..], ["slow r2_B"]);
    assert_eq!(sandbox.operator("done", "slow")["rounds"], 3);
    sandbox.run(&["doctor", "done"]).code(0).prints("is damaged");
}

#[test]
fn a_torn_end_loses_one_line_and_a_torn_middle_is_told() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let path = sandbox.path("done/cells/slow/r1_A/1/events.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let rows: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("\"row\"")).collect();
    assert_eq!(rows.len(), 2);

    // The end, `end`, is torn: nothing of a round was in it.
    std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let ran = sandbox.run(&["report", "done"]).code(0);
    assert!(!ran.stdout.contains("is not read whole"), "{}", ran.stdout);
    assert_eq!(sandbox.operator("done", "slow")["verdict"], "FASTER");

    // The first row is torn, the second is not: one case has no A in round 1, and it is said.
    let mut torn: Vec<&str> = lines.clone();
    torn[rows[0]] = &torn[rows[0]][..30];
    std::fs::write(&path, torn.join("\n") + "\n").unwrap();
    let line = format!("line {}", rows[0] + 1);
    let ran = sandbox.run(&["report", "done"]).code(0).prints("`slow`, round 1 is not read whole");
    ran.prints(&line);
    let slow = sandbox.operator("done", "slow");
    let usable: Vec<usize> = slow["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["rounds_pct"].as_array().unwrap().iter().filter(|it| !it.is_null()).count())
        .collect();
    assert_eq!(usable, [2, 3], "{slow}");
    for format in ["markdown", "json"] {
        sandbox.run(&["report", "done", "--format", format]).code(0).prints("is not read whole");
    }
    sandbox.run(&["report", "done", "--format", "tsv"]).code(0).says("is not read whole");
    sandbox.run(&["doctor", "done"]).code(0).prints("is not read whole");

    // Rows that were counted when the cell ended are gone with their file.
    std::fs::remove_file(&path).unwrap();
    let ran = sandbox.run(&["report", "done"]).code(0);
    ran.prints("`events.jsonl` holds 0 of the 2 rows that were measured").prints("1 of 3 rounds is missing");

    // Bytes that are no text at all.
    std::fs::write(&path, [0xff, 0x00, b'\n', 0x80]).unwrap();
    sandbox.run(&["report", "done"]).code(0).prints("line 1, cannot be read");
}

/// Of both sides in one process: what a line of code is torn from cannot be held against screening, and proves nothing.
#[test]
fn a_torn_line_of_a_duet_costs_its_round_alone_and_the_round_is_measured_again() {
    let sandbox = Sandbox::new();
    for (falls_back, out) in [(true, "either"), (false, "duet")] {
        let mut arguments = vec!["ab", "exp", "--switch", "SWITCHBACK_CPU_OPT_LEVEL=none:speed"];
        arguments.extend(["--rounds", "4", "--out", out]);
        arguments.extend(QUICK);
        if !falls_back {
            arguments.extend(["--pairing", "duet"]);
        }
        sandbox.run(&arguments).code(0);
        let cells = || {
            let mut cells: Vec<String> = std::fs::read_dir(sandbox.path(out).join("cells/exp"))
                .unwrap()
                .map(|it| it.unwrap().file_name().into_string().unwrap())
                .collect();
            cells.sort();
            cells
        };
        let before = cells();
        assert_eq!(before, ["r1_AB", "r2_AB", "r3_AB", "r4_AB", "screen_A", "screen_B"]);
        let path = sandbox.path(out).join("cells/exp/r3_AB/1/events.jsonl");
        let whole = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = whole.lines().collect();
        let at = lines.iter().position(|line| line.contains("\"launch\"")).unwrap();
        lines[at] = &lines[at][..30];
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let said = format!("`events.jsonl`, line {}, cannot be read: ", at + 1);

        let ran = sandbox.run(&["report", out, "--format", "json"]).code(0);
        assert!(
            !ran.stdout.contains("ran other code") && !ran.stdout.contains("not proven"),
            "{}",
            ran.stdout
        );
        let ran = ran.prints("exp r3_AB cannot be read").prints(&said).prints("measures the cell again");
        ran.prints("the campaign is not finished");
        assert_eq!(sandbox.operator(out, "exp")["rounds"], 3);

        sandbox.run(&["resume", out]).code(0).prints("another attempt of the cell counts");
        let exp = sandbox.operator(out, "exp");
        assert_eq!((&exp["rounds"], &exp["pairing"]), (&4.into(), &"duet".into()), "{exp}");
        assert_eq!(cells(), before);
        assert!(sandbox.path(out).join("cells/exp/r3_AB/2/outcome.json").exists());
        assert!(!sandbox.path(out).join("cells/exp/r1_AB/2").exists());
    }
}

#[test]
fn files_that_cannot_be_done_without_are_named_with_what_to_do() {
    let sandbox = Sandbox::new();
    let done = sandbox.finished(&["slow", "same"]);
    copy(&done, &sandbox.path("request"));
    cut(&sandbox, "request/campaign.toml", 60);
    for command in ["report", "resume", "doctor"] {
        let ran = sandbox.run(&[command, "request"]).code(2).prints_nothing();
        ran.says("request/campaign.toml` is damaged:").says("start anew in another `--out`");
    }

    copy(&done, &sandbox.path("identity"));
    cut(&sandbox, "identity/cells/slow/r1_A/1/run_identity.json", 30);
    let ran = sandbox.run(&["report", "identity"]).code(2).prints_nothing();
    ran.says("run_identity.json` is damaged").says("`switchback resume` measures the cell again");
    std::fs::remove_file(sandbox.path("identity/cells/slow/r1_A/1/run_identity.json")).unwrap();
    let ran = sandbox.run(&["report", "identity"]).code(2).prints_nothing();
    ran.says("run_identity.json` is damaged: it is missing").says("`switchback resume` measures");
    // As it says: the attempt away, the cell is measured again.
    std::fs::rename(sandbox.path("identity/cells/slow/r1_A/1"), sandbox.path("attempt")).unwrap();
    let count = sandbox.cells().len();
    sandbox.run(&["resume", "identity"]).code(0);
    assert_eq!(sandbox.cells()[count..], ["slow r1_A"]);

    copy(&done, &sandbox.path("text"));
    for entry in std::fs::read_dir(sandbox.path("text/ir")).unwrap() {
        std::fs::write(entry.unwrap().path(), "other text").unwrap();
    }
    sandbox.run(&["report", "text"]).code(2).says("another SHA-256 than its name says");
}

#[test]
fn rows_of_other_conditions_within_a_campaign_are_refused_by_field() {
    let sandbox = Sandbox::new();
    let done = sandbox.finished(&["slow", "same"]);
    let path = done.join("cells/slow/r2_A/1/run_identity.json");
    let mut identity = sandbox.json("done/cells/slow/r2_A/1/run_identity.json");
    identity["conditions"]["driver"] = "580.1".into();
    std::fs::write(&path, identity.to_string()).unwrap();
    let ran = sandbox.run(&["report", "done"]).code(5).prints_nothing();
    ran.says("not comparable: `driver` is unknown in slow r1_A, `580.1` in slow r2_A")
        .says("hint: `--allow driver`");
    let ran = sandbox.run(&["report", "done", "--allow", "driver"]).code(0).prints("FASTER");
    ran.prints("these conditions differ: `driver`");

    // A round that is measured after the driver changed is not put beside those from before.
    let mut identity = sandbox.json("done/cells/same/r1_A/1/run_identity.json");
    identity["conditions"]["driver"] = "580.1".into();
    for cell in ["slow/r1_A", "slow/r1_B", "same/r1_A"] {
        std::fs::write(done.join(format!("cells/{cell}/1/run_identity.json")), identity.to_string()).unwrap();
    }
    std::fs::remove_dir_all(done.join("cells/same/r3_B")).unwrap();
    sandbox.run(&["resume", "done"]).code(5).says("`driver` is `580.1` in same r1_A, unknown in same r3_B");
}

#[test]
fn folders_that_are_no_campaign_are_not_touched() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    std::fs::create_dir(sandbox.path("photos")).unwrap();
    std::fs::write(sandbox.path("photos/cat.jpg"), "cat").unwrap();
    std::fs::write(sandbox.path("file"), "a file").unwrap();
    for command in ["report", "resume", "doctor"] {
        for place in ["empty", "photos", "file", "nowhere"] {
            sandbox.run(&[command, place]).code(2).prints_nothing().says("`campaign.toml`");
        }
    }
    sandbox.run(&sandbox.speaker(&["slow"], &["--out", "photos"])).code(2).says("photos` already exists");
    sandbox.run(&sandbox.speaker(&["slow"], &["--out", "file"])).code(2).says("file` already exists");
    assert_eq!(sandbox.cells(), [""; 0]);
    assert_eq!(std::fs::read_to_string(sandbox.path("photos/cat.jpg")).unwrap(), "cat");
    assert_eq!(std::fs::read_dir(sandbox.path("photos")).unwrap().count(), 1);
    // A request alone is a campaign that has not begun.
    std::fs::create_dir(sandbox.path("begun")).unwrap();
    sandbox.finished(&["slow", "same"]);
    std::fs::copy(sandbox.path("done/campaign.toml"), sandbox.path("begun/campaign.toml")).unwrap();
    sandbox.run(&["report", "begun"]).code(0).prints("none screened");
    sandbox.run(&["resume", "begun"]).code(0).prints("FASTER");
    // An empty folder is as good as none.
    sandbox.run(&sandbox.speaker(&["slow", "same"], &["--out", "empty"])).code(0);
}

#[test]
fn a_campaign_whose_files_cannot_be_written_is_reported_all_the_same() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    // For whoever may not write; root may, so for root a folder lies where a file is to go.
    std::fs::remove_file(sandbox.path("done/report.md")).unwrap();
    std::fs::create_dir_all(sandbox.path("done/report.md/in/the/way")).unwrap();
    let permissions = std::fs::metadata(sandbox.path("done")).unwrap().permissions();
    let mut read_only = permissions.clone();
    read_only.set_readonly(true);
    std::fs::set_permissions(sandbox.path("done"), read_only).unwrap();
    let ran = sandbox.run(&["report", "done"]);
    std::fs::set_permissions(sandbox.path("done"), permissions).unwrap();
    ran.code(0).prints("FASTER").says("note: the files in the folder are as they were:");
}

#[test]
fn what_is_derived_can_be_deleted() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let tops = ["report.json", "report.md", "report.tsv", "screen.tsv", "status.tsv", "summary.log"];
    let before = tops.map(|name| std::fs::read_to_string(sandbox.path(&format!("done/{name}"))).unwrap());
    for name in tops {
        std::fs::remove_file(sandbox.path(&format!("done/{name}"))).unwrap();
    }
    sandbox.run(&["report", "done"]).code(0);
    let after = tops.map(|name| std::fs::read_to_string(sandbox.path(&format!("done/{name}"))).unwrap());
    assert_eq!(before, after);
}
