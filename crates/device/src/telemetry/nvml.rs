//! NVML, the library below `nvidia-smi`, loaded when it is first asked for: a reading without a process beside a
//! measurement.
//!
//! Where the library is not there, or is not the running driver's, its absence is told in words and
//! [`super::open`] takes the tool instead. A question that a card does not answer is an absent field; a card that is
//! gone is an error of its own kind.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::{Bits, NvmlError};
use nvml_wrapper::{Device, Nvml};
use switchback_model::card::Card;

use super::{Reading, Sampler, TelemetryError, throttle};
use crate::occupancy::ComputeProcess;

/// The name under which the driver installs the library.
pub const LIBRARY: &str = "libnvidia-ml.so.1";

/// Longest name of a process that is asked for, bytes.
const PROCESS_NAME_BYTES: usize = 256;

/// The loaded library.
#[derive(Debug)]
pub struct Library(Nvml);

/// Why the library gives nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("NVML: {0}")]
pub struct NvmlAbsent(String);

impl Library {
    /// The machine's library, loaded once a process.
    ///
    /// # Errors
    /// It is not installed, or another driver's than the one that runs.
    pub fn load() -> Result<Arc<Self>, NvmlAbsent> {
        static LOADED: OnceLock<Result<Arc<Library>, NvmlAbsent>> = OnceLock::new();
        LOADED.get_or_init(|| Self::at(Path::new(LIBRARY)).map(Arc::new)).clone()
    }

    /// The library in a file.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn at(path: &Path) -> Result<Self, NvmlAbsent> {
        let name: &OsStr = path.as_os_str();
        Nvml::builder().lib_path(name).init().map(Self).map_err(|error| {
            // The loader's own text names the library and the folders' verdict; the wrapper's prefix adds nothing.
            NvmlAbsent(match error {
                NvmlError::LibloadingError(source) => source.to_string(),
                other => other.to_string(),
            })
        })
    }

    fn device(&self, card: &Card) -> Result<Device<'_>, NvmlError> {
        match (&card.uuid, card.index.parse()) {
            (Some(uuid), _) => self.0.device_by_uuid(uuid.as_str()),
            (None, Ok(index)) => self.0.device_by_index(index),
            (None, Err(_)) => Err(NvmlError::InvalidArg),
        }
    }

    /// One reading of a card.
    ///
    /// # Errors
    /// The card is not there any more, or the library does not know it.
    pub fn read(&self, card: &Card) -> Result<Reading, TelemetryError> {
        let device = self.device(card).map_err(|error| failure(card, &error))?;
        let mut answers = Answers { card, reading: Reading::default() };
        let index = answers.take("index", device.index())?;
        let reasons = match device.current_throttle_reasons_strict() {
            // A reason that this library's header does not name yet.
            Err(NvmlError::IncorrectBits(Bits::U64(bits))) => Ok(bits),
            answer => answer.map(|reasons| reasons.bits()),
        };
        let whole = |value: Option<u32>| value.map(f64::from);
        let watts = |milliwatts: Option<u32>| milliwatts.map(|it| f64::from(it) / 1000.0);
        #[allow(clippy::cast_precision_loss, reason = "a card's memory is far below 2^53 bytes")]
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
        let read = Reading {
            index: index.map_or_else(|| card.index.clone(), |it| it.to_string()),
            sm_clock_mhz: whole(answers.take("sm_clock_mhz", device.clock_info(Clock::SM))?),
            mem_clock_mhz: whole(answers.take("mem_clock_mhz", device.clock_info(Clock::Memory))?),
            temp_c: whole(answers.take("temp_c", device.temperature(TemperatureSensor::Gpu))?),
            power_w: watts(answers.take("power_w", device.power_usage())?),
            util_pct: whole(answers.take("util_pct", device.utilization_rates().map(|it| it.gpu))?),
            throttle: answers.take("throttle", reasons)?.map(throttle::names),
            power_limit_w: watts(answers.take("power_limit_w", device.power_management_limit())?),
            ..Reading::default()
        };
        let memory = answers.take("mem_used_mib", device.memory_info())?;
        Ok(Reading {
            mem_used_mib: memory.as_ref().map(|it| mib(it.used)),
            mem_total_mib: memory.map(|it| mib(it.total)),
            remark: answers.reading.remark,
            ..read
        })
    }

    /// The processes that compute on a card; none where the library does not tell them.
    #[must_use]
    pub fn compute_processes(&self, card: &Card) -> Option<Vec<ComputeProcess>> {
        let processes = self.device(card).and_then(|device| device.running_compute_processes()).ok()?;
        let name = |pid| {
            self.0.sys_process_name(pid, PROCESS_NAME_BYTES).unwrap_or_else(|_| "[Not Found]".to_owned())
        };
        Some(processes.into_iter().map(|it| ComputeProcess { pid: it.pid, name: name(it.pid) }).collect())
    }
}

/// A card's answers, and what it said in the place of those that it did not give.
struct Answers<'a> {
    card: &'a Card,
    reading: Reading,
}

impl Answers<'_> {
    /// An answer; none where the card does not answer that question, an error where it does not answer at all.
    fn take<T>(&mut self, column: &str, answer: Result<T, NvmlError>) -> Result<Option<T>, TelemetryError> {
        match answer {
            Ok(value) => Ok(Some(value)),
            Err(
                error @ (NvmlError::GpuLost
                | NvmlError::ResetRequired
                | NvmlError::DriverNotLoaded
                | NvmlError::Uninitialized
                | NvmlError::LibRmVersionMismatch),
            ) => Err(failure(self.card, &error)),
            // Not supported, not permitted, a symbol of a later library, an error that has no name.
            Err(error) => {
                self.reading.note(&format!("{column}: {error}"));
                Ok(None)
            }
        }
    }
}

fn failure(card: &Card, error: &NvmlError) -> TelemetryError {
    let card = card.lock_name();
    match error {
        NvmlError::GpuLost | NvmlError::ResetRequired => {
            TelemetryError::CardLost { card, said: error.to_string() }
        }
        _ => TelemetryError::Library { card, said: error.to_string() },
    }
}

/// Samples one card through the library.
pub struct NvmlSampler {
    library: Arc<Library>,
    card: Card,
}

impl NvmlSampler {
    /// A sampler that has read the card once.
    ///
    /// # Errors
    /// The library gives no reading of this card: it is a part of one (MIG), or not known.
    pub fn new(library: Arc<Library>, card: Card) -> Result<Self, TelemetryError> {
        if card.uuid.as_deref().is_some_and(|uuid| uuid.starts_with("MIG-")) {
            let said = "a part of a card has no clocks of its own".into();
            return Err(TelemetryError::Library { card: card.lock_name(), said });
        }
        if library.read(&card)?.is_empty() {
            return Err(TelemetryError::Library {
                card: card.lock_name(),
                said: "it answers nothing".into(),
            });
        }
        Ok(Self { library, card })
    }
}

impl Sampler for NvmlSampler {
    fn name(&self) -> &str {
        "nvml"
    }

    fn interval(&self) -> Duration {
        super::LIBRARY_INTERVAL
    }

    fn sample(&mut self) -> Result<Vec<Reading>, TelemetryError> {
        Ok(vec![self.library.read(&self.card)?])
    }
}
