//! The events that a cell appends to `events.jsonl`, one JSON object a line (`docs/cell-protocol.md`).
//!
//! A line is `{"kind": …, "t_s": …, …}`. Kinds and fields that this version does not know are kept and ignored, so
//! that an older switchback reads what a newer probe wrote. Times are in microseconds unless a name says otherwise.

mod code;
mod head;
mod measured;
mod process;

use serde::Serialize;
use serde_json::Value;

use self::head::Head;

pub use code::{Compile, Config, ConfigSource, Launch, Launched};
pub use measured::{Capture, Outputs, OutputsVerdict, Proof, Row, Timer};
pub use process::{Capability, End, Failure, Known, Note, Start, Waited};

/// Version of the cell protocol, the value of `SWITCHBACK_PROTOCOL`.
pub const PROTOCOL: u32 = 1;

/// A line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// `CLOCK_MONOTONIC` in seconds when the event happened.
    pub t_s: f64,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum EventBody {
    /// The child is up: what it is and what it runs on.
    Start(Start),
    /// Conditions that the child came to know later than at its start.
    Conditions(Known),
    /// A hook that could be set, or why not.
    Capability(Capability),
    /// The child may use the card from here on (only where its order has a turn).
    Turn(Waited),
    /// A kernel was compiled, or its compiled form was loaded from a cache.
    Compile(Compile),
    /// A tuner's choice.
    Config(Config),
    /// The compiled kernels that a case launches, seen in an untimed pass.
    Launch(Launch),
    /// A case was measured on one side, or failed to be.
    Row(Row),
    /// Both sides' outputs were compared.
    Outputs(Outputs),
    /// A graph capture was tried, skipped or failed.
    Capture(Capture),
    /// Whether duet's code equals the isolated cells' (kind `proof`).
    Proof(Proof),
    /// Something a reader should know.
    Note(Note),
    /// Something failed.
    Error(Failure),
    /// The child has finished; nothing follows.
    End(End),
    /// A kind of a later version.
    #[serde(untagged)]
    Unknown(Value),
}

impl Event {
    /// Reads one line.
    ///
    /// # Errors
    /// No JSON object with a `kind`, or a known kind whose fields are not what they should be: a damaged row must
    /// not pass for a kind of a later version.
    pub fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        use serde_json::from_slice as read;
        let head = Head::read(line)?;
        let body = match head.kind.as_deref().unwrap_or_default() {
            "start" => EventBody::Start(read(line)?),
            "conditions" => EventBody::Conditions(read(line)?),
            "capability" => EventBody::Capability(read(line)?),
            "turn" => EventBody::Turn(read(line)?),
            "compile" => EventBody::Compile(read(line)?),
            "config" => EventBody::Config(read(line)?),
            "launch" => EventBody::Launch(read(line)?),
            "row" => EventBody::Row(read(line)?),
            "outputs" => EventBody::Outputs(read(line)?),
            "capture" => EventBody::Capture(read(line)?),
            "proof" => EventBody::Proof(read(line)?),
            "note" => EventBody::Note(read(line)?),
            "error" => EventBody::Error(read(line)?),
            "end" => EventBody::End(read(line)?),
            _ => EventBody::Unknown(read(line)?),
        };
        Ok(Self { t_s: head.t_s.unwrap_or_default(), body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::side::Side;

    #[test]
    fn a_row_reads_from_its_line() {
        let line = r#"{"kind":"row","t_s":12.5,"operator":"mm","side":"B","ok":true,"timer":"gated",
            "case":{"dtype":"torch.float16","input":"[torch.Size([64, 64])]"},"samples_us":[[6.5,6.25]],"new_field":1}"#;
        let event = Event::parse(line.as_bytes()).unwrap();
        let EventBody::Row(row) = event.body else { panic!("{event:?}") };
        assert_eq!(row.case.occurrence, 0);
        assert_eq!(row.samples_us, [[6.5, 6.25]]);
        assert_eq!(row.timer, Some(Timer::Gated));
    }

    #[test]
    fn worse_than_rounding_and_than_a_is_wrong() {
        let of = OutputsVerdict::of_errors;
        assert_eq!(of(1e-7, 5e-6, 1e-6), OutputsVerdict::Wrong);
        assert_eq!(of(1e-7, 5e-7, 1e-6), OutputsVerdict::Differs, "rounding explains it");
        assert_eq!(of(2e-6, 5e-6, 1e-6), OutputsVerdict::Beyond, "A is hardly better");
        assert_eq!(of(5e-6, 1e-7, 1e-6), OutputsVerdict::Beyond, "A is what is wrong");
        assert_eq!(of(0.0, f64::INFINITY, 0.0), OutputsVerdict::Wrong);
    }

    #[test]
    fn a_kind_of_a_later_version_is_kept() {
        let event = Event::parse(br#"{"kind":"weather","t_s":1.0,"sky":"blue"}"#).unwrap();
        let EventBody::Unknown(value) = &event.body else { panic!("{event:?}") };
        assert_eq!(value["sky"], "blue");
        assert_eq!(value["kind"], "weather");
    }

    #[test]
    fn a_written_event_reads_back() {
        let event = Event {
            t_s: 1.5,
            body: EventBody::Config(Config {
                side: Side::A,
                kernel: "k".into(),
                key: "(1, 2)".into(),
                config: "BLOCK: 32".into(),
                source: ConfigSource::Replayed,
                tuner: "Autotuner".into(),
            }),
        };
        let line = serde_json::to_string(&event).unwrap();
        assert!(line.contains(r#""kind":"config""#) && line.contains(r#""source":"replayed""#), "{line}");
        assert_eq!(Event::parse(line.as_bytes()).unwrap(), event);
    }
}
