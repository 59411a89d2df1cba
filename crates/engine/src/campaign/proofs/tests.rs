//! A campaign's rounds are read once, and what was found of them is the same with the index and without.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use switchback_model::outcome::{Ending, Outcome};
use switchback_stats::Precision;
use switchback_store::attempt::{self, RunIdentity};
use switchback_store::campaign_dir::CampaignDir;
use switchback_store::index::FILE;
use switchback_store::ir_objects;

use super::*;
use crate::judge::judge;
use crate::prepare;
use crate::request::Request;
use crate::request::tests::request;
use crate::state::tests::outcome;

/// Code of the sides, by the number that their kernels hold.
const A: u8 = 1;
const B: u8 = 2;
/// What no screening cell saw.
const OTHER: u8 = 3;

struct Place {
    folder: tempfile::TempDir,
    root: PathBuf,
}

/// What a command finds: who fell back and why, and how many attempts of rounds it read for that.
type Told = (Option<String>, u64);

impl Place {
    /// A screened operator whose duet is to be measured in four rounds; none is there yet.
    fn with(precision: Option<Precision>) -> Self {
        Self::asked(precision, true)
    }

    /// The same; a duet is insisted on unless it may fall back.
    fn asked(precision: Option<Precision>, pairing_falls_back: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut request =
            Request { pairing: Pairing::Duet, pairing_falls_back, rounds: 4, precision, ..request() };
        request.operators.truncate(1);
        let root = folder.path().join("c");
        CampaignDir::create(&root, &request).unwrap().make_folders().unwrap();
        let it = Self { folder, root };
        it.screen(Side::A, A);
        it.screen(Side::B, B);
        it
    }

    /// Four rounds; in the last one side B ran the given code.
    fn new(last_b: u8) -> Self {
        let it = Self::with(None);
        for round in 1..=4 {
            it.round(round, if round == 4 { last_b } else { B });
        }
        it
    }

    fn dir(&self) -> CampaignDir {
        CampaignDir::open(&self.root).unwrap()
    }

    fn write(&self, purpose: &str, sides: &[(Side, u8)]) {
        let dir = self.dir();
        let cell = CellKey { operator: "add".into(), purpose: purpose.parse().unwrap() };
        let (_, attempt) = attempt::claim(&dir, &cell).unwrap();
        fs::write(attempt.events_path(), events(&dir, sides)).unwrap();
        attempt.write_identity(&RunIdentity::default()).unwrap();
        let rows = sides.len() as u64;
        let outcome = outcome(Ending::Completed, rows, "2026-11-30T10:00:00Z", "0");
        attempt.write_outcome(&Outcome { exit_status: Some(0), ..outcome }).unwrap();
    }

    fn screen(&self, side: Side, code: u8) {
        self.write(&format!("screen_{side}"), &[(side, code)]);
    }

    fn round(&self, round: u32, b: u8) {
        self.write(&format!("r{round}_AB"), &[(Side::A, A), (Side::B, b)]);
    }

    /// The first attempt of a cell.
    fn attempt(&self, purpose: &str) -> AttemptDir {
        AttemptDir::at(&self.root.join("cells/add").join(purpose).join("1"))
    }

    /// Breaks a line of a round's events, counted from 1; what is left of it is no event.
    fn tear(&self, purpose: &str, line: usize) {
        self.tear_attempt(&self.attempt(purpose), line);
    }

    fn tear_attempt(&self, attempt: &AttemptDir, line: usize) {
        let path = attempt.events_path();
        let text = fs::read_to_string(&path).unwrap();
        let torn: Vec<&str> =
            (1..).zip(text.lines()).map(|(at, it)| if at == line { &it[..20] } else { it }).collect();
        fs::write(path, torn.join("\n") + "\n").unwrap();
    }

    fn open(&self) -> Campaign {
        prepare::resume(&self.root, Path::new("switchback")).unwrap()
    }

    fn resume(&self) -> Told {
        found(&self.open())
    }

    /// What `report` writes, and how many attempts of rounds it read.
    fn report(&self) -> (String, u64) {
        self.judged(prepare::read_to_judge(&self.root, Path::new("switchback")).unwrap())
    }

    fn rescore(&self) -> (String, u64) {
        self.judged(prepare::rescore(&self.root, Path::new("switchback")).unwrap())
    }

    /// The report, without the folder's name.
    fn judged(&self, mut campaign: Campaign) -> (String, u64) {
        let report = judge(&mut campaign).unwrap();
        let text = serde_json::to_string(&report).unwrap();
        let name = format!("\"campaign\":\"{}\"", campaign.dir.name());
        (text.replace(self.root.to_str().unwrap(), "").replace(&name, ""), campaign.round_reads())
    }

    fn without_index(&self) -> &Self {
        fs::remove_file(self.root.join(FILE)).unwrap();
        self
    }
}

fn found(campaign: &Campaign) -> Told {
    (campaign.rounds.fell_back("add").map(str::to_owned), campaign.round_reads())
}

fn events(dir: &CampaignDir, sides: &[(Side, u8)]) -> String {
    let mut lines = Vec::new();
    for (side, code) in sides {
        let case = json!({"dtype": "f32", "input": "[8]", "occurrence": 0});
        let text = format!(
            "module attributes {{\"ttg.rlc-policy\" = {code} : i32}} {{\n  tt.func @k() {{\n    %0 = arith.constant {code} : i32\n    \
             tt.return\n  }}\n}}\n"
        );
        let text = ir_objects::put(&dir.ir_dir(), text.as_bytes()).unwrap();
        let id = format!("{side}");
        lines.extend([
            json!({"kind": "compile", "t_s": 1, "side": side, "id": id, "kernel": "k", "variant": "v",
                   "stages": {"ttgir": text}}),
            json!({"kind": "launch", "t_s": 2, "side": side, "case": case, "compiled": [{"id": id, "launches": 1}]}),
            json!({"kind": "row", "t_s": 3, "operator": "add", "side": side, "case": case, "ok": true,
                   "timer": "direct", "samples_us": [[2.0, 2.0], [2.0, 2.0]]}),
        ]);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_proven_campaign_is_opened_again_without_reading_its_rounds() {
    let place = Place::new(B);
    assert_eq!(place.resume(), (None, 4));
    assert_eq!(place.resume(), (None, 0));
    place.without_index();
    assert_eq!(place.resume(), (None, 4));
    // Where no index can be, each opening reads.
    fs::create_dir(place.without_index().root.join(FILE)).unwrap();
    assert_eq!((place.resume(), place.resume()), ((None, 4), (None, 4)));
}

#[test]
fn an_unproven_round_stays_unproven_with_its_reason() {
    let place = Place::new(A);
    let (reason, reads) = place.resume();
    let said = reason.clone().unwrap();
    assert!(said.contains("round 4: side B ran other code than screening saw: `k` differs at"), "{said}");
    assert_eq!(reads, 4);
    assert_eq!(place.resume(), (reason.clone(), 0));
    assert_eq!(place.without_index().resume(), (reason, 4));
}

#[test]
fn a_report_reads_each_round_once_and_is_the_same_whatever_the_index() {
    // Of the one that is not proven, no round counts: those of both sides are looked at, and none is left to be judged.
    for (last_b, reads_with_index) in [(B, 4), (OTHER, 0)] {
        let place = Place::new(last_b);
        let (report, reads) = place.report();
        assert_eq!(reads, 4);
        // Stamps are those of the code that is compared, whatever else was looked at.
        assert!(report.contains(r#""stamps":{"ttg.rlc-*":2}"#), "{report}");
        let database = place.root.join(FILE);
        let own = fs::read(&database).unwrap();
        assert_eq!(place.report(), (report.clone(), reads_with_index), "with the index");
        assert_eq!(place.without_index().report(), (report.clone(), 4), "deleted");
        fs::write(&database, &own[..own.len() / 2]).unwrap();
        assert_eq!(place.report(), (report.clone(), 4), "cut off");
        let other = Place::new(if last_b == B { OTHER } else { B });
        other.report();
        fs::copy(other.root.join(FILE), &database).unwrap();
        assert_eq!(place.report(), (report.clone(), 4), "another folder's");
        fs::write(&database, own).unwrap();
        let copy = Place { folder: tempfile::tempdir().unwrap(), root: place.folder.path().join("copy") };
        let copied = std::process::Command::new("cp").arg("-a").arg(&place.root).arg(&copy.root).status();
        assert!(copied.unwrap().success());
        assert_eq!(copy.report(), (report, 4), "copied");
        assert_eq!(copy.report().1, reads_with_index);
    }
}

#[test]
fn what_came_or_changed_is_looked_at_and_nothing_else() {
    let place = Place::with(None);
    place.round(1, B);
    place.round(2, B);
    assert_eq!(place.resume(), (None, 2));
    place.round(3, B);
    assert_eq!(place.resume(), (None, 1));
    place.round(4, A);
    let (reason, reads) = place.resume();
    assert_eq!((reason.is_some(), reads), (true, 1));
    // The round's events are others: that one is read.
    fs::write(place.attempt("r4_AB").events_path(), events(&place.dir(), &[(Side::A, A), (Side::B, B)]))
        .unwrap();
    assert_eq!(place.resume(), (None, 1));
    // What screening saw is other code: no round is known any more, and the first is not proven by it.
    fs::write(place.attempt("screen_B").events_path(), events(&place.dir(), &[(Side::B, OTHER)])).unwrap();
    let (reason, reads) = place.resume();
    assert!(reason.as_ref().unwrap().contains("round 1: side B ran other code"), "{reason:?}");
    assert_eq!(reads, 4);
    assert_eq!(place.resume(), (reason, 0));
}

#[test]
fn a_kept_round_whose_identity_is_lost_is_refused_as_without_the_index() {
    let place = Place::new(B);
    place.resume();
    fs::remove_file(place.attempt("r3_AB").identity_path()).unwrap();
    let refused = || prepare::resume(&place.root, Path::new("switchback")).err().unwrap().to_string();
    let with_index = refused();
    assert!(with_index.contains("run_identity.json"), "{with_index}");
    place.without_index();
    assert_eq!(refused(), with_index);
}

#[test]
fn rescore_believes_nothing_that_was_found_before() {
    let place = Place::new(B);
    let (report, _) = place.report();
    // What an earlier rule might have found.
    let campaign = prepare::read(&place.root, Path::new("switchback")).unwrap();
    let basis = campaign.basis("add").unwrap();
    let mut index = Index::open(&campaign.dir, &campaign.request.id);
    let cell = CellKey { operator: "add".into(), purpose: "r2_AB".parse().unwrap() };
    let look = Look::at(&cell, &place.attempt("r2_AB"), &basis).unwrap().unwrap();
    index.keep_proof(look, Some("an earlier rule's"));
    index.save();
    assert_eq!(place.resume(), (Some("an earlier rule's".into()), 0));
    assert_eq!(place.rescore(), (report.clone(), 4));
    // And what it found takes that one's place.
    assert_eq!(place.resume(), (None, 0));
    assert_eq!(place.rescore(), (report, 4));
}

#[test]
fn rounds_that_also_decide_on_further_ones_are_read_once() {
    let place = Place::with(Some(Precision { half_width_percent: 1.0, max_rounds: 4 }));
    for round in 1..=3 {
        place.round(round, B);
    }
    assert_eq!(place.resume(), (None, 3), "to look at them and to decide");
    assert_eq!(place.resume(), (None, 3), "to decide");
    let (report, reads) = place.report();
    assert_eq!(reads, 3, "to decide and to judge");
    assert_eq!(place.without_index().report(), (report, 3), "for all three");
}

/// Lines 4 to 6 are side B's: what it compiled, what its case launched, its row.
#[test]
fn a_line_that_cannot_be_read_costs_its_round_and_is_no_proof_against_the_duet() {
    for (line, falls_back) in [(4, true), (5, true), (4, false), (5, false)] {
        let place = Place::asked(None, falls_back);
        (1..=4).for_each(|round| place.round(round, B));
        let whole = place.report().0;
        place.tear("r3_AB", line);
        let next = |it: &Campaign| it.next().map(|(cell, _)| cell.to_string());
        let campaign = place.open();
        assert_eq!((found(&campaign).0, next(&campaign).as_deref()), (None, Some("add r3_AB")));
        drop(campaign);
        let (report, _) = place.report();
        let said = format!("`events.jsonl`, line {line}, cannot be read: ");
        assert!(report.contains(&said) && report.contains("add r3_AB cannot be read"), "{report}");
        assert!(!report.contains("ran other code") && !report.contains("not proven"), "{report}");
        // Three rounds of four, and they are those around it.
        assert!(report.contains(r#""rounds":3"#), "{report}");
        assert_eq!(place.report().0, report, "with the index");
        assert_eq!(place.without_index().report().0, report, "without");
        // Measured again, it counts, and all is as it was.
        place.round(3, B);
        let campaign = place.open();
        assert_eq!((found(&campaign).0, next(&campaign)), (None, None));
        drop(campaign);
        let again = place.report().0;
        assert!(again.contains("another attempt of the cell counts"), "{again}");
        let operators = |text: &str| text[text.find("\"operators\"").unwrap()..].to_owned();
        let (now, before) = (operators(&again), operators(&whole));
        let until = |text: &str| text[..text.find("\"controls\"").unwrap()].to_owned();
        assert_eq!(until(&now), until(&before));
    }
}

#[test]
fn a_round_that_cannot_be_read_twice_is_measured_one_process_a_side_for_that_reason() {
    for falls_back in [true, false] {
        let place = Place::asked(None, falls_back);
        (1..=4).for_each(|round| place.round(round, B));
        place.round(3, B);
        place.tear("r3_AB", 5);
        place.tear_attempt(&AttemptDir::at(&place.root.join("cells/add/r3_AB/2")), 4);
        let report = place.report().0;
        assert!(report.contains("it was measured again, and no better"), "{report}");
        assert!(!report.contains("ran other code"), "{report}");
        let campaign = place.open();
        let (reason, next) = (found(&campaign).0, campaign.next().map(|(cell, _)| cell.to_string()));
        drop(campaign);
        if falls_back {
            let reason = reason.unwrap();
            assert!(reason.starts_with("round 3: `events.jsonl`, line 4, cannot be read: "), "{reason}");
            assert_eq!(next.as_deref(), Some("add r1_A"));
            assert_eq!(place.resume().0, Some(reason));
        } else {
            // A duet that is insisted on has the rounds around it, and says which is missing.
            assert_eq!((reason, next), (None, None));
            assert!(report.contains("r3_AB: `events.jsonl`, line 4, cannot be read"), "{report}");
            assert!(report.contains(r#""rounds":3"#), "{report}");
        }
    }
}

#[test]
fn a_line_that_cannot_be_read_hides_no_round_that_is_not_proven() {
    // Round 4 ran other code; so did the second try of round 3.
    let place = Place::new(A);
    place.tear("r3_AB", 5);
    assert!(place.resume().0.unwrap().contains("round 4: side B ran other code"));
    place.round(3, A);
    assert!(place.resume().0.unwrap().contains("round 3: side B ran other code"));
}

#[test]
fn a_line_without_which_all_is_proven_costs_what_stood_in_it_alone() {
    let place = Place::new(B);
    // Side B's row of the round's only case.
    place.tear("r3_AB", 6);
    let campaign = place.open();
    assert_eq!((found(&campaign).0, campaign.next()), (None, None));
    let report = place.report().0;
    assert!(report.contains("`add`, round 3 is not read whole"), "{report}");
}
