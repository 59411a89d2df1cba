//! Numbers as people read them: a proper minus, `.` whatever the locale, as many digits as mean something.

use std::fmt::Write as _;

/// What stands where there is no number.
pub const NONE: &str = "–";

/// Decimals for a percentage that is known to about `step` percent: one, two below 0.1 %, three below 0.01 %.
#[must_use]
pub fn decimals(step: f64) -> usize {
    let step = step.abs();
    if step == 0.0 || step >= 0.0995 || !step.is_finite() {
        1
    } else if step >= 0.00995 {
        2
    } else {
        3
    }
}

/// A percentage with its sign and unit: `+805 %`, `−2.4 %`, `0.0 %`.
#[must_use]
pub fn percent(value: f64) -> String {
    percent_as_known_to(value, value)
}

/// A percentage with the digits that its interval allows.
#[must_use]
pub fn percent_within(value: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) => percent_as_known_to(value, (high - low) / 2.0),
        None => percent(value),
    }
}

fn percent_as_known_to(value: f64, step: f64) -> String {
    if value.is_finite() { format!("{} %", signed(value, step)) } else { NONE.into() }
}

/// An interval of percentages, without the unit: `+796 … +811`.
#[must_use]
pub fn interval((low, high): (f64, f64)) -> String {
    if !(low.is_finite() && high.is_finite()) {
        return NONE.into();
    }
    let step = (high - low) / 2.0;
    // Both ends of an interval that spans 100 % are written alike.
    let whole = low.abs().max(high.abs());
    let places = places(whole, step);
    format!("{} … {}", signed_with(low, places), signed_with(high, places))
}

fn places(value: f64, step: f64) -> usize {
    if value.abs() >= 99.95 && step.abs() >= 0.95 { 0 } else { decimals(step) }
}

fn signed(value: f64, step: f64) -> String {
    signed_with(value, places(value, step))
}

fn signed_with(value: f64, places: usize) -> String {
    let digits = if value.abs() >= 99_999.5 {
        format!("{:.1e}", value.abs())
    } else {
        format!("{:.places$}", value.abs())
    };
    let sign = if digits.bytes().all(|digit| matches!(digit, b'0' | b'.')) {
        ""
    } else if value < 0.0 {
        "−"
    } else {
        "+"
    };
    format!("{sign}{digits}")
}

/// A percentage that has no sign by its nature (a deviation, a floor): `0.11 %`.
#[must_use]
pub fn size_percent(value: f64) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    let value = value.abs();
    // A floor is quoted with one digit more than an effect: it is what effects are held against.
    let places = if value >= 9.95 {
        0
    } else if value >= 0.995 {
        1
    } else {
        decimals(value / 10.0)
    };
    if value >= 99_999.5 { format!("{value:.1e} %") } else { format!("{value:.places$} %") }
}

/// A margin as it was asked for: `0.5 %`.
#[must_use]
pub fn margin_percent(value: f64) -> String {
    if value.is_finite() { format!("{value} %") } else { NONE.into() }
}

/// A rate between 0 and 1 as whole percent, rounded up: it is a bound.
#[must_use]
pub fn bound_percent(rate: f64) -> String {
    if rate.is_finite() { format!("{:.0} %", (rate * 100.0 - 1e-9).ceil().max(0.0)) } else { NONE.into() }
}

/// A latency in microseconds with four digits: `6.180`, `169.2`, `4824`.
#[must_use]
pub fn latency_us(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return NONE.into();
    }
    let places = match value {
        value if value < 0.99995 => 4,
        value if value < 9.9995 => 3,
        value if value < 99.995 => 2,
        value if value < 999.95 => 1,
        _ => 0,
    };
    if value >= 1e12 { format!("{value:.3e}") } else { format!("{value:.places$}") }
}

/// Seconds as a person says them: `0.4 s`, `21.3 s`, `12 min 5 s`, `3 h 20 min`.
#[must_use]
pub fn seconds(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return NONE.into();
    }
    if value < 99.95 {
        return format!("{value:.1} s");
    }
    // The cast saturates; a duration of more seconds than fit is no duration.
    let whole = value.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours} h {minutes} min") } else { format!("{minutes} min {rest} s") }
}

/// A p- or q-value: three decimals, powers of ten below 0.001.
#[must_use]
pub fn probability(value: f64) -> String {
    if !value.is_finite() {
        NONE.into()
    } else if value >= 0.0005 || value <= 0.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.0e}")
    }
}

/// A number for a machine: shortest form that reads back, nothing where there is none.
#[must_use]
pub fn plain(value: Option<f64>) -> String {
    let mut out = String::new();
    if let Some(value) = value.filter(|value| value.is_finite()) {
        // Writing to a string does not fail.
        let _ = write!(out, "{value}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_carry_their_sign_and_the_digits_they_have() {
        assert_eq!(percent(805.3), "+805 %");
        assert_eq!(percent(-2.449), "−2.4 %");
        assert_eq!(percent(0.0), "0.0 %");
        assert_eq!(percent(0.034), "+0.03 %");
        assert_eq!(percent(-0.0004), "0.000 %");
        assert_eq!(percent(f64::NAN), "–");
        assert_eq!(percent(12_345_678.0), "+1.2e7 %");
    }

    #[test]
    fn an_interval_decides_the_digits() {
        assert_eq!(percent_within(0.02, Some((-0.1, 0.1))), "0.0 %");
        assert_eq!(percent_within(6.531, Some((6.49, 6.57))), "+6.53 %");
        assert_eq!(interval((796.4, 810.9)), "+796 … +811");
        assert_eq!(interval((-0.0312, 0.0401)), "−0.03 … +0.04");
        assert_eq!(interval((-0.2, 130.0)), "0 … +130");
        assert_eq!(interval((f64::NEG_INFINITY, 1.0)), "–");
    }

    #[test]
    fn floors_have_no_sign() {
        assert_eq!(size_percent(0.114), "0.11 %");
        assert_eq!(size_percent(-6.34), "6.3 %");
        assert_eq!(size_percent(38.4), "38 %");
        assert_eq!(size_percent(0.018), "0.018 %");
        assert_eq!(bound_percent(0.0721), "8 %");
        assert_eq!(bound_percent(0.07), "7 %");
    }

    #[test]
    fn latencies_have_four_digits() {
        assert_eq!(latency_us(0.4001), "0.4001");
        assert_eq!(latency_us(6.18), "6.180");
        assert_eq!(latency_us(99.999), "100.0");
        assert_eq!(latency_us(169.24), "169.2");
        assert_eq!(latency_us(4824.4), "4824");
    }

    #[test]
    fn durations_and_probabilities() {
        assert_eq!(seconds(21.31), "21.3 s");
        assert_eq!(seconds(725.0), "12 min 5 s");
        assert_eq!(seconds(12_000.0), "3 h 20 min");
        assert_eq!(probability(0.0421), "0.042");
        assert_eq!(probability(1e-7), "1e-7");
        assert_eq!(probability(0.0), "0.000");
        assert_eq!(plain(Some(0.1)), "0.1");
        assert_eq!(plain(Some(f64::INFINITY)), "");
    }
}
