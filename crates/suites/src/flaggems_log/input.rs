//! The description of an input: Python's notation in tables, JSON in records.
//!
//! It is kept as it was printed, since it names the case. Only [`canonical`] lets rows of the two formats meet.

/// Splits a text into an input, from its first bracket to the matching one, and what follows; none if it begins with
/// something else or ends too soon. Brackets within quotes do not count.
#[must_use]
pub fn split(text: &str) -> Option<(&str, &str)> {
    let head = text.strip_prefix("torch.Size").unwrap_or(text);
    if !head.starts_with(['[', '(', '{']) {
        return None;
    }
    let mut open: Vec<char> = Vec::new();
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if let Some(mark) = quote {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == mark => quote = None,
                _ => {}
            }
            continue;
        }
        match character {
            '\'' | '"' => quote = Some(character),
            '[' => open.push(']'),
            '(' => open.push(')'),
            '{' => open.push('}'),
            ']' | ')' | '}' => {
                if open.pop() != Some(character) {
                    return None;
                }
                if open.is_empty() {
                    let end = at + character.len_utf8();
                    return Some((&text[..end], &text[end..]));
                }
            }
            _ => {}
        }
    }
    None
}

/// White space normalised: runs of it are one space.
#[must_use]
pub fn normalise(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One spelling for both formats: sizes and tuples are lists, `True`, `False` and `None` are JSON's, quotes and white
/// space are gone.
///
/// Only for meeting rows of a table with rows of a record; it forgets the difference between a size and a list of
/// numbers, and between a text and a name, as the records do.
#[must_use]
pub fn canonical(text: &str) -> String {
    let mut spelt = String::with_capacity(text.len());
    let mut quote: Option<char> = None;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let next = &rest[character.len_utf8()..];
        if let Some(mark) = quote {
            if character == mark {
                quote = None;
            } else {
                spelt.push(character);
            }
            rest = next;
            continue;
        }
        if let Some((size, after)) = rest.strip_prefix("torch.Size(").and_then(|inner| inner.split_once(')'))
        {
            spelt.extend(size.chars().filter(|c| !c.is_whitespace()));
            rest = after;
            continue;
        }
        let words = [("True", "true"), ("False", "false"), ("None", "null"), ("N/A", "null")];
        let starts_a_word = !spelt.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        if let Some((word, json)) =
            words.into_iter().find(|(word, _)| starts_a_word && rest.starts_with(word))
        {
            spelt.push_str(json);
            rest = &rest[word.len()..];
            continue;
        }
        match character {
            '\'' | '"' => quote = Some(character),
            '(' => spelt.push('['),
            ')' => spelt.push(']'),
            c if c.is_whitespace() => {}
            other => spelt.push(other),
        }
        rest = next;
    }
    spelt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_ends_with_its_matching_bracket() {
        for input in [
            "[torch.Size([1073741824]), -2.5]",
            "([0.25, torch.Size([2, 19, 7])], {'out': torch.Size([2, 19, 7])})",
            "[torch.Size([]), None, True, torch.float32, 'ij,jk->ik']",
            "{'input': torch.Size([2, 3]), 'dim': -1}",
            r#"['a]b', "it's)", 'c\'d']"#,
            "torch.Size([64])",
        ] {
            let text = format!("{input} tail");
            assert_eq!(split(&text), Some((input, " tail")));
        }
        for broken in ["[torch.Size([64)", "[1, 2", "", "x [1]", "['a]"] {
            assert_eq!(split(broken), None, "{broken}");
        }
    }

    #[test]
    fn both_formats_of_one_input_are_spelt_alike() {
        for (table, record) in [
            ("[torch.Size([64, 64]), 1]", "[[64,64],1]"),
            (
                "([torch.Size([2, 19, 7])], {'out': torch.Size([2, 19, 7])})",
                r#"[[[2,19,7]],{"out":[2,19,7]}]"#,
            ),
            (
                "[torch.Size([]), None, True, torch.float32, 'ij,jk->ik']",
                r#"[[],null,true,"torch.float32","ij,jk->ik"]"#,
            ),
            ("N/A", "null"),
        ] {
            assert_eq!(canonical(table), canonical(record));
        }
        assert_ne!(canonical("[torch.Size([64, 64])]"), canonical("[torch.Size([64, 65])]"));
    }
}
