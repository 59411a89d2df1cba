//! What is running on which card, what is done and what remains, on stderr: moving lines on a terminal, now and then a line
//! elsewhere.

mod view;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use switchback_engine::campaign::Campaign;
use switchback_engine::observer::{Observer, Phase};
use switchback_model::card::Card;
use switchback_model::cell::CellKey;
use switchback_model::outcome::{Ending, Outcome};
use switchback_model::verdict::ScreenVerdict;
use switchback_report::text::one_line;

use view::{CardLine, View};

/// How often somebody who watches no terminal is told how far it is.
const PLAIN_PERIOD: Duration = Duration::from_secs(60);

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
    begun: Instant,
    told: Instant,
    /// What was expected to be left, and when.
    left: Option<(Duration, Instant)>,
    view: View,
}

impl Progress {
    /// Progress on this process's stderr.
    pub fn new(volume: Volume) -> Self {
        let watched = std::io::stderr().is_terminal() && volume > Volume::Quiet;
        let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
        let now = Instant::now();
        Self { bar, volume, begun: now, told: now, left: None, view: View::default() }
    }

    /// Takes the moving lines away.
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

    /// Brings the moving lines up to date or, where there are none, tells how far it is once a while.
    fn draw(&mut self) {
        self.view.elapsed = self.begun.elapsed();
        self.view.left = self.left.map(|(left, at)| left.saturating_sub(at.elapsed()));
        if !self.bar.is_hidden() {
            let width = terminal_size::terminal_size_of(std::io::stderr())
                .map_or(100, |(width, _)| usize::from(width.0));
            self.bar.set_message(self.view.lines(width));
            self.bar.tick();
        } else if self.volume > Volume::Quiet && self.told.elapsed() >= PLAIN_PERIOD {
            self.told = Instant::now();
            self.say(&format!("progress: {}", self.view.line()));
        }
    }
}

impl Observer for Progress {
    fn cell_started(&mut self, cell: &CellKey, card: &Card, phase: Phase, done: usize, total: usize) {
        let text = one_line(&cell.to_string());
        (self.view.phase, self.view.done, self.view.total) = (phase.name(), done, total);
        let line = CardLine { index: card.index.clone(), cell: text.clone(), elapsed: Duration::ZERO };
        self.view.cards.insert((card.index.clone(), text.clone()), line);
        self.view.many |= self.view.cards.len() > 1;
        if self.volume == Volume::Verbose {
            self.say(&format!("{} {} of {total}: {text}", phase.name(), done + 1));
        }
        self.draw();
    }

    fn cell_running(&mut self, cell: &CellKey, elapsed_s: f64) {
        let text = one_line(&cell.to_string());
        if let Some(card) = self.view.cards.values_mut().find(|card| card.cell == text) {
            card.elapsed = Duration::try_from_secs_f64(elapsed_s).unwrap_or_default();
        }
        self.draw();
    }

    fn remaining(&mut self, left_s: f64) {
        self.left = Duration::try_from_secs_f64(left_s).ok().map(|left| (left, Instant::now()));
    }

    fn cell_ended(&mut self, cell: &CellKey, outcome: Option<&Outcome>) {
        let text = one_line(&cell.to_string());
        self.view.cards.retain(|_, card| card.cell != text);
        self.view.done += usize::from(outcome.is_some());
        self.view.failed += usize::from(outcome.is_none_or(|outcome| outcome.shell_status() != 0));
        self.draw();
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
