//! Cases that count nowhere although their operator was measured, and why: a switch that breaks an input must not read as one
//! that makes the others faster.

use switchback_model::report::OperatorReport;

use crate::text::{count, one_line};

/// Reasons that are told one by one; the rest is counted.
const TOLD: usize = 3;

/// `1 of 4 cases left out: fails on B`; none if every case counts, or is host-bound.
#[must_use]
pub fn left_out(operator: &OperatorReport) -> Option<String> {
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for reason in operator.cases.iter().filter_map(|case| case.left_out.as_deref()).map(one_line) {
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, cases)) => *cases += 1,
            None => reasons.push((reason, 1)),
        }
    }
    let number: usize = reasons.iter().map(|(_, cases)| cases).sum();
    let cases = || count(operator.cases.len() as u64, "case", "cases");
    let why = match &reasons[..] {
        [] => return None,
        [(reason, cases)] => agreed(reason, *cases),
        several => {
            let mut parts: Vec<String> = several
                .iter()
                .take(TOLD)
                .map(|(reason, cases)| format!("{cases} {}", agreed(reason, *cases)))
                .collect();
            let rest: usize = several.iter().skip(TOLD).map(|(_, cases)| cases).sum();
            if rest > 0 {
                parts.push(format!("{rest} for other reasons"));
            }
            parts.join(", ")
        }
    };
    Some(format!("{number} of {} left out: {why}", cases()))
}

/// A reason with its verb for one case or for several.
fn agreed(reason: &str, cases: usize) -> String {
    for (one, several) in [("fails ", "fail "), ("has ", "have ")] {
        if let Some(rest) = reason.strip_prefix(one).filter(|_| cases != 1) {
            return format!("{several}{rest}");
        }
    }
    reason.to_owned()
}

#[cfg(test)]
mod tests {
    use switchback_model::report::CaseReport;

    use super::*;

    fn operator(reasons: &[&str]) -> OperatorReport {
        let case = |reason: &&str| -> CaseReport {
            let text = serde_json::json!({"case": "f32 [8]", "untouched": false, "host_bound": false});
            let case: CaseReport = serde_json::from_value(text).unwrap();
            CaseReport { left_out: (!reason.is_empty()).then(|| (*reason).to_owned()), ..case }
        };
        OperatorReport { cases: reasons.iter().map(case).collect(), ..OperatorReport::default() }
    }

    #[test]
    fn cases_left_out_are_counted_by_reason() {
        let said = |reasons: &[&str]| left_out(&operator(reasons));
        assert_eq!(said(&["", ""]), None);
        assert_eq!(said(&[]), None);
        assert_eq!(said(&["fails on B", "", "", ""]).unwrap(), "1 of 4 cases left out: fails on B");
        assert_eq!(said(&["fails on B", "fails on B"]).unwrap(), "2 of 2 cases left out: fail on B");
        assert_eq!(
            said(&["fails on B", "has no row on A", "fails on B", ""]).unwrap(),
            "3 of 4 cases left out: 2 fail on B, 1 has no row on A"
        );
        assert_eq!(
            said(&["a", "b", "c", "d", "e"]).unwrap(),
            "5 of 5 cases left out: 1 a, 1 b, 1 c, 2 for other reasons"
        );
    }
}
