//! What is done, by outcomes that are made by hand.

use switchback_model::outcome::{Counts, DeviceFault, Ending};
use switchback_model::telemetry::TelemetrySummary;
use switchback_store::attempt::AttemptDir;
use switchback_store::event_writer::monotonic_s;

use super::*;

pub(crate) fn outcome(ending: Ending, success: u64, started_utc: &str, card: &str) -> Outcome {
    Outcome {
        ending,
        exit_status: None,
        signal: None,
        reason: String::new(),
        started_utc: started_utc.into(),
        started_s: 0.0,
        elapsed_s: 1.0,
        turn_s: None,
        shared: false,
        boot_id: String::new(),
        card: Card { backend: "cpu".into(), index: card.into(), uuid: None, name: None },
        host: String::new(),
        counts: Counts { success, ..Counts::default() },
        leaked_processes: 0,
        device_fault: None,
        foreign: Vec::new(),
        telemetry: None,
    }
}

/// A state made by hand: (purpose, outcomes of its attempts).
pub(crate) fn state(cells: &[(&str, Vec<Option<Outcome>>)]) -> State {
    let mut it = State::default();
    for (purpose, outcomes) in cells {
        let attempts = outcomes
            .iter()
            .enumerate()
            .map(|(index, outcome)| Attempt {
                dir: AttemptDir::at(std::path::Path::new(&format!("{purpose}/{}", index + 1))),
                outcome: outcome.clone(),
                damage: None,
            })
            .collect();
        let key = CellKey { operator: "add".into(), purpose: purpose.parse().unwrap() };
        it.cells.insert(key, attempts);
    }
    it
}

fn at(time: &str) -> Option<Outcome> {
    Some(outcome(Ending::Completed, 3, &format!("2026-01-01T{time}Z"), "0"))
}

fn chosen(state: &State) -> Option<Vec<String>> {
    state
        .round("add", 1, Pairing::Process)
        .map(|pair| pair.iter().map(|attempt| attempt.dir.path().display().to_string()).collect())
}

#[test]
fn the_first_attempt_with_rows_counts() {
    let it = state(&[("run", vec![None, at("10:00:00"), at("11:00:00")])]);
    let Standing::Done(attempt) = it.standing("add", Purpose::Run) else { panic!() };
    assert!(attempt.dir.path().ends_with("run/2"));
}

#[test]
fn an_interrupted_cell_is_open_a_failed_one_is_not_and_a_crash_is_tried_twice() {
    let ended = |ending| Some(outcome(ending, 0, "2026-01-01T10:00:00Z", "0"));
    let standing = |outcomes| state(&[("run", outcomes)]).is_failed("add", Purpose::Run);
    assert!(!standing(vec![]));
    assert!(!standing(vec![None, ended(Ending::Interrupted), ended(Ending::NotStarted)]));
    assert!(!standing(vec![ended(Ending::Crashed)]));
    assert!(standing(vec![ended(Ending::Crashed), None, ended(Ending::Crashed)]));
    assert!(standing(vec![ended(Ending::Timeout)]));
    assert!(standing(vec![ended(Ending::Failed)]));
}

#[test]
fn a_poisoned_or_lost_device_is_tried_again_and_the_same_twice_is_not() {
    let fault = |fault, card: &str| {
        let it = outcome(Ending::Failed, 0, "2026-01-01T10:00:00Z", card);
        Some(Outcome { device_fault: Some(fault), ..it })
    };
    let (poisoned, lost) = (DeviceFault::Poisoned, DeviceFault::Lost);
    let standing = |outcomes| state(&[("run", outcomes)]).is_failed("add", Purpose::Run);
    assert!(!standing(vec![fault(poisoned, "0")]));
    assert!(standing(vec![fault(poisoned, "0"), fault(poisoned, "1")]));
    // A card that is lost again and again is the card's doing; two cards are the operator's.
    assert!(!standing(vec![fault(lost, "0"), fault(lost, "0"), fault(lost, "0")]));
    assert!(standing(vec![fault(lost, "0"), None, fault(lost, "1")]));
    // Two deaths that are not the same.
    let crashed = |signal| {
        Some(Outcome { signal: Some(signal), ..outcome(Ending::Crashed, 0, "2026-01-01T10:00:00Z", "0") })
    };
    assert!(!standing(vec![crashed(11), fault(poisoned, "0"), crashed(9), fault(lost, "0")]));
    assert!(standing(vec![crashed(11), crashed(9), crashed(11)]));
    // Rows of a card that was lost are not kept.
    let half = fault(lost, "0").map(|it| Outcome { counts: Counts { success: 3, ..it.counts }, ..it });
    assert!(matches!(state(&[("run", vec![half])]).standing("add", Purpose::Run), Standing::Open));
}

#[test]
fn sides_of_a_round_must_be_close_and_on_one_card() {
    let close = state(&[("r1_A", vec![at("10:00:00")]), ("r1_B", vec![at("10:30:00")])]);
    assert_eq!(chosen(&close).unwrap(), ["r1_A/1", "r1_B/1"]);
    let far = state(&[("r1_A", vec![at("10:00:00")]), ("r1_B", vec![at("11:30:00")])]);
    assert_eq!(chosen(&far), None);
    let again = state(&[("r1_A", vec![at("10:00:00"), at("11:20:00")]), ("r1_B", vec![at("11:30:00")])]);
    assert_eq!(chosen(&again).unwrap(), ["r1_A/2", "r1_B/1"]);
    let other = Some(outcome(Ending::Completed, 3, "2026-01-01T10:01:00Z", "1"));
    let cards = state(&[("r1_A", vec![at("10:00:00")]), ("r1_B", vec![other])]);
    assert_eq!(chosen(&cards), None);
}

#[test]
fn a_wall_clock_that_is_set_parts_no_round_and_joins_none() {
    let of_boot = |time: &str, started_s: f64, boot: &str| {
        at(time).map(|outcome| Outcome { started_s, boot_id: boot.into(), ..outcome })
    };
    let pair = |a, b| chosen(&state(&[("r1_A", vec![a]), ("r1_B", vec![b])])).is_some();
    // Set by three hours, forth and back, between two cells that came a minute after each other.
    assert!(pair(of_boot("10:00:00", 100.0, "x"), of_boot("13:01:00", 160.0, "x")));
    assert!(pair(of_boot("10:00:00", 100.0, "x"), of_boot("07:01:00", 160.0, "x")));
    // Two hours apart, whatever the wall clock says.
    assert!(!pair(of_boot("10:00:00", 100.0, "x"), of_boot("10:01:00", 7300.0, "x")));
    // Of two boots only the wall clock can tell.
    assert!(pair(of_boot("10:00:00", 9000.0, "x"), of_boot("10:30:00", 10.0, "y")));
    let now = Outcome {
        started_s: monotonic_s() - 60.0,
        boot_id: switchback_store::boot_id().into(),
        ..at("10:00:00").unwrap()
    };
    let fresh = state(&[("r1_A", vec![Some(now)])]);
    assert_eq!(open(&fresh), Some(Side::B));
}

#[test]
fn a_stale_side_is_run_again() {
    let purpose = |side: Side| Purpose::Round(1, side.into());
    let stale = state(&[("r1_A", vec![at("10:00:00")])]);
    assert_eq!(stale.open_side("add", Side::BOTH, None, purpose), Some(Side::A));
    let now = jiff::Timestamp::now().to_string();
    let fresh = state(&[("r1_A", vec![Some(outcome(Ending::Completed, 3, &now, "0"))])]);
    assert_eq!(fresh.open_side("add", Side::BOTH, None, purpose), Some(Side::B));
    assert_eq!(state(&[]).open_side("add", [Side::B, Side::A], None, purpose), Some(Side::B));
}

/// An attempt that was measured at that clock, with that reason to run slower.
fn clocked(time: &str, sm_clock_mhz: f64, reason: &str) -> Option<Outcome> {
    let throttle = [(reason.to_owned(), 1)].into();
    let summary =
        TelemetrySummary { measured: 9, sm_clock_mhz: Some(sm_clock_mhz), throttle, ..Default::default() };
    at(time).map(|outcome| Outcome { telemetry: Some(summary), ..outcome })
}

fn open(state: &State) -> Option<Side> {
    state.open_side("add", Side::BOTH, None, |side| Purpose::Round(1, side.into()))
}

#[test]
fn a_round_at_two_clocks_is_measured_again_both_sides_anew() {
    let cap = "sw_power_cap";
    let a = vec![clocked("10:00:00", 1980.0, cap)];
    let b = vec![clocked("10:01:00", 1900.0, cap)];
    let once = state(&[("r1_A", a.clone()), ("r1_B", b.clone())]);
    assert_eq!((chosen(&once), open(&once)), (None, Some(Side::A)));
    let now = jiff::Timestamp::now().to_string();
    let mut fresh = clocked("10:02:00", 1950.0, cap);
    fresh.as_mut().unwrap().started_utc = now;
    let half = state(&[("r1_A", [a.clone(), vec![fresh.clone()]].concat()), ("r1_B", b.clone())]);
    assert_eq!((chosen(&half), open(&half)), (None, Some(Side::B)), "A is new, B is to follow");
    let second = [a.clone(), vec![fresh.clone()]].concat();
    let twice = state(&[("r1_A", second), ("r1_B", [b.clone(), vec![fresh]].concat())]);
    assert_eq!((chosen(&twice), open(&twice)), (Some(vec!["r1_A/2".into(), "r1_B/2".into()]), None));
    assert_eq!(twice.doubt("add", 1, Pairing::Process), None);

    let [a3, b3] = [&a, &b].map(|one| [one.clone(), one.clone(), one.clone()].concat());
    let thrice = state(&[("r1_A", a3), ("r1_B", b3)]);
    assert_eq!((chosen(&thrice), open(&thrice)), (Some(vec!["r1_A/3".into(), "r1_B/3".into()]), None));
    let (tries, doubt) = thrice.doubt("add", 1, Pairing::Process).unwrap();
    assert_eq!((tries, doubt.apart_mhz), (3, Some((1980.0, 1900.0))));
}

#[test]
fn what_cannot_be_measured_again_is_kept_with_its_doubt() {
    let (a, b) = (clocked("10:00:00", 1980.0, "x"), clocked("10:01:00", 1900.0, "x"));
    let ended = Some(outcome(Ending::Timeout, 0, "2026-01-01T10:02:00Z", "0"));
    let it = state(&[("r1_A", vec![a, ended]), ("r1_B", vec![b])]);
    assert_eq!((chosen(&it), open(&it)), (Some(vec!["r1_A/1".into(), "r1_B/1".into()]), None));
    assert_eq!(it.doubt("add", 1, Pairing::Process).unwrap().0, 1);
}

#[test]
fn a_duet_on_a_braked_card_is_measured_again_at_most_twice() {
    let hot = || clocked("10:00:00", 1700.0, "hw_thermal_slowdown");
    let duet = |outcomes| state(&[("r1_AB", outcomes)]);
    let round = |it: &State| {
        let kept = it.round("add", 1, Pairing::Duet)?;
        Some((kept[0].dir.path().display().to_string(), it.doubt("add", 1, Pairing::Duet).is_some()))
    };
    let purpose = Purpose::Round(1, CellSides::Both);
    let once = duet(vec![hot()]);
    assert!(matches!(once.standing("add", purpose), Standing::Open) && round(&once).is_none());
    let cool = duet(vec![hot(), None, clocked("10:05:00", 1980.0, "none")]);
    assert_eq!(round(&cool), Some(("r1_AB/3".into(), false)));
    let thrice = duet(vec![hot(), hot(), hot()]);
    assert_eq!(round(&thrice), Some(("r1_AB/3".into(), true)));
    let ended = Some(outcome(Ending::Failed, 0, "2026-01-01T10:02:00Z", "0"));
    assert_eq!(round(&duet(vec![hot(), ended])), Some(("r1_AB/1".into(), true)));
}
