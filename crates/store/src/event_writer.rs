//! Appends events to `events.jsonl`: each line whole, with one write.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use switchback_model::event::{Event, EventBody};

use crate::error::StoreError;

/// Writes a cell's events.
#[derive(Debug)]
pub struct EventWriter {
    path: PathBuf,
    file: File,
}

impl EventWriter {
    /// Opens a file for appending, made if it is not there.
    ///
    /// # Errors
    /// The folder is missing or cannot be written.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let file =
            OpenOptions::new().create(true).append(true).open(path).map_err(StoreError::io("open", path))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Appends an event that happens now.
    ///
    /// # Errors
    /// The disk is full or gone.
    pub fn append(&mut self, body: EventBody) -> Result<(), StoreError> {
        let event = Event { t_s: monotonic_s(), body };
        let mut line = serde_json::to_vec(&event).map_err(|error| StoreError::damaged(&self.path, error))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(StoreError::io("write", &self.path))
    }
}

/// `CLOCK_MONOTONIC` in seconds.
#[must_use]
pub fn monotonic_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    #[allow(clippy::cast_precision_loss, reason = "an uptime in seconds is far below 2^53")]
    let seconds = time.tv_sec as f64;
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds are below 10^9")]
    let fraction = time.tv_nsec as f64 * 1e-9;
    seconds + fraction
}
