//! Two compilations of one side: what the compiler makes otherwise the second time says nothing of a switch.
//!
//! The sides themselves are compared in `screen`. Invariant: a stage is named here only if both compilations have it and differ
//! in it.

use std::collections::{BTreeMap, BTreeSet};

use switchback_ir::{Difference, KernelIr, Stage, compare};
use switchback_model::report::UnseenStage;
use switchback_model::side::Side;

use crate::evidence::Evidence;

/// How often side A was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Nothing differs that a second compilation could tell, or there is one already.
    NotNeeded,
    /// A stage differs between the sides, and A was compiled once only.
    Wanted,
    /// A cell of its own has compiled it again, or has tried to.
    Ran,
}

/// Stages in which two compilations of one side differ, of the variants that both launch.
///
/// A stage behind one that differs is looked at too. What only one of them has is not compared: it may be the cell that
/// keeps less, not the compiler.
pub(super) fn two_compilations(side: Side, one: &Evidence, two: &Evidence) -> Vec<UnseenStage> {
    let (one, two) = (one.kernels(side), two.kernels(side));
    let mut unreliable: BTreeSet<Stage> = BTreeSet::new();
    let mut unseen: BTreeMap<Stage, usize> = BTreeMap::new();
    loop {
        let comparison = compare(&one, &two, &unreliable);
        let mut found: BTreeMap<Stage, usize> = BTreeMap::new();
        for kernel in &comparison.kernels {
            match &kernel.difference {
                Difference::Stage(stage) => *found.entry(stage.clone()).or_default() += 1,
                Difference::MissingInA(stage) | Difference::MissingInB(stage) => {
                    unreliable.insert(stage.clone());
                }
                _ => {}
            }
        }
        let known = unreliable.len();
        unreliable.extend(found.keys().cloned());
        unseen.extend(found);
        if unreliable.len() == known {
            break;
        }
    }
    let keys = |kernels: &[KernelIr]| -> BTreeSet<(String, String)> {
        kernels.iter().map(|kernel| (kernel.kernel.clone(), kernel.variant.clone())).collect()
    };
    let both = keys(&one).intersection(&keys(&two)).count();
    unseen
        .into_iter()
        .map(|(stage, differ)| UnseenStage {
            stage: stage.name().to_owned(),
            reason: format!("two compilations of side {side} differ in {differ} of {both} kernels"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use switchback_ir::Digest;
    use switchback_model::verdict::ScreenVerdict;

    use super::*;
    use crate::screen::tests::{case, evidence};
    use crate::screen::{same_code, screen};

    /// Evidence of one case with one kernel: stages and the content of each.
    fn compiled(side: Side, stages: &[(&str, u8)]) -> Evidence {
        let mut it = evidence(side, &[("one", 1)]);
        let stages =
            stages.iter().map(|(name, content)| (Stage::from_name(name), Digest([*content; 32]))).collect();
        it.launched.get_mut(&(side, case("one"))).unwrap().kernels[0].stages = stages;
        it
    }

    #[test]
    fn a_stage_in_which_two_compilations_of_a_side_differ_is_no_evidence() {
        let a = compiled(Side::A, &[("ttgir", 1), ("ptx", 1), ("sass", 1)]);
        let b = compiled(Side::B, &[("ttgir", 1), ("ptx", 1), ("sass", 2)]);
        let shaky = compiled(Side::A, &[("ttgir", 1), ("ptx", 1), ("sass", 3)]);
        let once = screen(Some(&a), Some(&b), None);
        assert!(once.rests_on_a_stage() && once.first_stage.as_deref() == Some("sass"));
        let told = screen(Some(&a), Some(&b), Some((Side::A, &shaky)));
        assert_eq!((told.verdict, told.first_stage), (ScreenVerdict::NoIrDiff, None));
        assert_eq!(told.unseen.len(), 1);
        assert_eq!(told.unseen[0].stage, "sass");
        assert_eq!(told.unseen[0].reason, "two compilations of side A differ in 1 of 1 kernels");
        assert!(told.reasons[0].contains("`sass` is no evidence"));
        assert!(told.untouched[&case("one")]);
        // What comes out alike twice is what the switch does.
        let steady = screen(Some(&a), Some(&b), Some((Side::A, &a)));
        assert_eq!((steady.verdict, steady.unseen), (ScreenVerdict::IrChanged, vec![]));
        // The rounds are held against the stages that count.
        let unseen = BTreeSet::from([Stage::from_name("sass")]);
        assert_eq!(same_code(&a, &shaky, Side::A, &case("one"), &unseen), Ok(()));
        assert!(same_code(&a, &shaky, Side::A, &case("one"), &BTreeSet::new()).is_err());
    }

    #[test]
    fn a_difference_before_the_stage_that_is_no_evidence_still_counts() {
        let a = compiled(Side::A, &[("ttgir", 1), ("sass", 1)]);
        let b = compiled(Side::B, &[("ttgir", 2), ("sass", 2)]);
        let shaky = compiled(Side::A, &[("ttgir", 1), ("sass", 3)]);
        let told = screen(Some(&a), Some(&b), Some((Side::A, &shaky)));
        assert_eq!((told.verdict, told.first_stage.as_deref()), (ScreenVerdict::IrChanged, Some("ttgir")));
        assert_eq!(told.unseen[0].stage, "sass");
        // A tuner on B compiles B twice.
        let other = compiled(Side::B, &[("ttgir", 2), ("sass", 9)]);
        let told = screen(Some(&a), Some(&b), Some((Side::B, &other)));
        assert_eq!(told.unseen[0].reason, "two compilations of side B differ in 1 of 1 kernels");
    }

    #[test]
    fn stages_behind_a_shaky_one_are_looked_at_and_none_left_is_not_identical() {
        let a = compiled(Side::A, &[("ptx", 1), ("sass", 1)]);
        let b = compiled(Side::B, &[("ptx", 2), ("sass", 2)]);
        let shaky = compiled(Side::A, &[("ptx", 3), ("sass", 3)]);
        let told = screen(Some(&a), Some(&b), Some((Side::A, &shaky)));
        assert_eq!(told.unseen.iter().map(|it| it.stage.as_str()).collect::<Vec<_>>(), ["ptx", "sass"]);
        assert_eq!((told.verdict, told.first_stage), (ScreenVerdict::IrChanged, None));
        assert!(told.reasons.iter().any(|it| it.contains("measured to be safe")), "{:?}", told.reasons);
        // A cell that keeps less is not a compiler that differs.
        let less = compiled(Side::A, &[("ptx", 1)]);
        let told = screen(Some(&a), Some(&b), Some((Side::A, &less)));
        assert_eq!((told.verdict, told.unseen), (ScreenVerdict::IrChanged, vec![]));
    }
}
