//! `switchback.toml` in the working folder: flags with their values, as defaults below the command line and variables.

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgAction, CommandFactory, FromArgMatches};

use crate::args::Cli;
use crate::failure::Message;

/// The file's name.
const FILE: &str = "switchback.toml";

/// Reads the command line, with the file's values as defaults.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<Cli> {
    let mut command = Cli::command();
    if let Some(table) = read(Path::new(FILE))? {
        command = with_defaults(command, &table)?;
    }
    let matches = command.try_get_matches_from(arguments)?;
    Ok(Cli::from_arg_matches(&matches)?)
}

fn read(path: &Path) -> anyhow::Result<Option<toml::Table>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Message::usage(
                format!("cannot read `{}`: {error}", path.display()),
                "is it a text file?",
            ));
        }
    };
    text.parse::<toml::Table>().map(Some).map_err(|error| {
        Message::usage(
            format!("`{}` is no TOML: {}", path.display(), error.to_string().trim()),
            "as in `rounds = 6`",
        )
    })
}

fn with_defaults(mut command: clap::Command, table: &toml::Table) -> anyhow::Result<clap::Command> {
    let mut known = Vec::new();
    flags(&command, &mut known);
    for (key, value) in table {
        let flag = key.replace('_', "-");
        if !known.contains(&flag) {
            let nearest = known.iter().max_by(|one, two| {
                strsim::jaro_winkler(one, &flag).total_cmp(&strsim::jaro_winkler(two, &flag))
            });
            return Err(Message::usage(
                format!("`{FILE}`: `{key}` is no flag"),
                format!("the nearest is `{}`", nearest.map_or("rounds", String::as_str)),
            ));
        }
        let values = texts(key, value)?;
        command = for_subcommands(command, &flag, &values);
    }
    Ok(command)
}

/// Flags of all commands, those of `ir` and the like included.
fn flags(command: &clap::Command, known: &mut Vec<String>) {
    for sub in command.get_subcommands() {
        known.extend(sub.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)));
        flags(sub, known);
    }
}

fn for_subcommands(mut command: clap::Command, flag: &str, values: &[String]) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        command =
            command.mut_subcommand(name, |sub| for_subcommands(set_default(sub, flag, values), flag, values));
    }
    command
}

fn set_default(command: clap::Command, flag: &str, values: &[String]) -> clap::Command {
    let id = command
        .get_arguments()
        .find(|argument| argument.get_long() == Some(flag))
        .map(|argument| (argument.get_id().to_string(), matches!(argument.get_action(), ArgAction::SetTrue)));
    match id {
        Some((id, true)) => {
            let value = values.first().cloned().unwrap_or_default();
            command.mut_arg(id, |argument| argument.default_value(value))
        }
        Some((id, false)) => command.mut_arg(id, |argument| argument.default_values(values.to_vec())),
        None => command,
    }
}

fn texts(key: &str, value: &toml::Value) -> anyhow::Result<Vec<String>> {
    let one = |value: &toml::Value| match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(yes) => Ok(yes.to_string()),
        _ => Err(Message::usage(
            format!("`{FILE}`: `{key}` is neither a text, a number, true or false, nor a list of them"),
            "as in `devices = [\"0\", \"1\"]`",
        )),
    };
    match value {
        toml::Value::Array(values) => values.iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;

    fn parse_with(toml: &str, arguments: &[&str]) -> anyhow::Result<Cli> {
        let table = toml.parse().unwrap();
        let matches = with_defaults(Cli::command(), &table)?.try_get_matches_from(arguments)?;
        Ok(Cli::from_arg_matches(&matches)?)
    }

    #[test]
    fn the_file_gives_defaults_and_the_command_line_wins() {
        let cli = parse_with(
            "rounds = 7\nsuite = \"triton\"\nmeasure-identical = true",
            &["switchback", "ab", "--suite", "cpu"],
        )
        .unwrap();
        let Command::Ab(args) = cli.command else { panic!() };
        assert_eq!((args.judge.rounds, args.suite.suite.as_str()), (7, "cpu"));
        assert!(args.judge.measure_identical);
    }

    #[test]
    fn a_misspelt_flag_is_told_with_the_nearest() {
        let error = parse_with("ronds = 7", &["switchback", "ab"]).unwrap_err();
        assert_eq!(error.to_string(), "`switchback.toml`: `ronds` is no flag");
        assert!(parse_with("rounds = { a = 1 }", &["switchback", "ab"]).is_err());
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
