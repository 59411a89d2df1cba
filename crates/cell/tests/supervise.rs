//! A supervisor as a process of its own, with small children that hang, crash, flood, fork and refuse to die.

mod support;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use support::{Cell, is_running, pid_in, wait_for};
use switchback_device::telemetry::tsv;
use switchback_model::order::Turn;
use switchback_model::outcome::{Counts, Ending};
use switchback_store::event_writer::monotonic_s;

const EVENTS: &str = r#"
cat >> "$SWITCHBACK_RUN_DIR/events.jsonl" <<'END'
{"kind":"start","t_s":1,"pid":7,"conditions":{"torch":"2.11"},"identity":{"python":"3.11"}}
{"kind":"row","t_s":1,"operator":"softmax","side":"A","ok":true,"timer":"gated","case":{"dtype":"f32","input":"64"}}
{"kind":"end","t_s":2,"status":0,"rows":1}
END
"#;

#[test]
fn a_child_that_completes_leaves_outcome_identity_and_log() {
    let cell = Cell::script(&format!("{EVENTS} echo measured; echo warned >&2"));
    assert_eq!(cell.run(), 0);
    let outcome = cell.outcome();
    assert_eq!((outcome.ending, outcome.exit_status, outcome.signal), (Ending::Completed, Some(0), None));
    assert_eq!(outcome.reason, "");
    assert_eq!(outcome.counts, Counts { success: 1, ended: true, ..Counts::default() });
    assert_eq!(outcome.leaked_processes, 0);
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(outcome.boot_id, boot_id.trim());
    assert!(outcome.elapsed_s > 0.0 && outcome.elapsed_s < 30.0, "{}", outcome.elapsed_s);
    let identity = cell.identity();
    assert_eq!(identity.conditions.get("torch"), Some("2.11"));
    assert_eq!(identity.conditions.get("suite"), Some("command"));
    assert_eq!(identity.identity["python"], "3.11");
    assert_eq!(identity.identity["switchback"], "0.1.0");
    assert_eq!(fs::read_to_string(cell.path("run.log")).unwrap(), "measured\nwarned\n");
    let note = fs::read_to_string(cell.path("telemetry.err")).unwrap();
    assert_eq!(note, "no telemetry: back end `cpu` has no sampler\n");
    assert!(!cell.path("telemetry.tsv").exists());
}

#[test]
fn a_status_other_than_0_is_a_failure_with_the_last_line() {
    let cell = Cell::script("echo 'assertion failed'; exit 5");
    assert_eq!(cell.run(), 5);
    let outcome = cell.outcome();
    assert_eq!((outcome.ending, outcome.exit_status), (Ending::Failed, Some(5)));
    assert_eq!(outcome.reason, "the last line of `run.log` is `assertion failed`");
}

#[test]
fn a_crash_keeps_the_rows_before_it() {
    for script in ["kill -SEGV $$", "sh -c 'kill -SEGV $$'; exit $?"] {
        let cell = Cell::script(&format!("{EVENTS} printf '{{\"kind\":\"ro' >> events.jsonl; {script}"));
        assert_eq!(cell.run(), 139, "{script}");
        let outcome = cell.outcome();
        assert_eq!((outcome.ending, outcome.exit_status, outcome.signal), (Ending::Crashed, None, Some(11)));
        assert_eq!(outcome.counts.success, 1);
        assert!(outcome.reason.starts_with("killed by SIGSEGV"), "{}", outcome.reason);
        assert!(!outcome.reason.contains("events.jsonl"), "a torn last line is no fault: {}", outcome.reason);
    }
}

#[test]
fn a_hanging_child_and_all_it_started_end_at_the_deadline() {
    let cell = Cell::script(
        "echo working; sleep 1000 & echo $! > background; setsid sleep 1000 & echo $! > far; sleep 1000",
    )
    .timeout_s(0.3);
    assert_eq!(cell.run(), 124);
    let outcome = cell.outcome();
    assert_eq!(outcome.ending, Ending::Timeout);
    assert_eq!(outcome.reason, "ended at the deadline of 0.3 s; the last line of `run.log` is `working`");
    assert!(!is_running(pid_in(&cell.path("background"))));
    assert!(!is_running(pid_in(&cell.path("far"))));
}

#[test]
fn a_child_that_ignores_term_is_killed_after_the_grace() {
    let cell = Cell::script("trap '' TERM; echo $$ > pid; while :; do sleep 1000; done").timeout_s(0.2);
    assert_eq!(cell.run(), 124);
    assert!(!is_running(pid_in(&cell.path("pid"))));
    let elapsed_s = cell.outcome().elapsed_s;
    assert!(elapsed_s >= 0.5, "deadline and grace are 0.5 s, took {elapsed_s} s");
}

#[test]
fn a_grandchild_that_ignores_term_is_killed_though_the_child_obeyed() {
    let cell = Cell::script(
        "sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1000; done' & \
         while [ ! -s pid ]; do :; done; exec sleep 1000",
    )
    .timeout_s(1.0);
    assert_eq!(cell.run(), 124);
    assert!(!is_running(pid_in(&cell.path("pid"))));
    // The shell; a `sleep` that obeyed its TERM may have been followed by another.
    assert!(cell.outcome().leaked_processes >= 1);
}

#[test]
fn what_outlives_its_child_is_counted_and_killed_and_does_not_hold_up_the_result() {
    // All hold standard output; the second is in a session of its own, the third also without the cell's environment.
    let cell = Cell::script(
        "sleep 1000 & echo $! > one; setsid sleep 1000 & echo $! > two; \
         setsid env -i sh -c 'echo $$ > three; exec sleep 1000' & while [ ! -s three ]; do :; done; echo done",
    );
    let before = Instant::now();
    assert_eq!(cell.run(), 0);
    assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
    let outcome = cell.outcome();
    assert_eq!((outcome.ending, outcome.leaked_processes), (Ending::Completed, 3));
    for name in ["one", "two", "three"] {
        assert!(!is_running(pid_in(&cell.path(name))), "{name}");
    }
    assert_eq!(fs::read_to_string(cell.path("run.log")).unwrap(), "done\n");
}

#[test]
fn a_process_that_carries_the_attempt_is_ended_and_another_attempt_s_is_not() {
    let cell = Cell::script("while [ ! -e go ]; do sleep 0.01; done");
    let carrying = |run_dir: &std::path::Path| {
        Command::new("sleep")
            .arg("1000")
            .env("SWITCHBACK_CAMPAIGN", &cell.order.campaign)
            .env("SWITCHBACK_RUN_DIR", run_dir)
            .spawn()
            .unwrap()
    };
    let mut stray = carrying(&cell.order.attempt_dir);
    let mut other = carrying(&cell.path("other"));
    let supervisor = cell.start();
    fs::write(cell.path("go"), "").unwrap();
    let status = supervisor.status();
    let spared = other.try_wait().unwrap().is_none();
    let _ = other.kill();
    let _ = other.wait();
    let stray_ended = !is_running(stray.id().cast_signed());
    let _ = stray.kill();
    let _ = stray.wait();
    assert_eq!(status, 0);
    assert!(stray_ended && spared, "{stray_ended} {spared}");
    assert_eq!(cell.outcome().leaked_processes, 1);
}

#[test]
fn a_flood_of_output_is_cut_in_the_middle() {
    let cell = Cell::script("echo first; yes flooding | head -c 50000000; echo; echo last");
    assert_eq!(cell.run(), 0);
    let log = fs::read_to_string(cell.path("run.log")).unwrap();
    assert!(
        log.starts_with("first\nflooding\n") && log.ends_with("flooding\nflood\nlast\n"),
        "{}",
        log.len()
    );
    // 64 KiB of each end are kept, the rest of 6 + 50,000,000 + 1 + 5 bytes is not.
    let dropped = 50_000_012 - 2 * 65_536;
    assert!(log.contains(&format!("\n[switchback: {dropped} bytes of output are left out here]\n")));
    assert_eq!(cell.outcome().reason, format!("`run.log` leaves out {dropped} bytes of a flood of output"));
    assert_eq!(cell.outcome().ending, Ending::Completed);
}

#[test]
fn a_gigabyte_of_output_leaves_a_log_of_bounded_size_and_the_cell_completes() {
    let cell =
        Cell::script(&format!("head -c 1000000000 /dev/zero | tr '\\000' 'x'; {EVENTS} echo; echo last"));
    assert_eq!(cell.run(), 0);
    let outcome = cell.outcome();
    assert_eq!((outcome.ending, outcome.counts.success), (Ending::Completed, 1));
    // 64 KiB of each end are kept; of 1,000,000,000 + 1 + 5 bytes the rest is not.
    let dropped = 1_000_000_006 - 2 * 65_536;
    assert_eq!(outcome.reason, format!("`run.log` leaves out {dropped} bytes of a flood of output"));
    let size = fs::metadata(cell.path("run.log")).unwrap().len();
    assert!(size < 2 * 65_536 + 100, "{size}");
}

#[test]
fn the_coordinator_s_end_ends_the_cell() {
    let cell = Cell::script("trap 'echo told; exit 0' TERM; echo $$ > pid; while :; do sleep 0.01; done");
    let mut supervisor = cell.start();
    let pid = pid_in(&cell.path("pid"));
    drop(supervisor.pipe.take());
    assert_eq!(supervisor.status(), 130);
    let outcome = cell.outcome();
    assert_eq!((outcome.ending, outcome.exit_status), (Ending::Interrupted, None));
    assert!(outcome.reason.starts_with("the coordinator's pipe closed"), "{}", outcome.reason);
    // The shell may say of its `sleep` that it was terminated.
    assert!(fs::read_to_string(cell.path("run.log")).unwrap().ends_with("told\n"));
    assert!(!is_running(pid));
}

#[test]
fn kill_on_the_pipe_spends_no_grace() {
    let cell = Cell::script("trap '' TERM; echo $$ > pid; while :; do sleep 1000; done").grace_ms(3_600_000);
    let mut supervisor = cell.start();
    let pid = pid_in(&cell.path("pid"));
    writeln!(supervisor.pipe.as_mut().unwrap(), "kill").unwrap();
    assert_eq!(supervisor.status(), 130);
    assert!(!is_running(pid));
    assert!(cell.outcome().reason.starts_with("the coordinator said `kill`"));
}

#[test]
fn kill_cuts_a_grace_short() {
    let cell = Cell::script("trap 'echo told' TERM; echo $$ > pid; while :; do sleep 0.01; done")
        .grace_ms(3_600_000);
    let mut supervisor = cell.start();
    let pid = pid_in(&cell.path("pid"));
    supervisor.signal(Signal::TERM);
    wait_for("the TERM", || fs::read_to_string(cell.path("run.log")).ok().filter(|log| log.contains("told")));
    assert!(is_running(pid));
    writeln!(supervisor.pipe.as_mut().unwrap(), "kill").unwrap();
    assert_eq!(supervisor.status(), 130);
    assert!(!is_running(pid));
}

#[test]
fn one_signal_stops_a_second_one_kills() {
    let cell = Cell::script("trap 'echo told' TERM; echo $$ > pid; while :; do sleep 0.01; done")
        .grace_ms(3_600_000);
    let supervisor = cell.start();
    let pid = pid_in(&cell.path("pid"));
    supervisor.signal(Signal::INT);
    wait_for("the TERM", || fs::read_to_string(cell.path("run.log")).ok().filter(|log| log.contains("told")));
    assert!(is_running(pid));
    supervisor.signal(Signal::INT);
    assert_eq!(supervisor.status(), 130);
    assert!(!is_running(pid));
    assert!(cell.outcome().reason.starts_with("the supervisor got SIGINT"), "{}", cell.outcome().reason);
}

#[test]
fn a_batch_system_s_empty_input_is_no_coordinator_that_left() {
    let cell = Cell::script("sleep 0.3; echo whole");
    assert_eq!(cell.start_with(Stdio::null()).status(), 0);
    assert_eq!(fs::read_to_string(cell.path("run.log")).unwrap(), "whole\n");
}

#[test]
fn a_killed_supervisor_takes_its_child_along_and_leaves_no_outcome() {
    let cell = Cell::script("echo $$ > pid; while :; do sleep 0.01; done");
    let supervisor = cell.start();
    let pid = pid_in(&cell.path("pid"));
    supervisor.signal(Signal::KILL);
    assert_eq!(supervisor.ended().code(), None);
    wait_for("the child's end", || (!is_running(pid)).then_some(()));
    assert!(!cell.has_outcome());
}

#[test]
fn a_child_inherits_no_setting_of_ours() {
    let mut cell = Cell::script("env > environment; cat <&0 > input")
        .inherited("SWITCHBACK_ROUNDS", "9")
        .inherited("SWITCHBACK_CPU_OPT_LEVEL", "none")
        .inherited("SWITCHBACK_RUN_DIR", "/elsewhere")
        .inherited("SWITCHBACK_CAMPAIGN", "another")
        .inherited("PLAIN", "kept")
        .inherited("REMOVED", "x")
        .inherited("CHANGED", "x");
    cell.order.command.env = [
        ("REMOVED", None),
        ("NEVER_SET", None),
        ("CHANGED", Some("y z")),
        ("SWITCHBACK_CPU_ENABLE_VERIFIER", Some("true")),
    ]
    .map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
    .into();
    assert_eq!(cell.run(), 0);
    let text = fs::read_to_string(cell.path("environment")).unwrap();
    let held = |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    let run_dir = cell.order.attempt_dir.display().to_string();
    for (name, value) in [
        ("SWITCHBACK_RUN_DIR", Some(run_dir.as_str())),
        ("SWITCHBACK_CAMPAIGN", Some("test-campaign")),
        ("SWITCHBACK_PROTOCOL", Some("1")),
        ("SWITCHBACK_CPU_ENABLE_VERIFIER", Some("true")),
        ("PLAIN", Some("kept")),
        ("CHANGED", Some("y z")),
        ("REMOVED", None),
    ] {
        assert_eq!(held(name), value, "{name}");
    }
    let ours = text.lines().filter(|line| line.starts_with("SWITCHBACK_")).count();
    assert_eq!(ours, 4, "{text}");
    assert_eq!(fs::read(cell.path("input")).unwrap(), b"", "the coordinator's pipe is not the child's");
}

#[test]
fn a_card_in_use_is_refused_and_free_again_after() {
    let first = Cell::script("echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done");
    let running = first.start();
    pid_in(&first.path("pid"));
    let second = Cell::script("echo started").sharing_locks(&first);
    assert_eq!(second.run(), 127);
    let outcome = second.outcome();
    assert_eq!(outcome.ending, Ending::NotStarted);
    let holder = format!("card `cpu-0` is in use by process {} on ", running.pid());
    assert!(outcome.reason.starts_with(&holder), "{}", outcome.reason);
    assert!(outcome.reason.contains("campaign `test-campaign`"), "{}", outcome.reason);
    assert_eq!(fs::read(second.path("run.log")).unwrap(), b"");
    let mut other_card = Cell::script("echo started").sharing_locks(&first);
    other_card.order.card.index = "1".into();
    assert_eq!(other_card.run(), 0);
    fs::write(first.path("go"), "").unwrap();
    assert_eq!(running.status(), 0);
    assert_eq!(Cell::script("echo started").sharing_locks(&first).run(), 0);
}

#[test]
fn cells_of_one_campaign_take_turns_on_a_card_and_another_campaign_s_is_refused() {
    // Each holds the turn while it runs, and says when it had it.
    let script = "exec 9<\"$SWITCHBACK_TURN_FILE\"; flock MODE 9; echo got >> got; while [ ! -e go ]; do sleep 0.01; done";
    let with_turn = |mode: &str, turn| {
        let mut cell = Cell::script(&script.replace("MODE", mode));
        cell.order.turn = Some(turn);
        cell.order.ir_dir = "/a\ncampaign/ir".into();
        cell
    };
    let first = with_turn("-x", Turn::Alone);
    let running = first.start();
    wait_for("the first one's turn", || first.path("got").exists().then_some(()));
    let mut second = with_turn("-s", Turn::Shared).sharing_locks(&first);
    second.order.purpose = "screen_A".parse().unwrap();
    let waiting = second.start();
    wait_for("the second one's child", || second.path("run.log").exists().then_some(()));
    let mut other = with_turn("-x", Turn::Alone).sharing_locks(&first);
    other.order.campaign = "another-campaign".into();
    assert_eq!(other.run(), 127);
    assert!(other.outcome().reason.contains("is in use by process"), "{}", other.outcome().reason);
    assert_eq!(
        Cell::script("true").sharing_locks(&first).run(),
        127,
        "one without a turn has the card to itself"
    );
    assert!(!second.path("got").exists());
    fs::write(second.path("go"), "").unwrap();
    fs::write(first.path("go"), "").unwrap();
    assert_eq!((running.status(), waiting.status()), (0, 0));
    assert!(second.path("got").exists());
    assert_eq!((first.outcome().shared, second.outcome().shared), (false, true));
    assert_eq!(Cell::script("true").sharing_locks(&first).run(), 0);
}

#[test]
fn the_time_of_a_cell_runs_from_its_turn() {
    let note = r#"{"kind":"note","t_s":1,"topic":"waits_for_card"}"#;
    let mut cell = Cell::script(&format!("echo '{note}' >> events.jsonl; sleep 1000")).timeout_s(1.5);
    cell.order.turn = Some(Turn::Alone);
    let running = cell.start();
    std::thread::sleep(Duration::from_millis(1600));
    assert!(!cell.has_outcome(), "its turn has not come yet");
    let turn = format!("{{\"kind\":\"turn\",\"t_s\":{},\"waited_s\":1.0}}\n", monotonic_s());
    let mut events = fs::OpenOptions::new().append(true).open(cell.path("events.jsonl")).unwrap();
    events.write_all(turn.as_bytes()).unwrap();
    assert_eq!(running.status(), 124);
    let outcome = cell.outcome();
    assert_eq!(outcome.ending, Ending::Timeout);
    assert!(outcome.turn_s.unwrap() > 1.0, "{outcome:?}");
    assert!(outcome.card_s() >= 1.5 && outcome.card_s() < outcome.elapsed_s, "{outcome:?}");
}

#[test]
fn a_child_that_never_gets_ready_has_its_time_and_no_more() {
    let mut cell = Cell::script("sleep 1000").timeout_s(0.3);
    cell.order.turn = Some(Turn::Shared);
    assert_eq!(cell.run(), 124);
    let outcome = cell.outcome();
    assert_eq!(
        (outcome.turn_s, outcome.card_s()),
        (Some(outcome.elapsed_s), 0.0),
        "it had nothing of the card"
    );
}

#[test]
fn the_card_is_held_until_what_outlives_the_child_is_gone() {
    let first = Cell::script(
        "trap 'exit 0' TERM; sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.01; done' & wait",
    )
    .grace_ms(3_600_000);
    let mut running = first.start();
    pid_in(&first.path("pid"));
    running.signal(Signal::TERM);
    let second = Cell::script("true").sharing_locks(&first);
    assert_eq!(second.run(), 127);
    writeln!(running.pipe.as_mut().unwrap(), "kill").unwrap();
    assert_eq!(running.status(), 130);
    assert_eq!(Cell::script("true").sharing_locks(&first).run(), 0);
}

/// A cell on a card of `nvidia-smi`, which is a script that answers with these lines.
fn with_nvidia_smi(child: &str, readings: &str, processes: &str) -> Cell {
    let mut cell = Cell::script(child);
    cell.order.card.backend = "cuda".into();
    cell.order.card.uuid = Some("GPU-1".into());
    let tools = cell.path("tools");
    fs::create_dir(&tools).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n--query-gpu=*'-i GPU-1') {readings};;\n\
         --query-compute-apps=*'-i GPU-1') {processes};;\nesac\n"
    );
    let tool = tools.join("nvidia-smi");
    fs::write(&tool, script).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    cell.inherited("PATH", &path)
}

#[test]
fn the_card_is_watched_and_others_on_it_are_told() {
    let cell = with_nvidia_smi(
        "while [ ! -s telemetry.tsv ]; do sleep 0.01; done",
        "echo '0, 1980, 3201, 43, [N/A], 97, 0x0000000000000044, 700.00, 500, 143771'",
        "echo '4711, /opt/other/python'",
    );
    assert_eq!(cell.run(), 0);
    let samples = tsv::read(&fs::read_to_string(cell.path("telemetry.tsv")).unwrap());
    let reading = &samples[0].reading;
    assert_eq!((reading.sm_clock_mhz, reading.power_w), (Some(1980.0), None));
    assert_eq!(reading.throttle.as_deref(), Some("sw_power_cap+hw_thermal_slowdown"));
    let outcome = cell.outcome();
    assert!(samples[0].monotonic_s.unwrap() >= outcome.started_s - 0.001);
    assert_eq!(samples[0].boot_id, outcome.boot_id);
    assert_eq!(outcome.reason, "others computed on the card: process 4711 `/opt/other/python`");
    assert_eq!(cell.identity().identity["foreign_processes"], "4711 `/opt/other/python`");
    // Without the library, or with one that knows no such card, the tool is taken and that is said.
    let telemetry = outcome.telemetry.unwrap();
    assert_eq!((telemetry.sampler.as_str(), telemetry.interval_s), ("nvidia-smi", 5.0));
    assert!(telemetry.remark.ends_with("`nvidia-smi` is run instead"), "{telemetry:?}");
    assert_eq!((telemetry.readings, telemetry.measured, telemetry.sm_clock_mhz), (1, 0, None));
    assert!(telemetry.reading_s > 0.0 && telemetry.cpu_s > 0.0, "{telemetry:?}");
}

#[test]
fn a_sampler_that_does_not_answer_is_said_once_and_fails_nothing() {
    let refusal = "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18";
    let cell = with_nvidia_smi("while [ ! -s telemetry.err ]; do sleep 0.01; done", refusal, refusal);
    assert_eq!(cell.run(), 0);
    let note = fs::read_to_string(cell.path("telemetry.err")).unwrap();
    let (library, tool) = note.split_once('\n').unwrap();
    assert!(library.ends_with("`nvidia-smi` is run instead"), "{note}");
    assert_eq!(
        tool,
        "no telemetry: `nvidia-smi` failed with exit status: 18: \
         Failed to initialize NVML: Driver/library version mismatch\n"
    );
    assert_eq!(cell.outcome().telemetry.unwrap().remark, note.trim_end().replace('\n', "; "));
    assert!(!cell.path("telemetry.tsv").exists());
    assert_eq!(cell.outcome().reason, "");
}

/// A cell on a card of NVML, which is a library that answers as it does (crate `device`, `tests/fake_nvml.c`); none where
/// there is no compiler to build it with, which is said.
fn with_nvml(child: &str, part: &str) -> Option<Cell> {
    let mut cell = Cell::script(child);
    cell.order.card.backend = "cuda".into();
    cell.order.card.uuid = Some("GPU-fake".into());
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../device/tests/fake_nvml.c");
    let tools = cell.path("tools");
    fs::create_dir(&tools).unwrap();
    let library = tools.join("libnvidia-ml.so.1");
    match Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status() {
        Ok(status) => assert!(status.success(), "`cc` failed: {status}"),
        Err(error) => {
            eprintln!("skipped: there is no `cc` to build the library with: {error}");
            return None;
        }
    }
    let tools = tools.display().to_string();
    Some(
        cell.inherited("LD_LIBRARY_PATH", &tools)
            .inherited("FAKE_NVML", part)
            .inherited("SWITCHBACK_TELEMETRY_INTERVAL", "0.02"),
    )
}

/// A child that measures a row for as long as it takes until there are some readings; its clock is theirs.
const MEASURES: &str = r#"
now() { tail -n 1 telemetry.tsv | cut -f 8; }
event() { printf '{"t_s":%s,%s}\n' "$(now)" "$1" >> events.jsonl; }
readings() { [ -e telemetry.tsv ] && [ "$(wc -l < telemetry.tsv)" -gt "$1" ]; }
while ! readings 2; do sleep 0.01; done
event '"kind":"note","topic":"a","detail":"b"'
seen=$(wc -l < telemetry.tsv)
while ! readings $((seen + 3)); do sleep 0.01; done
event '"kind":"row","operator":"mm","side":"A","ok":true,"timer":"gated","case":{"dtype":"f32","input":"64"}'
while ! readings $((seen + 6)); do sleep 0.01; done
"#;

#[test]
fn the_library_reads_the_cell_s_own_card_and_the_outcome_says_what_it_cost() {
    let Some(cell) = with_nvml(MEASURES, "") else { return };
    assert_eq!(cell.run(), 0);
    let outcome = cell.outcome();
    let telemetry = outcome.telemetry.unwrap();
    assert_eq!((telemetry.sampler.as_str(), telemetry.interval_s), ("nvml", 0.02));
    assert_eq!(telemetry.remark, "");
    let samples = tsv::read(&fs::read_to_string(cell.path("telemetry.tsv")).unwrap());
    assert_eq!(telemetry.readings, samples.len() as u64);
    // Those before and after the row are not of it.
    assert!(telemetry.measured >= 3 && telemetry.measured < telemetry.readings - 2, "{telemetry:?}");
    assert_eq!(telemetry.sm_clock_mhz, Some(1980.0));
    assert_eq!(telemetry.throttle["sw_power_cap"], telemetry.measured);
    assert!(telemetry.cpu_s > 0.0 && telemetry.cpu_s < outcome.elapsed_s, "{telemetry:?}");
    assert!(telemetry.reading_s > 0.0 && telemetry.reading_s < outcome.elapsed_s, "{telemetry:?}");
    assert_eq!(outcome.reason, "others computed on the card: process 4711 `/opt/other/python4711`");
    assert!(!cell.path("telemetry.err").exists());
}

#[test]
fn a_card_that_is_lost_while_a_cell_runs_is_said_and_what_was_read_is_kept() {
    let Some(cell) = with_nvml("while [ ! -s telemetry.err ]; do sleep 0.01; done", "lost") else { return };
    // Before the child a look whether the card is there and has memory, and one that chooses the library: three readings.
    let cell = cell.inherited("FAKE_NVML_READINGS", "4");
    assert_eq!(cell.run(), 0);
    let telemetry = cell.outcome().telemetry.unwrap();
    assert!(telemetry.lost && telemetry.remark.starts_with("card `GPU-fake` is lost: "), "{telemetry:?}");
    // Of the two samples after these one came.
    assert_eq!(telemetry.readings, 1);
}

#[test]
fn a_period_of_zero_turns_telemetry_off() {
    let Some(cell) = with_nvml("true", "") else { return };
    let cell = cell.inherited("SWITCHBACK_TELEMETRY_INTERVAL", "0");
    assert_eq!(cell.run(), 0);
    assert_eq!(cell.outcome().telemetry, None);
    assert!(!cell.path("telemetry.tsv").exists() && !cell.path("telemetry.err").exists());
}

#[test]
fn torn_events_before_the_last_are_said() {
    let cell = Cell::script(&format!("echo '{{\"kind\":\"no' > events.jsonl; {EVENTS}"));
    assert_eq!(cell.run(), 0);
    let outcome = cell.outcome();
    assert_eq!((outcome.ending, outcome.counts.success), (Ending::Completed, 1));
    assert!(
        outcome.reason.contains("`events.jsonl` could not be read, the first is line 1"),
        "{}",
        outcome.reason
    );
}

#[test]
fn a_child_without_events_has_counted_nothing() {
    let cell = Cell::script("true");
    assert_eq!(cell.run(), 0);
    assert_eq!(cell.outcome().counts, Counts::default());
    assert_eq!(cell.identity().conditions.get("timer"), Some("gated"));
}

#[test]
fn a_child_that_cannot_be_started_is_said_and_no_error_of_ours() {
    let mut cell = Cell::script("");
    cell.order.command.argv = vec!["/no/such/program".into()];
    assert_eq!(cell.run(), 127);
    let outcome = cell.outcome();
    assert_eq!((outcome.ending, outcome.exit_status), (Ending::NotStarted, None));
    assert!(outcome.reason.starts_with("`/no/such/program` could not be started: "), "{}", outcome.reason);

    let mut cell = Cell::script("true");
    cell.order.command.cwd = "/no/such/folder".into();
    assert_eq!(cell.run(), 127);
    assert!(cell.outcome().reason.ends_with("its folder `/no/such/folder` is not there"));
}

#[test]
fn an_attempt_is_made_once() {
    let cell = Cell::script("echo once");
    assert_eq!(cell.run(), 0);
    let outcome = cell.outcome();
    assert_eq!(cell.run(), 3);
    assert_eq!(cell.outcome(), outcome);
    assert_eq!(fs::read_to_string(cell.path("run.log")).unwrap(), "once\n");
    let said = fs::read_to_string(cell.path("supervisor.err")).unwrap();
    assert!(said.contains("has been started before") && said.contains("\nhint: "), "{said}");
}

#[test]
fn an_outcome_that_cannot_be_written_is_an_error_and_the_attempt_has_none() {
    let cell = Cell::script("mkdir outcome.json");
    assert_eq!(cell.run(), 3);
    assert!(!cell.has_outcome());
    let said = fs::read_to_string(cell.path("supervisor.err")).unwrap();
    assert!(said.starts_with("error: cannot write `") && said.contains("outcome.json"), "{said}");
}

#[test]
fn an_order_for_another_folder_is_refused() {
    let mut cell = Cell::script("true");
    let elsewhere = tempfile::tempdir().unwrap();
    let here = cell.order.attempt_dir.clone();
    cell.order.attempt_dir = elsewhere.path().into();
    fs::write(here.join("order.json"), serde_json::to_string(&cell.order).unwrap()).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_switchback-cell-under-test"))
        .arg(here.join("order.json"))
        .env("TEST_GRACE_MS", "300")
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(!here.join("run.log").exists() && !elsewhere.path().join("run.log").exists());
}
