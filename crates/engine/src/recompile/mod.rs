//! Recorded kernels, compiled again without a card: one recording tells of many switches in seconds.
//!
//! ```text
//! recording (`.ttir`, options, target) → one process an environment → texts → digests → compared
//! ```
//! Compiled on side A's environment the kernels must come out as they were recorded: that proves that this compiler is
//! the recorded one, and nothing is said of a switch before it holds. What such a screen cannot see is part of its
//! result: whatever acts before the recorded text (the front end, which kernels are launched), and machine code where
//! the assembler does not give one output for one input.

mod child;
mod environments;
mod judging;
mod recording;
#[cfg(test)]
mod tests;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use switchback_ir::{Digest, Stage};
use switchback_model::switch::{Switch, Variables};

use crate::error::EngineError;
use crate::executor::Interrupt;

pub use judging::{Cell, OperatorRow, Proof, Unseen};

/// What to compile again, and under which switches.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// A campaign, an attempt, or a plain folder.
    pub source: PathBuf,
    /// Operators (of a plain folder: kernels) to look at; none means all.
    pub operators: Vec<String>,
    /// The interpreter; none for the recording's own, else `python3`.
    pub python: Option<String>,
    /// Variables of every environment, over those of the recording.
    pub env: Variables,
    /// Switches, each compared by itself.
    pub switches: Vec<Switch>,
    /// Where texts are kept; none keeps none.
    pub out: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Recompiled {
    /// Where the recording comes from.
    pub origin: String,
    /// What recorded it, as far as it is known.
    pub recorded_by: String,
    /// What compiled it again.
    pub compiled_by: String,
    /// Whether side A came out as recorded.
    pub proof: Proof,
    /// What cannot be seen, and why.
    pub unseen: Vec<Unseen>,
    /// The switches, in the order they were asked for.
    pub switches: Vec<Switch>,
    /// Operators, each with a cell a switch.
    pub operators: Vec<OperatorRow>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Processes at once.
    pub workers: usize,
    /// Seconds it took.
    pub elapsed_s: f64,
}

/// How one kernel came out in one environment.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Compiled {
    /// Its stages' canonical digests.
    Done(BTreeMap<Stage, Digest>),
    /// Why it did not compile.
    Failed(String),
}

/// Kernels by index in the recording.
type ByKernel = BTreeMap<usize, Compiled>;

/// Compiles a recording again and compares.
///
/// `progress` is called with kernels done and kernels in all. Without switches the result holds the proof alone,
/// whatever it says; with switches a proof that fails is an error.
///
/// # Errors
/// Nothing to compile, no compiler, side A not as recorded, the user asked to stop.
pub fn recompile(
    ask: &Ask,
    program: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Recompiled, EngineError> {
    let start = Instant::now();
    let recording = recording::read(&ask.source, &ask.operators, program)?;
    let work = Work::new(ask.out.as_deref())?;
    let mut base = recording.env.clone();
    base.extend(ask.env.clone());
    let python = ask.python.clone().or_else(|| recording.python.clone()).unwrap_or_else(|| "python3".into());
    let compiler = child::Compiler::unpack(&work.path().join("job"), python, base)?;
    let described = compiler.describe(&recording.kernels)?;
    let kernels = environments::with_options(&recording.kernels, &described);
    let plan = environments::plan(&ask.switches, compiler.base());
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let results =
        workers::run(&compiler, &kernels, &plan.environments, work.path(), workers, interrupt, progress)?;
    let proof = judging::proof(&recording, &results[environments::A]);
    let recorded_by = recording.recorded_by();
    let compiled_by = described.shown();
    if !ask.switches.is_empty() && !proof.holds() {
        return Err(EngineError::NotReproduced { detail: proof.detail(), recorded_by, compiled_by });
    }
    let unseen = judging::unseen(&recording, &results[environments::A], &results[environments::A_AGAIN]);
    let unreliable: BTreeSet<Stage> = unseen.iter().map(|it| it.stage.clone()).collect();
    let operators = judging::operators(&recording, &plan, &results, &unreliable);
    let mut notes = recording.notes.clone();
    notes.extend(judging::notes(&recording, &plan, &results, &unreliable));
    work.finish()?;
    Ok(Recompiled {
        origin: recording.origin.clone(),
        recorded_by,
        compiled_by,
        proof,
        unseen,
        switches: ask.switches.clone(),
        operators,
        notes,
        workers,
        elapsed_s: start.elapsed().as_secs_f64(),
    })
}

/// The folder in which it happens: one of the user's, or one that goes away.
enum Work {
    Kept(PathBuf),
    Scratch(tempfile::TempDir),
}

impl Work {
    fn new(out: Option<&Path>) -> Result<Self, EngineError> {
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |source| switchback_store::StoreError::Io { action: "create", path, source }
        };
        let Some(out) = out else {
            let scratch = tempfile::Builder::new()
                .prefix("switchback-recompile-")
                .tempdir()
                .map_err(unwritable(&std::env::temp_dir()))?;
            return Ok(Self::Scratch(scratch));
        };
        std::fs::create_dir_all(out).map_err(unwritable(out))?;
        if std::fs::read_dir(out).map_err(unwritable(out))?.next().is_some() {
            return Err(switchback_store::StoreError::Exists { path: out.to_owned() }.into());
        }
        Ok(Self::Kept(std::fs::canonicalize(out).map_err(unwritable(out))?))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Scratch(folder) => folder.path(),
        }
    }

    /// Removes what only the processes needed.
    fn finish(&self) -> Result<(), EngineError> {
        if let Self::Kept(path) = self {
            let job = path.join("job");
            std::fs::remove_dir_all(&job).map_err(|source| switchback_store::StoreError::Io {
                action: "remove",
                path: job,
                source,
            })?;
        }
        Ok(())
    }
}
