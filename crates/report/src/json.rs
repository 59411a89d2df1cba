//! `report.json`: the report's values as they are, in the order of their types.
//!
//! The one format that repeats everything, also figures that the others keep back; programs read it, and
//! [`parse`] reads it back to the same value.

use serde::Deserialize;
use switchback_model::report::{Report, SCHEMA};

/// Why a text is no report.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// Not JSON, or a field is missing or of another type.
    #[error("the report cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// Written by a later version.
    #[error("`schema` of the report is {found}, this switchback reads {SCHEMA}")]
    Schema {
        /// The version in the text.
        found: u32,
    },
}

impl JsonError {
    /// Advice that goes with the message.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Schema { .. } => Some("`switchback rescore` writes it again from the attempts on disk"),
            Self::Form(_) => None,
        }
    }
}

/// Writes a report: two spaces a level, fields in the order of their type, a line end at the end.
///
/// Unprintable characters are written as `\uXXXX`, which reads back to the same. Figures that are not finite
/// become `null`.
///
/// # Panics
/// Never: a report holds nothing that JSON cannot.
#[must_use]
pub fn render(report: &Report) -> String {
    let text = serde_json::to_string_pretty(report).expect("a report's keys are strings");
    // Outside its strings the text is ASCII, so what is escaped here lies within a string.
    let mut out = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        let hidden = !character.is_ascii() && character.escape_debug().next() == Some('\\');
        if hidden || character == '\u{7f}' {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(character);
        }
    }
    out.push('\n');
    out
}

/// Reads a report.
///
/// # Errors
/// A text that is no report, or one of a later schema; that is said before any other field is looked at.
pub fn parse(text: &str) -> Result<Report, JsonError> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    let Version { schema } = serde_json::from_str(text)?;
    if schema > SCHEMA {
        return Err(JsonError::Schema { found: schema });
    }
    Ok(serde_json::from_str(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_schema_is_named_before_anything_else() {
        let error = parse(r#"{"schema": 7, "operators": "moved"}"#).unwrap_err();
        assert_eq!(error.to_string(), "`schema` of the report is 7, this switchback reads 1");
        assert!(error.hint().is_some());
        assert!(matches!(parse("{}"), Err(JsonError::Form(_))));
        assert!(matches!(parse(""), Err(JsonError::Form(_))));
    }
}
