//! A row's samples, read: nearly all that a campaign keeps are these numbers.
//!
//! The text between the brackets is taken whole and its numbers are read in one pass: those with few digits, as timers
//! give them, by one exact division, all others by the standard library. Invariant: the value is the one nearest to the
//! text, as any correct reader gives it.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

/// Powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];
/// Integers below this are doubles exactly.
const EXACT_BELOW: u64 = 1 << 53;

/// Reads a list of lists of numbers.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<f64>>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    parse(raw.get()).map_err(D::Error::custom)
}

/// Reads the text of a JSON value.
fn parse(text: &str) -> Result<Vec<Vec<f64>>, String> {
    let mut blocks = Vec::new();
    let mut place = Place { text, at: 0 };
    place.list(|place| {
        let mut samples = Vec::new();
        place.list(|place| {
            samples.push(place.number()?);
            Ok(())
        })?;
        blocks.push(samples);
        Ok(())
    })?;
    Ok(blocks)
}

/// Where in a text that is known to be JSON.
struct Place<'a> {
    text: &'a str,
    at: usize,
}

impl Place<'_> {
    fn skip_space(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn list(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        if self.skip_space() != Some(b'[') {
            return Err(self.fault("a list"));
        }
        self.at += 1;
        if self.skip_space() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            element(self)?;
            let next = self.skip_space();
            self.at += 1;
            match next {
                Some(b',') => {}
                Some(b']') => return Ok(()),
                _ => return Err(self.fault("`,` or `]`")),
            }
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        self.skip_space();
        let token = &self.text[self.at..];
        let length = token.find([',', ']', ' ', '\n', '\t', '\r']).unwrap_or(token.len());
        let token = &token[..length];
        let value = match exact(token.as_bytes()) {
            Some(value) => value,
            // Words that Rust reads as numbers and JSON does not have are no JSON, so none is here.
            None => token.parse::<f64>().map_err(|_| self.fault("a number"))?,
        };
        if !value.is_finite() {
            return Err(self.fault("a number that a double holds"));
        }
        self.at += length;
        Ok(value)
    }

    fn fault(&self, wanted: &str) -> String {
        let found: String = self.text[self.at.min(self.text.len())..].chars().take(16).collect();
        format!("`samples_us` holds `{found}` where {wanted} should be")
    }
}

/// A number of few digits: an integer divided by a power of ten, both exact, so that the quotient is the nearest double
/// (Clinger 1990, *PLDI*).
fn exact(token: &[u8]) -> Option<f64> {
    let (negative, digits) = match token {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut integer, mut behind, mut n_digits): (u64, Option<usize>, usize) = (0, None, 0);
    for byte in digits {
        match byte {
            b'0'..=b'9' => {
                integer = integer.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                n_digits += 1;
                behind = behind.map(|behind| behind + 1);
            }
            b'.' if behind.is_none() => behind = Some(0),
            _ => return None,
        }
    }
    if n_digits == 0 || integer >= EXACT_BELOW {
        return None;
    }
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    let value = integer as f64 / EXACT_POWERS.get(behind.unwrap_or(0))?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_reads_as_the_standard_library_reads_it() {
        let mut state: u64 = 20_260_910;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        for _ in 0..20_000 {
            let (number, digits) = (next(), next() % 24);
            #[allow(clippy::cast_precision_loss, reason = "any number will do")]
            let value = number as f64 / 10_f64.powi(i32::try_from(digits).unwrap());
            for text in
                [format!("{value}"), format!("-{value:.3}"), format!("{value:e}"), format!("{number}")]
            {
                let read = parse(&format!("[[{text}]]")).unwrap()[0][0];
                assert_eq!(read.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
            }
        }
        assert_eq!(parse("[[-0.0]]").unwrap()[0][0].to_bits(), (-0.0_f64).to_bits());
    }

    #[test]
    fn lists_with_and_without_space_and_empty_ones() {
        assert_eq!(parse("[]").unwrap(), Vec::<Vec<f64>>::new());
        assert_eq!(parse(" [ [ 1.5 , 2 ] ,[] , [3e-1] ] ").unwrap(), [vec![1.5, 2.0], vec![], vec![0.3]]);
    }

    #[test]
    fn what_is_no_number_is_named() {
        for (text, said) in [
            ("[[1,null]]", "holds `null]]` where a number"),
            ("[[\"1\"]]", "holds `\"1\"]]` where a number"),
            ("[1]", "holds `1]` where a list"),
            ("null", "holds `null` where a list"),
            ("[[1e999]]", "a number that a double holds"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(said), "{told}");
        }
    }
}
