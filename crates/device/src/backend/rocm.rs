//! AMD: `amd-smi` lists and samples; graph capture was never tried there, so it is not claimed.

use serde_json::Value;
use switchback_model::card::Card;

use super::{Backend, ListedCard, told};
use crate::telemetry::{SamplerKind, amd_smi};

pub(super) static ROCM: Backend = Backend {
    name: "rocm",
    // `ROCR_VISIBLE_DEVICES` filters below HIP and renumbers what HIP counts; removed for the cell, so that the index
    // is the listing's.
    visibility: &["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"],
    companions: &[],
    vendor: "amd",
    capture_supported: false,
    capture_denied: &[],
    capture_fatal: &["illegal memory access", "unspecified launch failure", "memory access fault by GPU"],
    capture_poisoned: &[],
    capture_recoverable: &["out of memory", "out of resource"],
    device_errors: &["HIP error"],
    mm_cluster: false,
    device_lost: &["no ROCm-capable device is detected", "No HIP GPUs are available", "GPU Hang"],
    list_argv: &["amd-smi", "static", "--asic", "--bus", "--driver", "--limit", "--json"],
    sampler: Some(SamplerKind::AmdSmi),
    read_listing,
};

fn read_listing(stdout: &str) -> Vec<ListedCard> {
    amd_smi::cards(stdout).iter().filter_map(read_card).collect()
}

fn read_card(card: &Value) -> Option<ListedCard> {
    let index = amd_smi::index(card)?;
    let text = |place: &[&str]| {
        let value = place.iter().try_fold(card, |value, key| value.get(key))?;
        told(value.as_str()?).map(str::to_owned)
    };
    let name = text(&["asic", "market_name"]);
    let facts = [
        ("device", name.clone()),
        ("driver", text(&["driver", "version"])),
        ("compute_capability", text(&["asic", "target_graphics_version"])),
        ("power_limit_w", amd_smi::measure(card, &["limit", "socket_power"]).map(|watts| watts.to_string())),
        ("power_max_limit_w", amd_smi::measure(card, &["limit", "max_power"]).map(|watts| watts.to_string())),
        ("pci_bus_id", text(&["bus", "bdf"])),
    ];
    let facts = facts.into_iter().filter_map(|(fact, value)| Some((fact, value?))).collect();
    let card = Card { backend: "rocm".into(), index, uuid: text(&["asic", "asic_serial"]), name };
    Some(ListedCard { card, facts })
}
