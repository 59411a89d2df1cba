//! Whether both sides compute the same: from what duet cells compared, or from digests of one-sided cells.

use std::collections::BTreeMap;

use switchback_model::case::CaseKey;
use switchback_model::event::{Outputs, OutputsVerdict};
use switchback_model::side::Side;

use crate::evidence::Evidence;

/// How each case's outputs compare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseOutputs(BTreeMap<CaseKey, OutputsVerdict>);

impl CaseOutputs {
    /// How a case's outputs compare; none if they were not compared.
    #[must_use]
    pub fn of(&self, case: &CaseKey) -> Option<OutputsVerdict> {
        self.0.get(case).copied()
    }

    /// The worst of all cases.
    #[must_use]
    pub fn worst(&self) -> Option<OutputsVerdict> {
        self.0.values().copied().max_by_key(|verdict| rank(*verdict))
    }

    /// Cases that were compared, and how many of them are equal.
    #[must_use]
    pub fn counts(&self) -> Option<(u32, u32)> {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let equal = self.0.values().filter(|verdict| **verdict == OutputsVerdict::Equal).count();
        (!self.0.is_empty()).then(|| (count(self.0.len()), count(equal)))
    }

    fn add(&mut self, case: &CaseKey, verdict: OutputsVerdict) {
        let it = self.0.entry(case.clone()).or_insert(verdict);
        if rank(verdict) > rank(*it) {
            *it = verdict;
        }
    }
}

fn rank(verdict: OutputsVerdict) -> u8 {
    match verdict {
        OutputsVerdict::Equal => 0,
        OutputsVerdict::NotComparable => 1,
        OutputsVerdict::Differs => 2,
        OutputsVerdict::Wrong => 3,
    }
}

/// Compares outputs: of the two screening cells by digest, and what duet cells said themselves.
#[must_use]
pub fn compare(screens: [Option<&Evidence>; 2], rounds: &[&Evidence]) -> CaseOutputs {
    let mut it = CaseOutputs::default();
    let compared_in_cell = |outputs: &&Outputs| outputs.verdict.is_some();
    for outputs in rounds.iter().flat_map(|evidence| &evidence.outputs).filter(compared_in_cell) {
        if let Some(verdict) = outputs.verdict {
            it.add(&outputs.case, verdict);
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
    let (a, b) = (of(a, Side::A), of(b, Side::B));
    for (case, in_a) in &a {
        // What a duet cell compared with a reference at hand says more than two digests do; that it could not compare says less.
        if it.0.get(case).is_some_and(|verdict| *verdict != OutputsVerdict::NotComparable) {
            continue;
        }
        let Some(in_b) = b.get(case) else { continue };
        let verdict = match (&in_a.digest, &in_b.digest) {
            (Some(a), Some(b)) if a == b => OutputsVerdict::Equal,
            // A campaign that goes on with a newer probe: digests that were made otherwise say nothing about the bits.
            (Some(a), Some(b)) if kind(a) != kind(b) => OutputsVerdict::NotComparable,
            _ if in_a.repeatable == Some(false) || in_b.repeatable == Some(false) => {
                OutputsVerdict::NotComparable
            }
            (Some(_), Some(_)) => OutputsVerdict::Differs,
            _ => OutputsVerdict::NotComparable,
        };
        it.0.insert(case.clone(), verdict);
    }
    it
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
        assert_eq!(it.of(&case("other")), Some(OutputsVerdict::Differs));
        assert_eq!(it.of(&case("random")), Some(OutputsVerdict::NotComparable));
        assert_eq!(it.of(&case("only a")), None);
        assert_eq!((it.worst(), it.counts()), (Some(OutputsVerdict::Differs), Some((3, 1))));
    }

    #[test]
    fn digests_of_two_kinds_say_nothing() {
        let of = |side, digest| evidence(vec![one_sided(side, "x", digest, true)]);
        let verdict = |a, b| compare([Some(&of(Side::A, a)), Some(&of(Side::B, b))], &[]).of(&case("x"));
        assert_eq!(verdict("1", "sha256-tree:1"), Some(OutputsVerdict::NotComparable));
        assert_eq!(verdict("sha256-tree:1", "1"), Some(OutputsVerdict::NotComparable));
        assert_eq!(verdict("sha256-tree:1", "sha256-tree:1"), Some(OutputsVerdict::Equal));
        assert_eq!(verdict("sha256-tree:1", "sha256-tree:2"), Some(OutputsVerdict::Differs));
        assert_eq!(verdict("1", "2"), Some(OutputsVerdict::Differs));
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
}
