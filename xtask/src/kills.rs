//! Campaigns of the cpu suite on two virtual cards that are killed again and again, and must not mind.
//!
//! Coordinator, supervisors and cells get SIGKILL at random moments; the same command, or `resume`, goes on each time. A
//! campaign must end with every round once and the structure of an undisturbed one; a round that was whole must never run
//! again, an outcome never change, and no process be left.

mod processes;
mod structure;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::step::Step;
use processes::Process;
use structure::{Attempts, Structure};

/// Operators of different lengths, one of which the switch does not touch.
const OPERATORS: [&str; 5] = ["relu", "add", "sum", "dot", "sort"];
const SWITCH: &str = "SWITCHBACK_CPU_OPT_LEVEL=none:speed";
const ROUNDS: &str = "3";
/// Longest time for what must come to its end.
const LIMIT: Duration = Duration::from_secs(300);

/// What was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Coordinator,
    Supervisor,
    Cell,
}

/// Runs the harness.
///
/// # Errors
/// A campaign minded: what was expected and what was found.
pub fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let number = |name: &str, default: u64| -> anyhow::Result<u64> {
        match arguments.iter().position(|argument| *argument == name) {
            None => Ok(default),
            Some(at) => {
                let text = arguments.get(at + 1).with_context(|| format!("`{name}` takes a number"))?;
                text.parse().with_context(|| format!("`{name}` takes a number, got `{text}`"))
            }
        }
    };
    let kills = number("--kills", 200)?;
    let seed = number("--seed", rand::random::<u64>() >> 11)?;
    Step::new("build", root, &["cargo", "build", "--quiet", "--package", "switchback"]).run()?;
    let folder = tempfile::tempdir()?;
    println!("kills: {kills}, seed {seed}, in {}", folder.path().display());
    let mut harness = Harness {
        program: root.join("target/debug/switchback"),
        folder: folder.path().to_owned(),
        random: ChaCha8Rng::seed_from_u64(seed),
        killed: BTreeMap::new(),
        starts: 0,
    };
    let undisturbed: BTreeMap<&str, Structure> = ["process", "duet"]
        .into_iter()
        .map(|pairing| Ok((pairing, harness.undisturbed(pairing)?)))
        .collect::<anyhow::Result<_>>()?;
    let mut campaigns = 0;
    let start = Instant::now();
    while harness.killed.values().sum::<u64>() < kills {
        let pairing = if campaigns % 2 == 0 { "process" } else { "duet" };
        let left = kills - harness.killed.values().sum::<u64>();
        let found = harness.disturbed(pairing, campaigns, left)?;
        ensure!(
            found == undisturbed[pairing],
            "campaign {campaigns} ({pairing}) ended otherwise than an undisturbed one:\n{found:#?}\ninstead of\n{:#?}",
            undisturbed[pairing]
        );
        campaigns += 1;
        let killed = harness.killed.values().sum::<u64>();
        println!("{killed:>4} kills, {campaigns} campaigns, {} starts", harness.starts);
    }
    let survivors = processes::of_folder(folder.path())?;
    ensure!(survivors.is_empty(), "processes are left: {survivors:?}");
    println!(
        "ok: {} in {} campaigns and {} starts, {:.0} s: every round once, as undisturbed; no whole round ran again, no outcome \
         changed, no process is left",
        harness
            .killed
            .iter()
            .map(|(victim, count)| format!("{count} × {victim:?}"))
            .collect::<Vec<_>>()
            .join(", "),
        campaigns,
        harness.starts,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

struct Harness {
    program: PathBuf,
    folder: PathBuf,
    random: ChaCha8Rng,
    killed: BTreeMap<Victim, u64>,
    starts: u64,
}

impl Harness {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SWITCHBACK_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("SWITCHBACK_LOCK_DIR", self.folder.join("locks"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    fn campaign(pairing: &str, out: &str) -> Vec<String> {
        let mut arguments = vec!["campaign"];
        arguments.extend(OPERATORS);
        arguments.extend(["--suite", "cpu", "--switch", SWITCH, "--devices", "0,1", "--pairing", pairing]);
        arguments.extend(["--rounds", ROUNDS, "--measure-identical", "--seed", "7", "--out", out]);
        arguments.extend(["--sample-ms", "1", "--warmup-ms", "0", "--blocks", "8", "--block-length", "4"]);
        arguments.into_iter().map(str::to_owned).collect()
    }

    fn start(&mut self, arguments: &[String]) -> anyhow::Result<Child> {
        self.starts += 1;
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Ok(self.command(&arguments).spawn()?)
    }

    fn undisturbed(&mut self, pairing: &str) -> anyhow::Result<Structure> {
        let out = format!("whole-{pairing}");
        let child = self.start(&Self::campaign(pairing, &out))?;
        let output = child.wait_with_output()?;
        ensure!(
            output.status.success(),
            "an undisturbed campaign: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Structure::read(&self.folder.join(out))
    }

    /// One campaign, killed at most so often; what it ended with.
    fn disturbed(&mut self, pairing: &str, number: u64, mut kills: u64) -> anyhow::Result<Structure> {
        let out = format!("cut-{number}");
        let root = self.folder.join(&out);
        let mut seen = Attempts::default();
        // What kills one cell twice is, by design, a failed operator: each cell is killed once.
        let mut cells: BTreeSet<PathBuf> = BTreeSet::new();
        loop {
            let begun = root.join("campaign.toml").is_file();
            let arguments = if begun && self.random.random_bool(0.5) {
                vec!["resume".to_owned(), out.clone()]
            } else {
                Self::campaign(pairing, &out)
            };
            let mut coordinator = self.start(&arguments)?;
            let started = Instant::now();
            let ended = loop {
                if kills > 0 {
                    self.wait_at_random(&mut coordinator)?;
                    if coordinator.try_wait()?.is_none() {
                        let victim = self.kill_one(&mut coordinator, &mut cells)?;
                        kills -= u64::from(victim.is_some());
                        if victim == Some(Victim::Coordinator) {
                            break None;
                        }
                    }
                }
                if let Some(status) = coordinator.try_wait()? {
                    break Some(status);
                }
                ensure!(started.elapsed() < LIMIT, "campaign {number} does not come to its end");
                if kills == 0 {
                    std::thread::sleep(Duration::from_millis(20));
                }
            };
            let output = coordinator.wait_with_output()?;
            // A supervisor that was not killed ends its cell; what a killed one left, the next start ends.
            self.wait_for_supervisors()?;
            if root.is_dir() {
                seen.take_note(&root, pairing)?;
            }
            match ended.and_then(|status| status.code()) {
                Some(0) => break,
                // Cells that could not start on either card: the next start tries again.
                Some(3) | None => {}
                Some(code) => {
                    bail!("campaign {number} ended with {code}: {}", String::from_utf8_lossy(&output.stderr))
                }
            }
        }
        let left = processes::of_folder(&root)?;
        ensure!(left.is_empty(), "campaign {number} left processes: {left:?}");
        Structure::read(&root)
    }

    /// Mostly some time within a second; now and then the first moments of a start, which are over soon.
    fn wait_at_random(&mut self, coordinator: &mut Child) -> anyhow::Result<()> {
        let longest = if self.random.random_bool(0.2) { 0.04 } else { 1.2 };
        let wait = Duration::from_secs_f64(self.random.random_range(0.0..longest));
        let start = Instant::now();
        while start.elapsed() < wait && coordinator.try_wait()?.is_none() {
            std::thread::sleep(Duration::from_millis(1).min(wait));
        }
        Ok(())
    }

    /// Kills the coordinator, a supervisor or a cell; none if what was chosen was not there.
    fn kill_one(
        &mut self,
        coordinator: &mut Child,
        cells: &mut BTreeSet<PathBuf>,
    ) -> anyhow::Result<Option<Victim>> {
        let victim = *[Victim::Coordinator, Victim::Coordinator, Victim::Supervisor, Victim::Cell]
            .choose(&mut self.random)
            .context("there are victims")?;
        let supervisors = processes::children(coordinator.id())?;
        let killed = match victim {
            Victim::Coordinator => {
                coordinator.kill()?;
                true
            }
            Victim::Supervisor => supervisors.choose(&mut self.random).is_some_and(Process::kill),
            Victim::Cell => {
                let mut running = Vec::new();
                for supervisor in &supervisors {
                    let Some(cell) = supervisor.cell() else { continue };
                    if !cells.contains(&cell) {
                        running.extend(
                            processes::children(supervisor.pid)?.into_iter().map(|it| (cell.clone(), it)),
                        );
                    }
                }
                match running.choose(&mut self.random) {
                    Some((cell, process)) if process.kill() => cells.insert(cell.clone()),
                    _ => false,
                }
            }
        };
        if killed {
            *self.killed.entry(victim).or_default() += 1;
        }
        Ok(killed.then_some(victim))
    }

    fn wait_for_supervisors(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        loop {
            let running = processes::supervisors(&self.folder)?;
            if running.is_empty() {
                return Ok(());
            }
            ensure!(start.elapsed() < LIMIT, "supervisors outlive their coordinator: {running:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
