//! Runs a program to its end within a time limit and keeps what it printed (checks, listings; never a measurement).

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use switchback_model::order;
use switchback_suites::suite::ProgramOutput;

/// Most bytes kept of each stream.
const MOST_BYTES: u64 = 16 << 20;

/// Runs a command; whatever goes wrong is told in the output, as a status that is none and a text.
#[must_use]
pub fn run(command: &order::Command, limit: Duration) -> ProgramOutput {
    let failed = |text: String| ProgramOutput { status: None, stdout: String::new(), stderr: text };
    let Some((program, arguments)) = command.argv.split_first() else {
        return failed("no program was named".into());
    };
    let mut process = Command::new(program);
    process.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    std::os::unix::process::CommandExt::process_group(&mut process, 0);
    if !command.cwd.as_os_str().is_empty() {
        process.current_dir(&command.cwd);
    }
    for (name, value) in &command.env {
        match value {
            Some(value) => process.env(name, value),
            None => process.env_remove(name),
        };
    }
    let mut child = match process.spawn() {
        Ok(child) => child,
        Err(error) => return failed(format!("cannot start `{program}`: {error}")),
    };
    let stdout = child.stdout.take().map(read);
    let stderr = child.stderr.take().map(read);
    let start = Instant::now();
    let mut late = false;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.code(),
            Ok(None) if start.elapsed() > limit => {
                late = true;
                if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
                    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                }
                let _ = child.wait();
                break None;
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => return failed(format!("cannot wait for `{program}`: {error}")),
        }
    };
    let text = |stream: Option<std::thread::JoinHandle<Vec<u8>>>| {
        let bytes = stream.and_then(|thread| thread.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let mut stderr = text(stderr);
    if late {
        stderr.push_str(&format!("\nended after {} s", limit.as_secs()));
    }
    ProgramOutput { status, stdout: text(stdout), stderr }
}

fn read(mut stream: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.by_ref().take(MOST_BYTES).read_to_end(&mut bytes);
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> order::Command {
        order::Command { argv: vec!["sh".into(), "-c".into(), text.into()], ..order::Command::default() }
    }

    #[test]
    fn both_streams_and_the_status_come_back() {
        let output = run(&shell("echo out; echo err >&2; exit 3"), Duration::from_secs(10));
        assert_eq!(
            (output.status, output.stdout.as_str(), output.stderr.as_str()),
            (Some(3), "out\n", "err\n")
        );
    }

    #[test]
    fn a_hanging_program_is_ended_with_its_children() {
        let output = run(&shell("sleep 60 & sleep 60"), Duration::from_millis(50));
        assert_eq!(output.status, None);
        assert!(output.stderr.contains("ended after"), "{output:?}");
    }

    #[test]
    fn a_missing_program_is_told() {
        let command = order::Command { argv: vec!["no-such-program".into()], ..order::Command::default() };
        assert!(run(&command, Duration::from_secs(1)).stderr.contains("cannot start `no-such-program`"));
    }
}
