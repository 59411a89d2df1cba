//! Processes of others that compute on a card: beside them no measurement is what it seems.

use switchback_model::card::Card;

use crate::backend::Backend;
use crate::command::{self, CommandError};
use crate::telemetry::{self, Reading, SAMPLING_LIMIT, SamplerKind, TelemetryError, nvml};

/// A process that computes on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeProcess {
    /// Its id, as the driver knows it: within a container it may name no process that can be seen.
    pub pid: u32,
    /// Its program, or what the tool prints in its place.
    pub name: String,
}

/// The processes that compute on a card now; none told for a back end without a tool that lists them.
///
/// # Errors
/// The tool fails.
pub fn compute_processes(card: &Card) -> Result<Vec<ComputeProcess>, CommandError> {
    let sampler = Backend::named(&card.backend).and_then(|backend| backend.sampler);
    // The other vendors' tools list processes in forms that were not seen, so they are not guessed.
    if sampler != Some(SamplerKind::NvidiaSmi) {
        return Ok(Vec::new());
    }
    if let Ok(Some(processes)) = nvml::Library::load().map(|library| library.compute_processes(card)) {
        return Ok(processes);
    }
    let argv = [
        "nvidia-smi",
        "--query-compute-apps=pid,process_name",
        "--format=csv,noheader",
        "-i",
        card.uuid.as_deref().unwrap_or(&card.index),
    ];
    Ok(parse(&command::run(&argv.map(str::to_owned), SAMPLING_LIMIT)?))
}

/// Why nothing should be started on a card now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hindrance {
    /// It is gone.
    Lost(String),
    /// Others hold its memory, so that what is started fails for want of it.
    Memory(String),
}

/// The share of a card's memory that must be free.
const FREE_SHARE: f64 = 0.1;

/// Looks whether a card is there and has memory; none where it has, or where nothing tells.
#[must_use]
pub fn hindrance(card: &Card) -> Option<Hindrance> {
    match telemetry::open(card)?.sampler.sample() {
        Err(error @ TelemetryError::CardLost { .. }) => Some(Hindrance::Lost(error.to_string())),
        Err(_) => None,
        Ok(readings) => readings.iter().find_map(|reading| too_little(card, reading)),
    }
}

fn too_little(card: &Card, reading: &Reading) -> Option<Hindrance> {
    let (free_mib, total_mib) = (reading.mem_free_mib()?, reading.mem_total_mib?);
    (total_mib > 0.0 && free_mib < FREE_SHARE * total_mib).then(|| {
        Hindrance::Memory(format!(
            "card `{}` has {free_mib:.0} MiB of {total_mib:.0} MiB free",
            card.lock_name()
        ))
    })
}

fn parse(stdout: &str) -> Vec<ComputeProcess> {
    stdout
        .lines()
        .filter_map(|line| {
            let (pid, name) = line.split_once(',')?;
            Some(ComputeProcess { pid: pid.trim().parse().ok()?, name: name.trim().to_owned() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_read_and_remarks_are_not() {
        let processes =
            parse("4711, /opt/a, b/python\n12, [Not Found]\nNo running processes found\n[N/A], x\n");
        let expected = [(4711, "/opt/a, b/python"), (12, "[Not Found]")]
            .map(|(pid, name)| ComputeProcess { pid, name: name.into() });
        assert_eq!(processes, expected);
    }

    #[test]
    fn a_card_whose_memory_others_hold_is_told_and_an_unknown_one_is_not() {
        let card = Backend::named("cuda").unwrap().card("1");
        let reading = |used: Option<f64>| Reading {
            mem_used_mib: used,
            mem_total_mib: Some(143_771.0),
            ..Reading::default()
        };
        assert_eq!(too_little(&card, &reading(Some(1_000.0))), None);
        assert_eq!(too_little(&card, &reading(None)), None);
        let told = too_little(&card, &reading(Some(140_000.0)));
        let expected = "card `cuda-1` has 3771 MiB of 143771 MiB free";
        assert_eq!(told, Some(Hindrance::Memory(expected.into())));
        assert_eq!(hindrance(&Backend::named("cpu").unwrap().card("0")), None);
    }

    #[test]
    fn a_card_without_such_a_tool_tells_of_none() {
        assert_eq!(compute_processes(&Backend::named("cpu").unwrap().card("0")).unwrap(), []);
    }
}
