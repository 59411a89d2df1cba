//! An input as a benchmark prints it, taken apart: what is the same in all rows is said once, above them.
//!
//! The text is Python's: `[torch.Size([64, 64]), -1]`, `{'dim': 0}`, or both as `([…], {…})`. One that cannot be taken
//! apart stays whole. Invariant: legend and rest together say all that the texts said.

/// An argument: its place or name, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Argument {
    /// `2` for the second, a name for a keyword.
    place: String,
    keyword: bool,
    text: String,
}

/// Inputs of one table, folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folded {
    /// What every input has: place or name, and text.
    pub legend: Vec<(String, String)>,
    /// What is left of each input, in the benchmark's own notation.
    pub rest: Vec<String>,
}

/// Folds what all inputs have in common; fewer than two inputs, or inputs of other arguments, stay as they are.
pub(crate) fn fold(inputs: &[&str]) -> Folded {
    let whole = || Folded { legend: Vec::new(), rest: inputs.iter().map(|it| (*it).to_owned()).collect() };
    let parsed: Option<Vec<Vec<Argument>>> = inputs.iter().map(|text| parse(text)).collect();
    let Some(parsed) = parsed.filter(|all| all.len() > 1) else { return whole() };
    let places = |arguments: &[Argument]| -> Vec<(String, bool)> {
        arguments.iter().map(|it| (it.place.clone(), it.keyword)).collect()
    };
    if parsed.iter().any(|arguments| places(arguments) != places(&parsed[0])) {
        return whole();
    }
    let same: Vec<bool> = (0..parsed[0].len())
        .map(|at| parsed.iter().all(|arguments| arguments[at].text == parsed[0][at].text))
        .collect();
    let legend = parsed[0]
        .iter()
        .zip(&same)
        .filter(|(_, same)| **same)
        .map(|(argument, _)| (argument.place.clone(), argument.text.clone()))
        .collect();
    let rest = parsed
        .iter()
        .map(|arguments| {
            let left: Vec<&Argument> =
                arguments.iter().zip(&same).filter(|(_, same)| !**same).map(|(it, _)| it).collect();
            written(&left)
        })
        .collect();
    Folded { legend, rest }
}

fn written(arguments: &[&Argument]) -> String {
    let (named, placed): (Vec<&Argument>, Vec<&Argument>) = arguments.iter().partition(|it| it.keyword);
    let list = placed.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(", ");
    let dict = named.iter().map(|it| format!("'{}': {}", it.place, it.text)).collect::<Vec<_>>().join(", ");
    match (placed.is_empty(), named.is_empty()) {
        (_, true) => format!("[{list}]"),
        (true, false) => format!("{{{dict}}}"),
        (false, false) => format!("([{list}], {{{dict}}})"),
    }
}

fn parse(text: &str) -> Option<Vec<Argument>> {
    let text = text.trim();
    if let Some(inner) = between(text, '(', ')') {
        let parts = split(inner)?;
        let [list, dict] = &parts[..] else { return None };
        let mut arguments = parse_list(between(list, '[', ']')?)?;
        arguments.extend(parse_dict(between(dict, '{', '}')?)?);
        return Some(arguments);
    }
    match between(text, '[', ']') {
        Some(inner) => parse_list(inner),
        None => parse_dict(between(text, '{', '}')?),
    }
}

fn between(text: &str, open: char, close: char) -> Option<&str> {
    text.trim().strip_prefix(open)?.strip_suffix(close)
}

fn parse_list(inner: &str) -> Option<Vec<Argument>> {
    let parts = split(inner)?;
    Some(
        parts
            .into_iter()
            .enumerate()
            .map(|(at, text)| Argument { place: (at + 1).to_string(), keyword: false, text })
            .collect(),
    )
}

fn parse_dict(inner: &str) -> Option<Vec<Argument>> {
    split(inner)?
        .into_iter()
        .map(|part| {
            let quote = part.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
            let (name, rest) = part[1..].split_once(quote)?;
            let text = rest.trim_start().strip_prefix(':')?.trim();
            Some(Argument { place: name.to_owned(), keyword: true, text: text.to_owned() })
        })
        .collect()
}

/// Splits at the commas that are within no bracket and no quotes; none if these do not close.
fn split(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut open: Vec<char> = Vec::new();
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for character in text.chars() {
        if let Some(mark) = quote {
            part.push(character);
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                it if it == mark => quote = None,
                _ => {}
            }
            continue;
        }
        match character {
            ',' if open.is_empty() => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            '\'' | '"' => quote = Some(character),
            '[' => open.push(']'),
            '(' => open.push(')'),
            '{' => open.push('}'),
            ']' | ')' | '}' if open.pop() != Some(character) => return None,
            _ => {}
        }
        part.push(character);
    }
    if quote.is_some() || !open.is_empty() {
        return None;
    }
    // A tuple of one ends with a comma.
    if !part.trim().is_empty() {
        parts.push(part);
    }
    let parts: Vec<String> = parts.into_iter().map(|part| part.trim().to_owned()).collect();
    (!parts.iter().any(String::is_empty)).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legend(folded: &Folded) -> Vec<(&str, &str)> {
        folded.legend.iter().map(|(place, text)| (place.as_str(), text.as_str())).collect()
    }

    #[test]
    fn what_all_have_goes_into_the_legend() {
        let it = fold(&[
            "([torch.Size([64, 64]), torch.Size([8]), -1], {'dim': 0, 'out': torch.Size([64, 64]), 'mode': 'a, b'})",
            "([torch.Size([1, 2]), torch.Size([8]), -1], {'dim': 0, 'out': torch.Size([1, 2]), 'mode': 'a, b'})",
        ]);
        assert_eq!(legend(&it), [("2", "torch.Size([8])"), ("3", "-1"), ("dim", "0"), ("mode", "'a, b'")]);
        assert_eq!(
            it.rest,
            [
                "([torch.Size([64, 64])], {'out': torch.Size([64, 64])})",
                "([torch.Size([1, 2])], {'out': torch.Size([1, 2])})"
            ]
        );
        let it = fold(&[
            "{'input': torch.Size([2, 3]), 'bias': None}",
            "{'input': torch.Size([4]), 'bias': None}",
        ]);
        assert_eq!(legend(&it), [("bias", "None")]);
        assert_eq!(it.rest, ["{'input': torch.Size([2, 3])}", "{'input': torch.Size([4])}"]);
        let it = fold(&["[1, [torch.Size([2]), None]]", "[1, [torch.Size([3]), None]]"]);
        assert_eq!(it.rest, ["[[torch.Size([2]), None]]", "[[torch.Size([3]), None]]"]);
        let it = fold(&["[1, 2]", "[1, 2]"]);
        assert_eq!(legend(&it), [("1", "1"), ("2", "2")]);
        assert_eq!(it.rest, ["[]", "[]"]);
    }

    #[test]
    fn what_cannot_be_compared_stays_whole() {
        for inputs in [
            &["[torch.Size([64]), 1]"][..],
            &["[1, 2]", "[1, 2, 3]"],
            &["[1, 2]", "{'a': 1, 'b': 2}"],
            &["[1, 2", "[1, 3]"],
            &["f32 [4096,1024]", "f32 [4096,1024]"],
            &["[1, 'a]", "[1, 'b]"],
            &["not printable: ValueError", "[1]"],
            &["", ""],
        ] {
            let it = fold(inputs);
            assert_eq!(
                (it.legend, it.rest),
                (Vec::new(), inputs.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
            );
        }
    }
}
