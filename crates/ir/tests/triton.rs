//! Triton's own parser as an independent judge of what is the same code.
//!
//! Runs when `SWITCHBACK_TEST_TRITON_PYTHON` names an interpreter with triton 3.6 (no GPU is needed),
//! and says so when it does not.

mod common;
#[path = "common/edit.rs"]
mod edit;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Recorded, excerpts, full, texts};
use edit::{Draw, Edit, blind, changing, preserving};
use switchback_ir::{Digest, Stage, digest};

fn interpreter() -> Option<PathBuf> {
    let found = std::env::var_os("SWITCHBACK_TEST_TRITON_PYTHON").map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: `SWITCHBACK_TEST_TRITON_PYTHON` names no interpreter with triton 3.6");
    }
    found
}

fn recorded() -> Vec<Recorded> {
    texts(&full().unwrap_or_else(excerpts))
        .into_iter()
        .filter(|recorded| matches!(recorded.stage, Stage::Ttir | Stage::Ttgir))
        .collect()
}

/// What Triton prints for each text, as a digest; `None` where it refuses the text.
fn printed<'t>(python: &Path, texts: impl Iterator<Item = &'t [u8]>) -> Vec<Option<String>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut count = 0;
    for text in texts {
        fs::write(folder.path().join(format!("{count:06}.mlir")), text).expect("a text is written");
        count += 1;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/triton_print.py");
    let output =
        Command::new(python).arg(script).arg(folder.path()).output().expect("the interpreter starts");
    assert!(output.status.success(), "{:?}", output.status);
    let lines = String::from_utf8(output.stdout).expect("the script prints ASCII");
    let verdicts: Vec<Option<String>> = lines
        .lines()
        .map(|line| line.split_once(' ').expect("two words a line").1)
        .map(|verdict| (verdict != "invalid").then(|| verdict.to_owned()))
        .collect();
    assert_eq!(verdicts.len(), count);
    verdicts
}

#[test]
fn recorded_texts_fall_into_the_same_classes() {
    let Some(python) = interpreter() else { return };
    let recorded = recorded();
    let printed = printed(&python, recorded.iter().map(|text| text.text.as_slice()));
    let mut pairs = BTreeSet::new();
    for (text, printed) in recorded.iter().zip(printed) {
        let printed = printed.unwrap_or_else(|| panic!("{} is refused", text.path.display()));
        pairs.insert((digest(&text.stage, &text.text).digest, printed));
    }
    let ours: BTreeSet<Digest> = pairs.iter().map(|(digest, _)| *digest).collect();
    let theirs: BTreeSet<&String> = pairs.iter().map(|(_, printed)| printed).collect();
    eprintln!("{} texts, {} classes by digest, {} by Triton", recorded.len(), ours.len(), theirs.len());
    // One to one: as many pairs as classes on either side.
    assert_eq!((ours.len(), theirs.len()), (pairs.len(), pairs.len()));
}

/// How often digest and parser said what of an edited text.
#[derive(Default, Debug)]
struct Tally {
    both_same: usize,
    both_different: usize,
    refused: usize,
    /// Missed changes: never.
    digest_same_only: Vec<String>,
    /// False alarms.
    parser_same_only: Vec<String>,
}

fn judged(python: &Path, count: u64, of: fn(&Stage, &str, &mut Draw) -> Option<Edit>) -> Tally {
    let recorded = recorded();
    let mut edits = Vec::new();
    for seed in 0..count {
        let mut draw = Draw(seed);
        let original = draw.below(recorded.len());
        let text = std::str::from_utf8(&recorded[original].text).expect("recorded texts are UTF-8");
        let edit = (0..1000).find_map(|_| of(&recorded[original].stage, text, &mut draw));
        edits.push((original, edit.expect("every recorded text has a place for some edit")));
    }
    let before = printed(python, recorded.iter().map(|text| text.text.as_slice()));
    let after = printed(python, edits.iter().map(|(_, edit)| edit.text.as_bytes()));
    let mut tally = Tally::default();
    for ((original, edit), after) in edits.iter().zip(after) {
        let text = &recorded[*original];
        let Some(after) = after else {
            tally.refused += 1;
            continue;
        };
        let parser_same = before[*original].as_ref() == Some(&after);
        let digest_same =
            digest(&text.stage, &text.text).digest == digest(&text.stage, edit.text.as_bytes()).digest;
        match (digest_same, parser_same) {
            (true, true) => tally.both_same += 1,
            (false, false) => tally.both_different += 1,
            (true, false) => tally.digest_same_only.push(edit.what.clone()),
            (false, true) => tally.parser_same_only.push(edit.what.clone()),
        }
    }
    tally
}

#[test]
fn edits_of_the_meaning_are_changes_to_triton_too() {
    let Some(python) = interpreter() else { return };
    let tally = judged(&python, 3000, changing);
    eprintln!("changing: {tally:?}");
    assert_eq!((tally.both_same, tally.digest_same_only.as_slice()), (0, &[][..]));
    assert_eq!(tally.parser_same_only, Vec::<String>::new());
    assert!(tally.both_different > 1000, "{}", tally.both_different);
}

#[test]
fn edits_beside_the_meaning_are_none_to_triton_too() {
    let Some(python) = interpreter() else { return };
    let tally = judged(&python, 2000, preserving);
    eprintln!("preserving: {tally:?}");
    assert_eq!((tally.both_same, tally.refused), (2000, 0), "{tally:?}");
}

#[test]
fn whatever_triton_tells_apart_the_digest_tells_apart() {
    let Some(python) = interpreter() else { return };
    let tally = judged(&python, 6000, blind);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for what in &tally.parser_same_only {
        *kinds.entry(what).or_default() += 1;
    }
    eprintln!(
        "blind: both same {}, both different {}, refused {}, missed {:?}, false alarms {kinds:#?}",
        tally.both_same, tally.both_different, tally.refused, tally.digest_same_only
    );
    assert_eq!(tally.digest_same_only, Vec::<String>::new());
    assert!(tally.both_different > 500);
}
