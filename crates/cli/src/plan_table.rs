//! `plan.tsv`: operators onto cards for good, a card a line, each with the command that measures them.

use std::path::Path;

use switchback_engine::campaign::Campaign;
use switchback_engine::request::{Goal, Request};
use switchback_engine::schedule::ScreenedOperators;
use switchback_model::verdict::ScreenVerdict;
use switchback_report::tsv::{self, PlanRow};

use crate::command_line;

/// The table's file in a campaign's folder.
pub const FILE: &str = "plan.tsv";

/// The table of a fixed partition: each card's operators, and the seconds of all their rounds.
///
/// `request` says how they are measured; folders of the commands lie below `out`, and all replay what `replay_from` recorded.
pub fn table(
    request: &Request,
    screened: &ScreenedOperators,
    devices: &[String],
    partition: Vec<(Vec<String>, f64)>,
    out: &Path,
    replay_from: Option<&Path>,
) -> String {
    let identical = |name: &String| {
        screened.get(name).is_some_and(|screened| screened.verdict == ScreenVerdict::NoIrDiff)
    };
    let rows: Vec<PlanRow> = devices
        .iter()
        .zip(partition)
        .filter(|(_, (operators, _))| !operators.is_empty())
        .map(|(device, (operators, total_s))| PlanRow {
            device: device.clone(),
            weight_s: total_s / f64::from(request.least_rounds().max(1)),
            rounds: request.least_rounds(),
            command: command_line::ab(
                request,
                &operators,
                device,
                &out.join(format!("card-{device}")),
                operators.iter().any(identical),
                replay_from,
            ),
            operators,
        })
        .collect();
    tsv::plan(&rows)
}

/// The same of a campaign on several cards, folders of the commands beside its own; none while operators are to be screened.
pub fn of_campaign(campaign: &Campaign) -> Option<String> {
    let request = &campaign.request;
    if request.goal != Goal::Ab || request.more_cards.is_empty() {
        return None;
    }
    let devices: Vec<String> = request.cards().into_iter().map(|it| it.card.index).collect();
    let partition = campaign.partition(&campaign.costs(), devices.len())?;
    let out = campaign.dir.root().with_file_name(format!("{}-by-hand", campaign.dir.name()));
    let replay_from = campaign.suite().tunes().then(|| campaign.dir.root());
    Some(table(request, campaign.screened(), &devices, partition, &out, replay_from))
}
