//! How many operators with identical code are measured on purpose.
//!
//! Controls cost card time and are what keeps the promise of 5 % false calls where a bias stays the same in all rounds:
//! with none of them a fifth of simulated campaigns broke it, with eight no setting did, and with a dozen the power that
//! is promised without a bias is kept as well (docs/statistics.md).
//! Which operators they are is drawn by [`crate::schedule`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use switchback_model::verdict::ScreenVerdict;

use crate::request::Request;
use crate::schedule::ScreenedOperators;

/// Control operators from which on both hold: 5 % of false calls under a bias, and a power of 90 % without one.
pub const ENOUGH: u32 = 12;

/// How many operators with identical code are to be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Controls {
    /// As many as it takes to have [`ENOUGH`], if anything changed; changed operators with untouched cases count.
    #[default]
    Auto,
    /// So many, or all if there are fewer.
    Number(u32),
}

impl Controls {
    /// How many operators to draw, once all are screened.
    #[must_use]
    pub fn number(self, request: &Request, screened: &ScreenedOperators) -> usize {
        let Self::Auto = self else {
            return if let Self::Number(number) = self { number as usize } else { 0 };
        };
        let changed = || {
            let found = request.operators.iter().filter_map(|operator| screened.get(&operator.operator));
            found.filter(|it| it.verdict == ScreenVerdict::IrChanged)
        };
        if changed().next().is_none() {
            return 0; // there is no verdict to protect
        }
        let with_untouched = changed().filter(|it| it.untouched.values().any(|untouched| *untouched)).count();
        (ENOUGH as usize).saturating_sub(with_untouched)
    }
}

impl fmt::Display for Controls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// A text is no number of controls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no number of controls: `auto`, `0`, `8`")]
pub struct ControlsError(pub String);

impl FromStr for Controls {
    type Err = ControlsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::Number).map_err(|_| ControlsError(text.into()))
    }
}

/// `"auto"` or a number, as the request always had it.
impl Serialize for Controls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Number(number) => serializer.serialize_u32(*number),
        }
    }
}

impl<'de> Deserialize<'de> for Controls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u32),
            Word(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(number) => Ok(Self::Number(number)),
            Form::Word(word) => word.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;
    use crate::screen::Screened;
    use switchback_model::case::CaseKey;

    #[test]
    fn both_forms_read_back() {
        for (it, text) in [(Controls::Auto, "\"auto\""), (Controls::Number(3), "3")] {
            assert_eq!(serde_json::to_string(&it).unwrap(), text);
            assert_eq!(serde_json::from_str::<Controls>(text).unwrap(), it);
            assert_eq!(it.to_string().parse(), Ok(it));
        }
        assert_eq!("some".parse::<Controls>(), Err(ControlsError("some".into())));
        assert!(serde_json::from_str::<Controls>("\"-1\"").is_err());
    }

    #[test]
    fn enough_means_twelve_and_untouched_cases_of_changed_operators_count() {
        let request = request();
        let case = CaseKey { dtype: "f32".into(), input: "[8]".into(), occurrence: 0 };
        let changed = |untouched: bool| Screened {
            untouched: [(case.clone(), untouched)].into(),
            ..Screened::of(ScreenVerdict::IrChanged)
        };
        let same = Screened::of(ScreenVerdict::NoIrDiff);
        let number = |add: &Screened, sum: &Screened| {
            let screened = [("add".to_owned(), add.clone()), ("sum".to_owned(), sum.clone())].into();
            Controls::Auto.number(&request, &screened)
        };
        assert_eq!(number(&changed(false), &same), 12);
        assert_eq!(number(&changed(true), &same), 11);
        assert_eq!(number(&changed(true), &changed(true)), 10);
        assert_eq!(number(&same, &same), 0);
        assert_eq!(Controls::Number(3).number(&request, &ScreenedOperators::new()), 3);
    }
}
