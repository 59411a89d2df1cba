//! What a coordinator costs beside eight cards: its processor time and memory over a campaign of many operators.
//!
//! The cells are simulated: a shell script that speaks the cell protocol and sleeps, on the cards of a stand-in for
//! `nvidia-smi`. They are a tenth as long as real ones, so the coordinator has ten times as much to do as it would have.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::step::Step;

/// Operators, unless another number is given.
const OPERATORS: usize = 500;
/// Every so many operators the switch changes one.
const CHANGED: usize = 20;
const CARDS: usize = 8;
/// Seconds of a cell.
const CELL_S: &str = "2";
/// What the coordinator must keep to.
const MOST_SHARE: f64 = 0.01;
const MOST_MB: f64 = 100.0;

/// Lists eight cards and tells nothing else.
const NVIDIA_SMI: &str = r#"#!/bin/sh
case "$*" in
    *--query-gpu=index,uuid,name,driver_version*)
        for card in 0 1 2 3 4 5 6 7; do
            echo "$card, GPU-$card, simulated, 1, 9.0, 700, 700, 700, 1980, 3201, 1980, 1980, Enabled, Disabled, 0:0$card"
        done ;;
    *) exit 9 ;;
esac
"#;

/// A cell of two cases. Operators whose number is a multiple of `CHANGED` have other code where `MY_PASS` is 1.
const CELL: &str = r#"#!/bin/sh
set -eu
if [ -n "${SWITCHBACK_LIST:-}" ]; then
    i=0
    printf '['
    while [ $i -lt "$2" ]; do
        [ $i -eq 0 ] || printf ','
        printf '{"operator":"op%s"}' $i
        i=$((i + 1))
    done
    echo ']'
    exit 0
fi
operator=$3
number=${operator#op}
code=same
[ $((number % CHANGED)) -ne 0 ] || code=${MY_PASS:-unset}
purpose=$(sed -n 's/.*"purpose": *"\([^"]*\)".*/\1/p' "$SWITCHBACK_RUN_DIR/order.json")
ir=$(sed -n 's/.*"ir_dir": *"\([^"]*\)".*/\1/p' "$SWITCHBACK_RUN_DIR/order.json")
side=A
case $purpose in *_B) side=B ;; esac
text="$operator compiled with $code"
sha=$(printf '%s' "$text" | sha256sum)
sha=${sha%% *}
printf '%s' "$text" > "$ir/$$.new"
mv "$ir/$$.new" "$ir/$sha"
sleep "$1"
{
    echo '{"kind":"start","t_s":1}'
    echo '{"kind":"compile","t_s":2,"side":"'$side'","id":"k","kernel":"kernel","variant":"v","stages":{"text":"'$sha'"}}'
    for input in 8 16; do
        case='"case":{"dtype":"f32","input":"['$input']","occurrence":0}'
        echo '{"kind":"launch","t_s":3,"side":"'$side'",'$case',"compiled":[{"id":"k","launches":1}]}'
        echo '{"kind":"row","t_s":4,"ok":true,"operator":"'$operator'","side":"'$side'","timer":"direct","samples_us":[[8,8,8]],'$case'}'
    done
    echo '{"kind":"end","t_s":5,"status":0,"rows":2}'
} >> "$SWITCHBACK_RUN_DIR/events.jsonl"
"#;

/// Runs the benchmark, with fewer or more operators if a number is given.
///
/// # Errors
/// The campaign fails, or its coordinator costs more than was promised.
pub fn run(root: &Path, operators: Option<&str>) -> anyhow::Result<()> {
    let operators: usize = operators.map_or(Ok(OPERATORS), str::parse).context("how many operators")?;
    Step::new("build", root, &["cargo", "build", "--release", "--quiet", "--package", "switchback"]).run()?;
    let folder = tempfile::tempdir()?;
    let program = |name: &str, text: &str| -> anyhow::Result<()> {
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?)
    };
    program("nvidia-smi", NVIDIA_SMI)?;
    program("cell.sh", &CELL.replace("CHANGED", &CHANGED.to_string()))?;
    let names: Vec<String> = (0..operators).map(|number| format!("op{number}")).collect();
    std::fs::write(folder.path().join("ops.txt"), names.join("\n"))?;
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let start = Instant::now();
    let mut coordinator = Command::new(root.join("target/release/switchback"))
        .args([
            "campaign",
            "--ops-file",
            "ops.txt",
            "--suite",
            "command",
            "--backend",
            "cuda",
            "--switch",
            "MY_PASS",
        ])
        .args([
            "--command",
            &format!("sh cell.sh {CELL_S} {operators} {{operator}}"),
            "--rounds",
            "2",
            "--out",
            "out",
        ])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("SWITCHBACK_LOCK_DIR", folder.path().join("locks"))
        .env("SWITCHBACK_TELEMETRY_INTERVAL", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let process = procfs::process::Process::new(coordinator.id().cast_signed())?;
    let (mut cpu_s, mut peak_kib) = (0.0, 0);
    let status = loop {
        if let (Ok(stat), Ok(status)) = (process.stat(), process.status())
            && let Some(kib) = status.vmhwm
        {
            #[allow(clippy::cast_precision_loss, reason = "a campaign's ticks are far below 2^53")]
            let ticks = (stat.utime + stat.stime) as f64;
            cpu_s = ticks / procfs::ticks_per_second() as f64;
            peak_kib = kib;
        }
        if let Some(status) = coordinator.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    ensure!(status.success(), "the campaign ended with {status}");
    let wall_s = start.elapsed().as_secs_f64();
    let table = std::fs::read_to_string(folder.path().join("out/status.tsv"))?;
    let cells = table.lines().count().saturating_sub(1);
    #[allow(clippy::cast_precision_loss, reason = "a peak of memory, printed with one decimal")]
    let peak_mb = peak_kib as f64 * 1024.0 / 1e6;
    let share = cpu_s / wall_s;
    #[allow(clippy::cast_precision_loss, reason = "some thousands of cells")]
    let each_ms = 1e3 * cpu_s / cells as f64;
    println!(
        "coordinator: {operators} operators, {CARDS} cards, {cells} cells of {CELL_S} s in {wall_s:.0} s: {cpu_s:.2} s of one \
         core, {:.2} %, {each_ms:.1} ms a cell, the reports at the end included; peak {peak_mb:.1} MB",
        100.0 * share
    );
    ensure!(share < MOST_SHARE, "the coordinator takes {:.2} % of a core", 100.0 * share);
    ensure!(peak_mb < MOST_MB, "the coordinator takes {peak_mb:.1} MB");
    Ok(())
}
