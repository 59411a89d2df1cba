//! JSON as tools and shell scripts print it: what is wrong with it, by the key.

use serde_json::Value;

/// The first JSON value in a text, whatever stands before its first brace and after it.
pub(crate) fn first_object(text: &str) -> Option<Value> {
    let start = text.find('{')?;
    serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>().next()?.ok()
}

/// What is wrong with a text that begins as JSON and is none: the key whose value cannot be read (`"power": [N/A]`).
pub(crate) fn fault(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let error = serde_json::from_str::<Value>(text).err()?;
    let line_start: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut end = (line_start + error.column()).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let key = text[..end].rsplit("\":").nth(1).and_then(|before| before.rsplit('"').next());
    Some(match key {
        Some(key) => format!("the value of `{key}` is no JSON"),
        None => format!("it is no JSON: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_named() {
        let text = "{ \"timestamp\": \"11-25 07:26:50\", \"temperature\": 44,\n \"power\": [N/A], \"x\": 1 }";
        assert_eq!(fault(text).unwrap(), "the value of `power` is no JSON");
        assert_eq!(fault("{\"a\": {\"b\": N/A}}").unwrap(), "the value of `b` is no JSON");
        assert!(fault("[1, 2").unwrap().starts_with("it is no JSON: "));
        assert_eq!(fault("{\"a\": 1}"), None);
        assert_eq!(fault("no JSON at all"), None);
    }
}
