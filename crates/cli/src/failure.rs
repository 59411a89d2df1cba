//! Errors as a reader sees them: `error: …`, its causes, `hint: …`, all on stderr; and the exit code that follows.

use std::error::Error;

use anstyle::{AnsiColor, Style};
use switchback_engine::EngineError;
use switchback_model::exit_code::ExitCode;
use switchback_model::operator::OperatorError;
use switchback_model::switch::SwitchError;

/// A message with advice and an exit code, for errors that arise in the command itself.
#[derive(Debug)]
pub struct Message {
    text: String,
    hint: Option<String>,
    code: ExitCode,
}

impl Message {
    /// A usage error.
    pub fn usage(text: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        Self { text: text.into(), hint: Some(hint.into()), code: ExitCode::Usage }.into()
    }
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Message {}

/// Prints an error and returns its exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if let Some(error) = error.downcast_ref::<clap::Error>() {
        let _ = error.print();
        return if error.use_stderr() { ExitCode::Usage } else { ExitCode::Success };
    }
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let mut text = switchback_report::text::one_line(&error.to_string());
    for cause in error.chain().skip(1) {
        let cause = switchback_report::text::one_line(&cause.to_string());
        if !text.contains(&cause) {
            text.push_str(&format!(": {cause}"));
        }
    }
    anstream::eprintln!("{red}error{red:#}: {text}");
    let (hint, code) = advice(error);
    if let Some(hint) = hint {
        print_hint(&hint);
    }
    code
}

/// Prints advice on stderr.
pub fn print_hint(hint: &str) {
    let bold = Style::new().bold();
    anstream::eprintln!("{bold}hint{bold:#}: {}", switchback_report::text::printable(hint));
}

fn advice(error: &anyhow::Error) -> (Option<String>, ExitCode) {
    if let Some(error) = error.downcast_ref::<EngineError>() {
        return (error.hint(), error.exit_code());
    }
    if let Some(message) = error.downcast_ref::<Message>() {
        return (message.hint.clone(), message.code);
    }
    if let Some(error) = error.downcast_ref::<SwitchError>() {
        return (error.hint(), ExitCode::Usage);
    }
    if error.downcast_ref::<OperatorError>().is_some() {
        let hint = "an operator is `OP`, `OP:FILE` or `OP:FILE:DTYPES`, as in `perf_fft:fft:complex64`";
        return (Some(hint.into()), ExitCode::Usage);
    }
    if error.downcast_ref::<switchback_model::conditions::FieldError>().is_some() {
        let hint = format!("fields are: {}", switchback_model::conditions::FIELDS.join(", "));
        return (Some(hint), ExitCode::Usage);
    }
    (None, ExitCode::Environment)
}
