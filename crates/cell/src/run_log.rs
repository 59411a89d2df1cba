//! `run.log`: the child's output as it comes, bounded, so that a flood does not fill the disk.
//!
//! The beginning is written through; the end is kept in memory and written when the child has ended, after a line that
//! says how much lies between. A disk that is full stops the file, never the child: its output is read and dropped.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes of the end that are searched for the last line.
const LAST_LINE_BYTES: usize = 4096;

/// What is said of a log when it is closed.
#[derive(Debug, Default)]
pub(crate) struct LogSummary {
    /// Bytes of output that were not kept.
    pub dropped_bytes: u64,
    /// The last line that is not blank, at most 200 characters, without control characters.
    pub last_line: String,
    /// Why not all of it could be written.
    pub error: Option<io::Error>,
}

/// The file, and what is not in it yet.
#[derive(Debug)]
pub(crate) struct RunLog {
    file: File,
    head_left: u64,
    tail: VecDeque<u8>,
    tail_bytes: usize,
    dropped_bytes: u64,
    last: VecDeque<u8>,
    error: Option<io::Error>,
}

impl RunLog {
    /// Makes the file.
    ///
    /// # Errors
    /// It is there already, or cannot be made.
    pub(crate) fn create(path: &Path, head_bytes: u64, tail_bytes: usize) -> io::Result<Self> {
        Ok(Self {
            file: OpenOptions::new().append(true).create_new(true).open(path)?,
            head_left: head_bytes,
            tail: VecDeque::new(),
            tail_bytes,
            dropped_bytes: 0,
            last: VecDeque::new(),
            error: None,
        })
    }

    fn append(&mut self, bytes: &[u8]) {
        keep_end(&mut self.last, bytes, LAST_LINE_BYTES);
        let head = usize::try_from(self.head_left).unwrap_or(usize::MAX).min(bytes.len());
        let (head, tail) = bytes.split_at(head);
        self.head_left -= head.len() as u64;
        self.write(head);
        self.dropped_bytes += keep_end(&mut self.tail, tail, self.tail_bytes);
    }

    /// Writes through; after a failure the rest is counted as dropped.
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.file.write_all(bytes).err();
        }
        if self.error.is_some() {
            self.dropped_bytes += bytes.len() as u64;
        }
    }

    /// Writes the end and closes the file.
    pub(crate) fn close(mut self) -> LogSummary {
        if self.dropped_bytes > 0 && self.error.is_none() {
            let note = format!("\n[switchback: {} bytes of output are left out here]\n", self.dropped_bytes);
            self.write(note.as_bytes());
        }
        let tail = std::mem::take(&mut self.tail);
        let (first, second) = tail.as_slices();
        self.write(first);
        self.write(second);
        LogSummary {
            dropped_bytes: self.dropped_bytes,
            last_line: last_line(self.last.make_contiguous()),
            error: self.error,
        }
    }
}

/// Appends to a bounded buffer that keeps the end; returns how many bytes fell out of it.
fn keep_end(buffer: &mut VecDeque<u8>, bytes: &[u8], limit: usize) -> u64 {
    let skipped = bytes.len().saturating_sub(limit);
    let bytes = &bytes[skipped..];
    let overflow = (buffer.len() + bytes.len()).saturating_sub(limit);
    buffer.drain(..overflow);
    buffer.extend(bytes);
    (skipped + overflow) as u64
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// Fills a log from the child's pipe, in a thread of its own.
///
/// The end of the pipe is not the end of the child: what outlives it may hold the pipe open for ever.
pub(crate) struct Pump {
    log: Arc<Mutex<Option<RunLog>>>,
    at_end: Receiver<()>,
}

impl Pump {
    /// Starts reading.
    pub(crate) fn start(mut pipe: impl Read + Send + 'static, log: RunLog) -> Self {
        let log = Arc::new(Mutex::new(Some(log)));
        let (sender, at_end) = mpsc::channel();
        let shared = Arc::clone(&log);
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            loop {
                let bytes = match pipe.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(bytes) => bytes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                match shared.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                    Some(log) => log.append(&buffer[..bytes]),
                    None => return,
                }
            }
            let _ = sender.send(());
        });
        Self { log, at_end }
    }

    /// Closes the log once the pipe is at its end, or after `patience` if something still holds it.
    pub(crate) fn close(self, patience: Duration) -> LogSummary {
        let _ = self.at_end.recv_timeout(patience);
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).take();
        log.map(RunLog::close).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(head: u64, tail: usize, chunks: &[&[u8]]) -> (Vec<u8>, LogSummary) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.log");
        let mut log = RunLog::create(&path, head, tail).unwrap();
        for chunk in chunks {
            log.append(chunk);
        }
        let summary = log.close();
        (std::fs::read(&path).unwrap(), summary)
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let (bytes, summary) = logged(4, 6, &[b"ab", b"cdefgh", b"ij"]);
        assert_eq!(bytes, b"abcdefghij");
        assert_eq!(summary.dropped_bytes, 0);
    }

    #[test]
    fn of_a_flood_beginning_and_end_are_kept_and_the_rest_counted() {
        let (bytes, summary) = logged(4, 3, &[b"abcdef", b"ghijklmnop", b"q\n"]);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text, "abcd\n[switchback: 11 bytes of output are left out here]\npq\n");
        assert_eq!(summary.dropped_bytes, 11);
    }

    #[test]
    fn the_last_line_has_no_colours_and_no_blank_ends() {
        let (_, summary) = logged(100, 10, &[b"first\n\x1b[31mFAI", b"LED\x1b[0m \n\n"]);
        assert_eq!(summary.last_line, "[31mFAILED[0m");
    }

    #[test]
    fn a_log_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.log");
        std::fs::write(&path, "before").unwrap();
        assert_eq!(RunLog::create(&path, 1, 1).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_full_disk_stops_the_file_and_not_the_reader() {
        // The kernel's stand-in for a full disk.
        let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut log = RunLog {
            file,
            head_left: 100,
            tail: VecDeque::new(),
            tail_bytes: 10,
            dropped_bytes: 0,
            last: VecDeque::new(),
            error: None,
        };
        log.append(b"abc");
        log.append(b"def\n");
        let summary = log.close();
        assert_eq!(summary.dropped_bytes, 7);
        assert_eq!(summary.last_line, "abcdef");
        assert_eq!(summary.error.unwrap().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_pipe_held_open_does_not_keep_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        let pump = Pump::start(reader, RunLog::create(&folder.path().join("run.log"), 100, 100).unwrap());
        writer.write_all(b"held\n").unwrap();
        // `writer` stays open.
        let summary = pump.close(Duration::from_millis(200));
        assert_eq!(summary.last_line, "held");
        drop(writer);
    }
}
