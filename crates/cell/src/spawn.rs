//! Starts a child so that it cannot outlive its supervisor unnoticed: a session of its own, a parent-death signal.
//!
//! The only place of this crate with `unsafe`: what runs between `fork` and `exec` may call nothing but the system.

use std::ffi::OsString;
use std::io::{self, PipeReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal, setsid};
use switchback_model::order;

/// Starts the child, and returns it with the pipe that its standard output and error go to.
///
/// The parent-death signal is sent when the *thread* ends that started the child: call it from the main thread.
///
/// # Errors
/// The program or its folder is not there or cannot be used; then no process is left.
pub(crate) fn spawn(
    command: &order::Command,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> io::Result<(Child, PipeReader)> {
    let (program, arguments) = command
        .argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the order has an empty command"))?;
    if !command.cwd.is_dir() {
        let text = format!("its folder `{}` is not there", command.cwd.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    let (output, input) = io::pipe()?;
    let mut child = Command::new(program);
    child
        .args(arguments)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(input.try_clone()?)
        .stderr(input);
    let supervisor = getpid();
    let before_exec = move || {
        setsid()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The supervisor may have died before the signal was asked for.
        if getppid() == Some(supervisor) { Ok(()) } else { Err(io::Error::from(io::ErrorKind::BrokenPipe)) }
    };
    // SAFETY: the closure makes three system calls and neither allocates nor takes a lock; the error it may build
    // holds no allocation either.
    #[allow(unsafe_code, reason = "there is no safe way to run code between fork and exec")]
    unsafe {
        child.pre_exec(before_exec);
    }
    // `child` is dropped here and with it this process's writing ends of the pipe.
    Ok((child.spawn()?, output))
}
