//! Single edits of compiler texts: such that change what the code means, and such that do not.
//!
//! Finds its places with a scanner of its own, so that it shares no mistake with the lexers it tests.

#![allow(dead_code)]

use switchback_ir::Stage;

/// Draws from one seed; the same seed gives the same edit.
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, end: usize) -> usize {
        // SplitMix64 (Steele, Lea, Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % end
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> Option<&'t T> {
        if from.is_empty() { None } else { from.get(self.below(from.len())) }
    }
}

/// One edit: what was done, and the text after it.
pub struct Edit {
    pub what: String,
    pub text: String,
}

/// A word of the text that is code: outside of strings, comments, locations and debug information.
#[derive(Clone, Copy, Debug)]
struct Word<'t> {
    start: usize,
    text: &'t str,
}

impl Word<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'%' | b'#' | b'!' | b'@' | b'^')
}

/// Lines that are code, as (start, line).
fn code_lines<'t>(stage: &Stage, text: &'t str) -> Vec<(usize, &'t str)> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut debug_section = false;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim();
        if *stage == Stage::Ptx && bare.starts_with(".section") {
            debug_section = true;
        }
        let skipped = bare.is_empty()
            || debug_section
            || bare.starts_with("//")
            || match stage {
                Stage::Ttir | Stage::Ttgir => bare.starts_with("#loc"),
                Stage::Llir => {
                    bare.starts_with([';', '!'])
                        || bare.starts_with("source_filename")
                        || bare.starts_with("attributes")
                }
                _ => bare.starts_with(".loc") || bare.starts_with(".file") || bare.starts_with("$L__"),
            };
        if !skipped {
            found.push((start, line));
        }
    }
    found
}

/// The words of a line's code.
fn words<'t>(stage: &Stage, start: usize, line: &'t str) -> Vec<Word<'t>> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &line[at..];
        if bytes[at] == b'"' {
            at += 1;
            while at < bytes.len() && bytes[at] != b'"' {
                at += if bytes[at] == b'\\' && *stage != Stage::Llir { 2 } else { 1 };
            }
            at += 1;
        } else if rest.starts_with("//") || (*stage == Stage::Llir && bytes[at] == b';') {
            break;
        } else if *stage == Stage::Llir && (rest.starts_with(", !dbg") || rest.starts_with(" !dbg")) {
            at += rest.find(['{', '\n']).unwrap_or(rest.len());
        } else if rest.starts_with(" loc(") {
            // The recorded locations hold no bracket in a string.
            let mut depth = 0;
            at += 4;
            loop {
                match bytes[at] {
                    b'(' => depth += 1,
                    b')' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    break;
                }
            }
        } else if is_word(bytes[at]) && !(*stage == Stage::Ptx && bytes[at] == b'@') {
            let length = rest.bytes().take_while(|&byte| is_word(byte)).count();
            // `%c-1_i32`
            let length = if bytes[at] == b'%' && matches!(stage, Stage::Ttir | Stage::Ttgir) {
                rest.bytes().take_while(|&byte| is_word(byte) || byte == b'-').count()
            } else {
                length
            };
            found.push(Word { start: start + at, text: &rest[..length] });
            at += length;
        } else {
            at += 1;
        }
    }
    found
}

fn all_words<'t>(stage: &Stage, text: &'t str) -> Vec<Word<'t>> {
    code_lines(stage, text).into_iter().flat_map(|(start, line)| words(stage, start, line)).collect()
}

fn replaced(text: &str, word: Word<'_>, by: &str) -> String {
    format!("{}{by}{}", &text[..word.start], &text[word.end()..])
}

/// Every word of the code that is `from` becomes `to`.
fn renamed(stage: &Stage, text: &str, from: &str, to: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut written = 0;
    for word in all_words(stage, text) {
        let bare = word.text.split('#').next().unwrap_or("");
        let matches = word.text == from || (from.starts_with('%') && bare == from);
        if matches {
            result.push_str(&text[written..word.start]);
            result.push_str(to);
            written = word.start + from.len();
        }
    }
    result.push_str(&text[written..]);
    result
}

fn is_register(stage: &Stage, word: &str) -> bool {
    let Some(name) = word.strip_prefix('%') else { return false };
    match stage {
        Stage::Ptx => {
            let letters = name.trim_end_matches(|byte: char| byte.is_ascii_digit());
            letters.len() < name.len() && ["p", "r", "rd", "rs"].contains(&letters)
        }
        _ => true,
    }
}

/// One edit that changes the meaning; `None` if this draw found no place.
pub fn changing(stage: &Stage, text: &str, draw: &mut Draw) -> Option<Edit> {
    let lines = code_lines(stage, text);
    let edit = |what: String, text: String| Some(Edit { what, text });
    match draw.below(7) {
        // Another operand: a value that the text has defined before.
        0 => {
            let (index, &(start, line)) = {
                let index = draw.below(lines.len());
                (index, &lines[index])
            };
            if line.contains("func") || line.contains(".reg") || line.contains("define") {
                return None;
            }
            let defined: Vec<&str> = lines[..index]
                .iter()
                .rev()
                .take(60)
                .filter_map(|(start, line)| words(stage, *start, line).first().copied())
                .map(|word| word.text)
                .filter(|word| is_register(stage, word) && *word != "%")
                .collect();
            let here = words(stage, start, line);
            let operands: Vec<Word<'_>> = here
                .into_iter()
                .skip(1)
                .filter(|word| is_register(stage, word.text) && defined.contains(&word.text))
                .collect();
            let word = *draw.pick(&operands)?;
            let letters = |name: &str| name.trim_end_matches(|byte: char| byte.is_ascii_digit()).len();
            let others: Vec<&&str> = defined
                .iter()
                .filter(|other| {
                    **other != word.text && (*stage != Stage::Ptx || letters(other) == letters(word.text))
                })
                .collect();
            let other = draw.pick(&others)?;
            edit(
                format!("operand {} -> {other} in `{}`", word.text, line.trim()),
                replaced(text, word, other),
            )
        }
        // Another constant, dimension or parameter of a layout.
        1 | 2 => {
            let numbers: Vec<Word<'_>> = all_words(stage, text)
                .into_iter()
                .filter(|word| {
                    word.text.starts_with(|first: char| first.is_ascii_digit())
                        // An exponent: zero stays zero.
                        && !text[..word.start].ends_with("e+")
                        && text.as_bytes()[word.end()] != b':'
                        && !text[..word.start].ends_with('<') | matches!(stage, Stage::Ttir | Stage::Ttgir)
                })
                .collect();
            let word = *draw.pick(&numbers)?;
            let first = word.text.as_bytes()[0];
            let digit = char::from(if first == b'9' { b'8' } else { first + 1 });
            let by = format!("{digit}{}", &word.text[1..]);
            edit(format!("number {} -> {by}", word.text), replaced(text, word, &by))
        }
        // A flag.
        3 => {
            let flags: Vec<(Word<'_>, &str)> = all_words(stage, text)
                .into_iter()
                .filter_map(|word| {
                    let by = match word.text {
                        "true" => "false",
                        "false" => "true",
                        "slt" => "sgt",
                        "eq" => "ne",
                        "mutable" => "immutable",
                        "nsw" => "nuw",
                        "public" => "private",
                        "x" => "y",
                        ".visible" => ".weak",
                        _ => return None,
                    };
                    Some((word, by))
                })
                .collect();
            let &(word, by) = draw.pick(&flags)?;
            edit(format!("flag {} -> {by}", word.text), replaced(text, word, by))
        }
        // Another type or operation.
        4 => {
            let changes: Vec<(Word<'_>, String)> = all_words(stage, text)
                .into_iter()
                .filter_map(|word| {
                    let by = match word.text {
                        "i32" => "i64".to_owned(),
                        "i64" => "i32".to_owned(),
                        "i1" => "i8".to_owned(),
                        "float" => "half".to_owned(),
                        "arith.addi" => "arith.subi".to_owned(),
                        "arith.muli" => "arith.addi".to_owned(),
                        "arith.addf" => "arith.mulf".to_owned(),
                        "arith.divsi" => "arith.divui".to_owned(),
                        "fadd" => "fsub".to_owned(),
                        "add" => "sub".to_owned(),
                        other if other.ends_with("xf16") => other.replace("xf16", "xf32"),
                        other if other.ends_with("xf32") => other.replace("xf32", "xf16"),
                        other if other.starts_with("add.s") => other.replace("add", "sub"),
                        other if other.ends_with(".b32") => other.replace(".b32", ".b64"),
                        _ => return None,
                    };
                    Some((word, by))
                })
                .collect();
            let (word, by) = draw.pick(&changes)?;
            edit(format!("{} -> {by}", word.text), replaced(text, *word, by))
        }
        // An operation less.
        5 => {
            let operations: Vec<&(usize, &str)> =
                lines.iter().filter(|(_, line)| is_operation(stage, line)).collect();
            let &&(start, line) = draw.pick(&operations)?;
            edit(
                format!("without `{}`", line.trim()),
                format!("{}{}", &text[..start], &text[start + line.len()..]),
            )
        }
        // An operation more.
        _ => {
            let operations: Vec<&(usize, &str)> =
                lines.iter().filter(|(_, line)| is_operation(stage, line)).collect();
            let &&(start, line) = draw.pick(&operations)?;
            let copy = match line.split_once(" = ") {
                Some((results, rest)) if *stage != Stage::Ptx => {
                    let count =
                        results.split_once(':').map_or(String::new(), |(_, count)| format!(":{count}"));
                    format!("%another_result{count} = {rest}")
                }
                _ => line.to_owned(),
            };
            let end = start + line.len();
            edit(format!("twice `{}`", line.trim()), format!("{}{copy}{}", &text[..end], &text[end..]))
        }
    }
}

/// A line that holds one whole operation.
fn is_operation(stage: &Stage, line: &str) -> bool {
    let bare = line.trim();
    match stage {
        Stage::Ttir | Stage::Ttgir => {
            (bare.starts_with('%') || bare.starts_with("tt") || bare.starts_with("gpu."))
                && !bare.contains("func")
                && !bare.contains("return")
                && !bare.ends_with('{')
                && !bare.ends_with("({")
        }
        Stage::Llir => bare.starts_with('%') || bare.starts_with("tail call") || bare.starts_with("store"),
        _ => bare.ends_with(';') && bare.starts_with(|first: char| first.is_ascii_lowercase()),
    }
}

/// One edit that leaves the meaning; `None` if this draw found no place.
pub fn preserving(stage: &Stage, text: &str, draw: &mut Draw) -> Option<Edit> {
    let kind = draw.below(8);
    let (what, text) = match (stage, kind) {
        (_, 0) => ("blank lines and indentation".to_owned(), respaced(text, draw)),
        (_, 1 | 2) => {
            let words = all_words(stage, text);
            let values: Vec<&Word<'_>> = words.iter().filter(|word| is_register(stage, word.text)).collect();
            let name = draw.pick(&values)?.text.split('#').next()?.to_owned();
            if name.len() < 2 {
                return None;
            }
            let fresh = match stage {
                Stage::Ptx => {
                    format!(
                        "{}9{:05}",
                        name.trim_end_matches(|byte: char| byte.is_ascii_digit()),
                        draw.below(99_999)
                    )
                }
                // Unnamed values are numbered by position in LLVM: naming an argument moves the entry block.
                Stage::Llir => return Some(renamed_llvm(text, &name, draw)),
                _ => format!("%fresh_name_{}", draw.below(1000)),
            };
            (format!("{name} -> {fresh}"), renamed(stage, text, &name, &fresh))
        }
        (Stage::Ttir | Stage::Ttgir, 3) => (
            "another path".to_owned(),
            text.replace("/opt/FlagGems/", "/root/a(b/c)/").replace("mm.py", "nn.py"),
        ),
        (Stage::Ttir | Stage::Ttgir, 4) => ("no locations".to_owned(), without_locations(text)),
        (Stage::Ttir | Stage::Ttgir, 5) => ("other locations".to_owned(), other_locations(text, draw)),
        (Stage::Ttir | Stage::Ttgir, 6) => {
            ("aliases renamed and moved".to_owned(), moved_aliases(stage, text, draw)?)
        }
        (Stage::Ttir | Stage::Ttgir, _) => ("module attributes".to_owned(), stamped(text, draw)?),
        (Stage::Llir, 3 | 4) => ("no debug attachments".to_owned(), without_debug(text)),
        (Stage::Llir, 5) => ("another source".to_owned(), {
            let text = text.replace("source_filename = \"", "source_filename = \"/root/x");
            text.replace("; ModuleID = '", "; ModuleID = 'x").replace("/opt/FlagGems", "/root/y")
        }),
        (Stage::Llir, 6) => ("other metadata numbers".to_owned(), {
            (0..=3).fold(text.to_owned(), |text, number| {
                renumbered(&text, &format!("!{number}"), &format!("!{}", number + 7000))
            })
        }),
        (Stage::Llir, _) => {
            ("other group numbers".to_owned(), { renumbered(&renumbered(text, "#1", "#71"), "#0", "#70") })
        }
        (_, 3) => ("no line table".to_owned(), {
            let kept = |line: &&str| !line.trim_start().starts_with(".loc") && !line.starts_with("$L__tmp");
            text.split_inclusive('\n').filter(kept).collect()
        }),
        (_, 4) => {
            ("another file".to_owned(), text.replace("/opt/FlagGems", "/root/x").replace(".py", ".pyx"))
        }
        (_, 5) => {
            ("no debug sections".to_owned(), text[..text.find("\t.section").unwrap_or(text.len())].to_owned())
        }
        (_, 6) => ("labels".to_owned(), text.replace("$L__BB0_", "$L__BB7_1")),
        (_, _) => ("other register counts".to_owned(), text.replace(">;", "1>;")),
    };
    Some(Edit { what, text })
}

/// Spaces, tabs, blank lines and comments where nothing minds.
fn respaced(text: &str, draw: &mut Draw) -> String {
    let comment = if text.contains("define ") { "; a comment" } else { "// a comment" };
    text.split_inclusive('\n')
        .map(|line| match draw.below(12) {
            0 => format!("\n{line}"),
            1 => format!("  \t{line}"),
            2 if line.ends_with('\n') && !line.contains("//") => format!("{} \t\n", line.trim_end()),
            3 if line.ends_with('\n') => format!("{} {comment} \" ( {{\n", line.trim_end()),
            4 => format!("{comment}\n{line}"),
            _ => line.to_owned(),
        })
        .collect()
}

/// Every `from` that is not the beginning of a longer number becomes `to`.
fn renumbered(text: &str, from: &str, to: &str) -> String {
    let mut pieces = text.split(from);
    let mut result = pieces.next().unwrap_or("").to_owned();
    for piece in pieces {
        let longer = piece.starts_with(|next: char| next.is_ascii_digit());
        result.push_str(if longer { from } else { to });
        result.push_str(piece);
    }
    result
}

fn without_locations(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with("#loc"))
        .map(|line| {
            let mut bare = String::new();
            let mut written = 0;
            while let Some(found) = line[written..].find(" loc(") {
                let start = written + found;
                bare.push_str(&line[written..start]);
                let mut depth = 0;
                let length = line[start + 4..].bytes().position(|byte| {
                    depth += i32::from(byte == b'(') - i32::from(byte == b')');
                    depth == 0
                });
                written = start + 4 + length.expect("recorded locations are balanced") + 1;
            }
            bare.push_str(&line[written..]);
            bare.push('\n');
            bare
        })
        .collect()
}

fn other_locations(text: &str, draw: &mut Draw) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            if line.starts_with("#loc") || draw.below(3) > 0 {
                return line.to_owned();
            }
            let Some(start) = line.rfind(" loc(#loc") else { return line.to_owned() };
            let end = start + line[start..].find(')').expect("recorded locations are closed");
            let by = match draw.below(4) {
                0 => " loc(unknown)".to_owned(),
                1 => format!(" loc(\"/a )(b/c.py\":{}:3)", draw.below(99)),
                2 => " loc(callsite(\"f\"(\"x.py\":1:2) at \"y.py\":3:4))".to_owned(),
                _ => " loc(fused<\"m)\">[\"x.py\":1:2, unknown])".to_owned(),
            };
            format!("{}{by}{}", &line[..start], &line[end + 1..])
        })
        .collect()
}

/// Aliases under other names, in another order, or behind the module.
fn moved_aliases(stage: &Stage, text: &str, draw: &mut Draw) -> Option<String> {
    let is_alias = |line: &str| line.starts_with('#') && !line.starts_with("#loc");
    let names: Vec<String> = text
        .lines()
        .filter(|line| is_alias(line))
        .filter_map(|line| Some(line.split_once(" = ")?.0.to_owned()))
        .collect();
    let mut text = text.to_owned();
    for (index, name) in names.iter().enumerate() {
        text = renamed(stage, &text, name, &format!("#other{index}_"));
    }
    if names.len() < 2 {
        return (!names.is_empty()).then_some(text);
    }
    let mut aliases: Vec<&str> = text.split_inclusive('\n').filter(|line| is_alias(line)).collect();
    let rest: String = text.split_inclusive('\n').filter(|line| !is_alias(line)).collect();
    let turn = draw.below(aliases.len());
    aliases.rotate_left(turn);
    // An attribute that stands for another must follow it.
    if aliases.iter().any(|line| line.matches('#').count() > 2) {
        aliases.rotate_right(turn);
    }
    Some(format!("{}{rest}", aliases.concat()))
}

/// Stamps of a switch, and the module's attributes in another order.
fn stamped(text: &str, draw: &mut Draw) -> Option<String> {
    let start = text.find("module attributes {")? + "module attributes {".len();
    let end = start + text[start..].find("} {")?;
    let mut entries: Vec<&str> = text[start..end].split(", ").collect();
    for stamp in ["\"ttg.rlc-enhance\" = 1 : i32", "\"ttg.rlc-cost\" = -3 : i32"] {
        if draw.below(2) == 0 {
            entries.insert(draw.below(entries.len() + 1), stamp);
        }
    }
    let turn = draw.below(entries.len());
    entries.rotate_left(turn);
    Some(format!("{}{}{}", &text[..start], entries.join(", "), &text[end..]))
}

/// A value of LLVM IR under a name. Only results and labels: their numbers matter to nothing else.
fn renamed_llvm(text: &str, name: &str, draw: &mut Draw) -> Edit {
    // Arguments and the entry block are numbered by position, others may take a name alone.
    let defined = text.contains(&format!("  {name} =")) || text.contains(&format!("\n{}:", &name[1..]));
    if !defined {
        return Edit { what: "nothing".to_owned(), text: text.to_owned() };
    }
    let fresh = format!("%fresh.name-{}", draw.below(1000));
    let renamed = renamed(&Stage::Llir, text, name, &fresh);
    let label = format!("\n{}:", &name[1..]);
    Edit { what: format!("{name} -> {fresh}"), text: renamed.replace(&label, &format!("\n{}:", &fresh[1..])) }
}

fn without_debug(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with("!llvm.dbg.cu") && !line.contains("!DI"))
        .map(|line| {
            let line = line.replace("!llvm.module.flags = !{!2, !3}", "!llvm.module.flags = !{!3}");
            let line = match line.find(", !dbg") {
                Some(at) => line[..at].to_owned(),
                None => line,
            };
            let line = match (line.find(" !dbg"), line.ends_with('{')) {
                (Some(at), true) => format!("{} {{", &line[..at]),
                _ => line,
            };
            line + "\n"
        })
        .collect()
}

/// An edit that asks nothing about meaning: lines and words dropped, doubled, exchanged, replaced.
pub fn blind(stage: &Stage, text: &str, draw: &mut Draw) -> Option<Edit> {
    if draw.below(2) == 0 {
        return blind_line(stage, text, draw);
    }
    let words = all_words(stage, text);
    let word = *draw.pick(&words)?;
    let other = draw.pick(&words)?.text;
    let line = text[word.start..].split('\n').next().unwrap_or("");
    let what = |done: &str| format!("{done} `{}` before `{}`", word.text, &line[word.text.len()..]);
    let edit = |done: &str, text: String| Some(Edit { what: what(done), text });
    match draw.below(6) {
        0 => edit("dropped", replaced(text, word, "")),
        1 => edit("doubled", replaced(text, word, &format!("{0} {0}", word.text))),
        2 => edit(&format!("put `{other}` for"), replaced(text, word, other)),
        3 => {
            // Words of a kind are exchanged far more often than not for something that parses.
            let kind = word.text.as_bytes()[0];
            let alike: Vec<&Word<'_>> = words
                .iter()
                .filter(|other| other.text.as_bytes()[0] == kind && other.text != word.text)
                .collect();
            let other = draw.pick(&alike)?.text;
            edit(&format!("put `{other}` for"), replaced(text, word, other))
        }
        4 => {
            let next = words.iter().find(|next| next.start >= word.end())?;
            let between = &text[word.end()..next.start];
            let text =
                format!("{}{}{between}{}{}", &text[..word.start], next.text, word.text, &text[next.end()..]);
            edit("exchanged with the next", text)
        }
        _ => {
            let at = word.start + draw.below(word.text.len());
            let by = char::from(b"0123456789abcdefx_"[draw.below(18)]);
            edit(&format!("wrote `{by}` into"), format!("{}{by}{}", &text[..at], &text[at + 1..]))
        }
    }
}

/// Whole operations, and the operands within one.
fn blind_line(stage: &Stage, text: &str, draw: &mut Draw) -> Option<Edit> {
    let lines: Vec<(usize, &str)> =
        code_lines(stage, text).into_iter().filter(|(_, line)| is_operation(stage, line)).collect();
    let index = draw.below(lines.len());
    let (start, line) = lines[index];
    let end = start + line.len();
    let edit = |done: &str, text: String| Some(Edit { what: format!("{done}: `{}`", line.trim()), text });
    match draw.below(3) {
        0 => {
            let (next, other) = *lines.get(index + 1 + draw.below(4))?;
            let between = &text[end..next];
            let text = format!("{}{other}{between}{line}{}", &text[..start], &text[next + other.len()..]);
            edit("line exchanged with a later one", text)
        }
        1 => {
            let operands: Vec<Word<'_>> = words(stage, start, line)
                .into_iter()
                .skip(1)
                .filter(|word| word.text.starts_with('%'))
                .collect();
            let one = *draw.pick(&operands)?;
            let other = *operands.iter().find(|other| other.start > one.start)?;
            let between = &text[one.end()..other.start];
            let text =
                format!("{}{}{between}{}{}", &text[..one.start], other.text, one.text, &text[other.end()..]);
            edit("operands exchanged", text)
        }
        _ => {
            let named: Vec<&str> = lines[..index]
                .iter()
                .rev()
                .take(40)
                .filter(|(_, other)| ends_alike(other, line))
                .filter_map(|(_, other)| other.trim().split(' ').next())
                .filter(|name| name.starts_with('%'))
                .collect();
            let operands: Vec<Word<'_>> = words(stage, start, line)
                .into_iter()
                .skip(1)
                .filter(|word| word.text.starts_with('%'))
                .collect();
            let operand = *draw.pick(&operands)?;
            let name = draw.pick(&named)?;
            edit(&format!("{} -> {name}", operand.text), replaced(text, operand, name))
        }
    }
}

/// Whether two operations print the same type last.
fn ends_alike(one: &str, other: &str) -> bool {
    let ending = |line: &str| {
        let bare = line.split(" loc(").next().unwrap_or("").trim().to_owned();
        bare.rsplit([' ', '>']).next().unwrap_or("").to_owned() + bare.rsplit(" : ").next().unwrap_or("")
    };
    ending(one) == ending(other)
}
