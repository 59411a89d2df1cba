//! Speed, as ratios within one run: machines are noisy, two programs side by side on the same files less so.

mod coordinator;
mod linear;
mod plan;
mod resume;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use switchback_engine::evidence::{DigestCache, Evidence};
use switchback_ir::Stage;
use switchback_store::attempt::AttemptDir;

use crate::step::Step;

/// Rounds of each benchmark; the sides alternate, and each round gives one ratio.
const ROUNDS: usize = 7;
/// Attempts that are read from disk: twelve are a process-paired operator's six rounds.
const ATTEMPTS: u32 = 240;
/// Copies of each text: 26 recorded kernels give the 2,080 files that the scripts' pipeline was timed on.
const FILES: usize = 2080;

/// Runs the benchmarks that are named, or all.
///
/// # Errors
/// No such benchmark, or one of its sides fails.
pub fn run(root: &Path, wanted: &[&str]) -> anyhow::Result<()> {
    if wanted.first() == Some(&linear::CHILD) {
        return linear::child(wanted.get(1));
    }
    if let ["judge", options @ ..] = wanted {
        return crate::bench_judge::run(options);
    }
    if let ["coordinator", options @ ..] = wanted {
        return coordinator::run(root, options.first().copied());
    }
    if let ["resume", options @ ..] = wanted {
        return resume::run(root, options.first().copied());
    }
    if let Some(unknown) = wanted.iter().find(|name| !["ir", "events", "plan"].contains(name)) {
        bail!("`{unknown}` is no benchmark; there are: ir, events, plan, judge, resume, coordinator");
    }
    if wanted == ["plan"] {
        // Simulated time is the same in every build.
        return plan::run();
    }
    if cfg!(debug_assertions) {
        // Without optimisation the figures would be the build's, not the program's.
        let mut argv = vec!["cargo", "run", "--quiet", "--release", "--package", "xtask", "--", "bench"];
        argv.extend(wanted);
        return Step::new("bench", root, &argv).run();
    }
    let all = wanted.is_empty();
    if all || wanted.contains(&"ir") {
        ir(root)?;
    }
    if all || wanted.contains(&"events") {
        events()?;
    }
    if all || wanted.contains(&"plan") {
        plan::run()?;
    }
    if all {
        crate::bench_judge::run(&[])?;
    }
    Ok(())
}

/// The canonical fingerprint of a run's `.ttgir` files against the shell pipeline that the scripts used.
fn ir(root: &Path) -> anyhow::Result<()> {
    let texts = ttgir_texts(root)?;
    let folder = tempfile::tempdir()?;
    let mut bytes = 0;
    let mut paths = Vec::new();
    for index in 0..FILES {
        let text = &texts[index % texts.len()];
        let path = folder.path().join(format!("kernel_{index:04}.ttgir"));
        std::fs::write(&path, text)?;
        bytes += text.len();
        paths.push(path);
    }
    let mut ratios = Vec::new();
    let (mut ours, mut shells) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let shell = timed(|| shell_pipeline(folder.path()))?;
        let own = timed(|| canonical_fingerprint(&paths))?;
        ratios.push(shell.as_secs_f64() / own.as_secs_f64());
        ours.push(own);
        shells.push(shell);
    }
    println!(
        "ir: {FILES} files, {:.1} MB: canonical {:.3} s ({:.0} MB/s), shell pipeline {:.2} s, ratio {}",
        megabytes(bytes),
        median(&ours),
        megabytes(bytes) / median(&ours),
        median(&shells),
        spread(&ratios)
    );
    linear::run()
}

fn ttgir_texts(root: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut texts = Vec::new();
    let mut folders = vec![root.join("crates/ir/tests/data")];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("cannot read `{}`", folder.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ttgir") {
                texts.push((path.clone(), std::fs::read(&path)?));
            }
        }
    }
    ensure!(!texts.is_empty(), "there is no `.ttgir` below `crates/ir/tests/data`");
    texts.sort();
    Ok(texts.into_iter().map(|(_, text)| text).collect())
}

/// What the scripts did: names and stamped-out texts of all files, in order, through one checksum.
fn shell_pipeline(folder: &Path) -> anyhow::Result<()> {
    let script = r#"find . -name '*.ttgir' -type f | LC_ALL=C sort | while IFS= read -r f; do
        printf '%s\n' "$f"; sed -E 's/"ttg[.]rlc-[^"]*" = [0-9-]+ : i32, ?//g' "$f"; done | sha256sum"#;
    let output = Command::new("bash").arg("-c").arg(script).current_dir(folder).output()?;
    ensure!(output.status.success() && output.stdout.len() > 64, "the shell pipeline failed");
    Ok(())
}

fn canonical_fingerprint(paths: &[PathBuf]) -> anyhow::Result<()> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let digests: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = paths
            .chunks(paths.len().div_ceil(workers))
            .map(|chunk| {
                scope.spawn(move || -> anyhow::Result<usize> {
                    for path in chunk {
                        let digest = switchback_ir::digest(&Stage::Ttgir, &std::fs::read(path)?);
                        ensure!(!digest.incomplete, "`{}` reads as cut off", path.display());
                    }
                    Ok(chunk.len())
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| bail!("a worker panicked")))
            .sum::<anyhow::Result<usize>>()
    })?;
    ensure!(digests == paths.len(), "{digests} of {} files were read", paths.len());
    Ok(())
}

/// Reading a cell's events (400 samples a row) against reading the same lines as untyped JSON, and rounds of attempts from
/// disk as judging reads them.
fn events() -> anyhow::Result<()> {
    let text = rows(0..5000)?;
    let bytes = text.as_bytes();
    let (mut ours, mut plain, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let untyped = timed(|| {
            let mut rows = 0;
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let value: serde_json::Value = serde_json::from_slice(line)?;
                rows += usize::from(value["kind"] == "row");
            }
            ensure!(rows == 5000, "{rows} rows");
            Ok(())
        })?;
        let own = timed(|| {
            let log = switchback_store::event_reader::parse(bytes);
            ensure!(log.events.len() == 5000 && log.torn.is_empty(), "{} events", log.events.len());
            Ok(())
        })?;
        ratios.push(untyped.as_secs_f64() / own.as_secs_f64());
        ours.push(own);
        plain.push(untyped);
    }
    println!(
        "events: {:.1} MB: typed {:.3} s ({:.0} MB/s, the best {:.0}), untyped {:.3} s, ratio {}",
        megabytes(bytes.len()),
        median(&ours),
        megabytes(bytes.len()) / median(&ours),
        megabytes(bytes.len()) / least(&ours),
        median(&plain),
        spread(&ratios)
    );
    attempts()
}

/// Attempts of a round as judging reads them: files, on all cores, with all that is made of them.
fn attempts() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut dirs, mut bytes) = (Vec::new(), 0);
    for attempt in 0..ATTEMPTS {
        let path = folder.path().join(attempt.to_string());
        std::fs::create_dir(&path)?;
        let text = rows(attempt * 20..attempt * 20 + 20)?;
        bytes += text.len();
        std::fs::write(path.join("events.jsonl"), text)?;
        dirs.push(AttemptDir::at(&path));
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (mut times, mut processor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let before = processor_s()?;
        times.push(timed(|| {
            for round in dirs.chunks(12) {
                let read = Evidence::read_all(round, folder.path(), &mut DigestCache::default())?;
                ensure!(read.iter().all(|it| it.rows.len() == 20), "rows are missing");
            }
            Ok(())
        })?);
        processor.push(processor_s()? - before);
    }
    let cpu: f64 = processor.iter().sum();
    #[allow(clippy::cast_precision_loss, reason = "a few rounds")]
    let per_cpu = megabytes(bytes) * ROUNDS as f64 / cpu;
    println!(
        "attempts: {ATTEMPTS} of 20 rows and 400 samples, {:.1} MB from disk on {cores} cores: {:.3} s ({:.0} MB/s, the \
         best {:.0}; {per_cpu:.0} MB a second of one processor){}",
        megabytes(bytes),
        median(&times),
        megabytes(bytes) / median(&times),
        megabytes(bytes) / least(&times),
        crate::bench_judge::memory().map_or_else(String::new, |mib| format!("; {mib:.0} MiB at most"))
    );
    Ok(())
}

/// Processor time of this program so far, seconds.
fn processor_s() -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks =
        |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).context("no such field");
    // User and system time stand 11 and 12 fields behind the name, in hundredths of a second.
    Ok((ticks(11)? + ticks(12)?) / 100.0)
}

/// Lines of rows with 400 samples each, as the probe writes them.
fn rows(numbers: std::ops::Range<u32>) -> anyhow::Result<String> {
    let mut text = String::new();
    for row in numbers {
        let samples: Vec<String> = (0..400)
            .map(|sample| format!("{:.3}", 20.0 + f64::from((row * 7 + sample * 13) % 101) * 0.032))
            .collect();
        writeln!(
            text,
            r#"{{"kind":"row","t_s":{row}.5,"operator":"mm","side":"A","case":{{"dtype":"f16","input":"[{row}]"}},"ok":true,"timer":"gated","samples_us":[[{}]]}}"#,
            samples.join(",")
        )?;
    }
    Ok(text)
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

#[allow(clippy::cast_precision_loss, reason = "sizes of files, printed with one decimal")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

fn median(times: &[Duration]) -> f64 {
    let mut seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn least(times: &[Duration]) -> f64 {
    times.iter().map(Duration::as_secs_f64).fold(f64::INFINITY, f64::min)
}

fn spread(ratios: &[f64]) -> String {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    format!(
        "{:.1} ({:.1} … {:.1}, {} rounds)",
        sorted[sorted.len() / 2],
        sorted[0],
        sorted[sorted.len() - 1],
        sorted.len()
    )
}
