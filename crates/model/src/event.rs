//! The events that a cell appends to `events.jsonl`, one JSON object a line (`docs/cell-protocol.md`).
//!
//! A line is `{"kind": …, "t_s": …, …}`. Kinds and fields that this version does not know are kept and ignored, so
//! that an older switchback reads what a newer probe wrote. Times are in microseconds unless a name says otherwise.

mod code;
mod head;
mod process;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::head::Head;
use crate::capture::CaptureErrorClass;
use crate::case::CaseKey;
use crate::side::Side;

pub use code::{Compile, Config, ConfigSource, Launch, Launched};
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

/// How a row was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer {
    /// Events around a call that was queued whole before the card reached it.
    Gated,
    /// Replay of a captured graph.
    Graph,
    /// The benchmark's own event timing around the call.
    Direct,
    /// Wall clock around the call (no accelerator).
    Wall,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gated => "gated",
            Self::Graph => "graph",
            Self::Direct => "direct",
            Self::Wall => "wall",
        })
    }
}

/// Body of a `row` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The operator as the benchmark names it; it can differ from the one that was asked for.
    pub operator: String,
    /// The side.
    pub side: Side,
    /// The case.
    pub case: CaseKey,
    /// False if the case raised an error instead of a latency.
    pub ok: bool,
    /// The error's text, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The timer that really timed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer: Option<Timer>,
    /// Why it is not the timer that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_reason: Option<String>,
    /// All samples, microseconds, in blocks as they were taken: a block is a run of consecutive calls on one side
    /// (duet), or one call of the benchmark's timing function (process pairing; as many as `direct_repeat`).
    #[serde(default, deserialize_with = "crate::samples::deserialize")]
    pub samples_us: Vec<Vec<f64>>,
    /// The latency as the benchmark itself summarised it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<f64>,
    /// The benchmark's baseline (torch), where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_us: Option<f64>,
    /// Host time of one call, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_us: Option<f64>,
    /// True if the host, not the card, decided the time.
    #[serde(default)]
    pub host_bound: bool,
    /// Samples that were taken and dropped (the gate did not hold).
    #[serde(default)]
    pub dropped: u64,
    /// Median clock of the card before this side's blocks, MHz, as the gate read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Standard error of the case's effect (one side: of its latency) within the process, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error_pct: Option<f64>,
    /// What state the card was measured in.
    #[serde(default)]
    pub regime: crate::order::Regime,
}

/// How both sides' outputs compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputsVerdict {
    /// Bit for bit.
    Equal,
    /// Different, B no worse than rounding explains.
    Differs,
    /// B is worse than A beyond what rounding explains.
    Wrong,
    /// A differs from itself, or nothing could be compared.
    NotComparable,
}

impl fmt::Display for OutputsVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Equal => "equal",
            Self::Differs => "differs",
            Self::Wrong => "wrong",
            Self::NotComparable => "not_comparable",
        })
    }
}

/// Body of an `outputs` event: of a case in a duet cell, or a digest to be compared with the other side's cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outputs {
    /// The case.
    pub case: CaseKey,
    /// The side whose outputs `digest` is of; none where both were compared in the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// Digest of the outputs' bits; what stands before a colon names how it was made, nothing a plain SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// False if a second call on the same inputs gave another digest (random operators).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeatable: Option<bool>,
    /// What the comparison said, where the cell made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<OutputsVerdict>,
    /// Largest relative error of A against the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_a: Option<f64>,
    /// Largest relative error of B against the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_b: Option<f64>,
    /// What rounding explains for this dtype and reduction length, relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// In words, where something is to be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Body of a `capture` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// The side.
    pub side: Side,
    /// The case.
    pub case: CaseKey,
    /// True if the graph was captured and replayed.
    pub captured: bool,
    /// True if it was not even tried (a denied operator, or a poisoned process).
    #[serde(default)]
    pub skipped: bool,
    /// How far the error reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<CaptureErrorClass>,
    /// The error, or why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Body of a `proof` event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The case.
    pub case: CaseKey,
    /// True if every kernel equals the one of the isolated cell, at every stage.
    pub holds: bool,
    /// What differs.
    #[serde(default)]
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

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
