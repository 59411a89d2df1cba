//! What the engine tells whoever watches: a terminal, a log, nobody.

use switchback_model::card::Card;
use switchback_model::cell::CellKey;
use switchback_model::outcome::Outcome;
use switchback_model::verdict::ScreenVerdict;

use crate::campaign::Campaign;

/// A stretch of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Tuners choose their configs.
    Tune,
    /// Both sides' code.
    Screen,
    /// Rounds.
    Measure,
}

impl Phase {
    /// Its name in reports and on the terminal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Screen => "screen",
            Self::Measure => "measure",
        }
    }
}

/// Gets told what happens. All methods have an empty default.
pub trait Observer {
    /// A cell begins on a card; `done` of `total` cells are known to be done (the total grows when screening ends).
    fn cell_started(&mut self, cell: &CellKey, card: &Card, phase: Phase, done: usize, total: usize) {
        let _ = (cell, card, phase, done, total);
    }

    /// A cell runs, called some times a second for each that does.
    fn cell_running(&mut self, cell: &CellKey, elapsed_s: f64) {
        let _ = (cell, elapsed_s);
    }

    /// A cell has ended; without an outcome its supervisor was killed.
    fn cell_ended(&mut self, cell: &CellKey, outcome: Option<&Outcome>) {
        let _ = (cell, outcome);
    }

    /// A cell's latest attempt is recorded in the campaign, for tables that are written as things happen.
    fn recorded(&mut self, campaign: &Campaign, cell: &CellKey) {
        let _ = (campaign, cell);
    }

    /// All cards together are expected to be done in so many seconds, as far as it is known what is to be measured.
    fn remaining(&mut self, left_s: f64) {
        let _ = left_s;
    }

    /// An operator's code was compared.
    fn screened(&mut self, operator: &str, verdict: ScreenVerdict, first_stage: Option<&str>) {
        let _ = (operator, verdict, first_stage);
    }

    /// Something to be said once, on a line of its own.
    fn note(&mut self, text: &str) {
        let _ = text;
    }
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
