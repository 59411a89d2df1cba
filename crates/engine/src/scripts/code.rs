//! Code that is known of a whole run and not of its cases, and what it says of them.

use std::collections::BTreeSet;

use switchback_ir::{IrVerdict, compare};
use switchback_model::side::Side;
use switchback_model::verdict::ScreenVerdict;

use crate::evidence::Evidence;
use crate::screen::{Screened, cases_on_both, kernel_reports};

/// Compares the code of two runs; none where either kept none, so that nothing is known.
///
/// Files stand for kernels, by their path: a variant more or less is a change, as the scripts had it. The verdict holds
/// for all cases of a run alike, since nobody wrote down which case launched what.
#[must_use]
pub(crate) fn screened(a: &Evidence, b: &Evidence) -> Option<Screened> {
    let (in_a, in_b) = (a.run_code.as_ref()?, b.run_code.as_ref()?);
    for (side, evidence) in [(Side::A, a), (Side::B, b)] {
        if evidence.rows_ok() == 0 {
            let reasons = vec![format!("no row was measured on side {side}")];
            return Some(Screened { reasons, ..Screened::of(ScreenVerdict::NoRows) });
        }
    }
    let comparison = compare(in_a, in_b, &BTreeSet::new());
    let mut reasons = Vec::new();
    let verdict = match comparison.verdict {
        IrVerdict::Changed => ScreenVerdict::IrChanged,
        IrVerdict::Same => ScreenVerdict::NoIrDiff,
        IrVerdict::NoIr if in_a.is_empty() && in_b.is_empty() => {
            reasons.push("rows were measured and no `.ttgir` was compiled, on neither side".to_owned());
            ScreenVerdict::NotCompiled
        }
        IrVerdict::NoIr => {
            reasons.push(format!("compiled kernels: {} on side A, {} on side B", in_a.len(), in_b.len()));
            ScreenVerdict::IrChanged
        }
    };
    let same = verdict == ScreenVerdict::NoIrDiff;
    if verdict == ScreenVerdict::IrChanged {
        reasons.push("the code is known by run and not by case: every case is taken for touched".to_owned());
    }
    Some(Screened {
        first_stage: comparison.first_stage.as_ref().map(|stage| stage.name().to_owned()),
        kernels: kernel_reports(&comparison),
        untouched: cases_on_both(a, b).into_iter().map(|case| (case, same)).collect(),
        reasons,
        ..Screened::of(verdict)
    })
}
