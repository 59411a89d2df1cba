//! Processes of others that compute on a card: beside them no measurement is what it seems.

use switchback_model::card::Card;

use crate::backend::Backend;
use crate::command::{self, CommandError};
use crate::telemetry::{SAMPLING_LIMIT, SamplerKind, nvml};

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
    fn a_card_without_such_a_tool_tells_of_none() {
        assert_eq!(compute_processes(&Backend::named("cpu").unwrap().card("0")).unwrap(), []);
    }
}
