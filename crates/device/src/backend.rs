//! A back end: what differs between vendors, as data and two small functions.
//!
//! Each vendor's values lie in a file below; [`Backend::ALL`] is the only list of them.

mod cpu;
mod cuda;
mod musa;
mod rocm;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use switchback_model::capture::CaptureErrorClass;
use switchback_model::card::Card;
use switchback_model::outcome::DeviceFault;
use switchback_model::switch::Variables;

use crate::command::{self, CommandError};
use crate::telemetry::SamplerKind;

/// How long a listing tool may take; the first call after a driver is loaded takes seconds.
const LISTING_LIMIT: Duration = Duration::from_secs(60);

/// A vendor's kind of cards.
pub struct Backend {
    /// Its name: `cuda`, `musa`, `rocm`, `cpu`.
    pub name: &'static str,
    /// Variables that make cards visible to a process. The first is set for a cell, the others are removed; all are
    /// honoured where they are inherited. Empty where there are no cards.
    pub visibility: &'static [&'static str],
    /// Variables that are set beside it, so that the index means what the listing means by it.
    pub companions: &'static [(&'static str, &'static str)],
    /// The FlagGems vendor that is its own; empty for none.
    pub vendor: &'static str,
    /// True if the library's benchmarks can capture graphs on it.
    pub capture_supported: bool,
    /// Operators whose capture is known to break a process.
    pub capture_denied: &'static [&'static str],
    /// Texts of errors that end a process's device context.
    pub capture_fatal: &'static [&'static str],
    /// Texts of errors after which no capture of the process can be trusted.
    pub capture_poisoned: &'static [&'static str],
    /// Texts of errors that concern one case only.
    pub capture_recoverable: &'static [&'static str],
    /// Marks of a device error; one with a mark and none of the texts above is taken for fatal.
    pub device_errors: &'static [&'static str],
    /// True if the library has a matrix product for it that runs in clusters of blocks (Hopper) and can be kept off it.
    pub mm_cluster: bool,
    /// Texts by which a process is told that the card is gone, or of no use before it is reset.
    pub device_lost: &'static [&'static str],
    /// Command that lists all cards; empty where no listing tool is known.
    pub list_argv: &'static [&'static str],
    /// Tool that reads clocks, temperature and power; none where there is none.
    pub sampler: Option<SamplerKind>,
    read_listing: fn(&str) -> Vec<ListedCard>,
}

/// A card as the listing tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCard {
    /// The card.
    pub card: Card,
    /// What the tool says about it, by name: the conditions `device`, `driver`, `compute_capability`, `power_limit_w`,
    /// `clock_lock`, and others that are only recorded. Absent where the tool does not say.
    pub facts: BTreeMap<&'static str, String>,
}

/// Why cards could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// No tool is known that lists them.
    #[error("no tool is known that lists the cards of back end `{backend}`")]
    NoTool {
        /// The back end.
        backend: &'static str,
    },
    /// The tool failed.
    #[error("the cards of back end `{backend}` could not be listed")]
    Command {
        /// The back end.
        backend: &'static str,
        /// Why.
        source: CommandError,
    },
    /// The tool answered without a card.
    #[error("`{program}` lists no card: {said}")]
    NoCard {
        /// The tool.
        program: &'static str,
        /// The first line of its answer.
        said: String,
    },
}

impl ListingError {
    /// Advice that goes with the message.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoTool { .. } => "name the cards: `--devices 0,1`".into(),
            Self::Command { source: CommandError::Start { program, .. }, .. } => {
                format!("is the driver installed, and `{program}` on `PATH`?")
            }
            Self::Command { .. } | Self::NoCard { .. } => {
                "a driver updated without a restart, or a card that fell off the bus, answers like this"
                    .into()
            }
        }
    }
}

impl Backend {
    /// All back ends.
    pub const ALL: &[&Self] = &[&cuda::CUDA, &musa::MUSA, &rocm::ROCM, &cpu::CPU];

    /// The back end of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|backend| backend.name == name).copied()
    }

    /// A card known by its index only.
    #[must_use]
    pub fn card(&self, index: &str) -> Card {
        Card { backend: self.name.into(), index: index.into(), uuid: None, name: None }
    }

    /// The variables that make exactly this card visible to a cell. Other vendors' variables are left alone.
    #[must_use]
    pub fn child_variables(&self, card: &Card) -> Variables {
        let mut variables = Variables::new();
        let Some((first, others)) = self.visibility.split_first() else { return variables };
        variables.insert((*first).into(), Some(card.index.clone()));
        variables.extend(others.iter().map(|name| ((*name).to_owned(), None)));
        variables
            .extend(self.companions.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).into()))));
        variables
    }

    /// How far an error that a graph capture raised reaches; `text` is the exception with all that it was raised from.
    ///
    /// A fatal text anywhere in the chain is fatal, and so is a device error without a known text, since what follows in
    /// that process could not be trusted. Otherwise the chain's first exception decides: leaving the capture raises a
    /// second one that says only that the capture had failed.
    #[must_use]
    pub fn classify_capture_error(&self, text: &str) -> CaptureErrorClass {
        let text = text.to_lowercase();
        let holds = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(&word.to_lowercase()));
        let exceptions: Vec<&str> = text.split(CHAINED[0]).flat_map(|part| part.split(CHAINED[1])).collect();
        let is_known =
            |text: &str| holds(text, self.capture_recoverable) || holds(text, self.capture_poisoned);
        let is_fatal = |text: &str| {
            holds(text, self.capture_fatal) || holds(text, self.device_errors) && !is_known(text)
        };
        if exceptions.iter().any(|exception| is_fatal(exception)) {
            return CaptureErrorClass::Fatal;
        }
        let first = exceptions.first().copied().unwrap_or_default();
        if holds(first, self.capture_poisoned) && !holds(first, self.capture_recoverable) {
            return CaptureErrorClass::Poisoned;
        }
        CaptureErrorClass::Recoverable
    }

    /// What became of the card, by what a process said before it ended; none if it says nothing of that.
    ///
    /// Only texts that are known count: an operator's own fault is taken for its own.
    #[must_use]
    pub fn classify_death(&self, text: &str) -> Option<DeviceFault> {
        let text = text.to_lowercase();
        let holds = |words: &[&str]| words.iter().any(|word| text.contains(&word.to_lowercase()));
        if holds(self.device_lost) {
            return Some(DeviceFault::Lost);
        }
        holds(self.capture_fatal).then_some(DeviceFault::Poisoned)
    }

    /// Reads what the listing command printed; lines that are no card (errors printed on standard output) are ignored.
    ///
    /// The back end `cpu` has no command and lists its virtual cards whatever the text.
    #[must_use]
    pub fn read_listing(&self, stdout: &str) -> Vec<ListedCard> {
        (self.read_listing)(stdout)
    }

    /// Lists all cards of the machine, whatever a visibility variable says (see [`crate::mask`]).
    ///
    /// # Errors
    /// No listing tool is known, it fails, or it lists no card.
    pub fn list(&self) -> Result<Vec<ListedCard>, ListingError> {
        let Some(program) = self.list_argv.first() else {
            let cards = self.read_listing("");
            return if cards.is_empty() {
                Err(ListingError::NoTool { backend: self.name })
            } else {
                Ok(cards)
            };
        };
        let argv: Vec<String> = self.list_argv.iter().map(|&word| word.to_owned()).collect();
        let stdout = command::run(&argv, LISTING_LIMIT)
            .map_err(|source| ListingError::Command { backend: self.name, source })?;
        let cards = self.read_listing(&stdout);
        if cards.is_empty() {
            let said =
                stdout.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim().to_owned();
            return Err(ListingError::NoCard { program, said });
        }
        Ok(cards)
    }
}

/// What is to be said of a card whose power limit was set below its own: it is held down, and so are its clocks.
#[must_use]
pub fn power_capped(facts: &BTreeMap<&'static str, String>) -> Option<String> {
    let watts = |name: &str| crate::number::number(facts.get(name)?);
    let (limit_w, own_w) = (watts("power_limit_w")?, watts("power_default_limit_w")?);
    (limit_w < own_w).then(|| format!("the power limit is {limit_w} W, the card's own is {own_w} W"))
}

/// What Python prints between an exception and the one that was raised from it, lower case.
const CHAINED: [&str; 2] =
    ["during handling of the above exception", "the above exception was the direct cause of the following"];

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Backend").field(&self.name).finish()
    }
}

/// A tool's answer to a question about a card: none for `[N/A]`, `[Not Supported]`, `N/A`, `[Unknown Error]`, nothing.
fn told(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty() && !text.starts_with('[') && !text.eq_ignore_ascii_case("n/a")).then_some(text)
}

#[cfg(test)]
mod tests;
