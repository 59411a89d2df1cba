//! A folder to work in, the command to run in it, and what came of it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

/// Longest time for one command; all take seconds, the demo some more, and a busy machine stretches them.
const LIMIT: Duration = Duration::from_secs(400);
/// Cells of the cpu suite that take no time to speak of.
pub const QUICK: [&str; 8] = ["--sample-ms", "1", "--warmup-ms", "0", "--blocks", "8", "--block-length", "4"];

/// A folder of its own for each test: working folder, locks, campaigns.
pub struct Sandbox {
    folder: tempfile::TempDir,
}

/// What a command gave back.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Panics with all that was printed unless the command ended with this code.
    #[track_caller]
    pub fn code(self, expected: i32) -> Self {
        let Self { code, stdout, stderr } = &self;
        assert_eq!(*code, Some(expected), "\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        self
    }

    /// Panics unless stderr has this text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "`{text}` is not in\n{}", self.stderr);
        self
    }

    /// Panics unless stdout has this text.
    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "`{text}` is not in\n{}", self.stdout);
        self
    }

    /// Panics if there was anything on stdout.
    #[track_caller]
    pub fn prints_nothing(self) -> Self {
        assert_eq!(self.stdout, "");
        self
    }
}

impl Sandbox {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("notes")).unwrap();
        std::fs::write(folder.path().join("speaker.sh"), include_str!("speaker.sh")).unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command with arguments, in the sandbox, without variables that the tests' own caller has set.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchback"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("SWITCHBACK_") || text.starts_with("CLICOLOR") || text == "NO_COLOR" {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("SWITCHBACK_LOCK_DIR", self.path("locks"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        let limited = self.command(arguments);
        let output = assert_cmd::Command::from_std(limited).timeout(LIMIT).output().unwrap();
        Ran::of(output)
    }

    /// Runs the command to its end with a folder of programs that goes before all others.
    pub fn run_with_programs(&self, folder: &str, arguments: &[&str]) -> Ran {
        let mut command = self.command(arguments);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.path(folder).display()));
        Ran::of(assert_cmd::Command::from_std(command).timeout(LIMIT).output().unwrap())
    }

    /// Starts the command and leaves it running.
    pub fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Running { child: Some(child) }
    }

    /// Arguments of `ab` with the speaker, three rounds, one control.
    pub fn speaker<'a>(&'a self, operators: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
        let mut arguments = vec!["ab"];
        arguments.extend(operators);
        arguments.extend(["--suite", "command", "--backend", "cpu", "--switch", "MY_PASS"]);
        arguments.extend(["--command", "sh speaker.sh notes {operator}", "--rounds", "3", "--controls", "1"]);
        arguments.extend(more);
        arguments
    }

    /// A finished campaign of the speaker in the folder `done`.
    pub fn finished(&self, operators: &[&str]) -> PathBuf {
        self.run(&self.speaker(operators, &["--out", "done", "--seed", "1"])).code(0);
        self.path("done")
    }

    /// Makes a cell of the speaker stop after its first row.
    pub fn hold(&self, cell: &str) {
        std::fs::write(self.path(&format!("notes/hold {cell}")), "").unwrap();
    }

    /// Waits until a cell holds; the processes are the cell's, its supervisor's, and one that it leaves behind.
    pub fn holding(&self) -> [Pid; 3] {
        let path = self.path("notes/holding");
        wait_until("a cell holds", || path.exists());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let pids: Vec<Pid> =
            text.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()).collect();
        pids.try_into().unwrap()
    }

    /// The speaker's cells in the order in which they ran.
    pub fn cells(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("notes/cells")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn json(&self, path: &str) -> Value {
        let path = self.path(path);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    }

    /// One operator of a campaign's `report.json`.
    pub fn operator(&self, campaign: &str, name: &str) -> Value {
        let report = self.json(&format!("{campaign}/report.json"));
        let operators = report["operators"].as_array().unwrap();
        operators.iter().find(|it| it["operator"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    }

    /// A table of a campaign: its rows by the names of its columns.
    pub fn table(&self, path: &str) -> Vec<Vec<(String, String)>> {
        let text = std::fs::read_to_string(self.path(path)).unwrap();
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
        lines
            .map(|line| {
                let cells: Vec<&str> = line.split('\t').collect();
                assert_eq!(cells.len(), names.len(), "{line}");
                names.iter().zip(cells).map(|(name, cell)| ((*name).to_owned(), cell.to_owned())).collect()
            })
            .collect()
    }

    /// Names of what lies in the sandbox, the fixtures aside.
    pub fn left(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !["notes", "speaker.sh", "locks"].contains(&name.as_str()))
            .collect();
        names.sort();
        names
    }
}

/// A command that runs; ended at the latest when the test ends.
pub struct Running {
    child: Option<Child>,
}

impl Running {
    pub fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().unwrap())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub fn wait(mut self) -> Ran {
        Ran::of(self.child.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// True while a process runs; one that has ended and waits for its parent does not.
pub fn runs(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    test_kill_process(pid).is_ok()
        && stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(180), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A report with its seconds taken out, which no two runs share; the column stays as wide.
pub fn without_seconds(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let timed = ["screen ", "measure ", "tune "].iter().any(|label| line.starts_with(label));
        match line.rfind("  ").filter(|_| timed && line.ends_with(" s")) {
            Some(at) => lines.push_str(&format!("{:<53}<seconds>", line[..at].trim_end())),
            None => lines.push_str(line),
        }
        lines.push('\n');
    }
    lines
}
