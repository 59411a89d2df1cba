//! What every line of `events.jsonl` has: its kind and its time.
//!
//! Which kinds there are is left to the event. Invariant: reading them keeps nothing else of
//! the line.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _};

/// What every line has: read first, so that the rest is read as what it is and nothing is buffered.
///
/// Reading stops where both are known, which in every line of ours is at its beginning; whether the rest is JSON is said
/// by whoever reads the body.
#[derive(Default)]
pub(super) struct Head<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) t_s: Option<f64>,
}

impl<'a> Head<'a> {
    pub(super) fn read(line: &'a [u8]) -> Result<Self, serde_json::Error> {
        let mut head = Self::default();
        let ended = serde_json::Deserializer::from_slice(line).deserialize_map(HeadVisitor(&mut head));
        match ended {
            // Its own complaint where reading stopped early: the map goes on.
            Err(_) if head.kind.is_some() && head.t_s.is_some() => Ok(head),
            Err(error) => Err(error),
            Ok(()) => Ok(head),
        }
    }
}

struct HeadVisitor<'h, 'a>(&'h mut Head<'a>);

impl<'de: 'a, 'a> Visitor<'de> for HeadVisitor<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a `kind`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(Text(name)) = map.next_key()? {
            match name.as_ref() {
                "kind" => self.0.kind = Some(map.next_value::<Text<'de>>()?.0),
                "t_s" => self.0.t_s = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if self.0.kind.is_some() && self.0.t_s.is_some() {
                return Ok(());
            }
        }
        match self.0.kind {
            Some(_) => Ok(()),
            None => Err(M::Error::missing_field("kind")),
        }
    }
}

/// A string, borrowed from the line where it holds no escape.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
