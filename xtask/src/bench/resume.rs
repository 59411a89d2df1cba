//! How long a campaign of a hundred thousand finished cells takes until its next cell is known: with its index, without, and
//! while the index is made. Of a campaign of duets also how long its report takes, and that it is the same.
//!
//! The cells are written, not run: 500 operators, three screening cells each, and rounds of one process a side or of duets.
//! The last cell is missing, so that there is a next one. Rounds of one process a side have no events, since nothing is read of
//! them before they are judged; those of duets have the code of both sides, and rows.

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
/// Cells of an operator's rounds.
const ROUND_CELLS: usize = 200;
/// Cases of a duet's cell, each with a row a side.
const CASES: usize = 3;
/// Blocks of a row, and samples of each.
const BLOCKS: (usize, usize) = (8, 8);
/// How often each way of opening is timed, and of judging.
const TIMES: usize = 5;
const REPORT_TIMES: usize = 3;

/// How a campaign's sides are paired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paired {
    Process,
    Duet,
}

impl Paired {
    /// The cells of a round, in their folders' words.
    fn sides(self) -> &'static [&'static str] {
        match self {
            Self::Process => &["A", "B"],
            Self::Duet => &["AB"],
        }
    }

    fn rounds(self) -> usize {
        ROUND_CELLS / self.sides().len()
    }
}

/// Runs the benchmark, with fewer or more operators if a number is given.
///
/// # Errors
/// The disk, or a command that does not say what it must.
pub fn run(root: &Path, operators: Option<&str>) -> anyhow::Result<()> {
    let operators: usize = operators.map_or(Ok(OPERATORS), str::parse).context("how many operators")?;
    Step::new("build", root, &["cargo", "build", "--release", "--quiet", "--package", "switchback"]).run()?;
    let program = root.join("target/release/switchback");
    println!("one process a side");
    campaign(&program, operators, Paired::Process)?;
    println!("both sides in one process");
    campaign(&program, operators, Paired::Duet)
}

fn campaign(program: &Path, operators: usize, paired: Paired) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let campaign = begin(program, folder.path(), operators, paired)?;
    let written = Instant::now();
    let (cells, bytes) = write_cells(&campaign, operators, paired)?;
    println!(
        "{cells} finished cells with {:.0} MB of events, written in {:.1} s",
        bytes as f64 / 1e6,
        written.elapsed().as_secs_f64()
    );
    let database = campaign.join("campaign.db");
    let delete = || {
        if database.is_file() {
            std::fs::remove_file(&database)?;
        } else if database.is_dir() {
            std::fs::remove_dir(&database)?;
        }
        Ok(())
    };
    let next = format!(
        "measure op{:03} r{}_{} would be next\n",
        operators - 1,
        paired.rounds(),
        match paired {
            // An even round begins with B, so the last cell of all is A's.
            Paired::Process => "A",
            Paired::Duet => "AB",
        }
    );
    let resume = |name: &str, prepare: &dyn Fn() -> anyhow::Result<()>| {
        timed(&format!("resume, {name}"), TIMES, prepare, || {
            said(program, &["resume", "--dry-run"], &campaign, &next)
        })
    };
    resume("without an index, which is made", &delete)?;
    println!("{:<44} {:6.1} MB", "its size", std::fs::metadata(&database)?.len() as f64 / 1e6);
    resume("with its index", &|| Ok(()))?;
    delete()?;
    std::fs::create_dir(&database)?;
    resume("where no index can be", &|| Ok(()))?;
    delete()?;
    if paired == Paired::Process {
        // Its rounds have nothing that could be judged.
        return Ok(());
    }
    let arguments = ["--quiet", "report", "--format", "json"];
    let report = output(program, &arguments, &campaign)?;
    let report = |name: &str, prepare: &dyn Fn() -> anyhow::Result<()>| {
        timed(&format!("report, {name}"), REPORT_TIMES, prepare, || {
            said(program, &arguments, &campaign, &report)
        })
    };
    report("with the index", &|| Ok(()))?;
    report("without an index, which is made", &delete)
}

/// Times what is done, and prints the median.
fn timed(
    name: &str,
    times: usize,
    prepare: &dyn Fn() -> anyhow::Result<()>,
    act: impl Fn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut seconds = Vec::new();
    for _ in 0..times {
        prepare()?;
        let start = Instant::now();
        act()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    println!("{name:<44} {:6.2} s  ({:.2} to {:.2})", seconds[times / 2], seconds[0], seconds[times - 1]);
    Ok(())
}

fn output(program: &Path, arguments: &[&str], campaign: &Path) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).arg(campaign).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command that must say this and nothing else.
fn said(program: &Path, arguments: &[&str], campaign: &Path, expected: &str) -> anyhow::Result<()> {
    let said = output(program, arguments, campaign)?;
    ensure!(said == expected, "{} said otherwise: {:.300}", arguments.join(" "), said);
    Ok(())
}

/// Has the program make the campaign's folder and its request, without running a cell.
fn begin(program: &Path, folder: &Path, operators: usize, paired: Paired) -> anyhow::Result<PathBuf> {
    let operators: Vec<String> = (0..operators).map(|index| format!("op{index:03}")).collect();
    let listing: Vec<_> = operators.iter().map(|name| json!({ "operator": name })).collect();
    let script = format!("[ -n \"${{SWITCHBACK_LIST:-}}\" ] && cat <<'END'\n{}\nEND\n", json!(listing));
    std::fs::write(folder.join("list.sh"), script)?;
    let rounds = paired.rounds().to_string();
    let output = Command::new(program)
        .current_dir(folder)
        .args(["ab", "--suite", "command", "--backend", "cpu", "--switch", "X", "--pairing", "process"])
        .args(["--command", "sh list.sh {operator}", "--controls", "0", "--rounds", &rounds])
        .args(["--time-budget", "0.000001", "--out", "c"])
        .args(&operators)
        .output()?;
    ensure!(output.status.code() == Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    let campaign = folder.join("c");
    if paired == Paired::Duet {
        // A suite that can pair so would want its compiler here; a request is read alike of all suites.
        let path = campaign.join("campaign.toml");
        let text = std::fs::read_to_string(&path)?;
        let duet = text
            .replace("pairing = \"process\"", "pairing = \"duet\"")
            .replace("pairing_falls_back = false", "pairing_falls_back = true");
        ensure!(duet.contains("\"duet\"") && duet.contains("pairing_falls_back = true"), "{text}");
        std::fs::write(path, duet)?;
    }
    Ok(campaign)
}

/// Writes the cells; how many, and how many bytes of events.
fn write_cells(campaign: &Path, operators: usize, paired: Paired) -> anyhow::Result<(usize, usize)> {
    let now = String::from_utf8(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output()?.stdout)?;
    let outcome = json!({
        "ending": "completed", "exit_status": 0, "started_utc": now.trim(), "started_s": 1.0, "elapsed_s": 41.5,
        "boot_id": "b", "card": {"backend": "cpu", "index": "0"}, "host": "h",
        "counts": {"success": 1, "failed": 0, "replay_fallback": 0, "no_cudagraph": 0, "capture_poisoned": 0,
                   "errors": 0, "ended": true},
        "telemetry": {"sampler": "nvml", "interval_s": 1.0, "readings": 41, "cpu_s": 0.01, "reading_s": 0.05,
                      "measured": 20, "sm_clock_mhz": 1980.0, "throttle": {"sw_power_cap": 20}},
    });
    let outcome = serde_json::to_string_pretty(&outcome)?;
    let identity = json!({"conditions": {"suite": "command", "backend": "cpu"}, "identity": {}}).to_string();
    let (mut cells, mut bytes) = (0, 0);
    let mut write = |operator: &str, cell: &str, events: Option<&str>| -> anyhow::Result<()> {
        let attempt = campaign.join("cells").join(operator).join(cell).join("1");
        std::fs::create_dir_all(&attempt).with_context(|| attempt.display().to_string())?;
        std::fs::write(attempt.join("outcome.json"), &outcome)?;
        std::fs::write(attempt.join("run_identity.json"), &identity)?;
        if let Some(events) = events {
            std::fs::write(attempt.join("events.jsonl"), events)?;
            bytes += events.len();
        }
        cells += 1;
        Ok(())
    };
    for index in 0..operators {
        let operator = format!("op{index:03}");
        let mut texts = Vec::new();
        for side in ["A", "B"] {
            let text = ir_objects::put(&campaign.join("ir"), format!("{operator} {side}").as_bytes())?;
            let events = events(&operator, &[(side, &text)])?;
            texts.push((side, text));
            write(&operator, &format!("screen_{side}"), Some(&events))?;
            // The stage in which the sides differ is compiled once more on one side.
            if side == "A" {
                write(&operator, "again_A", Some(&events))?;
            }
        }
        let sides: Vec<(&str, &str)> = texts.iter().map(|(side, text)| (*side, text.as_str())).collect();
        let duet = match paired {
            Paired::Process => None,
            Paired::Duet => Some(events(&operator, &sides)?),
        };
        for round in 1..=paired.rounds() {
            for side in paired.sides() {
                // An even round begins with B, so the last cell of all is A's.
                if index != operators - 1 || round != paired.rounds() || *side == "B" {
                    write(&operator, &format!("r{round}_{side}"), duet.as_deref())?;
                }
            }
        }
    }
    Ok((cells, bytes))
}

/// What a cell of these sides says: the code that each case launches on each of them, and its rows.
fn events(operator: &str, sides: &[(&str, &str)]) -> anyhow::Result<String> {
    let mut events = String::new();
    writeln!(events, "{}", json!({"kind": "start", "t_s": 1, "pid": 1}))?;
    for (side, text) in sides {
        let compile = json!({"kind": "compile", "t_s": 2, "side": side, "id": side, "kernel": "k", "variant": "v",
                             "stages": {"text": text}});
        writeln!(events, "{compile}")?;
    }
    for case in 0..CASES {
        let case = json!({"dtype": "f32", "input": format!("[{}]", 8 << case), "occurrence": 0});
        for (side, _) in sides {
            let samples: Vec<Vec<f64>> = (0..BLOCKS.0)
                .map(|block| (0..BLOCKS.1).map(|place| 20.0 + 0.032 * ((block + place) % 5) as f64).collect())
                .collect();
            let launch = json!({"kind": "launch", "t_s": 3, "side": side, "case": case,
                                "compiled": [{"id": side, "launches": 1}]});
            let row = json!({"kind": "row", "t_s": 4, "ok": true, "operator": operator, "side": side, "case": case,
                             "timer": "direct", "samples_us": samples});
            writeln!(events, "{launch}\n{row}")?;
        }
    }
    Ok(events)
}
