//! What one attempt left on disk, read into values: rows, the code its cases launched, outputs, counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use switchback_ir::{Digest, KernelIr, Stage};
use switchback_model::case::CaseKey;
use switchback_model::conditions::Conditions;
use switchback_model::event::{Compile, ConfigSource, EventBody, Outputs, Row};
use switchback_model::outcome::Outcome;
use switchback_model::side::Side;
use switchback_store::StoreError;
use switchback_store::attempt::AttemptDir;
use switchback_store::event_reader::{EventLog, TornLine};
use switchback_store::ir_objects;

/// Digests of canonical texts by (stage, SHA-256 of the text): each text is read and made canonical once.
#[derive(Debug, Default)]
pub struct DigestCache {
    digests: HashMap<(Stage, String), Canonical>,
    stamps: BTreeMap<String, u64>,
}

/// What came of one text.
#[derive(Debug)]
struct Canonical {
    digest: Digest,
    /// Patterns that were removed, and how often each matched.
    stamps: Vec<(String, u64)>,
    is_counted: bool,
}

impl DigestCache {
    fn digest(&mut self, ir_dir: &Path, stage: &Stage, name: &str) -> Result<Digest, StoreError> {
        let key = (stage.clone(), name.to_owned());
        if let Some(it) = self.digests.get(&key) {
            return Ok(it.digest);
        }
        let text = ir_objects::get(ir_dir, name)?;
        let canonical = switchback_ir::digest(stage, &text);
        let stamps =
            canonical.stamps.iter().map(|stamp| (stamp.pattern.clone(), stamp.count as u64)).collect();
        let digest = canonical.digest;
        self.digests.insert(key, Canonical { digest, stamps, is_counted: false });
        Ok(digest)
    }

    /// Counts the stamps of an attempt's texts, each text once however many attempts have it.
    pub fn count(&mut self, evidence: &Evidence) {
        for (_, stage, name) in &evidence.texts {
            let key = (Stage::from_name(stage), name.clone());
            if let Some(it) = self.digests.get_mut(&key).filter(|it| !it.is_counted) {
                it.is_counted = true;
                for (pattern, count) in &it.stamps {
                    *self.stamps.entry(pattern.clone()).or_default() += count;
                }
            }
        }
    }

    /// Patterns that were removed from the counted texts before they were compared, and how often each matched.
    #[must_use]
    pub fn stamps(&self) -> &BTreeMap<String, u64> {
        &self.stamps
    }
}

/// The code that a case launches on a side.
#[derive(Debug, Clone, Default)]
pub struct Launched {
    /// One entry a compiled form.
    pub kernels: Vec<KernelIr>,
    /// Launches whose compiled form is not known.
    pub unknown: u64,
}

/// What one attempt left.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// How it ended; none if its supervisor was killed.
    pub outcome: Option<Outcome>,
    /// Its conditions.
    pub conditions: Conditions,
    /// Facts that are recorded and not compared.
    pub identity: BTreeMap<String, String>,
    /// Rows in the order they were measured.
    pub rows: Vec<Row>,
    /// Width of the last digit of a printed latency, microseconds, for rows that are known from print alone.
    pub printed_us: BTreeMap<CaseKey, f64>,
    /// What cases launch, by side and case.
    pub launched: BTreeMap<(Side, CaseKey), Launched>,
    /// Texts of the compiled forms that cases launch: (side, stage, SHA-256), each once.
    pub texts: BTreeSet<(Side, String, String)>,
    /// What was said of outputs.
    pub outputs: Vec<Outputs>,
    /// Cases whose duet proof failed, with what differs.
    pub proof_failures: BTreeMap<CaseKey, String>,
    /// Texts of errors.
    pub errors: Vec<String>,
    /// Vendors that were loaded and are not the back end's own.
    pub foreign_vendors: Vec<String>,
    /// Tuner keys that were not in the recording.
    pub fallbacks: u64,
    /// The code of the whole run, where it is not known by case (folders of the scripts); none where nothing is known.
    pub run_code: Option<Vec<KernelIr>>,
    /// What should be said of how it was read: torn lines, missing texts.
    pub notes: Vec<String>,
    /// What the child said a reader should know: topic and detail, of the topics that are told (`told.rs`).
    pub told: Vec<(String, String)>,
}

impl Evidence {
    /// Reads an attempt's folder and counts its texts' stamps.
    ///
    /// # Errors
    /// A file is there and cannot be read; a half-written or torn one is no error but a note.
    pub fn read(attempt: &AttemptDir, ir_dir: &Path, digests: &mut DigestCache) -> Result<Self, StoreError> {
        let it = Self::of_log(attempt, attempt.events()?, ir_dir, digests)?;
        digests.count(&it);
        Ok(it)
    }

    /// Reads several attempts' folders, in their order, their events on all cores; whoever uses them counts their stamps.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_all(
        attempts: &[AttemptDir],
        ir_dir: &Path,
        digests: &mut DigestCache,
    ) -> Result<Vec<Self>, StoreError> {
        Self::read_each(attempts, ir_dir, digests).into_iter().collect()
    }

    /// The same, each with its own error.
    pub fn read_each(
        attempts: &[AttemptDir],
        ir_dir: &Path,
        digests: &mut DigestCache,
    ) -> Vec<Result<Self, StoreError>> {
        let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let chunk = attempts.len().div_ceil(workers).max(1);
        let logs: Vec<Result<EventLog, StoreError>> = std::thread::scope(|scope| {
            let read = |chunk: &[AttemptDir]| chunk.iter().map(AttemptDir::events).collect::<Vec<_>>();
            let mut chunks = attempts.chunks(chunk);
            let own = chunks.next();
            let others: Vec<_> = chunks.map(|chunk| scope.spawn(move || read(chunk))).collect();
            let mut logs = own.map(read).unwrap_or_default();
            for other in others {
                logs.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            logs
        });
        attempts.iter().zip(logs).map(|(attempt, log)| Self::of_log(attempt, log?, ir_dir, digests)).collect()
    }

    fn of_log(
        attempt: &AttemptDir,
        log: EventLog,
        ir_dir: &Path,
        digests: &mut DigestCache,
    ) -> Result<Self, StoreError> {
        let mut it = Self { outcome: attempt.outcome()?, ..Self::default() };
        match attempt.identity()? {
            Some(identity) => {
                it.conditions = identity.conditions;
                it.identity = identity.identity;
            }
            // It is written before the outcome: where that is there, this was, and without it nothing is comparable.
            None if it.outcome.is_some() => {
                return Err(StoreError::Damaged {
                    path: attempt.path().join("run_identity.json"),
                    detail: "it is missing, and with it the conditions of the rows".into(),
                });
            }
            None => {}
        }
        it.notes = torn_lines(&log);
        it.notes.extend(it.outcome.as_ref().and_then(|outcome| lost_rows(outcome, &log)));
        let mut compiled: BTreeMap<(Side, String), Compile> = BTreeMap::new();
        let mut launches = Vec::new();
        // Samples are what is large: nothing is copied.
        for event in log.events {
            match event.body {
                EventBody::Compile(compile) => {
                    compiled.insert((compile.side, compile.id.clone()), compile);
                }
                EventBody::Row(row) => {
                    it.errors.extend(row.error.clone());
                    it.rows.push(row);
                }
                EventBody::Launch(launch) => launches.push(launch),
                EventBody::Outputs(outputs) => it.outputs.push(outputs),
                EventBody::Proof(proof) if !proof.holds => {
                    it.proof_failures.insert(proof.case, proof.detail);
                }
                EventBody::Error(failure) => it.errors.push(failure.error),
                EventBody::Config(config) if config.source == ConfigSource::Fallback => it.fallbacks += 1,
                EventBody::Note(note) if note.topic == switchback_model::marker::FOREIGN_VENDOR_MODULE => {
                    it.foreign_vendors.extend(loaded_vendors(&note.detail));
                }
                EventBody::Note(note) if crate::told::is_told(&note.topic) => {
                    it.told.push((note.topic, note.detail));
                }
                _ => {}
            }
        }
        for launch in launches {
            let entry = it.launched.entry((launch.side, launch.case)).or_default();
            entry.unknown += launch.unknown;
            for launched in launch.compiled {
                let Some(compile) = compiled.get(&(launch.side, launched.id)) else {
                    entry.unknown += launched.launches;
                    continue;
                };
                entry.kernels.push(kernel_ir(compile, ir_dir, digests)?);
                let stages = compile.stages.iter();
                it.texts.extend(stages.map(|(stage, name)| (launch.side, stage.clone(), name.clone())));
            }
        }
        Ok(it)
    }

    /// Rows with a latency or, in an untimed cell, rows that ran.
    #[must_use]
    pub fn rows_ok(&self) -> u64 {
        self.rows.iter().filter(|row| row.ok).count() as u64
    }

    /// Inputs that failed, each once though both sides have a row of it.
    #[must_use]
    pub fn inputs_failed(&self) -> u64 {
        let failed = self.rows.iter().filter(|row| !row.ok);
        failed.map(|row| &row.case).collect::<BTreeSet<_>>().len() as u64
    }

    /// All that cases launch on a side, each compiled form once however many cases launch it.
    #[must_use]
    pub fn kernels(&self, side: Side) -> Vec<KernelIr> {
        let kernels: BTreeSet<&KernelIr> = self
            .launched
            .iter()
            .filter(|((of, _), _)| *of == side)
            .flat_map(|(_, launched)| &launched.kernels)
            .collect();
        kernels.into_iter().cloned().collect()
    }

    /// What one case launches on a side, each compiled form once.
    #[must_use]
    pub fn case_kernels(&self, side: Side, case: &CaseKey) -> Vec<KernelIr> {
        let kernels: BTreeSet<&KernelIr> =
            self.launched.get(&(side, case.clone())).iter().flat_map(|launched| &launched.kernels).collect();
        kernels.into_iter().cloned().collect()
    }

    /// The child's exit status as a shell would say it; none while there is no outcome.
    #[must_use]
    pub fn status(&self) -> Option<i32> {
        self.outcome.as_ref().map(Outcome::shell_status)
    }
}

/// Lines that could not be read, each in a sentence; a torn end is what a crash leaves and no word of it is lost.
pub(crate) fn torn_lines(log: &EventLog) -> Vec<String> {
    let said =
        |torn: &TornLine| format!("`events.jsonl`, line {}, cannot be read: {}", torn.line, torn.detail);
    log.torn.iter().map(said).collect()
}

/// Rows that the supervisor counted when the attempt ended and that are not there any more.
pub(crate) fn lost_rows(outcome: &Outcome, log: &EventLog) -> Option<String> {
    let there = log.bodies().filter(|body| matches!(body, EventBody::Row(row) if row.ok)).count() as u64;
    let counted = outcome.counts.success;
    (there < counted)
        .then(|| format!("`events.jsonl` holds {there} of the {counted} rows that were measured"))
}

fn kernel_ir(compile: &Compile, ir_dir: &Path, digests: &mut DigestCache) -> Result<KernelIr, StoreError> {
    let mut stages = BTreeMap::new();
    for (stage, name) in &compile.stages {
        let stage = Stage::from_name(stage);
        let digest = digests.digest(ir_dir, &stage, name)?;
        stages.insert(stage, digest);
    }
    Ok(KernelIr { kernel: compile.kernel.clone(), variant: compile.variant.clone(), stages })
}

/// Reads `loaded=a,b` out of a note `active=x loaded=a,b`.
fn loaded_vendors(detail: &str) -> Vec<String> {
    detail
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("loaded="))
        .flat_map(|names| names.split(','))
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_read_from_the_note() {
        assert_eq!(loaded_vendors("active=mthreads loaded=cambricon,nvidia"), ["cambricon", "nvidia"]);
        assert!(loaded_vendors("active=mthreads loaded=").is_empty());
    }
}
