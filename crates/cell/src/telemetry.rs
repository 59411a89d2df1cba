//! `telemetry.tsv`: the card's clocks, temperature and power while the child runs, sampled in a thread.
//!
//! Missing telemetry is missing evidence, not a failed cell: `telemetry.err` says once why there is none, or why it
//! ends early. There is no `telemetry.tsv` without a reading.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use switchback_device::telemetry::tsv::{self, Sample};
use switchback_device::telemetry::{self, Sampler};
use switchback_model::card::Card;
use switchback_store::attempt::AttemptDir;
use switchback_store::event_writer::monotonic_s;

use crate::host;

/// Failures in a row after which a sampler that worked is given up.
const FAILURES: u32 = 3;

/// A sampling thread; it ends when this is dropped.
pub(crate) struct Telemetry {
    stop: Sender<()>,
    ended: Receiver<()>,
}

impl Telemetry {
    /// Starts sampling a card every `interval`; not at all if that is zero.
    pub(crate) fn start(attempt: &AttemptDir, card: &Card, interval: Duration) -> Option<Self> {
        if interval.is_zero() {
            return None;
        }
        let (stop, stopped) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let tsv_path = attempt.telemetry_path();
        let note_path = attempt.path().join("telemetry.err");
        let card = card.clone();
        thread::spawn(move || {
            let said = match telemetry::sampler(&card) {
                None => Some(format!("no telemetry: back end `{}` has no sampler", card.backend)),
                Some(sampler) => sample_until_stopped(sampler, &tsv_path, interval, &stopped),
            };
            if let Some(said) = said {
                write_note(&note_path, &said);
            }
            let _ = end.send(());
        });
        Some(Self { stop, ended })
    }

    /// Stops sampling; a tool that is stuck in its driver is not waited for longer than `patience`.
    pub(crate) fn stop(self, patience: Duration) {
        drop(self.stop);
        let _ = self.ended.recv_timeout(patience);
    }
}

/// Samples until it is stopped or given up; returns what is to be said about that.
fn sample_until_stopped(
    mut sampler: Box<dyn Sampler>,
    path: &Path,
    interval: Duration,
    stopped: &Receiver<()>,
) -> Option<String> {
    let mut table: Option<Table> = None;
    let mut failures = 0;
    loop {
        match sampler.sample() {
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
                if table.is_none() || failures == FAILURES {
                    return Some(chain(&error));
                }
            }
        }
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
        let said = sample_until_stopped(sampler, &path, Duration::from_millis(1), &stopped);
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
