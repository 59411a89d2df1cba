//! Clocks, temperature, power, utilisation and throttle reasons of a card, the same columns on every back end.
//!
//! A [`Sampler`] asks a library ([`nvml`]) or runs a vendor's tool; [`open`] chooses. The supervisor decides when to
//! sample, writes `telemetry.tsv` in the format of [`tsv`] and has [`summary`] add the readings up. A sampler that is
//! not there is missing evidence, not an error of the measurement: it says so once.

pub mod amd_smi;
mod json;
pub mod mthreads_gmi;
pub mod nvidia_smi;
pub mod nvml;
pub mod summary;
pub mod throttle;
pub mod tsv;

use std::sync::Arc;
use std::time::Duration;

use switchback_model::card::Card;

use crate::backend::Backend;
use crate::command::{self, CommandError};

/// How long a sampling tool may take.
pub(crate) const SAMPLING_LIMIT: Duration = Duration::from_secs(10);

/// Time between two readings through a library.
pub const LIBRARY_INTERVAL: Duration = Duration::from_secs(1);

/// Time between two runs of a tool: each is a process beside a measurement.
pub const TOOL_INTERVAL: Duration = Duration::from_secs(5);

/// One reading of one card; a field that the tool does not tell is none, never zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The card's index as the tool prints it.
    pub index: String,
    /// Clock of the multiprocessors, MHz.
    pub sm_clock_mhz: Option<f64>,
    /// Clock of the memory, MHz.
    pub mem_clock_mhz: Option<f64>,
    /// Temperature of the chip, °C.
    pub temp_c: Option<f64>,
    /// Power draw, W.
    pub power_w: Option<f64>,
    /// Share of time with a kernel running, percent.
    pub util_pct: Option<f64>,
    /// Why the clock is held down: names joined by `+` as in [`throttle::REASONS`], `none` for no reason.
    pub throttle: Option<String>,
    /// Power limit in force, W.
    pub power_limit_w: Option<f64>,
    /// Memory in use, MiB. What a driver keeps for itself counts with some tools and not with others.
    pub mem_used_mib: Option<f64>,
    /// Memory in all, MiB.
    pub mem_total_mib: Option<f64>,
    /// Why fields are absent, in the tool's words: `power_w: Unknown Error; util_pct: N/A`; and what else it said.
    pub remark: Option<String>,
}

impl Reading {
    /// True if nothing but the index was told.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self { index: self.index.clone(), remark: self.remark.clone(), ..Self::default() }
    }

    /// A figure as a tool printed it; words in its place are remembered beside the column's name.
    pub(crate) fn figure(&mut self, column: &str, text: &str) -> Option<f64> {
        match crate::number::read(text) {
            Ok(value) => Some(value),
            Err(words) => {
                if !words.is_empty() {
                    self.note(&format!("{column}: {words}"));
                }
                None
            }
        }
    }

    /// Adds to the remark.
    pub(crate) fn note(&mut self, text: &str) {
        let remark = self.remark.get_or_insert_default();
        if !remark.is_empty() {
            remark.push_str("; ");
        }
        remark.push_str(text);
    }

    /// Free memory, MiB; none where the tool does not tell, which is neither free nor full.
    #[must_use]
    pub fn mem_free_mib(&self) -> Option<f64> {
        Some(self.mem_total_mib? - self.mem_used_mib?)
    }

    /// True if heat or the power brake held the clock down: a round with such a reading is measured again.
    #[must_use]
    pub fn is_braked(&self) -> bool {
        self.throttle.as_deref().is_some_and(|reasons| reasons.split('+').any(throttle::is_braking))
    }
}

/// Why there is no reading.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The tool failed.
    #[error("no telemetry")]
    Command(#[from] CommandError),
    /// The tool answered, but not with a reading.
    #[error("no telemetry: `{program}` gave no reading: {said}")]
    NoReading {
        /// The tool.
        program: String,
        /// The first line of its answer.
        said: String,
    },
    /// The library does not read this card.
    #[error("no telemetry: NVML does not read card `{card}`: {said}")]
    Library {
        /// The card's UUID, or back end and index.
        card: String,
        /// What the library says.
        said: String,
    },
    /// The card is gone: fallen off the bus, or to be reset before it computes again.
    #[error("card `{card}` is lost: {said}")]
    CardLost {
        /// The card's UUID, or back end and index.
        card: String,
        /// What the library or the tool says.
        said: String,
    },
}

/// Reads a card's state.
pub trait Sampler: Send {
    /// What it reads with, for messages.
    fn name(&self) -> &str;

    /// How often it may be asked without being felt by what is measured.
    fn interval(&self) -> Duration {
        TOOL_INTERVAL
    }

    /// One reading of each card that it watches.
    ///
    /// # Errors
    /// The tool or library gives none.
    fn sample(&mut self) -> Result<Vec<Reading>, TelemetryError>;
}

/// Which tool a back end samples with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SamplerKind {
    /// `nvidia-smi --query-gpu`.
    NvidiaSmi,
    /// `mthreads-gmi -q --json`.
    MthreadsGmi,
    /// `amd-smi metric --json`.
    AmdSmi,
}

impl SamplerKind {
    /// The command that reads one card, or all of them.
    #[must_use]
    pub fn argv(self, card: Option<&Card>) -> Vec<String> {
        match self {
            Self::NvidiaSmi => nvidia_smi::argv(nvidia_smi::FIELDS, card),
            Self::MthreadsGmi => mthreads_gmi::argv(card),
            Self::AmdSmi => amd_smi::argv(card),
        }
    }

    /// Reads what that command printed; what is no reading is ignored.
    #[must_use]
    pub fn parse(self, stdout: &str) -> Vec<Reading> {
        match self {
            Self::NvidiaSmi => nvidia_smi::parse(nvidia_smi::FIELDS, stdout),
            Self::MthreadsGmi => mthreads_gmi::parse(stdout),
            Self::AmdSmi => amd_smi::parse(stdout),
        }
    }

    /// The same, with what the tool said instead where there is no reading.
    ///
    /// # Errors
    /// There is none.
    pub fn readings(self, program: &str, stdout: &str) -> Result<Vec<Reading>, TelemetryError> {
        readings(program, self.parse(stdout), stdout)
    }
}

/// A sampler, and what is to be said of the choice.
pub struct Opened {
    /// The sampler.
    pub sampler: Box<dyn Sampler>,
    /// Why it is not the better one.
    pub remark: Option<String>,
}

/// Opens a sampler for one card: the vendor's library where there is one, else its tool; none where its back end has none.
#[must_use]
pub fn open(card: &Card) -> Option<Opened> {
    Some(match Backend::named(&card.backend)?.sampler? {
        SamplerKind::NvidiaSmi => open_nvidia(card, nvml::Library::load()),
        kind => Opened { sampler: Box::new(Tool { kind, argv: kind.argv(Some(card)) }), remark: None },
    })
}

fn open_nvidia(card: &Card, library: Result<Arc<nvml::Library>, nvml::NvmlAbsent>) -> Opened {
    let opened = match library {
        Ok(library) => nvml::NvmlSampler::new(library, card.clone()).map_err(|error| error.to_string()),
        Err(absent) => Err(absent.to_string()),
    };
    match opened {
        Ok(sampler) => Opened { sampler: Box::new(sampler), remark: None },
        Err(why) => Opened {
            sampler: Box::new(nvidia_smi::NvidiaSmi::new(card.clone())),
            remark: Some(format!("{why}; `nvidia-smi` is run instead")),
        },
    }
}

/// A sampler that runs a command and reads its output.
struct Tool {
    kind: SamplerKind,
    argv: Vec<String>,
}

impl Sampler for Tool {
    fn name(&self) -> &str {
        &self.argv[0]
    }

    fn sample(&mut self) -> Result<Vec<Reading>, TelemetryError> {
        let stdout = command::run(&self.argv, SAMPLING_LIMIT)?;
        self.kind.readings(&self.argv[0], &stdout)
    }
}

/// The readings, or the error that says what the tool answered instead.
fn readings(program: &str, readings: Vec<Reading>, stdout: &str) -> Result<Vec<Reading>, TelemetryError> {
    if readings.iter().all(Reading::is_empty) {
        let said = json::fault(stdout).unwrap_or_else(|| {
            stdout.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing").to_owned()
        });
        return Err(TelemetryError::NoReading { program: program.into(), said });
    }
    Ok(readings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_no_reading_on_any_back_end() {
        for kind in [SamplerKind::NvidiaSmi, SamplerKind::MthreadsGmi, SamplerKind::AmdSmi] {
            for text in [
                "",
                "no such tool",
                "{broken json",
                "WARNING: No JSON data to report",
                "[[[]]]",
                "{}",
                "null",
                "Failed to initialize NVML: Driver/library version mismatch",
                "\u{0}\u{ffff},,,,,,,",
                "{\"GPU\": 7}",
            ] {
                assert_eq!(kind.parse(text), [], "{kind:?} {text}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}", columns in proptest::collection::vec("[0-9.,%\\[\\]A-Za-z -]{0,9}", 0..12)) {
            let line = columns.join(", ");
            for kind in [SamplerKind::NvidiaSmi, SamplerKind::MthreadsGmi, SamplerKind::AmdSmi] {
                let _ = kind.parse(&text);
                let _ = kind.parse(&format!("{{\"GPU\": [{{\"Index\": \"{line}\", \"Clocks\": {{\"Graphics\": \"{line}\"}}}}]}}"));
                for reading in kind.parse(&line) {
                    // What was read is written and read back as it was.
                    let sample = tsv::Sample { reading, ..tsv::Sample::default() };
                    proptest::prop_assert_eq!(tsv::read(&(tsv::header() + &tsv::row(&sample))), [sample]);
                }
            }
            for backend in Backend::ALL {
                let _ = backend.read_listing(&text);
                let _ = backend.read_listing(&line);
                let _ = backend.classify_capture_error(&text);
            }
            let _ = tsv::read(&text);
            let _ = crate::mask::parse(&text);
        }
    }

    #[test]
    fn a_tool_that_answers_without_a_reading_is_quoted() {
        let mut tool = Tool {
            kind: SamplerKind::NvidiaSmi,
            argv: ["sh", "-c", "echo; echo Unable to determine the device handle"].map(String::from).to_vec(),
        };
        let error = tool.sample().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no telemetry: `sh` gave no reading: Unable to determine the device handle"
        );
    }

    #[test]
    fn heat_and_power_brake_are_told_from_the_power_cap() {
        let reading = |throttle: &str| Reading { throttle: Some(throttle.into()), ..Reading::default() };
        assert!(reading("sw_power_cap+hw_thermal_slowdown").is_braked());
        assert!(reading("hw_power_brake_slowdown").is_braked());
        assert!(!reading("sw_power_cap+gpu_idle").is_braked());
        assert!(!reading("hw_slowdown").is_braked(), "a change of the power state shows it too");
        assert!(!reading("none").is_braked());
        assert!(!Reading::default().is_braked());
    }

    #[test]
    fn a_card_without_a_sampler_has_none() {
        assert!(open(&Backend::named("cpu").unwrap().card("0")).is_none());
        let musa = open(&Backend::named("musa").unwrap().card("7")).unwrap();
        assert_eq!((musa.sampler.name(), musa.remark), ("mthreads-gmi", None));
    }
}
