//! An attempt's folder and a supervisor for it, with waits that are bounded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use switchback_model::order::Order;
use switchback_model::outcome::Outcome;
use switchback_store::attempt::{AttemptDir, RunIdentity};
use tempfile::TempDir;

/// The longest that anything in these tests may take.
const LONGEST: Duration = Duration::from_secs(30);

/// Asks until something is there.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONGEST;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// True while a process runs; a zombie does not.
pub fn is_running(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

/// A process id that a script wrote into a file.
pub fn pid_in(path: &Path) -> i32 {
    wait_for("a process id", || fs::read_to_string(path).ok()?.trim().parse().ok())
}

/// An attempt to be supervised.
pub struct Cell {
    folder: TempDir,
    pub order: Order,
    pub grace_ms: u64,
    locks: PathBuf,
    environment: Vec<(String, String)>,
}

impl Cell {
    /// A cell whose child is a shell script; `$SWITCHBACK_RUN_DIR` is its folder.
    pub fn script(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut order: Order = serde_json::from_str(include_str!("../order.json")).unwrap();
        order.attempt_dir = folder.path().canonicalize().unwrap();
        order.command.cwd = order.attempt_dir.clone();
        order.command.argv = ["sh", "-c", script].map(String::from).to_vec();
        let locks = folder.path().join("locks");
        Self { folder, order, grace_ms: 300, locks, environment: Vec::new() }
    }

    /// With a deadline.
    pub fn timeout_s(mut self, timeout_s: f64) -> Self {
        self.order.timeout_s = timeout_s;
        self
    }

    /// With a time from TERM to KILL.
    pub fn grace_ms(mut self, grace_ms: u64) -> Self {
        self.grace_ms = grace_ms;
        self
    }

    /// With another cell's folder of locks.
    pub fn sharing_locks(mut self, other: &Self) -> Self {
        self.locks.clone_from(&other.locks);
        self
    }

    /// With a variable in the supervisor's environment.
    pub fn inherited(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// A file in the attempt's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.order.attempt_dir.join(name)
    }

    fn dir(&self) -> AttemptDir {
        AttemptDir::at(&self.order.attempt_dir)
    }

    /// The outcome.
    pub fn outcome(&self) -> Outcome {
        self.dir().outcome().unwrap().expect("an outcome")
    }

    /// True if there is one.
    pub fn has_outcome(&self) -> bool {
        self.path("outcome.json").is_file()
    }

    /// Conditions and identity.
    pub fn identity(&self) -> RunIdentity {
        self.dir().identity().unwrap().expect("an identity")
    }

    /// Starts a supervisor, with a pipe on its standard input.
    pub fn start(&self) -> Supervisor {
        self.start_with(Stdio::piped())
    }

    /// Starts a supervisor.
    pub fn start_with(&self, stdin: Stdio) -> Supervisor {
        assert!(self.folder.path().is_dir());
        self.dir().write_order(&self.order).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_switchback-cell-under-test"))
            .arg(self.path("order.json"))
            .env("SWITCHBACK_LOCK_DIR", &self.locks)
            .env("TEST_GRACE_MS", self.grace_ms.to_string())
            .envs(self.environment.iter().cloned())
            .stdin(stdin)
            .stderr(fs::File::create(self.path("supervisor.err")).unwrap())
            .spawn()
            .unwrap();
        let pipe = child.stdin.take();
        Supervisor { child, pipe }
    }

    /// Supervises to the end and returns the supervisor's status.
    pub fn run(&self) -> i32 {
        self.start().status()
    }
}

/// A running supervisor.
pub struct Supervisor {
    child: Child,
    /// The coordinator's end of the pipe.
    pub pipe: Option<ChildStdin>,
}

impl Supervisor {
    /// The supervisor's process id.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Sends a signal to the supervisor.
    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_raw(self.pid()).unwrap(), signal).unwrap();
    }

    /// Waits for the supervisor's end.
    pub fn ended(mut self) -> ExitStatus {
        wait_for("the supervisor's end", || self.child.try_wait().unwrap())
    }

    /// Waits for the supervisor's end and returns its status.
    pub fn status(self) -> i32 {
        self.ended().code().expect("a status")
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind: the child dies with its supervisor.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
