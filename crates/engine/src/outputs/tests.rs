use super::*;
use OutputsVerdict::{Beyond, Differs, Equal, NotComparable, Unreferenced, Wrong};

fn case(name: &str) -> CaseKey {
    CaseKey { dtype: String::new(), input: name.into(), occurrence: 0 }
}

fn one_sided(side: Side, name: &str, digest: &str, repeatable: bool) -> Outputs {
    Outputs {
        case: case(name),
        side: Some(side),
        digest: Some(digest.into()),
        repeatable: Some(repeatable),
        verdict: None,
        error_a: None,
        error_b: None,
        bound: None,
        detail: None,
    }
}

fn evidence(outputs: Vec<Outputs>) -> Evidence {
    Evidence { outputs, ..Evidence::default() }
}

/// One side's outputs with their distance from a reference.
fn against(side: Side, name: &str, digest: &str, error: f64, bound: f64) -> Outputs {
    let mut it = one_sided(side, name, digest, true);
    let error = error.is_finite().then_some(error);
    match side {
        Side::A => it.error_a = error,
        Side::B => it.error_b = error,
    }
    it.bound = Some(bound);
    it
}

/// A round of one process a side, of one case `x`: digests and distances.
fn round(digests: [&str; 2], errors: [f64; 2]) -> Vec<Evidence> {
    let of = |side, digest, error| evidence(vec![against(side, "x", digest, error, 1e-6)]);
    vec![of(Side::A, digests[0], errors[0]), of(Side::B, digests[1], errors[1])]
}

/// The same without a reference.
fn bare(digests: [&str; 2]) -> Vec<Evidence> {
    let of = |side, digest| evidence(vec![one_sided(side, "x", digest, true)]);
    vec![of(Side::A, digests[0]), of(Side::B, digests[1])]
}

fn verdict(screens: &[Evidence], rounds: &[Vec<Evidence>]) -> Option<OutputsVerdict> {
    let rounds: Vec<&[Evidence]> = rounds.iter().map(Vec::as_slice).collect();
    compare([screens.first(), screens.get(1)], &rounds).of(&case("x"))
}

#[test]
fn digests_of_two_cells() {
    let a = evidence(vec![
        one_sided(Side::A, "same", "1", true),
        one_sided(Side::A, "other", "1", true),
        one_sided(Side::A, "random", "1", false),
        one_sided(Side::A, "only a", "1", true),
    ]);
    let b = evidence(vec![
        one_sided(Side::B, "same", "1", true),
        one_sided(Side::B, "other", "2", true),
        one_sided(Side::B, "random", "3", true),
    ]);
    let it = compare([Some(&a), Some(&b)], &[]);
    assert_eq!(it.of(&case("same")), Some(Equal));
    assert_eq!(it.of(&case("other")), Some(Unreferenced));
    assert_eq!(it.of(&case("random")), Some(NotComparable));
    assert_eq!(it.of(&case("only a")), None);
    assert_eq!(it.worst(), Some(Unreferenced));
    assert_eq!(it.counts(), BTreeMap::from([(Equal, 1), (Unreferenced, 1), (NotComparable, 1)]));
    assert!(want_a_reference([Some(&a), Some(&b)]));
    let same = |side| evidence(vec![one_sided(side, "same", "1", true)]);
    assert!(!want_a_reference([Some(&same(Side::A)), Some(&same(Side::B))]));
}

#[test]
fn digests_of_two_kinds_say_nothing() {
    let found = |a, b| verdict(&bare([a, b]), &[]);
    assert_eq!(found("1", "sha256-tree:1"), Some(NotComparable));
    assert_eq!(found("sha256-tree:1", "1"), Some(NotComparable));
    assert_eq!(found("sha256-tree:1", "sha256-tree:1"), Some(Equal));
    assert_eq!(found("sha256-tree:1", "sha256-tree:2"), Some(Unreferenced));
    assert_eq!(found("1", "2"), Some(Unreferenced));
    // Distances from one reference say more than digests that cannot be compared.
    assert_eq!(verdict(&bare(["1", "x:1"]), &[round(["1", "x:1"], [1e-7, 0.5])]), Some(Wrong));
}

#[test]
fn what_a_duet_cell_said_wins_and_the_worst_round_counts() {
    let said = |verdict| {
        let mut it = one_sided(Side::A, "x", "", true);
        (it.side, it.digest, it.verdict) = (None, None, Some(verdict));
        it
    };
    let duet = |verdict| vec![evidence(vec![said(verdict)])];
    assert_eq!(verdict(&bare(["1", "1"]), &[duet(Unreferenced), duet(Wrong)]), Some(Wrong));
    assert_eq!(verdict(&bare(["1", "2"]), &[duet(Equal)]), Some(Equal));
    assert_eq!(verdict(&bare(["1", "2"]), &[duet(NotComparable)]), Some(Unreferenced));
    // Without a bound there was no reference, whatever the word; with one the distances tell.
    assert_eq!(verdict(&[], &[duet(Differs)]), Some(Unreferenced));
    let mut both = said(Differs);
    (both.bound, both.error_a, both.error_b) = (Some(1e-6), Some(0.5), Some(0.6));
    assert_eq!(verdict(&[], &[vec![evidence(vec![both.clone()])]]), Some(Beyond));
    (both.error_a, both.error_b) = (None, None);
    assert_eq!(verdict(&[], &[vec![evidence(vec![both])]]), Some(Unreferenced));
}

#[test]
fn cells_of_one_side_are_judged_by_their_errors_against_a_reference() {
    let screens = bare(["1", "2"]);
    let of = |errors| verdict(&screens, &[round(["1", "2"], errors), bare(["1", "2"])]);
    let far = f64::INFINITY;
    assert_eq!(of([1e-7, 5e-4]), Some(Wrong));
    assert_eq!(of([1e-7, 5e-7]), Some(Differs));
    assert_eq!(of([1e-7, far]), Some(Wrong));
    assert_eq!(of([0.5, 0.6]), Some(Beyond), "neither is near the reference");
    assert_eq!(of([0.5, 1e-7]), Some(Beyond), "it is A that is wrong");
    assert_eq!(of([far, far]), Some(Unreferenced), "it is no reference of this case");
    let rounds = [round(["1", "2"], [1e-7, 5e-4])];
    let rounds: Vec<&[Evidence]> = rounds.iter().map(Vec::as_slice).collect();
    let it = compare([screens.first(), screens.get(1)], &rounds);
    let said = "from the reference A is 1.0e-7, B 5.0e-4; rounding explains 1.0e-6";
    assert_eq!(it.detail(&case("x")), Some(said));
}

#[test]
fn each_round_is_judged_by_itself_and_the_worst_counts() {
    let screens = bare(["1", "2"]);
    let (good, bad) = (round(["1", "2"], [1e-7, 1e-7]), round(["1", "2"], [1e-7, 0.5]));
    assert_eq!(verdict(&screens, &[good.clone(), bad.clone(), good.clone()]), Some(Wrong));
    // A that is off in another round does not hide B.
    let a_off = round(["1", "2"], [0.3, 1e-7]);
    assert_eq!(verdict(&screens, &[a_off, bad.clone()]), Some(Wrong));
    // Equal when screened says nothing of the rounds.
    let same = bare(["1", "1"]);
    assert_eq!(verdict(&same, &[bad]), Some(Wrong));
    assert_eq!(verdict(&same, &[bare(["1", "1"])]), Some(Equal));
    assert_eq!(verdict(&same, &[bare(["1", "2"])]), Some(Unreferenced));
    // Equal bits are equal, however far from a reference.
    assert_eq!(verdict(&same, &[round(["1", "1"], [0.5, 0.5])]), Some(Equal));
}

#[test]
fn a_reference_of_some_outputs_tells_what_is_wrong_and_not_that_all_is_right() {
    let partly = |error| {
        let mut round = round(["1", "2"], [1e-7, error]);
        for evidence in &mut round {
            evidence.outputs[0].detail = Some("integers among the outputs".into());
        }
        round
    };
    let screens = bare(["1", "2"]);
    assert_eq!(verdict(&screens, &[partly(0.5)]), Some(Wrong));
    assert_eq!(verdict(&screens, &[partly(1e-7)]), Some(Unreferenced));
}

#[test]
fn of_two_precisions_the_finer_bound_judges() {
    let mut coarse = round(["1", "2"], [1e-7, 1e-4]);
    coarse[1].outputs[0].bound = Some(5e-4);
    assert_eq!(verdict(&bare(["1", "2"]), &[coarse]), Some(Wrong));
}
