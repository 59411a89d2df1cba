//! A command line that asks for a request again, on other operators and another card: for those who start cards by hand.
//!
//! Invariant: parsed and prepared it gives the request that it was made of, save operators, card, folder and controls.

use std::path::Path;

use switchback_engine::request::Request;
use switchback_model::order::CacheState;
use switchback_model::side::Side;
use switchback_model::switch::Variables;

/// `switchback ab …` for some of a request's operators on one card; `identical` if some of them have identical code and
/// are measured on purpose, `replay_from` names the run whose recordings all cards replay.
pub fn ab(
    request: &Request,
    operators: &[String],
    device: &str,
    out: &Path,
    identical: bool,
    replay_from: Option<&Path>,
) -> String {
    let mut words = Words(vec!["switchback".into(), "ab".into()]);
    for name in operators {
        let spec = request.operators.iter().find(|spec| spec.operator == *name);
        words.0.push(spec.map_or_else(|| name.clone(), ToString::to_string));
    }
    what(request, &mut words);
    how(request, &mut words);
    if identical {
        words.0.push("--measure-identical".into());
    }
    if let Some(run) = replay_from {
        words.flag("--replay-from", run.display());
    }
    words.flag("--devices", device);
    words.flag("--out", out.display());
    let quoted: Vec<String> = words.0.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

/// Words of a command line.
struct Words(Vec<String>);

impl Words {
    fn flag(&mut self, name: &str, value: impl ToString) {
        self.0.extend([name.to_owned(), value.to_string()]);
    }

    fn some(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.flag(name, value);
        }
    }

    fn list(&mut self, name: &str, values: &[String]) {
        if !values.is_empty() {
            self.flag(name, values.join(","));
        }
    }

    fn variables(&mut self, name: &str, variables: &Variables) {
        for (variable, value) in variables {
            self.flag(name, format!("{variable}={}", value.as_deref().unwrap_or_default()));
        }
    }
}

/// The suite and the switch.
fn what(request: &Request, words: &mut Words) {
    let options = &request.options;
    words.flag("--suite", &request.suite);
    words.flag("--backend", &request.card.backend);
    words.some("--python", options.python.as_ref());
    words.some("--flaggems-dir", options.flaggems_dir.as_ref().map(|path| path.display()));
    words.some("--level", options.level.as_ref());
    words.some("--mode", options.mode.as_ref());
    words.list("--dtypes", &options.dtypes);
    words.list("--metrics", &options.metrics);
    words.some("--shape-file", options.shape_file.as_ref().map(|path| path.display()));
    if !options.command.is_empty() {
        words.flag("--command", options.command.join(" "));
    }
    if options.avoid_mm_cluster {
        words.0.push("--avoid-mm-cluster".into());
    }
    words.variables("--env", &options.env);
    let switch = request.switch();
    words.variables("--a", switch.side(Side::A));
    words.variables("--b", switch.side(Side::B));
}

/// Rounds, timers and limits.
fn how(request: &Request, words: &mut Words) {
    let it = &request.measure;
    if request.pairing_falls_back {
        words.flag("--pairing", "auto");
    } else {
        words.flag("--pairing", request.pairing);
    }
    words.flag("--controls", 0);
    match request.precision {
        Some(precision) => {
            words.flag("--precision", precision.half_width_percent);
            words.flag("--max-rounds", precision.max_rounds);
        }
        None => words.flag("--rounds", request.rounds),
    }
    words.flag("--margin", request.margin_pct);
    words.flag("--tune-on", request.tune_on);
    words.list("--allow", &request.allowed);
    words.flag("--timer", it.timer);
    words.flag("--warmup-ms", it.warmup_ms);
    words.flag("--sample-ms", it.sample_ms);
    words.flag("--direct-repeat", it.direct_repeat);
    words.flag("--blocks", it.blocks);
    words.flag("--block-length", it.block_length);
    words.flag("--case-precision", it.case_precision_pct);
    words.flag("--regime", it.regime);
    words.flag("--l2", if it.cache_state == CacheState::Warm { "warm" } else { "flush" });
    if it.with_baseline {
        words.0.push("--with-baseline".into());
    }
    words.flag("--seed", request.seed);
    words.flag("--cell-timeout", request.cell_timeout_s);
}

/// A word as a POSIX shell takes it for itself; without a backslash, which the table would double.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty()
        && word.chars().all(|it| {
            it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '=' | '.' | '/' | ':' | ',' | '+' | '%')
        });
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r#"'"'"'"#)) }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_every_word_as_it_was() {
        let words =
            ["plain-1.5", "", "two words", "it's", "$HOME `x` \"y\" \\ !", "a\nb", "*?[a]~#;&|<>(){}"];
        for word in words {
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("printf '%s' {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
