//! A switch: one or several environment variables and their two settings.
//!
//! `NAME` means `0` on side A and `1` on side B; `NAME=off:on` names both values, an empty one is "unset".

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::side::Side;

/// The variables of one side: a name and its value, `None` for "unset".
pub type Variables = BTreeMap<String, Option<String>>;

/// What A and B differ in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// Side A's variables.
    pub a: Variables,
    /// Side B's variables.
    pub b: Variables,
}

/// Why a text is not a switch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// The part before `=` is not a name that an environment can hold.
    #[error("`{text}` is not a switch: `{name}` is no name of an environment variable")]
    Name {
        /// The whole argument.
        text: String,
        /// The name in it.
        name: String,
    },
    /// A value was given, but not two of them.
    #[error("`{text}` gives one value, a switch has two")]
    OneValue {
        /// The whole argument.
        text: String,
    },
    /// `--a` or `--b` without a value.
    #[error("`{text}` has no `=`")]
    NoValue {
        /// The whole argument.
        text: String,
    },
    /// A value holds a NUL, which no environment can carry.
    #[error("`{name}` has a value with a NUL byte in it")]
    Nul {
        /// The variable.
        name: String,
    },
    /// The same variable was given twice on one side.
    #[error("`{name}` is set twice on side {side}")]
    Twice {
        /// The variable.
        name: String,
        /// The side.
        side: Side,
    },
    /// Both sides are equal, so there is nothing to compare.
    #[error("A and B are the same: `{text}`")]
    Equal {
        /// Both sides, as text.
        text: String,
    },
}

impl SwitchError {
    /// Advice that goes with the message.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OneValue { text } => {
                let (name, value) = text.split_once('=').unwrap_or((text, ""));
                Some(format!("write `{name}=OFF:ON`, as in `{name}=0:{value}`, or `--b {text}`"))
            }
            Self::NoValue { text } => {
                Some(format!("write `{text}=VALUE`; an empty value unsets the variable"))
            }
            Self::Equal { .. } => {
                Some("the noise of equal sides is measured by `switchback calibrate`".into())
            }
            Self::Name { .. } | Self::Nul { .. } | Self::Twice { .. } => None,
        }
    }
}

impl Switch {
    /// Adds what `--switch` gives: `NAME` or `NAME=off:on`.
    ///
    /// # Errors
    /// A name that is none, one value instead of two, a variable given twice.
    pub fn add(&mut self, text: &str) -> Result<(), SwitchError> {
        let (name, off, on) = match text.split_once('=') {
            None => (text, "0", "1"),
            Some((name, values)) => {
                let (off, on) =
                    values.split_once(':').ok_or_else(|| SwitchError::OneValue { text: text.into() })?;
                (name, off, on)
            }
        };
        self.insert(Side::A, text, name, off)?;
        self.insert(Side::B, text, name, on)
    }

    /// Adds what `--a` or `--b` gives: `NAME=VALUE`, an empty value unsets.
    ///
    /// # Errors
    /// No `=`, a name that is none, a variable given twice on the side.
    pub fn set(&mut self, side: Side, text: &str) -> Result<(), SwitchError> {
        let (name, value) = text.split_once('=').ok_or_else(|| SwitchError::NoValue { text: text.into() })?;
        self.insert(side, text, name, value)
    }

    fn insert(&mut self, side: Side, text: &str, name: &str, value: &str) -> Result<(), SwitchError> {
        if !is_variable_name(name) {
            return Err(SwitchError::Name { text: text.into(), name: name.into() });
        }
        if value.contains('\0') {
            return Err(SwitchError::Nul { name: name.into() });
        }
        let value = (!value.is_empty()).then(|| value.to_owned());
        if self.side_mut(side).insert(name.into(), value).is_some() {
            return Err(SwitchError::Twice { name: name.into(), side });
        }
        Ok(())
    }

    /// Completes a switch: a variable that one side names is "unset" on the other.
    ///
    /// # Errors
    /// Both sides are equal.
    pub fn complete(mut self) -> Result<Self, SwitchError> {
        for name in self.names() {
            self.a.entry(name.clone()).or_insert(None);
            self.b.entry(name).or_insert(None);
        }
        if self.a == self.b {
            return Err(SwitchError::Equal { text: describe(&self.a) });
        }
        Ok(self)
    }

    /// Names of all its variables.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        self.a.keys().chain(self.b.keys()).cloned().collect()
    }

    /// Variables of a side.
    #[must_use]
    pub fn side(&self, side: Side) -> &Variables {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut Variables {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// True if nothing is switched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.a.is_empty() && self.b.is_empty()
    }

    /// A short name for folders and titles: its variables, joined.
    #[must_use]
    pub fn name(&self) -> String {
        self.names().into_iter().collect::<Vec<_>>().join("+")
    }
}

/// `NAME=value NAME2 unset`, as reports print a side.
#[must_use]
pub fn describe(variables: &Variables) -> String {
    let words: Vec<String> = variables
        .iter()
        .map(|(name, value)| match value {
            Some(value) => format!("{name}={value}"),
            None => format!("{name} unset"),
        })
        .collect();
    if words.is_empty() { "nothing set".into() } else { words.join(" ") }
}

/// True for a name that a shell could export: letters, digits and `_`, no digit first.
#[must_use]
pub fn is_variable_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "A: {}; B: {}", describe(&self.a), describe(&self.b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(texts: &[&str]) -> Result<Switch, SwitchError> {
        let mut switch = Switch::default();
        for text in texts {
            switch.add(text)?;
        }
        switch.complete()
    }

    #[test]
    fn a_bare_name_goes_from_0_to_1() {
        let it = switch(&["PASS"]).unwrap();
        assert_eq!(it.a["PASS"].as_deref(), Some("0"));
        assert_eq!(it.b["PASS"].as_deref(), Some("1"));
    }

    #[test]
    fn an_empty_value_is_unset_and_values_keep_their_later_colons() {
        let it = switch(&["PASS=:a:b"]).unwrap();
        assert_eq!(it.a["PASS"], None);
        assert_eq!(it.b["PASS"].as_deref(), Some("a:b"));
    }

    #[test]
    fn faults_are_named() {
        assert!(matches!(switch(&["PASS=1"]), Err(SwitchError::OneValue { .. })));
        assert!(matches!(switch(&["9PASS"]), Err(SwitchError::Name { .. })));
        assert!(matches!(switch(&["A B"]), Err(SwitchError::Name { .. })));
        assert!(matches!(switch(&["PASS=1:1"]), Err(SwitchError::Equal { .. })));
        assert!(matches!(switch(&["PASS", "PASS"]), Err(SwitchError::Twice { side: Side::A, .. })));
    }

    #[test]
    fn a_variable_of_one_side_is_unset_on_the_other() {
        let mut it = Switch::default();
        it.set(Side::B, "PASS=x=y").unwrap();
        let it = it.complete().unwrap();
        assert_eq!(it.a["PASS"], None);
        assert_eq!(it.b["PASS"].as_deref(), Some("x=y"));
        assert_eq!(it.to_string(), "A: PASS unset; B: PASS=x=y");
    }
}
