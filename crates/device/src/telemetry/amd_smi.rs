//! `amd-smi metric --json`: an array of cards, or an object that holds one under `gpu_data` (later versions).
//!
//! Written after AMD's documentation of the tool; not yet seen on a card.

use serde_json::Value;
use switchback_model::card::Card;

use super::Reading;
use crate::number::number;

/// The command that reads one card, or all of them.
#[must_use]
pub fn argv(card: Option<&Card>) -> Vec<String> {
    let mut argv: Vec<String> =
        ["amd-smi", "metric", "--usage", "--power", "--clock", "--temperature", "--json"]
            .map(String::from)
            .to_vec();
    if let Some(card) = card {
        argv.extend(["--gpu".to_owned(), card.index.clone()]);
    }
    argv
}

/// Reads the answer; a text that is not JSON holds no reading.
#[must_use]
pub fn parse(stdout: &str) -> Vec<Reading> {
    cards(stdout).iter().filter_map(read_card).collect()
}

fn read_card(card: &Value) -> Option<Reading> {
    let first = |places: &[&[&str]]| places.iter().find_map(|place| measure(card, place));
    Some(Reading {
        index: index(card)?,
        sm_clock_mhz: first(&[&["clock", "gfx_0", "clk"]]),
        mem_clock_mhz: first(&[&["clock", "mem_0", "clk"]]),
        temp_c: first(&[&["temperature", "hotspot"], &["temperature", "edge"]]),
        // The second die of a card reports none; its first shows the sum.
        power_w: first(&[
            &["power", "socket_power"],
            &["power", "current_socket_power"],
            &["power", "average_socket_power"],
        ]),
        util_pct: first(&[&["usage", "gfx_activity"]]),
        throttle: None,
        power_limit_w: first(&[&["power", "power_limit"]]),
    })
}

/// The cards of an answer of `amd-smi … --json`.
pub(crate) fn cards(stdout: &str) -> Vec<Value> {
    match serde_json::from_str(stdout.trim()) {
        Ok(Value::Array(cards)) => cards,
        Ok(Value::Object(mut answer)) => match answer.remove("gpu_data") {
            Some(Value::Array(cards)) => cards,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The card's index.
pub(crate) fn index(card: &Value) -> Option<String> {
    Some(card.get("gpu")?.as_u64()?.to_string())
}

/// A figure at a place: `{"value": 140, "unit": "W"}`, a number, or a text with a number.
pub(crate) fn measure(card: &Value, place: &[&str]) -> Option<f64> {
    let value = place.iter().try_fold(card, |value, key| value.get(key))?;
    match value.get("value").unwrap_or(value) {
        Value::Number(figure) => figure.as_f64(),
        Value::String(text) => number(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_in_any_of_their_forms() {
        let answer = r#"{"gpu_data": [{"gpu": 1, "usage": {"gfx_activity": {"value": 12, "unit": "%"}},
            "power": {"socket_power": "N/A", "average_socket_power": "17.0"},
            "clock": {"gfx_0": {"clk": {"value": 132, "unit": "MHz"}}, "mem_0": {"clk": "900 MHz"}},
            "temperature": {"edge": "N/A", "hotspot": {"value": 44, "unit": "C"}}}]}"#;
        let expected = Reading {
            index: "1".into(),
            sm_clock_mhz: Some(132.0),
            mem_clock_mhz: Some(900.0),
            temp_c: Some(44.0),
            power_w: Some(17.0),
            util_pct: Some(12.0),
            throttle: None,
            power_limit_w: None,
        };
        assert_eq!(parse(answer), [expected]);
    }

    #[test]
    fn a_second_die_has_no_power() {
        let readings = parse(r#"[{"gpu": 1, "power": {"socket_power": "N/A (Secondary die)"}}]"#);
        assert_eq!(readings, [Reading { index: "1".into(), ..Reading::default() }]);
    }
}
