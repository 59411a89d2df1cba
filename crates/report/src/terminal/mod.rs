//! Reports for a terminal: plain lines, aligned by columns, coloured where the caller asks for it.
//!
//! Width and colour are arguments; the caller knows the terminal. From a width of 60 columns on no line is longer
//! than the width, save those that the caller hands in to be copied (paths, commands) and rows of a benchmark's own table.

mod bars;
mod benchmark;
mod cases;
mod evidence;
mod floor;
pub(crate) mod grid;
mod report;
mod run;
mod screen;

use anstyle::{AnsiColor, Style};

use crate::facts::Standing;

pub(crate) use cases::case_remarks;
pub use cases::{cases_table, named_cases_table};
pub use evidence::{evidence, operator_with_cases};
pub use floor::{FloorReport, FloorRow, floor_table};
pub use report::render;
pub use run::{RunReport, RunRow, run_table};
pub use screen::screen_table;

/// How a terminal wants its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Columns; less than 60 is read as 60.
    pub width: usize,
    /// True if colours may be used.
    pub colour: bool,
}

impl TerminalStyle {
    /// No colours.
    #[must_use]
    pub fn plain(width: usize) -> Self {
        Self { width, colour: false }
    }

    pub(crate) fn columns(self) -> usize {
        self.width.max(60)
    }

    pub(crate) fn paint(self, text: &str, style: Style) -> String {
        if self.colour && style != Style::new() && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

pub(crate) const LABEL: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

fn colour_of(standing: Standing) -> Style {
    let plain = Style::new();
    match standing {
        Standing::Wrong => AnsiColor::Red.on_default().bold(),
        Standing::Faster => AnsiColor::Green.on_default(),
        Standing::Slower => AnsiColor::Red.on_default(),
        Standing::Inconclusive | Standing::NoRows | Standing::Unmeasured => AnsiColor::Yellow.on_default(),
        Standing::Equivalent => plain,
        Standing::Control | Standing::Same | Standing::NotCompiled => FAINT,
    }
}
