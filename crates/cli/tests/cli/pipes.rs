//! Where output goes: colours for terminals only, data on stdout, a reader that has gone away.

use std::process::Stdio;

use crate::support::Sandbox;

const ESCAPE: char = '\u{1b}';

#[test]
fn what_goes_into_a_pipe_or_a_file_has_no_escape_codes() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    for arguments in [
        &["report", "done"][..],
        &["report", "done", "--explain", "slow"],
        &["report", "done", "--format", "markdown"],
        &["doctor"],
        &["doctor", "done"],
        &["ops"],
        &["report", "nowhere"],
        &["ab", "--help"],
        &["ab", "--no-such-flag"],
    ] {
        let ran = sandbox.run(arguments);
        assert!(
            !ran.stdout.contains(ESCAPE) && !ran.stderr.contains(ESCAPE),
            "{arguments:?}: {}",
            ran.stdout
        );
    }
    for entry in std::fs::read_dir(sandbox.path("done")).unwrap() {
        let path = entry.unwrap().path();
        // The index is for no reader.
        if path.is_file() && !path.ends_with("campaign.db") {
            assert!(!std::fs::read(&path).unwrap().contains(&0x1b), "{}", path.display());
        }
    }
}

#[test]
fn a_terminal_has_colours_unless_it_wants_none() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    let on_a_terminal = |no_colour: bool| {
        let line = format!("{} report done", env!("CARGO_BIN_EXE_switchback"));
        let mut command = sandbox.command(&[]);
        let environment: Vec<_> =
            command.get_envs().map(|(k, v)| (k.to_owned(), v.map(ToOwned::to_owned))).collect();
        command = std::process::Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .current_dir(sandbox.path(""))
            .env("TERM", "xterm-256color");
        for (name, value) in environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if no_colour {
            command.env("NO_COLOR", "1");
        }
        command.stdin(Stdio::null()).output()
    };
    let Ok(output) = on_a_terminal(false) else {
        eprintln!("skipped: there is no `script` that makes a terminal");
        return;
    };
    let coloured = String::from_utf8(output.stdout).unwrap();
    assert!(coloured.contains("FASTER") && coloured.contains(ESCAPE), "{coloured:?}");
    let plain = String::from_utf8(on_a_terminal(true).unwrap().stdout).unwrap();
    assert!(plain.contains("FASTER") && !plain.contains(ESCAPE), "{plain:?}");
}

#[test]
fn a_reader_that_has_gone_away_is_no_panic() {
    let sandbox = Sandbox::new();
    sandbox.finished(&["slow", "same"]);
    for arguments in [
        &["ops", "--json"][..],
        &["report", "done"],
        &["report", "done", "--format", "json"],
        &["report", "done", "--format", "tsv"],
        &["doctor", "done"],
        &["compare", "done", "nowhere"],
        &["ab", "--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox.command(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains("panicked"), "{arguments:?}: {text}");
        assert!(output.status.code().is_some_and(|code| code <= 5), "{arguments:?}: {}", output.status);
    }
    // With `2>&1 |` stderr goes away as well; the campaign is measured and written all the same.
    for arguments in [
        sandbox.speaker(&["slow", "same"], &["--out", "verbose", "-v"]),
        sandbox.speaker(&["slow", "broken"], &["--out", "failing"]),
        vec!["report", "nowhere"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sandbox.command(&arguments);
        let status = command.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
        assert!(status.code().is_some_and(|code| code <= 5), "{arguments:?}: {status}");
    }
    assert_eq!(sandbox.operator("verbose", "slow")["verdict"], "FASTER");
    assert!(sandbox.path("failing/report.json").exists());
}

#[test]
fn quiet_says_nothing_but_the_data_and_verbose_names_every_cell() {
    let sandbox = Sandbox::new();
    let quiet = sandbox.run(&sandbox.speaker(&["slow", "same"], &["--out", "quiet", "-q"])).code(0);
    assert!(quiet.stderr.is_empty() && quiet.stdout.contains("FASTER"), "{}", quiet.stderr);
    let verbose = sandbox.run(&sandbox.speaker(&["slow", "same"], &["--out", "verbose", "-v"])).code(0);
    let verbose = verbose.says("screen 1 of 4: slow screen_A").says("measure 17 of 17: same r3_B");
    assert!(verbose.stderr.contains("slow: IR_CHANGED at text"), "{}", verbose.stderr);
    assert!(!verbose.stdout.contains("screen_A"));
}
