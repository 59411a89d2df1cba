//! Runs supervisors on this machine, as children of this process.
//!
//! The supervisor's standard input is the coordinator's pipe: when it closes, because this process died, the
//! supervisor ends its cell. A wish to stop is one TERM; the line `kill` on the pipe means at once. Nothing is polled: a
//! thread for each supervisor sleeps in the kernel until it has ended.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::{Executor, Started};

/// The stack of a thread that only waits.
const STACK_BYTES: usize = 64 * 1024;
/// What a supervisor says of itself, beside its order: it could not write its outcome, say.
const SAID: &str = "supervisor.err";

/// Runs `switchback cell ORDER` here.
#[derive(Debug)]
pub struct LocalExecutor {
    program: PathBuf,
    running: BTreeMap<Started, Supervisor>,
    number: u64,
    tell: Sender<Started>,
    ended: Receiver<Started>,
}

#[derive(Debug)]
struct Supervisor {
    child: Child,
    pipe: Option<ChildStdin>,
    said: Option<PathBuf>,
}

impl LocalExecutor {
    /// An executor that starts this `switchback` program.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        let (tell, ended) = channel();
        Self { program, running: BTreeMap::new(), number: 0, tell, ended }
    }
}

impl Executor for LocalExecutor {
    fn start(&mut self, order_path: &Path) -> Result<Started, std::io::Error> {
        let said = order_path.parent().map(|folder| folder.join(SAID));
        let file = said.as_ref().and_then(|path| File::create(path).ok());
        let mut command = Command::new(&self.program);
        command
            .arg("cell")
            .arg(order_path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(file.map_or_else(Stdio::null, Stdio::from));
        // A group of its own: Ctrl-C in the terminal reaches the coordinator alone, which then ends cells in order.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pipe = child.stdin.take();
        self.number += 1;
        let started = Started(self.number);
        let tell = self.tell.clone();
        let pid = Pid::from_child(&child);
        self.running.insert(started, Supervisor { child, pipe, said });
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            // It stays a zombie, so that its id is nobody else's until the coordinator has taken note.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
            let _ = tell.send(started);
        })?;
        Ok(started)
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<Started>, std::io::Error> {
        let started = match self.ended.recv_timeout(limit) {
            Ok(started) => started,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(None),
        };
        if let Some(mut supervisor) = self.running.remove(&started) {
            supervisor.child.wait()?;
            if let Some(said) = supervisor.said
                && said.metadata().is_ok_and(|metadata| metadata.len() == 0)
            {
                let _ = std::fs::remove_file(said);
            }
        }
        Ok(Some(started))
    }

    fn stop_one(&mut self, started: Started) {
        if let Some(supervisor) = self.running.get(&started) {
            let _ = kill_process(Pid::from_child(&supervisor.child), Signal::TERM);
        }
    }

    fn stop(&mut self) {
        for supervisor in self.running.values() {
            let _ = kill_process(Pid::from_child(&supervisor.child), Signal::TERM);
        }
    }

    fn kill(&mut self) {
        // Not a second TERM: the kernel may merge two of them into one.
        for pipe in self.running.values_mut().filter_map(|supervisor| supervisor.pipe.as_mut()) {
            let _ = pipe.write_all(b"kill\n");
        }
    }
}
