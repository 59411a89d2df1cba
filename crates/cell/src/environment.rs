//! A child's environment: the supervisor's, without switchback's own variables, with the order's, with the protocol's.
//!
//! Keeps this rule: a setting of the coordinator (`SWITCHBACK_<FLAG>`) never reaches a measurement by inheritance, and
//! neither does a switch of the cpu suite (`SWITCHBACK_CPU_…`) that somebody left exported.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use switchback_model::event::PROTOCOL;
use switchback_model::order::Order;

/// Carried by every process of a cell: the campaign's id.
pub(crate) const CAMPAIGN: &str = "SWITCHBACK_CAMPAIGN";
/// Carried by every process of a cell: the attempt's folder.
pub(crate) const RUN_DIR: &str = "SWITCHBACK_RUN_DIR";
/// The file that a child locks when it needs the card; only where its order has a turn.
const TURN_FILE: &str = "SWITCHBACK_TURN_FILE";

/// The child's whole environment.
pub(crate) fn of_child(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    order: &Order,
    run_dir: &Path,
    turn_file: Option<&Path>,
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> =
        inherited.filter(|(name, _)| !name.as_bytes().starts_with(b"SWITCHBACK_")).collect();
    for (name, value) in &order.command.env {
        match value {
            Some(value) => environment.insert(name.into(), value.into()),
            None => environment.remove(&OsString::from(name)),
        };
    }
    environment.insert(RUN_DIR.into(), run_dir.into());
    environment.extend(turn_file.map(|path| (TURN_FILE.into(), path.into())));
    environment.insert("SWITCHBACK_PROTOCOL".into(), PROTOCOL.to_string().into());
    environment.insert(CAMPAIGN.into(), order.campaign.clone().into());
    environment
}
