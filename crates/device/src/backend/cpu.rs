//! No accelerator: two virtual cards, so that scheduling over cards can be tried and tested anywhere.

use std::collections::BTreeMap;

use switchback_model::card::Card;

use super::{Backend, ListedCard};

pub(super) static CPU: Backend = Backend {
    name: "cpu",
    visibility: &[],
    companions: &[],
    vendor: "",
    capture_supported: false,
    capture_denied: &[],
    capture_fatal: &[],
    capture_poisoned: &[],
    capture_recoverable: &[],
    device_errors: &[],
    mm_cluster: false,
    device_lost: &[],
    list_argv: &[],
    sampler: None,
    read_listing: |_| (0..2).map(virtual_card).collect(),
};

fn virtual_card(index: u32) -> ListedCard {
    let card = Card {
        backend: "cpu".into(),
        index: index.to_string(),
        uuid: None,
        name: Some(format!("virtual card {index} of the processor")),
    };
    ListedCard { card, facts: BTreeMap::new() }
}
