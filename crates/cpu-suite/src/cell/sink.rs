//! Where a cell's events and texts go: the attempt's folder, or a vector in tests.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use switchback_model::event::EventBody;
use switchback_store::StoreError;
use switchback_store::event_writer::EventWriter;
use switchback_store::ir_objects;

use crate::operands::hex;

/// Takes events and IR texts.
pub trait Sink {
    /// Appends an event.
    ///
    /// # Errors
    /// It cannot be written.
    fn event(&mut self, body: EventBody) -> Result<(), StoreError>;

    /// Keeps a text and gives its SHA-256 in hexadecimal.
    ///
    /// # Errors
    /// It cannot be written.
    fn text(&mut self, text: &[u8]) -> Result<String, StoreError>;
}

/// The attempt's `events.jsonl` and the campaign's store of texts.
pub struct AttemptSink {
    events: EventWriter,
    ir_dir: PathBuf,
    keep_texts: bool,
}

impl AttemptSink {
    /// Creates `events.jsonl`; where texts are not kept, only their digests are taken.
    ///
    /// # Errors
    /// The file is there already or cannot be written.
    pub fn create(events_path: &Path, ir_dir: &Path, keep_texts: bool) -> Result<Self, StoreError> {
        Ok(Self { events: EventWriter::create(events_path)?, ir_dir: ir_dir.to_owned(), keep_texts })
    }
}

impl Sink for AttemptSink {
    fn event(&mut self, body: EventBody) -> Result<(), StoreError> {
        self.events.append(body)
    }

    fn text(&mut self, text: &[u8]) -> Result<String, StoreError> {
        if self.keep_texts { ir_objects::put(&self.ir_dir, text) } else { Ok(text_digest(text)) }
    }
}

/// SHA-256 of a text in hexadecimal.
#[must_use]
pub fn text_digest(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}
