//! Whether a card gets cells: what its cells told of it, since this coordinator started.
//!
//! Which death is the operator's is left to [`crate::state`]. A card is out of service with a reason that is said; for what may
//! pass (another campaign on it, its memory held by others) it is tried again after a while. Nothing of this outlives
//! the coordinator: a campaign that is started again gives every card another chance. Invariant: what several cells on a card
//! find at once counts as one trouble, and a cell that began before a trouble was found tells nothing of the card after it.

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
    /// When a cell last found it lost, or could not start on it.
    trouble: Option<Instant>,
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

    /// A cell that began then ran on it.
    pub(crate) fn ran(&mut self, begun: Instant) {
        if self.is_known(begun) {
            return;
        }
        (self.not_started, self.lost, self.pause) = (0, 0, None);
        // What is out for good is not brought back by a cell that was still on it.
        self.out.take_if(|out| out.until.is_some());
    }

    /// A cell that began then could not even start on it; the reason why it gets no more, if so.
    pub(crate) fn not_started(&mut self, reason: &str, begun: Instant, now: Instant) -> Option<String> {
        if self.is_known(begun) {
            return None;
        }
        self.trouble = Some(now);
        self.not_started += 1;
        if self.not_started < NOT_STARTED {
            return None;
        }
        let pause = self.pause.map_or(FIRST_PAUSE, |pause| (2 * pause).min(LONGEST_PAUSE));
        self.pause = Some(pause);
        self.out = Some(Out { until: Some(now + pause) });
        Some(format!("{reason}; tried again after {} s", pause.as_secs()))
    }

    /// A cell that began then found it lost; the reason why it gets no more, if so.
    pub(crate) fn lost(
        &mut self,
        reason: &str,
        is_listed: Option<bool>,
        begun: Instant,
        now: Instant,
    ) -> Option<String> {
        let is_gone = is_listed == Some(false);
        let is_out = self.out.as_ref().is_some_and(|out| out.until.is_none());
        if is_out || !is_gone && self.is_known(begun) {
            return None;
        }
        self.trouble = Some(now);
        self.lost += 1;
        let why = match is_gone {
            true => "it has disappeared",
            false if self.lost >= LOST => "it was lost twice",
            false => return None,
        };
        self.out = Some(Out { until: None });
        Some(format!("{why}: {reason}"))
    }

    /// True if a cell that began then found nothing but what others had found.
    fn is_known(&self, begun: Instant) -> bool {
        self.trouble.is_some_and(|trouble| begun <= trouble)
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

    /// So many seconds after the first moment.
    fn at(first: Instant, after_s: u64) -> Instant {
        first + Duration::from_secs(after_s)
    }

    #[test]
    fn what_may_pass_is_tried_again_later_and_later() {
        let (mut it, first) = (Health::default(), Instant::now());
        let mut not_started = |after_s| {
            let (begun, now) = (at(first, after_s), at(first, after_s + 1));
            (it.not_started("in use", begun, now), it.is_in_service(now))
        };
        assert_eq!(not_started(0), (None, true));
        assert_eq!(not_started(2), (Some("in use; tried again after 60 s".into()), false));
        assert_eq!(not_started(63), (Some("in use; tried again after 120 s".into()), false));
        assert!(!it.is_in_service(at(first, 183)) && it.is_in_service(at(first, 184)));
        it.ran(at(first, 184));
        assert!(it.is_in_service(at(first, 64)));
        assert_eq!(it.not_started("in use", at(first, 190), at(first, 191)), None);
    }

    #[test]
    fn a_card_that_is_gone_is_out_at_once_a_listed_one_when_it_is_lost_twice() {
        let (mut gone, mut listed, first) = (Health::default(), Health::default(), Instant::now());
        let said = gone.lost("fell off the bus", Some(false), first, first).unwrap();
        assert_eq!(said, "it has disappeared: fell off the bus");
        let mut lost = |after_s, is_listed| {
            let (begun, now) = (at(first, after_s), at(first, after_s + 1));
            listed.lost("ECC", is_listed, begun, now)
        };
        assert_eq!((lost(0, Some(true)), lost(2, None)), (None, Some("it was lost twice: ECC".into())));
        let mut listed = Health::default();
        assert_eq!(listed.lost("ECC", Some(true), first, at(first, 1)), None);
        listed.ran(at(first, 2));
        assert_eq!(listed.lost("ECC", None, at(first, 3), at(first, 4)), None);
        assert_eq!(
            listed.lost("ECC", Some(true), at(first, 5), at(first, 6)).unwrap(),
            "it was lost twice: ECC"
        );
        for it in [&gone, &listed] {
            assert!(!it.is_in_service(at(first, 1_000_000)));
        }
    }

    #[test]
    fn what_cells_find_that_were_on_it_together_is_one_trouble() {
        let first = Instant::now();
        let mut it = Health::default();
        // Eight were started together and could not start; then one that was tried after that.
        let together: Vec<_> =
            (1..=8).map(|after_s| it.not_started("in use", first, at(first, after_s))).collect();
        assert_eq!(together, vec![None; 8]);
        assert_eq!(
            it.not_started("in use", at(first, 9), at(first, 10)).unwrap(),
            "in use; tried again after 60 s"
        );
        let mut it = Health::default();
        let together = [1, 2, 3].map(|after_s| it.lost("ECC", Some(true), first, at(first, after_s)));
        assert_eq!(together, [None, None, None]);
        // One that was there all the while says nothing of the card as it is now.
        it.ran(first);
        assert_eq!(it.lost("ECC", None, at(first, 4), at(first, 5)).unwrap(), "it was lost twice: ECC");
        it.ran(at(first, 6));
        assert!(!it.is_in_service(at(first, 7)), "it is out for good");
        let mut it = Health::default();
        assert_eq!(it.lost("ECC", Some(true), first, at(first, 1)), None);
        let said = [2, 3].map(|after_s| it.lost("gone", Some(false), first, at(first, after_s)));
        assert_eq!(said, [Some("it has disappeared: gone".into()), None], "said once");
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
