//! Tasks of the repository: `cargo xtask setup|ci|gpu|bench`.
//!
//! `ci` is the one command that runs every test and installs what they need; `.ci/run` calls it and nothing else.

mod bench;
mod bench_judge;
mod ci;
mod gpu;
mod kills;
mod python;
mod step;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>
  setup             install what the tests need: interpreters with Triton 3.2, 3.6 and 3.9, ruff
  ci [STEP…]        format, lints, docs, all Rust and Python tests (installs what they need)
  gpu [--flaggems-dir DIR] [--python PATH]
                    what needs a card: both GPU suites under a real switch, checked
  gpu --campaign --cards N[,N…] [--flaggems-dir DIR] [--python PATH] [--ops-file FILE] [--rounds N] [--suite cpu] [--out DIR]
                    the same operators on each number of cards: makespan, card seconds, idle share, speed-up
  kills [--kills N] [--seed N]
                    campaigns on two virtual cards that are killed at random moments (200) and must not mind
  bench [ir|events|plan] ratios against the shell or a plain reader, both sides within one run
  bench coordinator [OPERATORS]
                    processor time and memory of a coordinator with 8 cards and 500 operators of simulated cells
  bench resume [OPERATORS]
                    how long 100,000 finished cells take until the next one is known, with and without index; duets' report
  bench judge [--campaigns N] [--seed N]
                    verdicts' errors and power by simulation, other tools' rules on the same draws, speed
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("setup") => python::setup(&root()).map(|_| ()),
        Some("ci") => ci::run(&root(), &rest),
        Some("gpu") => gpu::run(&root(), &rest),
        Some("kills") => kills::run(&root(), &rest),
        Some("bench") => bench::run(&root(), &rest),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The checkout's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}
