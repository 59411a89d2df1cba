//! Numbers as vendors' tools print them: with or without a unit, or words in their place.

/// The number at the start of a text, with an optional unit behind it: `36C`, `1888MHz`, `477.68 W`, `87%`.
///
/// None for anything else: `[N/A]`, `N/A (Secondary die)`, an empty text, `24,0` (a decimal comma means that a locale
/// was not held off; neither 24 nor 240 would be right), infinities.
#[must_use]
pub fn number(text: &str) -> Option<f64> {
    read(text).ok()
}

/// The same, with what stands there instead: the tool's words without their brackets, empty for nothing at all.
///
/// # Errors
/// It is no number.
pub fn read(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit = unit.trim();
    let is_unit = unit.len() <= 8 && unit.chars().all(|c| c.is_alphabetic() || matches!(c, '%' | '°' | '/'));
    let value = if is_unit { digits.parse().ok().filter(|value: &f64| value.is_finite()) } else { None };
    value.ok_or_else(|| {
        let is_comma = text.split_once(',').is_some_and(|(whole, part)| {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits(whole.trim_start_matches('-')) && digits(part)
        });
        if is_comma {
            format!("`{text}` has a decimal comma, a locale was not held off")
        } else {
            text.trim_start_matches('[').trim_end_matches(']').to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn units_are_dropped() {
        for (text, value) in [
            ("36C", 36.0),
            ("1888MHz", 1888.0),
            (" 477.68 W", 477.68),
            ("87%", 87.0),
            ("-8 C", -8.0),
            ("0", 0.0),
            ("105.3", 105.3),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
    }

    #[test]
    fn words_are_absent() {
        for text in [
            "",
            "[N/A]",
            "N/A",
            "[Not Supported]",
            "[Unknown Error]",
            "N/A (Secondary die)",
            "24,0",
            "inf",
            "NaN",
            "1e400",
            "0x1f",
            "16x(16x)",
            "-",
            ".",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
