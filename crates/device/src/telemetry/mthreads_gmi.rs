//! `mthreads-gmi -q --json`, the only machine-readable form it offers; values come with their units glued on.

use serde_json::{Map, Value};
use switchback_model::card::Card;

use super::Reading;
use crate::number::number;

/// The command that reads one card, or all of them.
#[must_use]
pub fn argv(card: Option<&Card>) -> Vec<String> {
    let mut argv: Vec<String> = ["mthreads-gmi", "-q", "-d", "TEMPERATURE,CLOCK,POWER,UTILIZATION", "--json"]
        .map(String::from)
        .to_vec();
    if let Some(card) = card {
        argv.extend(["-i".to_owned(), card.index.clone()]);
    }
    argv
}

/// Reads the answer, whatever stands before its first brace; a text that is not JSON holds no reading.
#[must_use]
pub fn parse(stdout: &str) -> Vec<Reading> {
    let Some(start) = stdout.find('{') else { return Vec::new() };
    // One value is taken and what follows it ignored.
    let mut values = serde_json::Deserializer::from_str(&stdout[start..]).into_iter::<Value>();
    let Some(Ok(answer)) = values.next() else { return Vec::new() };
    match answer.get("GPU") {
        Some(Value::Array(cards)) => cards.iter().filter_map(Value::as_object).map(read_card).collect(),
        Some(Value::Object(card)) => vec![read_card(card)],
        _ => Vec::new(),
    }
}

fn read_card(card: &Map<String, Value>) -> Reading {
    let text = |section: &str, key: &str| {
        field(card, section)?.as_object().and_then(|it| field(it, key)).and_then(plain)
    };
    let figure = |section, key| number(&text(section, key)?);
    Reading {
        index: field(card, "Index").and_then(plain).unwrap_or_default(),
        sm_clock_mhz: figure("Clocks", "Graphics"),
        mem_clock_mhz: figure("Clocks", "Memory"),
        temp_c: figure("Temperature", "GPU Current Temp"),
        power_w: figure("Power Readings", "Power Draw"),
        util_pct: figure("Utilization", "Gpu"),
        throttle: None,
        power_limit_w: figure("Power Readings", "Current Power Limit"),
    }
}

/// The field of that name; some names are printed with blanks behind them (`"Power Draw "`).
fn field<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value)
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(figure) => Some(figure.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of one card of an MTT S5000, as its tool printed them.
    const S5000: &str = r#"
        {"Attached GPUs": "8", "GPU": [{"Index": "7", "Temperature": {"GPU Current Temp": "36C"},
         "Clocks": {"Graphics": "1888MHz", "Memory": "2500MHz", "Video": "0MHz"},
         "Power Readings": {"Power Draw ": "477.68W", "Current Power Limit": "950.00W"},
         "Utilization": {"Gpu": "87%", "Memory": "14%"}}]}"#;

    #[test]
    fn units_and_blanks_in_names_do_not_matter() {
        let expected = Reading {
            index: "7".into(),
            sm_clock_mhz: Some(1888.0),
            mem_clock_mhz: Some(2500.0),
            temp_c: Some(36.0),
            power_w: Some(477.68),
            util_pct: Some(87.0),
            throttle: None,
            power_limit_w: Some(950.0),
        };
        assert_eq!(parse(S5000), std::slice::from_ref(&expected));
        assert_eq!(parse(&format!("driver 3.3.5\n{S5000}\ntrailer")), [expected]);
    }

    #[test]
    fn a_missing_section_or_value_is_absent() {
        let readings =
            parse(r#"{"GPU": {"Index": 0, "Power Readings": {"Power Draw": "N/A"}, "Clocks": null}}"#);
        assert_eq!(readings, [Reading { index: "0".into(), ..Reading::default() }]);
    }

    #[test]
    fn one_card_is_asked_for_by_index_and_all_without_a_flag() {
        let card = Card { backend: "musa".into(), index: "7".into(), uuid: None, name: None };
        assert_eq!(argv(Some(&card))[5..], ["-i", "7"]);
        assert!(!argv(None).contains(&"-i".to_owned()));
    }
}
