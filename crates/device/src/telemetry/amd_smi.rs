//! `amd-smi metric --json`: an array of cards, or an object that holds one under `gpu_data` (later versions).
//!
//! Written after AMD's documentation of the tool; not yet seen on a card. The older `rocm-smi --json` (an object a card,
//! `card0`, with whole sentences as keys) is read too.

use serde_json::Value;
use switchback_model::card::Card;

use super::Reading;
use crate::number::number;

/// The command that reads one card, or all of them.
#[must_use]
pub fn argv(card: Option<&Card>) -> Vec<String> {
    let mut argv: Vec<String> =
        ["amd-smi", "metric", "--usage", "--power", "--clock", "--temperature", "--mem-usage", "--json"]
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
    let readings: Vec<Reading> = cards(stdout).iter().filter_map(read_card).collect();
    if readings.is_empty() { rocm_cards(stdout) } else { readings }
}

fn read_card(card: &Value) -> Option<Reading> {
    let mut it = Reading { index: index(card)?, ..Reading::default() };
    it.sm_clock_mhz = first(&mut it, "sm_clock_mhz", card, &[&["clock", "gfx_0", "clk"]]);
    it.mem_clock_mhz = first(&mut it, "mem_clock_mhz", card, &[&["clock", "mem_0", "clk"]]);
    it.temp_c = first(&mut it, "temp_c", card, &[&["temperature", "hotspot"], &["temperature", "edge"]]);
    let power: [&[&str]; 3] =
        [&["power", "socket_power"], &["power", "current_socket_power"], &["power", "average_socket_power"]];
    it.power_w = first(&mut it, "power_w", card, &power);
    it.util_pct = first(&mut it, "util_pct", card, &[&["usage", "gfx_activity"]]);
    it.power_limit_w = first(&mut it, "power_limit_w", card, &[&["power", "power_limit"]]);
    it.mem_used_mib = first(&mut it, "mem_used_mib", card, &[&["mem_usage", "used_vram"]]);
    it.mem_total_mib = first(&mut it, "mem_total_mib", card, &[&["mem_usage", "total_vram"]]);
    Some(it)
}

/// The first of some places that holds a figure; a word in one does not hide a figure in another.
///
/// The second die of a card reports no power (`N/A (Secondary die)`); its first shows the sum.
fn first(reading: &mut Reading, column: &str, card: &Value, places: &[&[&str]]) -> Option<f64> {
    let value = places.iter().find_map(|place| measure(card, place));
    if value.is_none() {
        let words = places.iter().find_map(|place| {
            let value = place.iter().try_fold(card, |value, key| value.get(key))?;
            value.get("value").unwrap_or(value).as_str()
        });
        if let Some(words) = words {
            reading.figure(column, words);
        }
    }
    value
}

/// The cards of `rocm-smi --json`.
fn rocm_cards(stdout: &str) -> Vec<Reading> {
    let Ok(Value::Object(answer)) = serde_json::from_str(stdout.trim()) else { return Vec::new() };
    let mut readings: Vec<Reading> = answer
        .iter()
        .filter_map(|(name, card)| {
            let index = name.strip_prefix("card").filter(|index| index.parse::<u32>().is_ok())?;
            let mut it = Reading { index: index.to_owned(), ..Reading::default() };
            let power: [&[&str]; 2] =
                [&["Current Socket Graphics Package Power (W)"], &["Average Graphics Package Power (W)"]];
            it.power_w = first(&mut it, "power_w", card, &power);
            it.util_pct = first(&mut it, "util_pct", card, &[&["GPU use (%)"]]);
            let temperature: [&[&str]; 2] =
                [&["Temperature (Sensor junction) (C)"], &["Temperature (Sensor edge) (C)"]];
            it.temp_c = first(&mut it, "temp_c", card, &temperature);
            let mut mib =
                |column, key: &str| first(&mut it, column, card, &[&[key]]).map(|it| it / 1_048_576.0);
            let used = mib("mem_used_mib", "VRAM Total Used Memory (B)");
            let total = mib("mem_total_mib", "VRAM Total Memory (B)");
            Some(Reading { mem_used_mib: used, mem_total_mib: total, ..it })
        })
        .collect();
    readings.sort_by_key(|reading| reading.index.parse::<u32>().unwrap_or(u32::MAX));
    readings
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
            ..Reading::default()
        };
        assert_eq!(parse(answer), [expected]);
    }

    #[test]
    fn a_second_die_has_no_power() {
        let readings = parse(r#"[{"gpu": 1, "power": {"socket_power": "N/A (Secondary die)"}}]"#);
        let remark = Some("power_w: N/A (Secondary die)".into());
        assert_eq!(readings, [Reading { index: "1".into(), remark, ..Reading::default() }]);
    }
}
