//! Whether a card gets cells: what its cells told of it, since this coordinator started.
//!
//! Which death is the operator's is left to [`crate::state`]. A card is out of service with a reason that is said; for what may
//! pass (another campaign on it, its memory held by others) it is tried again after a while. Nothing of this outlives
//! the coordinator: a campaign that is started again gives every card another chance.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use switchback_model::cell::CellKey;

/// Cells in a row that could not even start on a card.
const NOT_STARTED: u32 = 2;
/// Times in a row that a card which is still listed was lost by a cell.
const LOST: u32 = 2;
/// Cells that died on a card and ran on another.
const REFUTED: usize = 2;
/// Until a card on which cells could not start is tried again, at first; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(900);

/// What is known of a card.
#[derive(Debug, Default)]
pub(crate) struct Health {
    out: Option<Out>,
    not_started: u32,
    lost: u32,
    refuted: BTreeSet<CellKey>,
    pause: Option<Duration>,
    foreign: String,
}

/// A card that gets nothing.
#[derive(Debug)]
struct Out {
    until: Option<Instant>,
}

impl Health {
    /// True if the card may be given cells.
    pub(crate) fn is_in_service(&self, now: Instant) -> bool {
        self.out.as_ref().is_none_or(|out| out.until.is_some_and(|until| now >= until))
    }

    /// A cell ran on it.
    pub(crate) fn ran(&mut self) {
        (self.not_started, self.lost, self.pause, self.out) = (0, 0, None, None);
    }

    /// A cell could not even start on it; the reason why it gets no more, if so.
    pub(crate) fn not_started(&mut self, reason: &str, now: Instant) -> Option<String> {
        self.not_started += 1;
        if self.not_started < NOT_STARTED {
            return None;
        }
        let pause = self.pause.map_or(FIRST_PAUSE, |pause| (2 * pause).min(LONGEST_PAUSE));
        self.pause = Some(pause);
        self.out = Some(Out { until: Some(now + pause) });
        Some(format!("{reason}; tried again after {} s", pause.as_secs()))
    }

    /// A cell found it lost; the reason why it gets no more, if so.
    pub(crate) fn lost(&mut self, reason: &str, is_listed: Option<bool>) -> Option<String> {
        self.lost += 1;
        let why = match is_listed {
            Some(false) => "it has disappeared",
            _ if self.lost >= LOST => "it was lost twice",
            _ => return None,
        };
        self.out = Some(Out { until: None });
        Some(format!("{why}: {reason}"))
    }

    /// A cell that died on it ran on another card; the reason why it gets no more, if so.
    pub(crate) fn refuted(&mut self, cell: &CellKey) -> Option<String> {
        let is_new = self.refuted.insert(cell.clone());
        if !is_new || self.refuted.len() < REFUTED || self.out.is_some() {
            return None;
        }
        self.out = Some(Out { until: None });
        let cells: Vec<String> = self.refuted.iter().map(ToString::to_string).collect();
        Some(format!("{} died on it and ran on another card", cells.join(" and ")))
    }

    /// What is to be said when the processes of others on it are others than before.
    pub(crate) fn shared_with(&mut self, foreign: &str) -> Option<String> {
        let before = std::mem::replace(&mut self.foreign, foreign.to_owned());
        match (before.is_empty(), foreign.is_empty()) {
            (true, false) => Some(format!("is shared: process {foreign} computes there, rows say so")),
            (false, true) => Some("is no longer shared".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> CellKey {
        CellKey { operator: text.into(), purpose: switchback_model::cell::Purpose::Run }
    }

    #[test]
    fn what_may_pass_is_tried_again_later_and_later() {
        let (mut it, now) = (Health::default(), Instant::now());
        assert_eq!(it.not_started("in use", now), None);
        assert!(it.is_in_service(now));
        assert_eq!(it.not_started("in use", now).unwrap(), "in use; tried again after 60 s");
        assert!(!it.is_in_service(now + Duration::from_secs(59)));
        let later = now + Duration::from_secs(60);
        assert!(it.is_in_service(later));
        assert_eq!(it.not_started("in use", later).unwrap(), "in use; tried again after 120 s");
        it.ran();
        assert!(it.is_in_service(later));
        assert_eq!(it.not_started("in use", later), None);
    }

    #[test]
    fn a_card_that_is_gone_is_out_at_once_a_listed_one_when_it_is_lost_twice() {
        let (mut gone, mut listed, now) = (Health::default(), Health::default(), Instant::now());
        assert_eq!(
            gone.lost("fell off the bus", Some(false)).unwrap(),
            "it has disappeared: fell off the bus"
        );
        assert_eq!(listed.lost("ECC", Some(true)), None);
        listed.ran();
        assert_eq!(listed.lost("ECC", None), None);
        assert_eq!(listed.lost("ECC", Some(true)).unwrap(), "it was lost twice: ECC");
        for it in [&gone, &listed] {
            assert!(!it.is_in_service(now + Duration::from_secs(1_000_000)));
        }
    }

    #[test]
    fn a_card_on_which_cells_die_that_run_elsewhere_is_out() {
        let mut it = Health::default();
        assert_eq!(it.refuted(&cell("mm")), None);
        assert_eq!(it.refuted(&cell("mm")), None);
        let said = it.refuted(&cell("add")).unwrap();
        assert_eq!(said, "add run and mm run died on it and ran on another card");
        assert!(!it.is_in_service(Instant::now()));
    }

    #[test]
    fn others_on_a_card_are_said_when_they_come_and_when_they_go() {
        let mut it = Health::default();
        assert_eq!(it.shared_with(""), None);
        assert!(it.shared_with("7 `python`").unwrap().contains("process 7 `python`"));
        assert_eq!(it.shared_with("7 `python`, 8 `x`"), None);
        assert_eq!(it.shared_with("").unwrap(), "is no longer shared");
    }
}
