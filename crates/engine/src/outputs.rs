//! Whether both sides compute the same: from what duet cells compared, or from cells of one side.

use std::collections::{BTreeMap, BTreeSet};

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

impl Compared {
    fn plain(verdict: OutputsVerdict) -> Self {
        Self { verdict, detail: None }
    }
}

impl CaseOutputs {
    /// How a case's outputs compare; none if they were not compared.
    #[must_use]
    pub fn of(&self, case: &CaseKey) -> Option<OutputsVerdict> {
        self.0.get(case).map(|it| it.verdict)
    }

    /// How far apart a case's outputs are, in words; none where the verdict says it all.
    #[must_use]
    pub fn detail(&self, case: &CaseKey) -> Option<&str> {
        self.0.get(case)?.detail.as_deref()
    }

    /// The worst of all cases.
    #[must_use]
    pub fn worst(&self) -> Option<OutputsVerdict> {
        self.0.values().map(|it| it.verdict).max_by_key(|verdict| rank(*verdict))
    }

    /// How many cases compare how.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<OutputsVerdict, u32> {
        let mut counts = BTreeMap::new();
        for it in self.0.values() {
            *counts.entry(it.verdict).or_default() += 1;
        }
        counts
    }
}

/// The worse of two.
fn worse(one: Compared, other: Compared) -> Compared {
    if rank(other.verdict) > rank(one.verdict) { other } else { one }
}

fn rank(verdict: OutputsVerdict) -> u8 {
    match verdict {
        OutputsVerdict::Equal => 0,
        OutputsVerdict::NotComparable => 1,
        OutputsVerdict::Differs => 2,
        OutputsVerdict::Beyond => 3,
        OutputsVerdict::Unreferenced => 4,
        OutputsVerdict::Wrong => 5,
    }
}

/// Compares outputs: what duet cells said themselves, else what the two screening cells and the two cells of each round of one
/// process a side told.
///
/// `rounds`: what each round left, one cell of both sides or one a side, A's first.
#[must_use]
pub fn compare(screens: [Option<&Evidence>; 2], rounds: &[&[Evidence]]) -> CaseOutputs {
    let mut it: BTreeMap<CaseKey, Compared> = BTreeMap::new();
    for outputs in rounds.iter().copied().flatten().flat_map(|evidence| &evidence.outputs) {
        if let Some(found) = said_by_the_cell(outputs) {
            let worst = match it.remove(&outputs.case) {
                Some(known) => worse(known, found),
                None => found,
            };
            it.insert(outputs.case.clone(), worst);
        }
    }
    let mut pairs: BTreeMap<CaseKey, Vec<Pair>> = BTreeMap::new();
    let rounds = rounds.iter().filter_map(|round| Some([round.first()?, round.get(1)?]));
    let screens = screens[0].zip(screens[1]).map(|(a, b)| [a, b]);
    for cells in screens.into_iter().chain(rounds) {
        for (case, pair) in pairs_of(cells) {
            pairs.entry(case).or_default().push(pair);
        }
    }
    for (case, pairs) in pairs {
        // What a duet cell compared with a reference at hand says more than digests do; that it could not compare says less.
        if it.get(&case).is_none_or(|known| known.verdict == OutputsVerdict::NotComparable) {
            it.insert(case, of_pairs(&pairs));
        }
    }
    CaseOutputs(it)
}

/// What a cell of both sides said of a case; none in a cell of one side.
fn said_by_the_cell(outputs: &Outputs) -> Option<Compared> {
    let verdict = outputs.verdict?;
    let said = || Compared { verdict, detail: outputs.detail.clone() };
    Some(match (verdict, outputs.bound) {
        (OutputsVerdict::Equal | OutputsVerdict::NotComparable, _) => Compared::plain(verdict),
        (OutputsVerdict::Differs, None) => Compared { verdict: OutputsVerdict::Unreferenced, ..said() },
        (_, None) => said(),
        (_, Some(bound)) => judged(outputs.error_a, outputs.error_b, bound),
    })
}

/// By both sides' distances from the reference; none is an infinite one, which has no number in JSON.
fn judged(error_a: Option<f64>, error_b: Option<f64>, bound: f64) -> Compared {
    let [a, b] = [error_a, error_b].map(|error| error.unwrap_or(f64::INFINITY));
    if a.is_infinite() && b.is_infinite() {
        let detail = "both sides lie infinitely far from the reference, so it is not this case's".to_owned();
        return Compared { verdict: OutputsVerdict::Unreferenced, detail: Some(detail) };
    }
    let verdict = OutputsVerdict::of_errors(a, b, bound);
    let number = |error: f64| match error {
        0.0 => "0".to_owned(),
        error if error.is_finite() => format!("{error:.1e}"),
        _ => "infinitely far".to_owned(),
    };
    let detail = (verdict != OutputsVerdict::Differs).then(|| {
        format!("from the reference A is {}, B {}; rounding explains {bound:.1e}", number(a), number(b))
    });
    Compared { verdict, detail }
}

/// A case's outputs in a cell of side A and a cell of side B.
struct Pair {
    /// None where digests say nothing of it.
    equal: Option<bool>,
    judged: Option<Compared>,
    /// Why there was no reference, or what of the outputs it says nothing of.
    reason: Option<String>,
}

fn pairs_of([a, b]: [&Evidence; 2]) -> Vec<(CaseKey, Pair)> {
    let of = |evidence: &Evidence, side| -> BTreeMap<CaseKey, Outputs> {
        let of_side = evidence.outputs.iter().filter(|outputs| outputs.side == Some(side));
        of_side.map(|outputs| (outputs.case.clone(), outputs.clone())).collect()
    };
    let (in_a, mut in_b) = (of(a, Side::A), of(b, Side::B));
    in_a.into_iter().filter_map(|(case, a)| Some((case.clone(), pair(&a, &in_b.remove(&case)?)))).collect()
}

fn pair(a: &Outputs, b: &Outputs) -> Pair {
    let random = a.repeatable == Some(false) || b.repeatable == Some(false);
    let equal = match (&a.digest, &b.digest) {
        (Some(a), Some(b)) if a == b => Some(true),
        // A campaign that goes on with a newer probe: digests that were made otherwise say nothing about the bits.
        (Some(a), Some(b)) if kind(a) == kind(b) && !random => Some(false),
        _ => None,
    };
    // Of outputs of two precisions the finer one's is what both could have kept.
    let bound = a.bound.zip(b.bound).map(|(a, b)| f64::min(a, b)).filter(|_| !random && equal != Some(true));
    Pair {
        equal,
        judged: bound.map(|bound| judged(a.error_a, b.error_b, bound)),
        reason: a.detail.clone().or_else(|| b.detail.clone()),
    }
}

/// The worst that a reference said, else whether bits differed anywhere.
fn of_pairs(pairs: &[Pair]) -> Compared {
    let judged = pairs.iter().filter_map(|pair| {
        let judged = pair.judged.clone()?;
        // A reference that is silent on some of the outputs can tell that others are wrong, and not that all are right.
        match (&pair.reason, judged.verdict) {
            (None, _) | (_, OutputsVerdict::Wrong) => Some(judged),
            (reason, _) => Some(Compared { verdict: OutputsVerdict::Unreferenced, detail: reason.clone() }),
        }
    });
    let told: BTreeSet<Option<bool>> = pairs.iter().map(|pair| pair.equal).collect();
    match judged.reduce(worse) {
        Some(found) => found,
        None if told.contains(&Some(false)) => {
            let reason = pairs.iter().find_map(|pair| pair.reason.clone());
            let sometimes =
                told.contains(&Some(true)).then(|| "equal in some cells, not in others".to_owned());
            Compared { verdict: OutputsVerdict::Unreferenced, detail: reason.or(sometimes) }
        }
        None if told.contains(&Some(true)) => Compared::plain(OutputsVerdict::Equal),
        None => Compared::plain(OutputsVerdict::NotComparable),
    }
}

/// True if screening left it open whether both sides compute the same: a reference is worth its time.
#[must_use]
pub(crate) fn want_a_reference(screens: [Option<&Evidence>; 2]) -> bool {
    let Some((a, b)) = screens[0].zip(screens[1]) else { return false };
    let pairs = pairs_of([a, b]);
    pairs.iter().any(|(_, pair)| pair.equal != Some(true))
}

/// How a digest was made: what stands before its colon, nothing for a plain SHA-256.
fn kind(digest: &str) -> &str {
    digest.split_once(':').map_or("", |(kind, _)| kind)
}

#[cfg(test)]
mod tests;
