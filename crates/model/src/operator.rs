//! What is benchmarked, as the user writes it: `OP[:FILE[:DTYPES]]`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An operator, the benchmark file that holds it and the dtypes to measure.
///
/// Written `perf_fft:fft:complex64`; several dtypes are separated by `,` or white space. Empty parts are left
/// to the suite: no file means the operator's own, no dtypes all that the operator takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorSpec {
    /// Name of the operator.
    pub operator: String,
    /// Name of its benchmark file, without `test_` and `.py`, if it is not the operator's own.
    pub file: Option<String>,
    /// Dtypes to measure; empty means all of the operator's own.
    pub dtypes: Vec<String>,
}

/// Why a text is no operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperatorError {
    /// Nothing before the first `:`.
    #[error("`{0}` names no operator")]
    Empty(String),
    /// More than three parts.
    #[error("`{0}` has more than three parts, `OP:FILE:DTYPES` has three")]
    Parts(String),
    /// A control character or white space in a name.
    #[error("`{0}` has white space or control characters in a name")]
    Characters(String),
}

impl OperatorSpec {
    /// An operator by name alone.
    #[must_use]
    pub fn named(operator: impl Into<String>) -> Self {
        Self { operator: operator.into(), file: None, dtypes: Vec::new() }
    }

    /// The file's name, the operator's own where none was given.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.operator)
    }
}

impl FromStr for OperatorSpec {
    type Err = OperatorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(':');
        let operator = parts.next().unwrap_or_default().trim();
        let file = parts.next().map(str::trim).filter(|part| !part.is_empty());
        let dtypes = parts.next().unwrap_or_default();
        if parts.next().is_some() {
            return Err(OperatorError::Parts(text.into()));
        }
        if operator.is_empty() {
            return Err(OperatorError::Empty(text.into()));
        }
        if [Some(operator), file]
            .into_iter()
            .flatten()
            .any(|name| name.chars().any(|c| c.is_control() || c.is_whitespace()))
        {
            return Err(OperatorError::Characters(text.into()));
        }
        let dtypes = dtypes
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|dtype| !dtype.is_empty())
            .map(str::to_owned)
            .collect();
        Ok(Self { operator: operator.into(), file: file.map(str::to_owned), dtypes })
    }
}

impl fmt::Display for OperatorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.operator)?;
        if self.file.is_some() || !self.dtypes.is_empty() {
            write!(f, ":{}", self.file.as_deref().unwrap_or_default())?;
        }
        if !self.dtypes.is_empty() {
            write!(f, ":{}", self.dtypes.join(","))?;
        }
        Ok(())
    }
}

impl Serialize for OperatorSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OperatorSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_read_and_print_back() {
        for text in ["mm", "perf_sort:sort", "perf_fft:fft:complex64", "add::float16,bfloat16"] {
            assert_eq!(text.parse::<OperatorSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn dtypes_take_white_space_too() {
        let it: OperatorSpec = "fft::c64 c128".parse().unwrap();
        assert_eq!(it.dtypes, ["c64", "c128"]);
        assert_eq!(it.file_name(), "fft");
    }

    #[test]
    fn faults_are_named() {
        assert!(matches!("".parse::<OperatorSpec>(), Err(OperatorError::Empty(_))));
        assert!(matches!(":sort".parse::<OperatorSpec>(), Err(OperatorError::Empty(_))));
        assert!(matches!("a:b:c:d".parse::<OperatorSpec>(), Err(OperatorError::Parts(_))));
        assert!(matches!("a\nb".parse::<OperatorSpec>(), Err(OperatorError::Characters(_))));
    }
}
