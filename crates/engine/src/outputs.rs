//! Whether both sides compute the same: from what duet cells compared, or from digests of one-sided cells.

use std::collections::BTreeMap;

use switchback_model::case::CaseKey;
use switchback_model::event::{Outputs, OutputsVerdict};
use switchback_model::side::Side;

use crate::evidence::Evidence;

/// How each case's outputs compare.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaseOutputs(BTreeMap<CaseKey, Compared>);

#[derive(Debug, Clone, PartialEq)]
struct Compared {
    verdict: OutputsVerdict,
    /// How far apart they are, where that says more than the verdict.
    detail: Option<String>,
}

impl CaseOutputs {
    /// How a case's outputs compare; none if they were not compared.
    #[must_use]
    pub fn of(&self, case: &CaseKey) -> Option<OutputsVerdict> {
        self.0.get(case).map(|it| it.verdict)
    }

    /// How far apart a case's outputs are, in words; none where they are equal, not comparable or within rounding.
    #[must_use]
    pub fn detail(&self, case: &CaseKey) -> Option<&str> {
        self.0.get(case)?.detail.as_deref()
    }

    /// The worst of all cases.
    #[must_use]
    pub fn worst(&self) -> Option<OutputsVerdict> {
        self.0.values().map(|it| it.verdict).max_by_key(|verdict| rank(*verdict))
    }

    /// Cases that were compared, and how many of them are equal.
    #[must_use]
    pub fn counts(&self) -> Option<(u32, u32)> {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let equal = self.0.values().filter(|it| it.verdict == OutputsVerdict::Equal).count();
        (!self.0.is_empty()).then(|| (count(self.0.len()), count(equal)))
    }

    fn add(&mut self, case: &CaseKey, found: Compared) {
        match self.0.get_mut(case) {
            Some(it) if rank(found.verdict) <= rank(it.verdict) => {}
            Some(it) => *it = found,
            None => {
                self.0.insert(case.clone(), found);
            }
        }
    }
}

fn rank(verdict: OutputsVerdict) -> u8 {
    match verdict {
        OutputsVerdict::Equal => 0,
        OutputsVerdict::NotComparable => 1,
        OutputsVerdict::Differs => 2,
        OutputsVerdict::Unreferenced => 3,
        OutputsVerdict::Wrong => 4,
    }
}

/// Compares outputs: what duet cells said themselves, else the two screening cells' by digest, and where those differ by what
/// rounds of one side each read against a reference.
#[must_use]
pub fn compare(screens: [Option<&Evidence>; 2], rounds: &[&Evidence]) -> CaseOutputs {
    let mut it = CaseOutputs::default();
    for outputs in rounds.iter().flat_map(|evidence| &evidence.outputs) {
        if let Some(found) = said_by_the_cell(outputs) {
            it.add(&outputs.case, found);
        }
    }
    let [Some(a), Some(b)] = screens else { return it };
    let of = |evidence: &Evidence, side| -> BTreeMap<CaseKey, Outputs> {
        evidence
            .outputs
            .iter()
            .filter(|outputs| outputs.side == Some(side))
            .map(|outputs| (outputs.case.clone(), outputs.clone()))
            .collect()
    };
    let (in_a, in_b) = (of(a, Side::A), of(b, Side::B));
    let mut errors = BTreeMap::new();
    for outputs in [a, b].into_iter().chain(rounds.iter().copied()).flat_map(|evidence| &evidence.outputs) {
        Errors::note(&mut errors, outputs);
    }
    for (case, in_a) in &in_a {
        // What a duet cell compared with a reference at hand says more than two digests do; that it could not compare says less.
        if it.of(case).is_some_and(|verdict| verdict != OutputsVerdict::NotComparable) {
            continue;
        }
        let Some(in_b) = in_b.get(case) else { continue };
        let plain = |verdict| Compared { verdict, detail: None };
        let found = match (&in_a.digest, &in_b.digest) {
            (Some(a), Some(b)) if a == b => plain(OutputsVerdict::Equal),
            // A campaign that goes on with a newer probe: digests that were made otherwise say nothing about the bits.
            (Some(a), Some(b)) if kind(a) != kind(b) => plain(OutputsVerdict::NotComparable),
            _ if in_a.repeatable == Some(false) || in_b.repeatable == Some(false) => {
                plain(OutputsVerdict::NotComparable)
            }
            (Some(_), Some(_)) => {
                let known = errors.get(case);
                known.and_then(Errors::compared).unwrap_or_else(|| Compared {
                    verdict: OutputsVerdict::Unreferenced,
                    detail: known.and_then(|it| it.reason.clone()),
                })
            }
            _ => plain(OutputsVerdict::NotComparable),
        };
        it.0.insert(case.clone(), found);
    }
    it
}

/// What a cell of both sides said of a case; none in a cell of one side.
fn said_by_the_cell(outputs: &Outputs) -> Option<Compared> {
    let verdict = match (outputs.verdict?, outputs.bound) {
        (OutputsVerdict::Differs, None) => OutputsVerdict::Unreferenced,
        (verdict, _) => verdict,
    };
    let detail = match (verdict, outputs.bound) {
        (OutputsVerdict::Wrong, Some(bound)) => Some(distances(outputs.error_a, outputs.error_b, bound)),
        (OutputsVerdict::Wrong | OutputsVerdict::Unreferenced, _) => outputs.detail.clone(),
        _ => None,
    };
    Some(Compared { verdict, detail })
}

/// A case's largest errors against a reference, over all cells of one side; an infinite one has no number in JSON.
#[derive(Debug, Clone, Default)]
struct Errors {
    a: Option<f64>,
    b: Option<f64>,
    bound: Option<f64>,
    /// Why a cell had no reference.
    reason: Option<String>,
}

impl Errors {
    fn note(all: &mut BTreeMap<CaseKey, Self>, outputs: &Outputs) {
        let Some(side) = outputs.side else { return };
        let it = all.entry(outputs.case.clone()).or_default();
        let Some(bound) = outputs.bound else {
            it.reason = outputs.detail.clone().or_else(|| it.reason.take());
            return;
        };
        let (place, error) = match side {
            Side::A => (&mut it.a, outputs.error_a),
            Side::B => (&mut it.b, outputs.error_b),
        };
        let error = error.unwrap_or(f64::INFINITY);
        *place = Some(place.map_or(error, |known| known.max(error)));
        it.bound = Some(bound);
    }

    /// None without both sides, and where both lie infinitely far from what then is not this case's reference.
    fn compared(&self) -> Option<Compared> {
        let (a, b, bound) = (self.a?, self.b?, self.bound?);
        if a.is_infinite() && b.is_infinite() {
            return None;
        }
        let verdict = OutputsVerdict::of_errors(a, b, bound);
        let is_wrong = verdict == OutputsVerdict::Wrong;
        Some(Compared { verdict, detail: is_wrong.then(|| distances(Some(a), Some(b), bound)) })
    }
}

/// The distances of both sides from the reference, relative to its largest value.
fn distances(error_a: Option<f64>, error_b: Option<f64>, bound: f64) -> String {
    let number = |error: Option<f64>| match error.filter(|error| error.is_finite()) {
        Some(0.0) => "0".to_owned(),
        Some(error) => format!("{error:.1e}"),
        None => "infinitely far".to_owned(),
    };
    format!(
        "from the reference A is {}, B {}; rounding explains {bound:.1e}",
        number(error_a),
        number(error_b)
    )
}

/// How a digest was made: what stands before its colon, nothing for a plain SHA-256.
fn kind(digest: &str) -> &str {
    digest.split_once(':').map_or("", |(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(it.of(&case("same")), Some(OutputsVerdict::Equal));
        assert_eq!(it.of(&case("other")), Some(OutputsVerdict::Unreferenced));
        assert_eq!(it.of(&case("random")), Some(OutputsVerdict::NotComparable));
        assert_eq!(it.of(&case("only a")), None);
        assert_eq!((it.worst(), it.counts()), (Some(OutputsVerdict::Unreferenced), Some((3, 1))));
    }

    #[test]
    fn digests_of_two_kinds_say_nothing() {
        let of = |side, digest| evidence(vec![one_sided(side, "x", digest, true)]);
        let verdict = |a, b| compare([Some(&of(Side::A, a)), Some(&of(Side::B, b))], &[]).of(&case("x"));
        assert_eq!(verdict("1", "sha256-tree:1"), Some(OutputsVerdict::NotComparable));
        assert_eq!(verdict("sha256-tree:1", "1"), Some(OutputsVerdict::NotComparable));
        assert_eq!(verdict("sha256-tree:1", "sha256-tree:1"), Some(OutputsVerdict::Equal));
        assert_eq!(verdict("sha256-tree:1", "sha256-tree:2"), Some(OutputsVerdict::Unreferenced));
        assert_eq!(verdict("1", "2"), Some(OutputsVerdict::Unreferenced));
    }

    #[test]
    fn what_a_duet_cell_said_wins_and_the_worst_round_counts() {
        let mut said = one_sided(Side::A, "x", "", true);
        (said.side, said.digest, said.verdict) = (None, None, Some(OutputsVerdict::Differs));
        let mut worse = said.clone();
        worse.verdict = Some(OutputsVerdict::Wrong);
        let (one, two) = (evidence(vec![said]), evidence(vec![worse]));
        let a = evidence(vec![one_sided(Side::A, "x", "1", true)]);
        let b = evidence(vec![one_sided(Side::B, "x", "1", true)]);
        let it = compare([Some(&a), Some(&b)], &[&one, &two]);
        assert_eq!(it.worst(), Some(OutputsVerdict::Wrong));
    }

    fn against(side: Side, name: &str, digest: &str, error: f64, bound: Option<f64>) -> Outputs {
        let mut it = one_sided(side, name, digest, true);
        let error = error.is_finite().then_some(error);
        match side {
            Side::A => it.error_a = error,
            Side::B => it.error_b = error,
        }
        it.bound = bound;
        it
    }

    #[test]
    fn cells_of_one_side_are_judged_by_their_errors_against_a_reference() {
        let names = ["wrong", "rounding", "infinite", "no case's", "half", "equal"];
        let errors = [(1e-7, 5e-4), (1e-7, 5e-7), (1e-7, f64::INFINITY), (f64::INFINITY, f64::INFINITY)];
        let screen = |side, digest: &str| {
            let outputs =
                names.map(|name| one_sided(side, name, if name == "equal" { "0" } else { digest }, true));
            evidence(outputs.into())
        };
        let (a, b) = (screen(Side::A, "1"), screen(Side::B, "2"));
        let mut of_a: Vec<Outputs> = names
            .iter()
            .zip(errors)
            .map(|(name, (error, _))| against(Side::A, name, "1", error, Some(1e-6)))
            .collect();
        of_a.push(against(Side::A, "half", "1", 1e-7, Some(1e-6)));
        let of_b =
            names.iter().zip(errors).map(|(name, (_, error))| against(Side::B, name, "2", error, Some(1e-6)));
        let (round_a, round_b) = (evidence(of_a), evidence(of_b.collect()));
        let it = compare([Some(&a), Some(&b)], &[&round_a, &round_b]);
        let found = names.map(|name| it.of(&case(name)).unwrap());
        use OutputsVerdict::{Differs, Equal, Unreferenced, Wrong};
        assert_eq!(found, [Wrong, Differs, Wrong, Unreferenced, Unreferenced, Equal]);
        assert_eq!(
            it.detail(&case("wrong")),
            Some("from the reference A is 1.0e-7, B 5.0e-4; rounding explains 1.0e-6")
        );
        assert_eq!(it.detail(&case("rounding")), None);
        // One good round does not make up for a bad one.
        let good = evidence(vec![against(Side::B, "wrong", "2", 1e-7, Some(1e-6))]);
        let it = compare([Some(&a), Some(&b)], &[&round_a, &round_b, &good]);
        assert_eq!(it.of(&case("wrong")), Some(Wrong));
    }

    #[test]
    fn a_difference_without_a_reference_is_not_called_rounding() {
        let mut said = one_sided(Side::A, "x", "", true);
        (said.side, said.digest, said.verdict) = (None, None, Some(OutputsVerdict::Differs));
        said.detail = Some("A and B are 0.5 apart".into());
        let it = compare([None, None], &[&evidence(vec![said.clone()])]);
        assert_eq!(it.of(&case("x")), Some(OutputsVerdict::Unreferenced));
        assert_eq!(it.detail(&case("x")), Some("A and B are 0.5 apart"));
        said.bound = Some(1e-3);
        let it = compare([None, None], &[&evidence(vec![said])]);
        assert_eq!((it.worst(), it.detail(&case("x"))), (Some(OutputsVerdict::Differs), None));
    }
}
