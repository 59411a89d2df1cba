//! Runs supervisors on this machine, as children of this process.
//!
//! The supervisor's standard input is the coordinator's pipe: when it closes, because this process died, the
//! supervisor ends its cell. A wish to stop is one TERM; the line `kill` on the pipe means at once.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Executor, Interrupt};

/// How often the child is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How often the watcher is told.
const TICK: Duration = Duration::from_millis(100);

/// Runs `switchback cell ORDER` here.
#[derive(Debug, Clone)]
pub struct LocalExecutor {
    program: PathBuf,
}

impl LocalExecutor {
    /// An executor that starts this `switchback` program.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }
}

impl Executor for LocalExecutor {
    fn run(
        &self,
        order_path: &Path,
        interrupt: &Interrupt,
        tick: &mut dyn FnMut(Duration),
    ) -> Result<(), std::io::Error> {
        let mut command = Command::new(&self.program);
        command
            .arg("cell")
            .arg(order_path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // A group of its own: Ctrl-C in the terminal reaches the coordinator alone, which then ends cells in order.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let start = Instant::now();
        let mut child = command.spawn()?;
        let mut pipe = child.stdin.take();
        let errors = child.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                let _ = stderr.by_ref().take(64 * 1024).read_to_end(&mut text);
                let _ = std::io::copy(&mut stderr, &mut std::io::sink());
                text
            })
        });
        let mut last_tick = Duration::ZERO;
        let mut asked = 0;
        while child.try_wait()?.is_none() {
            if asked < 1 && interrupt.count() >= 1 {
                asked = 1;
                if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
            // Not a second TERM: the kernel may merge two of them into one.
            if asked < 2 && interrupt.count() >= 2 {
                asked = 2;
                if let Some(pipe) = pipe.as_mut() {
                    let _ = pipe.write_all(b"kill\n");
                }
            }
            std::thread::sleep(LOOK);
            if start.elapsed() - last_tick >= TICK {
                last_tick = start.elapsed();
                tick(last_tick);
            }
        }
        drop(pipe);
        if let Some(text) = errors.and_then(|thread| thread.join().ok())
            && !text.is_empty()
            && let Some(folder) = order_path.parent()
        {
            // What a supervisor says of itself (it could not write its outcome, say) is kept beside the order.
            let _ = std::fs::write(folder.join("supervisor.err"), text);
        }
        Ok(())
    }
}
