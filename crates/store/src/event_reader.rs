//! Reads `events.jsonl` as a crash may have left it.
//!
//! A torn last line is what a crash leaves and no error. A torn line before it is a fault of the writer or the disk:
//! it is skipped, counted and named, and the events around it are kept.

use std::path::Path;

use switchback_model::event::{Event, EventBody};

use crate::error::StoreError;

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornLine {
    /// Counted from 1.
    pub line: usize,
    /// Where it begins in the file, bytes.
    pub offset_bytes: usize,
    /// What is wrong with it.
    pub detail: String,
}

/// The events of one attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventLog {
    /// Events in the order they were written.
    pub events: Vec<Event>,
    /// Lines before the last that could not be read.
    pub torn: Vec<TornLine>,
    /// True if the last line is torn, as a crash leaves it.
    pub torn_tail: bool,
}

impl EventLog {
    /// Bodies of the events.
    pub fn bodies(&self) -> impl Iterator<Item = &EventBody> {
        self.events.iter().map(|event| &event.body)
    }
}

/// Reads a file of events; one that is not there has none.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read(path: &Path) -> Result<EventLog, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(parse(&bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(EventLog::default()),
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

/// Reads events from bytes.
#[must_use]
pub fn parse(bytes: &[u8]) -> EventLog {
    let mut log = EventLog::default();
    let mut offset_bytes = 0;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let last = lines.peek().is_none();
        let whole = line.ends_with(b"\n");
        let text = line.trim_ascii();
        if !text.is_empty() {
            match Event::parse(text) {
                Ok(event) => log.events.push(event),
                Err(_) if last && !whole => log.torn_tail = true,
                Err(error) => {
                    log.torn.push(TornLine { line: index + 1, offset_bytes, detail: error.to_string() });
                }
            }
        }
        offset_bytes += line.len();
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = r#"{"kind":"note","t_s":1.0,"topic":"seed","detail":"7"}"#;

    #[test]
    fn a_torn_last_line_is_no_error() {
        let log = parse(format!("{NOTE}\n{NOTE}\n{{\"kind\":\"no").as_bytes());
        assert_eq!((log.events.len(), log.torn.len(), log.torn_tail), (2, 0, true));
    }

    #[test]
    fn a_last_line_without_newline_that_is_whole_counts() {
        let log = parse(format!("{NOTE}\n{NOTE}").as_bytes());
        assert_eq!((log.events.len(), log.torn_tail), (2, false));
    }

    #[test]
    fn a_torn_line_in_the_middle_is_named_and_the_rest_kept() {
        let log = parse(format!("{NOTE}\n{{\"kind\":{NOTE}\n\0\0\n{NOTE}\r\n").as_bytes());
        assert_eq!(log.events.len(), 2);
        assert_eq!(log.torn.iter().map(|torn| torn.line).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(log.torn[0].offset_bytes, NOTE.len() + 1);
    }

    #[test]
    fn a_row_with_a_wrong_field_does_not_pass_for_a_later_version() {
        let log = parse(b"{\"kind\":\"row\",\"t_s\":1,\"operator\":\"mm\",\"side\":\"C\"}\n");
        assert_eq!((log.events.len(), log.torn.len()), (0, 1), "{log:?}");
    }

    #[test]
    fn what_a_writer_wrote_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let body =
            EventBody::Note(switchback_model::event::Note { topic: "a".into(), detail: "b\nc".into() });
        let mut writer = crate::event_writer::EventWriter::create(&path).unwrap();
        writer.append(body.clone()).unwrap();
        writer.append(body.clone()).unwrap();
        let log = read(&path).unwrap();
        assert_eq!(log.bodies().collect::<Vec<_>>(), [&body, &body]);
        assert!(log.events[0].t_s > 0.0 && log.events[1].t_s >= log.events[0].t_s);
    }
}
