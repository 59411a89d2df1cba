//! A drive of cards with several cells each, with cells that end as a test says.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use switchback_model::card::Card;
use switchback_model::cell::Purpose;
use switchback_model::order::{Order, Turn};
use switchback_model::outcome::{Counts, DeviceFault, Ending, Outcome};
use switchback_model::side::{CellSides, Pairing, Side};
use switchback_store::atomic;
use switchback_store::attempt::{AttemptDir, RunIdentity};
use switchback_store::campaign_dir::CampaignDir;
use switchback_store::event_writer::monotonic_s;
use switchback_store::ir_objects;

use super::*;
use crate::executor::Started;
use crate::prepare;
use crate::request::tests::request;
use crate::request::{Goal, Request};

/// Says which of those that run ends next, by its place, and how; none to let time pass.
type Says<'a> = dyn FnMut(&[(Started, Order)]) -> Option<(usize, End)> + 'a;

/// Cells that run, in the order in which they were started; what ends, and how, is a test's to say.
struct Cells<'a> {
    running: Vec<(Started, Order)>,
    stopped: VecDeque<Started>,
    next: Box<Says<'a>>,
    started: u64,
    /// Card and cell of all that were started.
    all: Vec<(String, String)>,
}

#[derive(Clone, Copy)]
enum End {
    Well,
    NotStarted,
    Lost,
    Poisoned,
    Fails,
    Crashes,
    CutOff,
}

/// What a cell that ended well had told. Side B of every third operator has the code of side A; of every other third its code
/// within a duet is what screening did not see.
fn events(order: &Order) -> String {
    let number: u32 = order.operator.operator[1..].parse().unwrap();
    let sides = order.purpose.sides();
    let mut lines = Vec::new();
    for side in Side::BOTH.into_iter().filter(|side| sides == CellSides::Both || sides == (*side).into()) {
        let code = match (side, number % 3, sides) {
            (Side::A, ..) | (_, 0, _) => 1,
            (_, 2, CellSides::Both) => 3,
            _ => 2,
        };
        let case = json!({"dtype": "f32", "input": "[8]", "occurrence": 0});
        let text = format!(
            "module attributes {{\"x\" = {code} : i32}} {{\n  tt.func @k() {{\n    %0 = arith.constant {code} : i32\n    \
             tt.return\n  }}\n}}\n"
        );
        let text = ir_objects::put(&order.ir_dir, text.as_bytes()).unwrap();
        lines.extend([
            json!({"kind": "compile", "t_s": 1, "side": side, "id": side, "kernel": "k", "variant": "v",
                   "stages": {"ttgir": text}}),
            json!({"kind": "launch", "t_s": 2, "side": side, "case": case, "compiled": [{"id": side, "launches": 1}]}),
            json!({"kind": "row", "t_s": 3, "operator": order.operator.operator, "side": side, "case": case,
                   "ok": true, "timer": "gated", "samples_us": [[2.0, 2.0], [2.0, 2.0]]}),
        ]);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

impl<'a> Cells<'a> {
    fn new(next: impl FnMut(&[(Started, Order)]) -> Option<(usize, End)> + 'a) -> Self {
        Self {
            running: Vec::new(),
            stopped: VecDeque::new(),
            next: Box::new(next),
            started: 0,
            all: Vec::new(),
        }
    }

    fn end(&mut self, place: usize, how: Option<End>) -> Started {
        let (started, order) = self.running.remove(place);
        let attempt = AttemptDir::at(&order.attempt_dir);
        let is_well = matches!(how, Some(End::Well));
        if is_well {
            fs::write(attempt.events_path(), events(&order)).unwrap();
        }
        let outcome = Outcome {
            ending: match how {
                None | Some(End::CutOff) => Ending::Interrupted,
                Some(End::Well) => Ending::Completed,
                Some(End::NotStarted) => Ending::NotStarted,
                Some(End::Lost | End::Poisoned | End::Fails) => Ending::Failed,
                Some(End::Crashes) => Ending::Crashed,
            },
            signal: matches!(how, Some(End::Crashes)).then_some(11),
            shared: order.turn == Some(Turn::Shared),
            boot_id: switchback_store::boot_id().to_owned(),
            started_s: monotonic_s(),
            device_fault: match how {
                Some(End::Lost) => Some(DeviceFault::Lost),
                Some(End::Poisoned) => Some(DeviceFault::Poisoned),
                _ => None,
            },
            card: order.card.clone(),
            counts: Counts { success: u64::from(is_well), ended: is_well, ..Counts::default() },
            reason: "as told".into(),
            ..crate::state::tests::outcome(Ending::Completed, 0, "2026-01-01T10:00:00Z", "0")
        };
        attempt.write_identity(&RunIdentity::default()).unwrap();
        attempt.write_outcome(&outcome).unwrap();
        started
    }
}

impl Executor for Cells<'_> {
    fn start(&mut self, order_path: &Path) -> Result<Started, io::Error> {
        let order: Order = atomic::read_json(order_path).map_err(io::Error::other)?;
        let beside: Vec<&Order> =
            self.running.iter().map(|(_, it)| it).filter(|it| it.card == order.card).collect();
        let is_by_itself = order.turn.is_none() || beside.iter().any(|it| it.turn.is_none());
        assert!(!is_by_itself || beside.is_empty(), "{} is not by itself", order.purpose);
        assert!(beside.len() < 4);
        self.started += 1;
        self.all.push((order.card.index.clone(), format!("{} {}", order.operator.operator, order.purpose)));
        self.running.push((Started(self.started), order));
        Ok(Started(self.started))
    }

    fn wait(&mut self, _limit: Duration) -> Result<Option<Started>, io::Error> {
        if let Some(stopped) = self.stopped.pop_front() {
            let place = self.running.iter().position(|(started, _)| *started == stopped).unwrap();
            return Ok(Some(self.end(place, None)));
        }
        let next = (self.next)(&self.running);
        Ok(next.map(|(place, how)| self.end(place, Some(how))))
    }

    fn stop_one(&mut self, started: Started) {
        self.stopped.push_back(started);
    }

    fn stop(&mut self) {
        self.stopped.extend(self.running.iter().map(|(started, _)| *started));
    }

    fn kill(&mut self) {}
}

#[derive(Default)]
struct Notes(Vec<String>);

impl Observer for Notes {
    fn note(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

impl Notes {
    fn of_cards(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).filter(|note| note.starts_with("card ")).collect()
    }
}

/// A campaign of so many operators of the triton suite, on two cards with four cells each.
fn campaign(folder: &Path, operators: usize, goal: Goal) -> Campaign {
    let card = |index: &str| Card { backend: "cpu".into(), index: index.into(), uuid: None, name: None };
    let request = Request {
        suite: "triton".into(),
        goal,
        pairing: Pairing::Duet,
        pairing_falls_back: true,
        cells_per_card: Some(4),
        operators: (0..operators).map(|it| format!("o{it}").parse().unwrap()).collect(),
        more_cards: vec![RequestCard { card: card("1"), facts: BTreeMap::new() }],
        ..request()
    };
    let root = folder.join("c");
    CampaignDir::create(&root, &request).unwrap();
    let mut campaign = prepare::resume(&root, Path::new("switchback")).unwrap();
    campaign.use_cards(request.cards());
    campaign
}

fn drive(operators: usize, cells: &mut Cells<'_>) -> (Drive, Notes) {
    let folder = tempfile::tempdir().unwrap();
    let mut notes = Notes::default();
    let ended = campaign(folder.path(), operators, Goal::Screen)
        .drive(cells, &Interrupt::default(), &mut notes)
        .unwrap();
    assert!(cells.running.is_empty(), "nothing runs when a drive returns");
    (ended, notes)
}

fn on(running: &[(Started, Order)], card: &str) -> Option<usize> {
    running.iter().position(|(_, order)| order.card.index == card)
}

#[test]
fn cells_that_could_not_start_together_are_one_trouble_of_their_card() {
    // Another campaign has card 1.
    let mut cells = Cells::new(|running| match on(running, "1") {
        Some(place) => Some((place, End::NotStarted)),
        None => (!running.is_empty()).then_some((0, End::Well)),
    });
    let (ended, notes) = drive(8, &mut cells);
    assert!(matches!(ended, Drive::Finished));
    assert_eq!(notes.of_cards(), ["card 1 gets no more cells: as told; tried again after 60 s"]);
    let there = cells.all.iter().filter(|(card, _)| card == "1").count();
    assert_eq!(there, 8, "four at once, and each of their hands once more: {:?}", cells.all);
}

#[test]
fn a_card_that_is_out_gives_its_blocks_to_others_and_gets_none_whatever_still_ran_on_it() {
    // Two cells find card 1 lost, one after the other, then two that were there before end well.
    let mut ended_there = 0;
    let mut cells = Cells::new(|running| {
        let here: Vec<usize> =
            (0..running.len()).filter(|place| running[*place].1.card.index == "1").collect();
        let (Some(first), Some(last)) = (here.first(), here.last()) else {
            return (!running.is_empty()).then_some((0, End::Well));
        };
        ended_there += 1;
        match ended_there {
            1 => Some((*first, End::Lost)),
            // The one that was started for it.
            2 => Some((*last, End::Lost)),
            _ => Some((*first, End::Well)),
        }
    });
    let (ended, notes) = drive(12, &mut cells);
    assert_eq!(notes.of_cards(), ["card 1 gets no more cells: it was lost twice: as told"]);
    assert!(matches!(ended, Drive::Finished), "{:?}", cells.all);
    let there = cells.all.iter().filter(|(card, _)| card == "1").count();
    assert_eq!(there, 5, "{:?}", cells.all);
}

#[test]
fn both_sides_of_an_operator_are_screened_beside_each_other_and_on_one_card() {
    let mut beside = Vec::new();
    let mut cells = Cells::new(|running| {
        let mut there: Vec<String> = running.iter().map(|(_, order)| order.purpose.to_string()).collect();
        there.sort();
        beside.push(there);
        (!running.is_empty()).then_some((0, End::Well))
    });
    let (ended, _) = drive(1, &mut cells);
    assert!(matches!(ended, Drive::Finished), "{:?}", cells.all);
    let cards: BTreeSet<&str> = cells.all.iter().map(|(card, _)| card.as_str()).collect();
    assert_eq!(cards.len(), 1, "{:?}", cells.all);
    let names: Vec<&str> = cells.all.iter().map(|(_, cell)| cell.as_str()).collect();
    assert_eq!(
        names.iter().collect::<BTreeSet<_>>().len(),
        names.len(),
        "a cell was started twice: {names:?}"
    );
    drop(cells);
    assert_eq!(beside, [vec!["tune_A"], vec!["screen_A", "screen_B"], vec!["screen_B"]]);
}

#[test]
fn cells_whose_turn_has_not_come_when_the_time_is_used_up_are_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = campaign(folder.path(), 8, Goal::Screen);
    let mut left = Vec::new();
    let mut cells = Cells::new(|running| {
        left.push(running.iter().map(|(started, _)| *started).collect::<Vec<_>>());
        Some((0, End::Well))
    });
    let (cards, interrupt, mut notes) = (campaign.request.cards(), Interrupt::default(), Notes::default());
    let mut driver = Driver::new(&mut campaign, cards, &mut cells, &interrupt, &mut notes);
    driver.start_what_can().unwrap();
    let all: Vec<Vec<&RunningCell>> = driver.seats.iter().map(|seat| seat.running().collect()).collect();
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
    // On one card the third has its turn, on the other nobody so far.
    let turn = json!({"kind": "turn", "t_s": 1, "waited_s": 0});
    fs::write(all[0][2].attempt.events_path(), format!("{turn}\n")).unwrap();
    let kept = vec![all[0][2].started, all[1][0].started];
    driver.campaign.request.time_budget_s = Some(0.0);
    assert!(matches!(driver.run().unwrap(), Drive::OutOfTime));
    assert_eq!(cells.started, 8, "{:?}", cells.all);
    drop(cells);
    assert_eq!(left, [kept.clone(), kept[1..].to_vec()], "a cell a card was left to its end");
}

/// Ends the cells of one operator as they are told, in that order; each must run by then.
fn told(told: &[(&'static str, End)]) -> Cells<'static> {
    let mut left: VecDeque<_> = told.iter().copied().collect();
    Cells::new(move |running| {
        let (purpose, how) = left.pop_front()?;
        let place = running.iter().position(|(_, order)| order.purpose.to_string() == purpose);
        Some((place.unwrap_or_else(|| panic!("{purpose} does not run")), how))
    })
}

#[test]
fn a_side_that_died_is_tried_on_another_card_while_and_after_the_other_side_ran() {
    let rest = [("screen_B", End::Well), ("screen_A", End::Well)];
    let lost = [("tune_A", End::Well), ("screen_A", End::Lost)];
    // A context that others may have poisoned is tried by itself first, and nothing keeps that from the same card.
    let poisoned = [("tune_A", End::Well), ("screen_A", End::Fails), ("screen_A", End::Poisoned)];
    for begin in [&lost[..], &poisoned[..]] {
        let mut cells = told(&[begin, &rest].concat());
        let (ended, _) = drive(1, &mut cells);
        assert!(matches!(ended, Drive::Finished), "{:?}", cells.all);
        let (last, before) = cells.all.split_last().unwrap();
        assert_eq!((before.len(), last.1.as_str()), (begin.len() + 1, "o0 screen_A"), "{:?}", cells.all);
        assert!(before.iter().all(|(card, _)| *card == before[0].0 && *card != last.0), "{:?}", cells.all);
    }
}

#[test]
fn what_is_said_of_a_failed_side_is_said_when_the_other_has_ended() {
    let reasons = |campaign: &Campaign| campaign.screened()["o0"].reasons.clone();
    let begin = [("tune_A", End::Well), ("screen_A", End::Fails), ("screen_A", End::Fails)];
    let ran = vec!["no input ran on side A".to_owned()];
    let none = vec!["no input ran, on neither side".to_owned()];
    for (b, expected) in [(End::Well, &ran), (End::NotStarted, &none), (End::CutOff, &none)] {
        let folder = tempfile::tempdir().unwrap();
        let mut campaign = campaign(folder.path(), 1, Goal::Screen);
        let mut cells = told(&[&begin[..], &[("screen_B", b)]].concat());
        let ended = campaign.drive(&mut cells, &Interrupt::default(), &mut Notes::default()).unwrap();
        assert!(matches!(ended, Drive::Finished), "{:?}", cells.all);
        assert_eq!(reasons(&campaign), *expected);
        drop(campaign);
        let again = prepare::resume(&folder.path().join("c"), Path::new("switchback")).unwrap();
        assert_eq!(reasons(&again), *expected, "whoever opens it later reads the same");
    }
}

#[test]
fn whatever_cells_end_as_a_drive_comes_to_its_end() {
    for seed in 0..6_u64 {
        let mut draws = ChaCha8Rng::seed_from_u64(seed);
        let folder = tempfile::tempdir().unwrap();
        let mut campaign = campaign(folder.path(), 9, Goal::Ab);
        let mut cells = Cells::new(|running| {
            let place = draws.random_range(0..running.len());
            // What several cells of a step come to together is where most can go wrong.
            let is_side = matches!(running[place].1.purpose, Purpose::Screen(_));
            let how = match draws.random_range(0..if is_side { 45 } else { 100 }) {
                0..12 => End::Fails,
                12..16 => End::Crashes,
                16..20 => End::CutOff,
                20..22 => End::Poisoned,
                22..24 => End::Lost,
                24..26 => End::NotStarted,
                _ => End::Well,
            };
            Some((place, how))
        });
        // A drive may run out of cards; the next one gives each another chance.
        for drives in 1.. {
            let mut notes = Notes::default();
            let ended = campaign.drive(&mut cells, &Interrupt::default(), &mut notes).unwrap();
            if matches!(ended, Drive::Finished) {
                break;
            }
            let is_out = |card| notes.of_cards().iter().any(|note| note.starts_with(card));
            assert!(is_out("card 0 gets") && is_out("card 1 gets"), "seed {seed}: {:?}", cells.all);
            assert!(drives < 40, "seed {seed}: {:?}", cells.all);
        }
        assert!(campaign.next().is_none(), "seed {seed}");
        assert!(schedule::all_screened(&campaign.request, &campaign.screened), "seed {seed}");
        assert!(cells.all.len() < 300, "seed {seed}: {:?}", cells.all);
        let duet = cells.all.iter().any(|(_, cell)| cell.ends_with("r1_AB"));
        let process = cells.all.iter().any(|(_, cell)| cell.ends_with("r1_A"));
        assert!(duet && process, "seed {seed}: {:?}", cells.all);
    }
}
