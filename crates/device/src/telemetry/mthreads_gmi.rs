//! `mthreads-gmi -q --json`, the only machine-readable form it offers; values come with their units glued on.
//!
//! A version that does not know the flags answers with its text for people instead; both kinds are read (`mthreads_gmi/text.rs`).

mod text;

use serde_json::{Map, Value};
use switchback_model::card::Card;

use super::{Reading, json};

/// The command that reads one card, or all of them.
#[must_use]
pub fn argv(card: Option<&Card>) -> Vec<String> {
    let mut argv: Vec<String> =
        ["mthreads-gmi", "-q", "-d", "TEMPERATURE,CLOCK,POWER,UTILIZATION,MEMORY", "--json"]
            .map(String::from)
            .to_vec();
    if let Some(card) = card {
        argv.extend(["-i".to_owned(), card.index.clone()]);
    }
    argv
}

/// Reads the answer, whatever stands before its first brace and after its last; a text that is neither JSON nor one of the
/// tool's own forms holds no reading.
#[must_use]
pub fn parse(stdout: &str) -> Vec<Reading> {
    let Some(answer) = json::first_object(stdout) else { return text::parse(stdout) };
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
    let mut it =
        Reading { index: field(card, "Index").and_then(plain).unwrap_or_default(), ..Reading::default() };
    let mut figure = |column, section, key| it.figure(column, &text(section, key).unwrap_or_default());
    // `Memory` and `Total` stand below several sections, so each is asked for by its section.
    let sm_clock_mhz = figure("sm_clock_mhz", "Clocks", "Graphics");
    let mem_clock_mhz = figure("mem_clock_mhz", "Clocks", "Memory");
    let temp_c = figure("temp_c", "Temperature", "GPU Current Temp");
    let power_w = figure("power_w", "Power Readings", "Power Draw");
    let util_pct = figure("util_pct", "Utilization", "Gpu");
    let power_limit_w = figure("power_limit_w", "Power Readings", "Current Power Limit");
    let mem_used_mib = figure("mem_used_mib", "FB Memory Usage", "Used");
    let mem_total_mib = figure("mem_total_mib", "FB Memory Usage", "Total");
    Reading {
        sm_clock_mhz,
        mem_clock_mhz,
        temp_c,
        power_w,
        util_pct,
        power_limit_w,
        mem_used_mib,
        mem_total_mib,
        ..it
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
            power_limit_w: Some(950.0),
            ..Reading::default()
        };
        assert_eq!(parse(S5000), std::slice::from_ref(&expected));
        assert_eq!(parse(&format!("driver 3.3.5\n{S5000}\ntrailer")), [expected]);
    }

    #[test]
    fn a_missing_section_or_value_is_absent() {
        let readings =
            parse(r#"{"GPU": {"Index": 0, "Power Readings": {"Power Draw": "N/A"}, "Clocks": null}}"#);
        let remark = Some("power_w: N/A".into());
        assert_eq!(readings, [Reading { index: "0".into(), remark, ..Reading::default() }]);
    }

    #[test]
    fn one_card_is_asked_for_by_index_and_all_without_a_flag() {
        let card = Card { backend: "musa".into(), index: "7".into(), uuid: None, name: None };
        assert_eq!(argv(Some(&card))[5..], ["-i", "7"]);
        assert!(!argv(None).contains(&"-i".to_owned()));
    }
}
