//! One process of the compiler: what it is told, what it says, and what its death means.
//!
//! Each environment gets processes of its own, since a compiler reads variables when it is imported and keeps flags for
//! good. A kernel on which the process dies or hangs is that kernel's failure; the others go on in a new process.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchback_model::switch::Variables;
use switchback_store::StoreError;

use super::environments::{Environment, Kernel};
use super::recording::Recorded;
use crate::error::EngineError;
use crate::executor::Interrupt;

/// The program, embedded.
const SCRIPT: &str = "switchback_probe/recompile.py";
/// A compiler that says nothing for so long hangs; the slowest kernels seen take a minute.
const KERNEL_LIMIT: Duration = Duration::from_secs(600);
/// How often an interrupt is looked for.
const TICK: Duration = Duration::from_millis(100);
/// Variables with which this program itself is told things; children inherit none.
const OWN_PREFIX: &str = "SWITCHBACK_";

/// The compiler as it is started.
pub(super) struct Compiler {
    folder: PathBuf,
    python: String,
    base: Variables,
}

/// What the compiler says of itself.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Described {
    triton: String,
    python: String,
    triton_path: String,
    #[serde(default)]
    defaults: BTreeMap<String, Value>,
}

impl Described {
    /// In a line.
    pub fn shown(&self) -> String {
        format!("triton {} (Python {}, `{}`)", self.triton, self.python, self.triton_path)
    }

    /// Options that it gives a target when none is asked for.
    pub fn defaults(&self, target: &Value) -> Option<&Map<String, Value>> {
        self.defaults
            .iter()
            .find(|(key, _)| serde_json::from_str::<Value>(key).is_ok_and(|key| key == *target))
            .and_then(|(_, described)| described.get("options")?.as_object())
    }
}

/// What a process says.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Said {
    /// What it is.
    Compiler(Described),
    /// It has no compiler.
    NoCompiler { error: String, executable: String },
    /// It begins with a kernel.
    Begin { id: String },
    /// A kernel is done.
    Done { id: String, stages: Vec<String> },
    /// A kernel did not compile.
    Failed { id: String, error: String },
    /// It is done with all.
    End,
}

impl Compiler {
    /// Writes the program into a folder of its own.
    pub fn unpack(folder: &Path, python: String, base: Variables) -> Result<Self, EngineError> {
        let failed = |source| StoreError::Io { action: "create", path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        for file in switchback_suites::embedded::files(&[SCRIPT]) {
            switchback_store::atomic::write(&folder.join("recompile.py"), file.text.as_bytes())?;
        }
        Ok(Self { folder: folder.to_owned(), python, base })
    }

    /// Variables of the recording.
    pub fn base(&self) -> &Variables {
        &self.base
    }

    /// Asks for versions, and for the defaults of each target.
    ///
    /// # Errors
    /// No such interpreter, no compiler in it, or a target that it does not know.
    pub fn describe(&self, kernels: &[Recorded]) -> Result<Described, EngineError> {
        let targets: Vec<Value> = kernels.iter().map(|kernel| json!({"target": kernel.target})).collect();
        let job = json!({"action": "describe", "kernels": targets, "out": ""});
        let mut found = None;
        let environment = Environment { name: "describe".into(), variables: Variables::new() };
        let ended = self.run(&environment, "0", &job, &Interrupt::default(), &mut |said| {
            found.get_or_insert(said);
        })?;
        let described = match found {
            Some(Said::Compiler(described)) => described,
            Some(Said::NoCompiler { error, executable }) => {
                return Err(self.no_compiler(format!("`{executable}` has no Triton: {error}")));
            }
            _ => return Err(self.no_compiler(ended.reason)),
        };
        let unknown =
            described.defaults.values().find_map(|described| described.get("error").and_then(Value::as_str));
        match unknown {
            Some(error) => Err(self.no_compiler(format!(
                "triton {} does not compile for the recorded target: {error}",
                described.triton
            ))),
            None => Ok(described),
        }
    }

    fn no_compiler(&self, detail: String) -> EngineError {
        EngineError::NoCompiler { python: self.python.clone(), detail }
    }

    /// Runs one process to its end; `hear` gets what it says.
    ///
    /// # Errors
    /// The interpreter cannot be started, the disk is full, or the user asked to stop.
    pub fn run(
        &self,
        environment: &Environment,
        name: &str,
        job: &Value,
        interrupt: &Interrupt,
        hear: &mut dyn FnMut(Said),
    ) -> Result<ProcessEnd, EngineError> {
        let stem = self.folder.join(format!("{}-{name}", environment.name));
        let path = |extension: &str| stem.with_file_name(file_name(&stem, extension));
        let job_path = path("json");
        switchback_store::atomic::write(&job_path, job.to_string().as_bytes())?;
        let log_path = path("log");
        let log = std::fs::File::create(&log_path).map_err(|source| StoreError::Io {
            action: "create",
            path: log_path.clone(),
            source,
        })?;
        let mut command = Command::new(&self.python);
        command.arg(self.folder.join("recompile.py")).arg(&job_path).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with(OWN_PREFIX) {
                command.env_remove(name);
            }
        }
        let cache = path("cache");
        let own = [
            ("PYTHONUNBUFFERED", "1"),
            ("PYTHONUTF8", "1"),
            ("PYTHONHASHSEED", "0"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("TRITON_ALWAYS_COMPILE", "1"),
        ];
        command.envs(own).env("TRITON_CACHE_DIR", &cache);
        for (name, value) in self.base.iter().chain(&environment.variables) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child =
            command.spawn().map_err(|error| self.no_compiler(format!("it cannot be started: {error}")))?;
        let lines = lines(&mut child);
        let ended = listen(&mut child, &lines, interrupt, hear);
        let _ = std::fs::remove_dir_all(&cache);
        let mut ended = ended?;
        if !ended.whole {
            let log = std::fs::read(&log_path).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            if let Some(last) = log.lines().rev().find(|line| !line.trim().is_empty()) {
                ended.reason.push_str(&format!("; it said last: {}", last.trim()));
            }
        }
        Ok(ended)
    }
}

fn file_name(stem: &Path, extension: &str) -> String {
    let name = stem.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{name}.{extension}")
}

/// How a process ended.
#[derive(Debug, Clone)]
pub(super) struct ProcessEnd {
    /// True if it came to the end of its job.
    pub whole: bool,
    /// What ended it otherwise.
    pub reason: String,
}

fn lines(child: &mut Child) -> Receiver<Said> {
    let (sender, receiver) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // A line that is none of ours was printed past our redirection.
                if let Ok(said) = serde_json::from_str::<Said>(&line)
                    && sender.send(said).is_err()
                {
                    break;
                }
            }
        });
    }
    receiver
}

fn listen(
    child: &mut Child,
    lines: &Receiver<Said>,
    interrupt: &Interrupt,
    hear: &mut dyn FnMut(Said),
) -> Result<ProcessEnd, EngineError> {
    let mut whole = false;
    let mut heard = Instant::now();
    loop {
        match lines.recv_timeout(TICK) {
            Ok(said) => {
                heard = Instant::now();
                whole |= matches!(said, Said::End | Said::NoCompiler { .. });
                hear(said);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if interrupt.count() > 0 {
                    kill(child);
                    return Err(EngineError::Interrupted);
                }
                if heard.elapsed() > KERNEL_LIMIT {
                    kill(child);
                    let reason = format!("ended after {} s without a word", KERNEL_LIMIT.as_secs());
                    return Ok(ProcessEnd { whole: false, reason });
                }
            }
        }
    }
    let reason = match child.wait() {
        Ok(status) => match std::os::unix::process::ExitStatusExt::signal(&status) {
            Some(signal) => format!("the compiler died of signal {signal}"),
            None => format!("the compiler ended with status {}", status.code().unwrap_or(-1)),
        },
        Err(error) => format!("cannot wait for the compiler: {error}"),
    };
    Ok(ProcessEnd { whole, reason })
}

/// Kills a process with all that it started (assemblers).
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

/// What a process is told to compile; texts are written beside where their stages will lie.
pub(super) fn job(kernels: &[(usize, &Kernel)], out: &Path) -> Result<Value, StoreError> {
    let mut told = Vec::new();
    for (id, kernel) in kernels {
        let folder = out.join(id.to_string());
        std::fs::create_dir_all(&folder).map_err(|source| StoreError::Io {
            action: "create",
            path: folder.clone(),
            source,
        })?;
        let name = switchback_store::path_name::path_name(&kernel.name);
        let ttir = folder.join(format!("{name}.ttir"));
        std::fs::write(&ttir, &kernel.ttir).map_err(|source| StoreError::Io {
            action: "write",
            path: ttir.clone(),
            source,
        })?;
        told.push(json!({
            "id": id.to_string(),
            "ttir": ttir,
            "name": name,
            "target": kernel.target,
            "options": kernel.options,
        }));
    }
    Ok(json!({"action": "compile", "out": out, "kernels": told}))
}
