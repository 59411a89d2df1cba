//! The operators on offer, as `switchback cpu-suite list` prints them.

use serde::Serialize;

use crate::operators::{self, Code, Operator};

/// An operator on offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfferedOperator {
    /// Its name.
    pub operator: String,
    /// The dtypes that it takes.
    pub dtypes: Vec<String>,
    /// Cases that are measured unless dtypes are asked for.
    pub cases: usize,
    /// What it computes, and what is special about it.
    pub detail: String,
}

/// All operators of the suite.
#[must_use]
pub fn list() -> Vec<OfferedOperator> {
    operators::ALL.iter().map(|operator| offered(operator)).collect()
}

fn offered(operator: &Operator) -> OfferedOperator {
    let cases = operator.cases(operator.sweep).count();
    let special = match operator.code {
        Code::Plain(_) => "; not compiled by the suite's compiler",
        Code::Kernel(_) => "",
    };
    OfferedOperator {
        operator: operator.name.into(),
        dtypes: operator.dtypes.iter().map(|dtype| dtype.name().to_owned()).collect(),
        cases,
        detail: format!("{cases} cases; {}{special}", operator.about),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_on_offer_with_their_dtypes() {
        let list = list();
        assert!(list.len() >= 16);
        let find = |name: &str| list.iter().find(|it| it.operator == name).unwrap();
        assert_eq!(find("fft").dtypes, ["c64"]);
        assert_eq!(find("fft").cases, 2);
        // Four dtypes of two shapes.
        assert_eq!(find("add").cases, 8);
        assert!(find("sort").detail.ends_with("not compiled by the suite's compiler"));
        for operator in operators::ALL {
            // What is measured unasked is never refused.
            assert!(operator.sweep.iter().all(|dtype| operator.dtypes.contains(dtype)), "{}", operator.name);
        }
        let mut names: Vec<&str> = list.iter().map(|it| it.operator.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), list.len());
    }
}
