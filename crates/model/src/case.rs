//! One operator on one input.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Names a case within an operator: dtype, the input's description, and a counter among inputs that print alike.
///
/// Two inputs can print the same text (row-major and transposed B of a matmul); the counter is the order of their
/// appearance, from 0, so that the n-th of one run is compared with the n-th of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CaseKey {
    /// The element type as the suite names it; empty when the suite has none.
    pub dtype: String,
    /// The input's description, white space normalised.
    pub input: String,
    /// 0 for the first input that prints so, 1 for the second.
    #[serde(default)]
    pub occurrence: u32,
}

impl fmt::Display for CaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.dtype.is_empty() {
            write!(f, "{} ", self.dtype)?;
        }
        f.write_str(&self.input)?;
        if self.occurrence > 0 {
            write!(f, " #{}", self.occurrence + 1)?;
        }
        Ok(())
    }
}
