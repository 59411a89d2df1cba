//! How long a campaign of a hundred thousand finished cells takes until its next cell is known: with its index, without, and
//! while the index is made.
//!
//! The cells are written, not run: 500 operators, three screening cells each, 100 rounds of one process a side. The last one is
//! missing, so that there is a next cell.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::json;
use switchback_store::ir_objects;

use crate::step::Step;

/// Operators of the campaign, unless another number is given.
const OPERATORS: usize = 500;
/// Rounds of each.
const ROUNDS: usize = 100;
/// How often each way of opening is timed.
const TIMES: usize = 5;

/// Runs the benchmark, with fewer or more operators if a number is given.
///
/// # Errors
/// The disk, or a command that does not say what it must.
pub fn run(root: &Path, operators: Option<&str>) -> anyhow::Result<()> {
    let operators: usize = operators.map_or(Ok(OPERATORS), str::parse).context("how many operators")?;
    Step::new("build", root, &["cargo", "build", "--release", "--quiet", "--package", "switchback"]).run()?;
    let program = root.join("target/release/switchback");
    let folder = tempfile::tempdir()?;
    let campaign = begin(&program, folder.path(), operators)?;
    let written = Instant::now();
    let cells = write_cells(&campaign, operators)?;
    println!("{cells} finished cells, written in {:.1} s", written.elapsed().as_secs_f64());
    let database = campaign.join("campaign.db");
    let open = |name: &str, prepare: &dyn Fn() -> anyhow::Result<()>| -> anyhow::Result<()> {
        let mut seconds = Vec::new();
        for _ in 0..TIMES {
            prepare()?;
            let start = Instant::now();
            let output = Command::new(&program).args(["resume", "--dry-run"]).arg(&campaign).output()?;
            seconds.push(start.elapsed().as_secs_f64());
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let expected = format!("measure op{:03} r{ROUNDS}_A would be next\n", operators - 1);
            ensure!(said == expected, "{said}{}", String::from_utf8_lossy(&output.stderr));
        }
        seconds.sort_by(f64::total_cmp);
        println!("{name:<44} {:6.2} s  ({:.2} to {:.2})", seconds[TIMES / 2], seconds[0], seconds[TIMES - 1]);
        Ok(())
    };
    let delete = || {
        if database.is_file() {
            std::fs::remove_file(&database)?;
        } else if database.is_dir() {
            std::fs::remove_dir(&database)?;
        }
        Ok(())
    };
    open("without an index, which is made meanwhile", &delete)?;
    println!("{:<44} {:6.1} MB", "its size", std::fs::metadata(&database)?.len() as f64 / 1e6);
    open("with its index", &|| Ok(()))?;
    delete()?;
    std::fs::create_dir(&database)?;
    open("where no index can be", &|| Ok(()))?;
    Ok(())
}

/// Has the program make the campaign's folder and its request, without running a cell.
fn begin(program: &Path, folder: &Path, operators: usize) -> anyhow::Result<PathBuf> {
    let operators: Vec<String> = (0..operators).map(|index| format!("op{index:03}")).collect();
    let listing: Vec<_> = operators.iter().map(|name| json!({ "operator": name })).collect();
    let script = format!("[ -n \"${{SWITCHBACK_LIST:-}}\" ] && cat <<'END'\n{}\nEND\n", json!(listing));
    std::fs::write(folder.join("list.sh"), script)?;
    let rounds = ROUNDS.to_string();
    let output = Command::new(program)
        .current_dir(folder)
        .args(["ab", "--suite", "command", "--backend", "cpu", "--switch", "X", "--pairing", "process"])
        .args(["--command", "sh list.sh {operator}", "--controls", "0", "--rounds", &rounds])
        .args(["--time-budget", "0.000001", "--out", "c"])
        .args(&operators)
        .output()?;
    ensure!(output.status.code() == Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(folder.join("c"))
}

fn write_cells(campaign: &Path, operators: usize) -> anyhow::Result<usize> {
    let now = String::from_utf8(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output()?.stdout)?;
    let outcome = json!({
        "ending": "completed", "exit_status": 0, "started_utc": now.trim(), "started_s": 1.0, "elapsed_s": 41.5,
        "boot_id": "b", "card": {"backend": "cpu", "index": "0"}, "host": "h",
        "counts": {"success": 12, "failed": 0, "replay_fallback": 0, "no_cudagraph": 0, "capture_poisoned": 0,
                   "errors": 0, "ended": true},
        "telemetry": {"sampler": "nvml", "interval_s": 1.0, "readings": 41, "cpu_s": 0.01, "reading_s": 0.05,
                      "measured": 20, "sm_clock_mhz": 1980.0, "throttle": {"sw_power_cap": 20}},
    });
    let outcome = serde_json::to_string_pretty(&outcome)?;
    let identity = json!({"conditions": {"suite": "command", "backend": "cpu"}, "identity": {}}).to_string();
    let mut cells = 0;
    let mut write = |operator: &str, cell: &str, events: Option<&str>| -> anyhow::Result<()> {
        let attempt = campaign.join("cells").join(operator).join(cell).join("1");
        std::fs::create_dir_all(&attempt).with_context(|| attempt.display().to_string())?;
        std::fs::write(attempt.join("outcome.json"), &outcome)?;
        std::fs::write(attempt.join("run_identity.json"), &identity)?;
        if let Some(events) = events {
            std::fs::write(attempt.join("events.jsonl"), events)?;
        }
        cells += 1;
        Ok(())
    };
    for index in 0..operators {
        let operator = format!("op{index:03}");
        for side in ["A", "B"] {
            let text = ir_objects::put(&campaign.join("ir"), format!("{operator} {side}").as_bytes())?;
            let mut events = String::new();
            let case = json!({"dtype": "f32", "input": "[8]", "occurrence": 0});
            for event in [
                json!({"kind": "start", "t_s": 1, "pid": 1}),
                json!({"kind": "compile", "t_s": 2, "side": side, "id": "k", "kernel": "k", "variant": "v",
                       "stages": {"text": text}}),
                json!({"kind": "launch", "t_s": 3, "side": side, "case": case, "compiled": [{"id": "k", "launches": 1}]}),
                json!({"kind": "row", "t_s": 4, "ok": true, "operator": operator, "side": side, "case": case}),
            ] {
                writeln!(events, "{event}")?;
            }
            write(&operator, &format!("screen_{side}"), Some(&events))?;
            // The stage in which the sides differ is compiled once more on one side.
            if side == "A" {
                write(&operator, "again_A", Some(&events))?;
            }
        }
        for round in 1..=ROUNDS {
            for side in ["A", "B"] {
                // An even round begins with B, so the last cell of all is A's.
                if (index, round, side) != (operators - 1, ROUNDS, "A") {
                    write(&operator, &format!("r{round}_{side}"), None)?;
                }
            }
        }
    }
    Ok(cells)
}
