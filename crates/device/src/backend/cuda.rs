//! NVIDIA: `nvidia-smi` lists and samples; error texts are those of the CUDA runtime.

use std::collections::BTreeMap;

use switchback_model::card::Card;

use super::{Backend, ListedCard, told};
use crate::number::number;
use crate::telemetry::SamplerKind;

pub(super) static CUDA: Backend = Backend {
    name: "cuda",
    visibility: &["CUDA_VISIBLE_DEVICES"],
    // Without it CUDA puts the fastest card first, while `nvidia-smi` and NVML count along the bus.
    companions: &[("CUDA_DEVICE_ORDER", "PCI_BUS_ID")],
    vendor: "nvidia",
    capture_supported: true,
    capture_denied: &[],
    // The errors of which the CUDA runtime's documentation says that they leave the process in an inconsistent state.
    capture_fatal: &[
        "illegal memory access",
        "misaligned address",
        "unspecified launch failure",
        "illegal instruction",
        "device-side assert",
        "invalid program counter",
        "operation not supported on global/shared address space",
        "hardware stack error",
        "uncorrectable ECC error",
        "the launch timed out and was terminated",
    ],
    // Error 901 in its several wordings, and the allocator's bookkeeping that a failed capture leaves behind.
    capture_poisoned: &[
        "operation failed due to a previous error during capture",
        "cudaErrorStreamCaptureInvalidated",
        "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        "cudaStreamCaptureStatusInvalidated",
        "CUDA error 901",
        "CUDA failure 901",
        "captures_underway",
    ],
    capture_recoverable: &[
        "operation not permitted when stream is capturing",
        "operation would make the legacy stream depend on a capturing blocking stream",
        "Offset increment outside graph capture",
        "CUDA error 900",
        "CUDA failure 900",
        "out of resource",
        "out of memory",
        "invalid argument",
        "PassManager::run failed",
        "too many resources requested for launch",
        "too many blocks in cooperative launch",
        "exceeds triton maximum tensor numel",
        "failed to translate module to LLVM IR",
    ],
    device_errors: &[
        "CUDA error",
        "CUDA failure",
        "[CUDA]",
        "CUBLAS_STATUS_",
        "CUDNN_STATUS_",
        "CURAND",
        "CUSOLVER_STATUS_",
    ],
    mm_cluster: true,
    // The card, not a kernel: errors 46, 100, 101, 214, 220, 721, 802 of the CUDA runtime's documentation, what PyTorch says when
    // the driver cannot be initialised, and what NVML and `nvidia-smi` say of a card that fell off the bus.
    device_lost: &[
        "CUDA-capable device(s) is/are busy or unavailable",
        "no CUDA-capable device is detected",
        "No CUDA GPUs are available",
        "invalid device ordinal",
        "uncorrectable ECC error",
        "uncorrectable NVLink error",
        "Invalid access of peer GPU memory over nvlink or a hardware error",
        "system not yet initialized",
        "CUDA unknown error",
        "GPU is lost",
        "GPU has fallen off the bus",
        "Unable to determine the device handle for GPU",
    ],
    list_argv: &[
        "nvidia-smi",
        "--query-gpu=index,uuid,name,driver_version,compute_cap,power.limit,power.default_limit,power.max_limit,\
         clocks.max.sm,clocks.max.mem,clocks.applications.gr,clocks.default_applications.gr,persistence_mode,\
         mig.mode.current,pci.bus_id",
        "--format=csv,noheader,nounits",
    ],
    sampler: Some(SamplerKind::NvidiaSmi),
    read_listing,
};

/// Names of the facts, for the columns of the query after index, UUID and name.
const FACTS: [&str; 12] = [
    "driver",
    "compute_capability",
    "power_limit_w",
    "power_default_limit_w",
    "power_max_limit_w",
    "max_sm_clock_mhz",
    "max_mem_clock_mhz",
    "application_clock_mhz",
    "default_application_clock_mhz",
    "persistence_mode",
    "mig_mode",
    "pci_bus_id",
];

fn read_listing(stdout: &str) -> Vec<ListedCard> {
    stdout.lines().filter_map(read_card).collect()
}

fn read_card(line: &str) -> Option<ListedCard> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != FACTS.len() + 3
        || fields[0].is_empty()
        || !fields[0].bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let name = told(fields[2]).map(str::to_owned);
    let mut facts: BTreeMap<&str, String> = FACTS
        .iter()
        .zip(&fields[3..])
        .filter_map(|(fact, text)| Some((*fact, told(text)?.to_owned())))
        .collect();
    if let Some(name) = &name {
        facts.insert("device", name.clone());
    }
    if let Some(lock) = clock_lock(&facts) {
        facts.insert("clock_lock", lock);
    }
    let card = Card {
        backend: "cuda".into(),
        index: fields[0].into(),
        uuid: told(fields[1]).map(str::to_owned),
        name,
    };
    Some(ListedCard { card, facts })
}

/// `none` at default application clocks, else the clock they were set to.
///
/// A range set with `nvidia-smi --lock-gpu-clocks` is told by no query; it shows in the telemetry only.
fn clock_lock(facts: &BTreeMap<&str, String>) -> Option<String> {
    let clock = number(facts.get("application_clock_mhz")?)?;
    let default = number(facts.get("default_application_clock_mhz")?)?;
    Some(if clock == default { "none".into() } else { format!("application clock {clock} MHz") })
}
