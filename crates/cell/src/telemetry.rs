//! `telemetry.tsv`: the card's clocks, temperature and power while the child runs, sampled in a thread.
//!
//! Missing telemetry is missing evidence, not a failed cell: `telemetry.err` says once why there is none, or why it
//! ends early. There is no `telemetry.tsv` without a reading.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use switchback_device::telemetry::tsv::{self, Sample};
use switchback_device::telemetry::{self, Opened, Sampler, TelemetryError, summary};
use switchback_model::card::Card;
use switchback_model::telemetry::TelemetrySummary;
use switchback_store::attempt::AttemptDir;
use switchback_store::event_writer::monotonic_s;

use crate::host;

/// Failures in a row after which a sampler that worked is given up.
const FAILURES: u32 = 3;

/// A sampling thread; it ends when this is dropped.
pub(crate) struct Telemetry {
    stop: Sender<()>,
    ended: Receiver<()>,
    summary: Arc<Mutex<TelemetrySummary>>,
}

impl Telemetry {
    /// Starts sampling a card every `interval`, or as often as its sampler says; not at all if that is zero.
    pub(crate) fn start(attempt: &AttemptDir, card: &Card, interval: Option<Duration>) -> Option<Self> {
        if interval.is_some_and(|interval| interval.is_zero()) {
            return None;
        }
        let (stop, stopped) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let summary = Arc::new(Mutex::new(TelemetrySummary::default()));
        let told = Arc::clone(&summary);
        let tsv_path = attempt.telemetry_path();
        let note_path = attempt.path().join("telemetry.err");
        let card = card.clone();
        thread::spawn(move || {
            let said = match telemetry::open(&card) {
                None => Some(format!("no telemetry: back end `{}` has no sampler", card.backend)),
                Some(Opened { sampler, remark }) => {
                    let interval = interval.unwrap_or_else(|| sampler.interval());
                    tell(&told, |it| it.remark = remark.clone().unwrap_or_default());
                    let said = sample_until_stopped(
                        sampler,
                        &card.lock_name(),
                        &tsv_path,
                        interval,
                        &stopped,
                        &told,
                    );
                    let said: Vec<String> = remark.into_iter().chain(said).collect();
                    (!said.is_empty()).then(|| said.join("\n"))
                }
            };
            tell(&told, |it| it.cpu_s = thread_cpu_s());
            if let Some(said) = said {
                tell(&told, |it| it.remark = said.replace('\n', "; "));
                write_note(&note_path, &said);
            }
            let _ = end.send(());
        });
        Some(Self { stop, ended, summary })
    }

    /// Stops sampling and says what came of it; a sampler that is stuck in its driver is not waited for longer than
    /// `patience`.
    pub(crate) fn stop(self, patience: Duration) -> TelemetrySummary {
        drop(self.stop);
        let ended = self.ended.recv_timeout(patience).is_ok();
        let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !ended {
            summary.remark = format!("{} has not answered when the cell had ended", summary.sampler);
        }
        summary
    }
}

/// Adds what `telemetry.tsv` holds to a summary; `spans` are the times in which rows were measured.
pub(crate) fn add_up(
    summary: TelemetrySummary,
    attempt: &AttemptDir,
    spans: &[(f64, f64)],
) -> TelemetrySummary {
    // Read back rather than remembered: what is summed up is what everybody else can read.
    let text = std::fs::read_to_string(attempt.telemetry_path()).unwrap_or_default();
    let sums = summary::sums(&tsv::read(&text), spans);
    TelemetrySummary {
        readings: sums.readings,
        measured: sums.measured,
        sm_clock_mhz: sums.sm_clock_mhz,
        throttle: sums.throttle,
        ..summary
    }
}

fn tell(summary: &Mutex<TelemetrySummary>, change: impl FnOnce(&mut TelemetrySummary)) {
    change(&mut summary.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Processor time of this thread, seconds.
fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    #[allow(clippy::cast_precision_loss, reason = "seconds of a cell are far below 2^53")]
    let seconds = time.tv_sec as f64;
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds are below 10^9")]
    let fraction = time.tv_nsec as f64 * 1e-9;
    seconds + fraction
}

/// Samples until it is stopped or given up; returns what is to be said about that.
fn sample_until_stopped(
    mut sampler: Box<dyn Sampler>,
    own: &str,
    path: &Path,
    interval: Duration,
    stopped: &Receiver<()>,
    summary: &Mutex<TelemetrySummary>,
) -> Option<String> {
    tell(summary, |it| {
        sampler.name().clone_into(&mut it.sampler);
        it.interval_s = interval.as_secs_f64();
    });
    let mut table: Option<Table> = None;
    let mut failures = 0;
    loop {
        let asked = Instant::now();
        let answer = sampler.sample();
        tell(summary, |it| it.reading_s += asked.elapsed().as_secs_f64());
        match answer {
            Ok(readings) => {
                failures = 0;
                if let Err(error) = append(&mut table, path, readings) {
                    return Some(format!(
                        "telemetry ends here: `{}` cannot be written: {error}",
                        path.display()
                    ));
                }
            }
            Err(error) => {
                failures += 1;
                // A tool may name another card of the machine by its place on the bus: that one is not this cell's.
                let lost = matches!(&error, TelemetryError::CardLost { card, .. } if *card == own);
                tell(summary, |it| it.lost = lost);
                if table.is_none() || lost || failures == FAILURES {
                    return Some(chain(&error));
                }
            }
        }
        tell(summary, |it| it.cpu_s = thread_cpu_s());
        if stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
            return None;
        }
    }
}

/// The open file.
struct Table(File);

fn append(table: &mut Option<Table>, path: &Path, readings: Vec<telemetry::Reading>) -> io::Result<()> {
    let mut text = String::new();
    if table.is_none() {
        *table = Some(Table(OpenOptions::new().create_new(true).append(true).open(path)?));
        text = tsv::header();
    }
    let (timestamp, monotonic_s) = (host::utc(), monotonic_s());
    for reading in readings {
        text += &tsv::row(&Sample {
            timestamp: timestamp.clone(),
            monotonic_s: Some(monotonic_s),
            boot_id: host::boot_id().into(),
            reading,
        });
    }
    match table {
        Some(Table(file)) => file.write_all(text.as_bytes()),
        None => Ok(()),
    }
}

fn write_note(path: &PathBuf, said: &str) {
    // Nothing depends on it; where even this cannot be written, the outcome cannot either and says so.
    let _ = std::fs::write(path, format!("{said}\n"));
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchback_device::telemetry::{Reading, TelemetryError};

    /// Answers as it is told, then asks to be stopped.
    struct Scripted {
        answers: Vec<bool>,
        stop: Option<Sender<()>>,
    }

    impl Sampler for Scripted {
        fn name(&self) -> &str {
            "scripted"
        }

        fn sample(&mut self) -> Result<Vec<Reading>, TelemetryError> {
            let answer = self.answers.remove(0);
            if self.answers.is_empty() {
                self.stop = None;
            }
            if answer {
                Ok(vec![Reading { index: "3".into(), power_w: Some(82.5), ..Reading::default() }])
            } else {
                Err(TelemetryError::NoReading { program: "scripted".into(), said: "card lost".into() })
            }
        }
    }

    fn sampled(answers: &[bool]) -> (Option<String>, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("telemetry.tsv");
        let (stop, stopped) = mpsc::channel();
        let sampler = Box::new(Scripted { answers: answers.to_vec(), stop: Some(stop) });
        let summary = Mutex::default();
        let said =
            sample_until_stopped(sampler, "GPU-1", &path, Duration::from_millis(1), &stopped, &summary);
        let summary = summary.into_inner().unwrap();
        assert_eq!((summary.sampler.as_str(), summary.interval_s), ("scripted", 0.001));
        (said, std::fs::read_to_string(&path).ok())
    }

    #[test]
    fn readings_become_rows_below_one_header() {
        let (said, text) = sampled(&[true, false, true]);
        assert_eq!(said, None);
        let samples = tsv::read(&text.unwrap());
        assert_eq!(samples.len(), 2);
        assert_eq!((samples[1].reading.index.as_str(), samples[1].reading.power_w), ("3", Some(82.5)));
        assert_eq!(samples[1].boot_id, host::boot_id());
        assert!(samples[0].monotonic_s <= samples[1].monotonic_s);
    }

    #[test]
    fn without_a_first_reading_there_is_no_file_and_one_remark() {
        let (said, text) = sampled(&[false, true]);
        assert_eq!(said.unwrap(), "no telemetry: `scripted` gave no reading: card lost");
        assert_eq!(text, None);
    }

    #[test]
    fn a_card_that_is_lost_ends_the_sampling_and_keeps_what_was_read() {
        let (said, text) = sampled(&[true, false, false, false, true]);
        assert!(said.unwrap().ends_with("card lost"));
        assert_eq!(tsv::read(&text.unwrap()).len(), 1);
    }
}
