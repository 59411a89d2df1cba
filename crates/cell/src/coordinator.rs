//! What makes a supervisor stop early: its coordinator, through a pipe on standard input, and signals.

use std::io::{self, BufRead};
use std::sync::mpsc::Sender;
use std::thread;

use rustix::fs::{FileType, fstat};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Something that happened while a child runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// The child is a zombie: it has ended and is not yet waited for.
    ChildEnded,
    /// End the group, with grace.
    Stop(&'static str),
    /// End the group at once.
    Kill(&'static str),
}

/// Watches signals: the first one stops, the second one kills.
///
/// # Errors
/// The handlers cannot be set.
pub(crate) fn watch_signals(sender: Sender<Message>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    thread::spawn(move || {
        let mut first = true;
        for signal in signals.forever() {
            let name = match signal {
                SIGTERM => "the supervisor got SIGTERM",
                SIGINT => "the supervisor got SIGINT",
                _ => "the supervisor got SIGHUP",
            };
            let message = if std::mem::take(&mut first) { Message::Stop(name) } else { Message::Kill(name) };
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Watches standard input: the line `kill` kills, its end stops.
///
/// Only a pipe or a socket is a coordinator's. A terminal, a file and `/dev/null` (a batch system's) are not read:
/// their end says nothing about a coordinator.
pub(crate) fn watch_pipe(sender: Sender<Message>) {
    let is_pipe = fstat(io::stdin())
        .is_ok_and(|stat| matches!(FileType::from_raw_mode(stat.st_mode), FileType::Fifo | FileType::Socket));
    if !is_pipe {
        return;
    }
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if line.trim() == "kill" && sender.send(Message::Kill("the coordinator said `kill`")).is_err() {
                return;
            }
        }
        let _ = sender.send(Message::Stop("the coordinator's pipe closed"));
    });
}
