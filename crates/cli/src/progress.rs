//! What is running, what is done and what remains, on stderr; silent where nobody watches.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use switchback_engine::campaign::Campaign;
use switchback_engine::observer::{Observer, Phase};
use switchback_model::card::Card;
use switchback_model::cell::CellKey;
use switchback_model::outcome::{Ending, Outcome};
use switchback_model::verdict::ScreenVerdict;
use switchback_report::text::one_line;

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volume {
    /// Nothing but errors.
    Quiet,
    /// A moving line on a terminal, notes elsewhere.
    Normal,
    /// A line for each cell as well.
    Verbose,
}

/// Draws progress.
pub struct Progress {
    bar: ProgressBar,
    volume: Volume,
}

impl Progress {
    /// Progress on this process's stderr.
    pub fn new(volume: Volume) -> Self {
        let watched = std::io::stderr().is_terminal() && volume > Volume::Quiet;
        let bar = if watched {
            ProgressBar::new(0)
        } else {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
        };
        let style =
            ProgressStyle::with_template("{prefix:8} {pos}/{len} cells  {msg}  {elapsed} so far, {eta} left")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self { bar, volume }
    }

    /// Takes the moving line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, text: &str) {
        if self.bar.is_hidden() {
            anstream::eprintln!("{text}");
        } else {
            self.bar.println(text);
        }
    }
}

impl Observer for Progress {
    fn cell_started(&mut self, cell: &CellKey, _card: &Card, phase: Phase, done: usize, total: usize) {
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
        self.bar.set_prefix(phase.name());
        self.bar.set_message(one_line(&cell.to_string()));
        if self.volume == Volume::Verbose {
            self.say(&format!("{} {} of {total}: {}", phase.name(), done + 1, one_line(&cell.to_string())));
        }
    }

    fn cell_running(&mut self, cell: &CellKey, elapsed_s: f64) {
        if elapsed_s >= 1.0 {
            self.bar.set_message(format!(
                "{} ({:.0?})",
                one_line(&cell.to_string()),
                Duration::from_secs_f64(elapsed_s.floor())
            ));
        }
        self.bar.tick();
    }

    fn cell_ended(&mut self, cell: &CellKey, outcome: Option<&Outcome>) {
        if self.volume == Volume::Quiet {
            return;
        }
        let Some(outcome) = outcome else { return };
        match outcome.ending {
            Ending::Timeout => self.say(&format!(
                "!!! {} {:.0} s: {}",
                switchback_model::marker::CELL_TIMEOUT,
                outcome.elapsed_s,
                one_line(&cell.to_string())
            )),
            Ending::Crashed => {
                self.say(&format!("{}: {}", one_line(&cell.to_string()), one_line(&outcome.reason)));
            }
            Ending::Completed | Ending::Failed if self.volume == Volume::Verbose => self.say(&format!(
                "  status {} after {:.1} s, {} rows",
                outcome.shell_status(),
                outcome.elapsed_s,
                outcome.counts.success
            )),
            _ => {}
        }
    }

    fn recorded(&mut self, campaign: &Campaign, cell: &CellKey) {
        // The tables are derived and written again at the end; a disk that refuses them now refuses the next attempt.
        let _ = crate::exports::record(campaign, cell);
    }

    fn screened(&mut self, operator: &str, verdict: ScreenVerdict, first_stage: Option<&str>) {
        if self.volume == Volume::Verbose {
            let stage = first_stage.map(|stage| format!(" at {stage}")).unwrap_or_default();
            self.say(&format!("  {}: {verdict}{stage}", one_line(operator)));
        }
    }

    fn note(&mut self, text: &str) {
        if self.volume > Volume::Quiet {
            self.say(&format!("note: {}", one_line(text)));
        }
    }
}

/// Kernels that are compiled, on a moving line.
pub struct Kernels(ProgressBar);

impl Kernels {
    /// Progress on this process's stderr.
    pub fn new(volume: Volume) -> Self {
        let watched = std::io::stderr().is_terminal() && volume > Volume::Quiet;
        let bar = ProgressBar::with_draw_target(
            None,
            if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() },
        );
        let style = ProgressStyle::with_template(
            "compile  {pos}/{len} kernels  {bar:30}  {elapsed} so far, {eta} left",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self(bar)
    }

    /// So many are done of all.
    pub fn set(&self, done: usize, all: usize) {
        self.0.set_length(all as u64);
        self.0.set_position(done as u64);
    }

    /// Takes the moving line away.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
