//! Readable names for compiled kernels whose files are named by hash: a view, nothing is renamed.
//!
//! Within one group (the variants of one kernel that one case launched) a name carries only the
//! constexprs that differ, their words abbreviated to initials. Names that still clash take the dtypes
//! (`__fp16`), then the arguments known to be divisible (`__EMdiv16`), then a prefix of the hash.
//! Invariant: the names of a group are distinct, and the legend is one to one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Shortest prefix of a hash that is used in a name, in characters.
const HASH_PREFIX: usize = 8;
/// Longest name, in bytes: file names may have 255, and an extension follows.
const LONGEST_NAME: usize = 180;

/// One variant of a kernel, as the compile event describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantDescription {
    /// The kernel's name.
    pub kernel: String,
    /// Compile-time constants by parameter, values as text.
    pub constexprs: BTreeMap<String, String>,
    /// Element types of the arguments in order, such as `fp16`.
    pub dtypes: Vec<String>,
    /// Arguments specialised as divisible by 16.
    pub divisible: BTreeSet<String>,
    /// The hash that names the files.
    pub hash: String,
}

/// One line of `index.tsv`: everything that a readable name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRow {
    /// The readable name, without extension.
    pub name: String,
    /// What it stands for.
    pub variant: VariantDescription,
}

/// The names of one group of variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadableNames {
    /// A row per variant, in the order given.
    pub rows: Vec<IndexRow>,
    /// Abbreviation to full parameter name, for every abbreviation in use.
    pub legend: BTreeMap<String, String>,
}

/// Names the variants of one group.
///
/// Variants of several kernels may come together; each kernel is named on its own, one legend serves all.
#[must_use]
pub fn readable_names(variants: &[VariantDescription]) -> ReadableNames {
    let parameters: BTreeSet<&str> = variants
        .iter()
        .flat_map(|variant| variant.constexprs.keys().chain(&variant.divisible))
        .map(String::as_str)
        .collect();
    let short = abbreviations(&parameters);
    let mut legend = BTreeMap::new();
    let mut names: Vec<String> = variants.iter().map(|variant| plain(&variant.kernel)).collect();

    for members in clashes(&names) {
        let differing: BTreeSet<&str> = parameters
            .iter()
            .copied()
            .filter(|parameter| differs(&members, |member| variants[member].constexprs.get(*parameter)))
            .collect();
        for &member in &members {
            let parts: Vec<String> = differing
                .iter()
                .filter_map(|&parameter| {
                    let value = variants[member].constexprs.get(parameter)?;
                    let short = &short[parameter];
                    if short != parameter {
                        legend.insert(short.clone(), parameter.to_owned());
                    }
                    Some(assignment(short, value))
                })
                .collect();
            append(&mut names[member], &parts.join("_"));
        }
    }
    for members in clashes(&names) {
        if differs(&members, |member| Some(&variants[member].dtypes)) {
            for &member in &members {
                let distinct: Vec<String> =
                    variants[member].dtypes.iter().map(|dtype| plain(dtype)).collect();
                let mut part = distinct.clone();
                part.dedup();
                append(&mut names[member], &part.join("-"));
            }
        }
    }
    for members in clashes(&names) {
        let differing: Vec<&str> = parameters
            .iter()
            .copied()
            .filter(|parameter| {
                differs(&members, |member| Some(variants[member].divisible.contains(*parameter)))
            })
            .collect();
        for &member in &members {
            let arguments: String = differing
                .iter()
                .filter(|parameter| variants[member].divisible.contains(**parameter))
                .map(|&parameter| {
                    let short = &short[parameter];
                    if short != parameter {
                        legend.insert(short.clone(), parameter.to_owned());
                    }
                    plain(short)
                })
                .collect();
            if !arguments.is_empty() {
                append(&mut names[member], &format!("{arguments}div16"));
            }
        }
    }
    for name in &mut names {
        if name.len() > LONGEST_NAME {
            // `plain` leaves ASCII only.
            name.truncate(LONGEST_NAME);
        }
    }
    for members in clashes(&names) {
        let longest = members.iter().map(|&member| variants[member].hash.len()).max().unwrap_or(0);
        let length = (HASH_PREFIX..longest)
            .find(|&length| {
                let prefixes: BTreeSet<String> =
                    members.iter().map(|&member| prefix(&variants[member].hash, length)).collect();
                prefixes.len() == members.len()
            })
            .unwrap_or(longest.max(HASH_PREFIX));
        for &member in &members {
            append(&mut names[member], &prefix(&variants[member].hash, length));
        }
    }
    make_distinct(&mut names);
    let rows = names
        .into_iter()
        .zip(variants)
        .map(|(name, variant)| IndexRow { name, variant: variant.clone() })
        .collect();
    ReadableNames { rows, legend }
}

impl ReadableNames {
    /// The legend as a table in Markdown, for `naming.md`; a sentence says so if nothing is abbreviated.
    #[must_use]
    pub fn legend_markdown(&self) -> String {
        if self.legend.is_empty() {
            return "No name is abbreviated.\n".to_owned();
        }
        let mut text = "| abbreviation | parameter |\n|---|---|\n".to_owned();
        for (short, full) in &self.legend {
            text.push_str(&format!("| `{short}` | `{full}` |\n"));
        }
        text
    }
}

impl IndexRow {
    /// Column names of [`IndexRow::tsv`].
    pub const TSV_HEADER: &'static str = "name\tkernel\thash\tconstexprs\tdtypes\tdivisible";

    /// The row with tabs between columns; tabs and line ends inside a value become spaces.
    #[must_use]
    pub fn tsv(&self) -> String {
        let variant = &self.variant;
        let constexprs: Vec<String> =
            variant.constexprs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let divisible: Vec<&str> = variant.divisible.iter().map(String::as_str).collect();
        [
            self.name.as_str(),
            variant.kernel.as_str(),
            variant.hash.as_str(),
            &constexprs.join(" "),
            &variant.dtypes.join(" "),
            &divisible.join(" "),
        ]
        .map(|column| column.replace(['\t', '\n', '\r'], " "))
        .join("\t")
    }
}

/// Short form of each parameter: initials of its words, unless two parameters would share them.
fn abbreviations(parameters: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut by_short: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for parameter in parameters {
        by_short.entry(initials(parameter)).or_default().push(parameter);
    }
    let mut short_forms = BTreeMap::new();
    for (short, names) in by_short {
        let taken = parameters.contains(short.as_str()) && names != [short.as_str()];
        for name in &names {
            let unique = names.len() == 1 && !taken;
            short_forms.insert((*name).to_owned(), if unique { short.clone() } else { (*name).to_owned() });
        }
    }
    short_forms
}

/// `BLOCK_SIZE_M` becomes `BSM`; a single word stays.
fn initials(parameter: &str) -> String {
    let words: Vec<&str> = parameter.split('_').filter(|word| !word.is_empty()).collect();
    if words.len() < 2 {
        return parameter.to_owned();
    }
    words.iter().filter_map(|word| word.chars().next()).collect()
}

/// `BSM64`, or with a dash where letters or digits would run together.
fn assignment(short: &str, value: &str) -> String {
    let (short, value) = (plain(short), plain(value));
    let number = value.starts_with(|first: char| first.is_ascii_digit());
    let letter = short.ends_with(|last: char| last.is_ascii_alphabetic());
    if number && letter { format!("{short}{value}") } else { format!("{short}-{value}") }
}

/// What may stand in a file name everywhere.
fn plain(text: &str) -> String {
    text.chars()
        .map(
            |letter| {
                if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-') { letter } else { '-' }
            },
        )
        .collect()
}

fn prefix(hash: &str, length: usize) -> String {
    plain(hash).chars().take(length).collect()
}

fn append(name: &mut String, part: &str) {
    if !part.is_empty() {
        name.push_str("__");
        name.push_str(part);
    }
}

/// Groups of two or more that share a name.
fn clashes(names: &[String]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, name) in names.iter().enumerate() {
        groups.entry(name).or_default().push(index);
    }
    groups.into_values().filter(|members| members.len() > 1).collect()
}

fn differs<T: PartialEq>(members: &[usize], of: impl Fn(usize) -> Option<T>) -> bool {
    let mut values = members.iter().map(|&member| of(member));
    let first = values.next();
    values.any(|value| first.as_ref() != Some(&value))
}

/// Counts up what is equal even in its hash.
fn make_distinct(names: &mut [String]) {
    let mut taken = BTreeSet::new();
    for name in names {
        let base = name.clone();
        let mut count = 1;
        while !taken.insert(name.clone()) {
            count += 1;
            *name = format!("{base}-{count}");
        }
    }
}
