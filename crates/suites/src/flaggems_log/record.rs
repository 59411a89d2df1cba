//! The benchmark's JSON: a result of one operator and dtype, in a line of `--record log` or in the file of
//! `--record json`.
//!
//! Python writes `NaN` and `Infinity`, which are no JSON; they are read as missing numbers.

use serde::Deserialize;
use serde_json::Value;

/// A result of one operator and dtype.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "op_name")]
    pub(super) operator: String,
    pub(super) dtype: String,
    pub(super) mode: String,
    pub(super) level: String,
    pub(super) result: Vec<Metrics>,
}

/// One row of it; times in milliseconds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metrics {
    pub(super) shape_detail: Value,
    pub(super) latency_base: Option<f64>,
    pub(super) latency: Option<f64>,
    pub(super) speedup: Option<f64>,
    pub(super) tflops: Option<f64>,
    pub(super) gbps_base: Option<f64>,
    pub(super) gbps: Option<f64>,
    pub(super) error_msg: Option<String>,
}

/// Reads a line that holds a result behind `[INFO] ` or the like; none if it holds none.
pub(super) fn line(line: &str) -> Option<Result<Block, String>> {
    if !(line.contains("\"op_name\"") && line.contains("\"result\"")) {
        return None;
    }
    let json = python_numbers(&line[line.find('{')?..]);
    // What stands behind the object on its line is another's output.
    let first = serde_json::Deserializer::from_str(&json).into_iter::<Block>().next()?;
    Some(first.map_err(|error| error.to_string()))
}

/// An operator's entry in the file of `--record json`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    /// pytest's outcome of the test with this mark.
    pub(super) result: Option<String>,
    pub(super) test_case: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) details: Vec<Block>,
}

/// Reads a text as that file: entries by mark, in its order.
pub(super) fn file(text: &str) -> Option<Vec<(String, Entry)>> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if !text.starts_with('{') {
        return None;
    }
    let json = python_numbers(text);
    let Value::Object(entries) = serde_json::from_str(&json).ok()? else { return None };
    let known =
        |entry: &Value| entry.get("details").is_some() || entry.get("result").is_some_and(Value::is_string);
    if !entries.values().any(known) {
        return None;
    }
    let read =
        entries.into_iter().filter_map(|(mark, entry)| Some((mark, serde_json::from_value(entry).ok()?)));
    Some(read.collect())
}

/// Replaces `NaN`, `Infinity` and `-Infinity` outside of strings by `null`.
fn python_numbers(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if !in_string {
            let word = ["-Infinity", "Infinity", "NaN"].into_iter().find(|word| rest.starts_with(word));
            if let Some(word) = word {
                json.push_str("null");
                rest = &rest[word.len()..];
                continue;
            }
        }
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        json.push(character);
        rest = &rest[character.len_utf8()..];
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_found_behind_the_loggers_prefix() {
        let text = r#"[INFO] {"op_name": "sum", "dtype": "torch.int64", "mode": "kernel", "level": "core", "result": [{"shape_detail": [[64, 64]], "latency_base": 0.02, "latency": NaN, "speedup": 0.5}]} tail"#;
        let block = line(text).unwrap().unwrap();
        assert_eq!((block.operator.as_str(), block.result.len()), ("sum", 1));
        assert_eq!((block.result[0].latency, block.result[0].latency_base), (None, Some(0.02)));
        assert!(line("[INFO] {'op_name': 'sum', 'shape_desc': 'M, N'}").is_none());
        assert!(line(r#"[INFO] {"op_name": "sum", "result": [{"#).unwrap().is_err());
    }

    #[test]
    fn pythons_numbers_are_replaced_outside_of_strings_only() {
        assert_eq!(
            python_numbers(r#"[NaN,-Infinity,"NaN \" Infinity",Infinity]"#),
            r#"[null,null,"NaN \" Infinity",null]"#
        );
    }
}
