//! A campaign that somebody else drives, as the disk shows it: what runs, what is done, what comes next.
//!
//! Read-only. What runs is what has no outcome yet; whether it still does is told by the last sign that it gave, not claimed.

use switchback_device::telemetry::tsv;
use switchback_model::card::Card;
use switchback_model::cell::CellKey;
use switchback_model::outcome::{Ending, Outcome};
use switchback_store::StoreError;

use crate::campaign::Campaign;
use crate::schedule;
use crate::state::Standing;

/// An attempt that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Underway {
    /// The cell.
    pub cell: CellKey,
    /// Which attempt of it, from 1.
    pub attempt: u32,
    /// The card that it was ordered to.
    pub card: Card,
    /// Seconds since it was ordered.
    pub age_s: f64,
    /// Seconds since it last wrote anything.
    pub silent_s: f64,
    /// Clock, power and temperature at the last reading: MHz, W, °C.
    pub reading: [Option<f64>; 3],
}

/// A campaign as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Sight {
    /// What comes next is for; none if nothing is left.
    pub phase: Option<&'static str>,
    /// Cells that are done.
    pub done: usize,
    /// Cells in all, as far as screening has told.
    pub total: usize,
    /// Attempts that ended with another status than 0; of one that was cut off nothing is known.
    pub failed: usize,
    /// True while a coordinator works in the folder; none where that cannot be told.
    pub is_driven: Option<bool>,
    /// What runs, by card.
    pub underway: Vec<Underway>,
    /// The attempt that ended last.
    pub last: Option<(CellKey, Outcome)>,
}

/// Looks at a campaign.
///
/// # Errors
/// An order or a table is there and cannot be read.
pub fn look(campaign: &Campaign) -> Result<Sight, StoreError> {
    let mut it = Sight {
        phase: campaign.next().map(|(_, phase)| phase.name()),
        done: campaign.done_cells(),
        total: schedule::total_cells(
            &campaign.request,
            campaign.suite.tunes(),
            &campaign.screened,
            &campaign.rounds,
        ),
        failed: 0,
        is_driven: campaign.dir.is_locked().ok(),
        underway: Vec::new(),
        last: None,
    };
    let ended = |outcome: &Outcome| outcome.started_s + outcome.elapsed_s;
    for (cell, attempts) in campaign.state.cells() {
        for outcome in attempts.iter().filter_map(|attempt| attempt.outcome.as_ref()) {
            let was_cut_off = outcome.ending == Ending::Interrupted;
            it.failed += usize::from(outcome.shell_status() != 0 && !was_cut_off);
            // Of one machine since one boot; of several, some attempt that ended.
            if it.last.as_ref().is_none_or(|(_, last)| ended(outcome) > ended(last)) {
                it.last = Some((cell.clone(), outcome.clone()));
            }
        }
        let open = matches!(campaign.state.standing(&cell.operator, cell.purpose), Standing::Open);
        let last = attempts.last().filter(|last| open && last.outcome.is_none() && last.damage.is_none());
        let Some((last, number)) = last.zip(u32::try_from(attempts.len()).ok()) else { continue };
        // A coordinator that was killed between claiming a folder and writing its order leaves nothing to be seen.
        let (Ok(order), Some((age_s, silent_s))) = (last.dir.order(), last.dir.signs_s()) else { continue };
        let samples = tsv::read(&last.dir.telemetry()?);
        let reading = samples.last().map_or([None; 3], |sample| {
            [sample.reading.sm_clock_mhz, sample.reading.power_w, sample.reading.temp_c]
        });
        let cell = cell.clone();
        it.underway.push(Underway { cell, attempt: number, card: order.card, age_s, silent_s, reading });
    }
    it.underway.sort_by(|one, two| one.card.index.cmp(&two.card.index));
    Ok(it)
}
