//! The `switchback` command: arguments in, exit code out. What it does is in `commands/`.

mod args;
mod command_line;
mod commands;
mod config;
mod exports;
mod failure;
mod plan_table;
mod progress;
mod session;

use std::process::ExitCode;

fn main() -> ExitCode {
    let ended = config::parse(std::env::args_os()).and_then(commands::run);
    ExitCode::from(ended.map_or_else(|error| failure::report(&error).code(), |ended| ended.code()))
}
