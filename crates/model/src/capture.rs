//! What an error during graph capture means for the rest of a process.

use serde::{Deserialize, Serialize};

/// How far an error that a graph capture raised reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaptureErrorClass {
    /// The device context is gone: nothing that follows in this process can be measured.
    Fatal,
    /// Later captures in this process fail, whatever they capture; direct timing still works.
    Poisoned,
    /// This case cannot be captured; the next one may.
    Recoverable,
}
