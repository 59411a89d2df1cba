//! Runs a vendor's tool: in the C locale, with a deadline, with bounded output, its exit status checked first.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The most that is read of a tool's output.
const OUTPUT_LIMIT_BYTES: u64 = 16 * 1024 * 1024;

/// How often a running tool is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Why a tool gave no output.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started.
    #[error("`{program}` could not be started")]
    Start {
        /// The tool.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// It was still running at the deadline and was killed.
    #[error("`{program}` did not answer within {} s", .limit.as_secs_f64())]
    Deadline {
        /// The tool.
        program: String,
        /// The deadline.
        limit: Duration,
    },
    /// It failed; some tools say why on standard output.
    #[error("`{program}` failed with {status}: {said}")]
    Status {
        /// The tool.
        program: String,
        /// Its status.
        status: std::process::ExitStatus,
        /// The first line it printed, of either stream.
        said: String,
        /// All it printed on standard output.
        stdout: String,
    },
}

/// Runs `argv` and returns what it printed on standard output, at most 16 MiB.
///
/// # Errors
/// It cannot be started, does not end within `limit`, or ends with a status other than 0.
///
/// # Panics
/// If `argv` is empty.
pub fn run(argv: &[String], limit: Duration) -> Result<String, CommandError> {
    let program = argv[0].clone();
    let start = |source| CommandError::Start { program: program.clone(), source };
    let mut child = Command::new(&argv[0])
        .args(&argv[1..])
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start)?;
    let stdout = read_aside(child.stdout.take());
    let stderr = read_aside(child.stderr.take());
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(start)? {
            break status;
        }
        if Instant::now() >= deadline {
            // It may be gone already, and a tool stuck in its driver is not waited for.
            let _ = child.kill();
            let _ = child.try_wait();
            return Err(CommandError::Deadline { program, limit });
        }
        thread::sleep(POLL);
    };
    // A process that the tool left behind may hold the pipes: what has arrived soon after its end is all.
    let rest = Duration::from_secs(1);
    let stdout = stdout.recv_timeout(rest).unwrap_or_default();
    let stderr = stderr.recv_timeout(rest).unwrap_or_default();
    if status.success() {
        return Ok(stdout);
    }
    let said = [&stderr, &stdout]
        .iter()
        .flat_map(|text| text.lines())
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("it printed nothing")
        .to_owned();
    Err(CommandError::Status { program, status, said, stdout })
}

fn read_aside(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(OUTPUT_LIMIT_BYTES).read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit_ms: u64) -> Result<String, CommandError> {
        run(&["sh".into(), "-c".into(), script.into()], Duration::from_millis(limit_ms))
    }

    #[test]
    fn output_comes_back_in_the_c_locale() {
        assert_eq!(sh("echo $LC_ALL", 10_000).unwrap(), "C.UTF-8\n");
    }

    #[test]
    fn an_error_printed_on_standard_output_is_an_error() {
        let error = sh("echo; echo 'Failed to initialize NVML: mismatch'; exit 18", 10_000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sh` failed with exit status: 18: Failed to initialize NVML: mismatch"
        );
    }

    #[test]
    fn a_stuck_tool_is_given_up() {
        assert!(matches!(sh("exec sleep 60", 50), Err(CommandError::Deadline { .. })));
    }

    #[test]
    fn a_missing_tool_is_named() {
        let error = run(&["no-such-tool-of-a-vendor".into()], Duration::from_secs(1)).unwrap_err();
        assert_eq!(error.to_string(), "`no-such-tool-of-a-vendor` could not be started");
    }
}
