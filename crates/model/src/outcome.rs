//! How an attempt ended (`outcome.json`), written by its supervisor alone.

use serde::{Deserialize, Serialize};

use crate::card::Card;
use crate::telemetry::TelemetrySummary;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The child ended by itself with status 0.
    Completed,
    /// The child ended by itself with another status.
    Failed,
    /// The child died of a signal that the supervisor did not send.
    Crashed,
    /// Ended at the deadline.
    Timeout,
    /// Ended because the coordinator asked for it or went away.
    Interrupted,
    /// The child could not be started.
    NotStarted,
}

/// What became of a card, or of a process's hold on it, when an attempt ended without the rows that it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceFault {
    /// The process's context could not be used any more; another process may use the card.
    Poisoned,
    /// The card itself was gone: fallen off the bus, or to be reset before it computes again.
    Lost,
}

/// How an attempt ended, and what it left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// The child's exit status, where it ended by itself.
    #[serde(default)]
    pub exit_status: Option<i32>,
    /// The signal's number, where it died of one.
    #[serde(default)]
    pub signal: Option<i32>,
    /// In words, where something is to be said.
    #[serde(default)]
    pub reason: String,
    /// Wall clock at the start, RFC 3339, UTC.
    pub started_utc: String,
    /// `CLOCK_MONOTONIC` at the start, seconds.
    pub started_s: f64,
    /// Seconds from start to the end of the whole group.
    pub elapsed_s: f64,
    /// Seconds from the start until its turn on the card came, all of them if it never did; none where its order had no turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_s: Option<f64>,
    /// True if it may have had other cells of its campaign beside it on the card (a shared turn).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// The kernel's boot id, without which monotonic times cannot be compared.
    #[serde(default)]
    pub boot_id: String,
    /// The card.
    pub card: Card,
    /// The host's name.
    #[serde(default)]
    pub host: String,
    /// Counts of what the events said.
    #[serde(default)]
    pub counts: Counts,
    /// Processes that outlived the child and had to be ended.
    #[serde(default)]
    pub leaked_processes: u32,
    /// What became of the card, where the attempt ended for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_fault: Option<DeviceFault>,
    /// Processes of others that computed on the card when it began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<String>,
    /// What the card's readings add up to; none where none were to be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<TelemetrySummary>,
}

impl Outcome {
    /// Seconds of the card's time: from its turn to the end, the whole attempt where it had no turn.
    #[must_use]
    pub fn card_s(&self) -> f64 {
        self.elapsed_s - self.turn_s.unwrap_or(0.0)
    }

    /// True if it failed, a case of it did, or it told an error beside them (outputs that it could not keep), where other cells used
    /// the card at the same time: that may be their doing (its memory above all), so it says nothing of the operator.
    #[must_use]
    pub fn failed_in_company(&self) -> bool {
        let by_itself =
            matches!(self.ending, Ending::Completed | Ending::Failed | Ending::Crashed | Ending::Timeout);
        let Counts { success, failed, errors, .. } = self.counts;
        let is_clean = self.ending == Ending::Completed && success > 0 && failed == 0 && errors == 0;
        self.shared && by_itself && !is_clean
    }

    /// The status as a shell would report it: the exit status, 128 plus the signal, 124 for a deadline.
    #[must_use]
    pub fn shell_status(&self) -> i32 {
        match self.ending {
            Ending::Timeout => 124,
            Ending::Interrupted => 130,
            Ending::NotStarted => 127,
            Ending::Completed | Ending::Failed | Ending::Crashed => {
                self.exit_status.or(self.signal.map(|signal| 128 + signal)).unwrap_or(-1)
            }
        }
    }
}

/// Counts of what an attempt's events said (columns of `status.tsv`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Rows with a latency.
    pub success: u64,
    /// Rows that failed.
    pub failed: u64,
    /// Tuner keys that were not in the recording.
    pub replay_fallback: u64,
    /// Cases timed `direct` although a graph was asked for.
    pub no_cudagraph: u64,
    /// Captures that poisoned their process.
    pub capture_poisoned: u64,
    /// Errors reported.
    pub errors: u64,
    /// True if the child said `end`.
    #[serde(default)]
    pub ended: bool,
}
