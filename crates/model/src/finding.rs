//! What a check found: preflight, `doctor`, and the hints under a verdict say it in this form.

use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Measuring works; some evidence will be missing.
    Warning,
    /// Measuring would fail or mislead.
    Failure,
}

/// One check and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at, in a few words: `interpreter imports torch`.
    pub check: String,
    /// How bad it is.
    pub severity: Severity,
    /// What was seen.
    pub detail: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Finding {
    /// A check that passed.
    #[must_use]
    pub fn ok(check: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { check: check.into(), severity: Severity::Ok, detail: detail.into(), hint: None }
    }

    /// A check after which measuring still works.
    #[must_use]
    pub fn warning(check: impl Into<String>, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            check: check.into(),
            severity: Severity::Warning,
            detail: detail.into(),
            hint: Some(hint.into()),
        }
    }

    /// A check that stops measuring.
    #[must_use]
    pub fn failure(check: impl Into<String>, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            check: check.into(),
            severity: Severity::Failure,
            detail: detail.into(),
            hint: Some(hint.into()),
        }
    }

    /// Detail and hint in one sentence, for a place that has a line only.
    #[must_use]
    pub fn sentence(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}: {hint}", self.detail),
            None => self.detail.clone(),
        }
    }
}
