//! Tables for other programs: the scripts' columns first under the scripts' names, ours after.
//!
//! UTF-8, a header line, `\n`, `.` as the decimal point. A tab, a line end, a carriage return or a backslash in a
//! field is written `\t`, `\n`, `\r`, `\\`, other control characters as `\u{1b}`; an empty field is an unknown value.

mod figures;
mod table;

use switchback_model::cell::Purpose;
use switchback_model::conditions::{Conditions, SCRIPT_FIELDS};
use switchback_model::outcome::{Counts, Ending};
use switchback_model::telemetry::TelemetrySummary;
use switchback_model::verdict::ScreenVerdict;

use crate::number::plain;

pub use figures::{cases, report, runs};
pub(crate) use table::Table;

/// One operator of `screen.tsv`; `before` is side A, `after` side B.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenRow {
    /// The operator's name.
    pub operator: String,
    /// Its benchmark file.
    pub file: String,
    /// Dtypes that were asked for; empty is all of its own.
    pub dtypes: Vec<String>,
    /// Rows, A and B.
    pub rows: (u64, u64),
    /// Kernels that its cases launch, A and B.
    pub kernels: (u64, u64),
    /// `convert_layout` operations in their code, A and B; they explain, they do not decide.
    pub cvt: (u64, u64),
    /// Seconds that the screening cell took, A and B.
    pub elapsed_s: (f64, f64),
    /// What screening said.
    pub verdict: ScreenVerdict,
    /// The rows' conditions, of which the scripts' seven are printed.
    pub conditions: Conditions,
    /// The first stage that differs.
    pub first_stage: Option<String>,
    /// As it was asked for.
    pub spec: String,
    /// Kernels whose code differs.
    pub kernels_changed: u64,
    /// Fingerprints, A and B; none where nothing was compiled.
    pub fingerprints: (Option<String>, Option<String>),
    /// Why the verdict is what it is, in a sentence.
    pub reason: String,
}

/// One attempt of a cell in `status.tsv`.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusRow {
    /// The card's index.
    pub device: String,
    /// The operator's name.
    pub operator: String,
    /// What the cell is for; gives the columns `round`, `side` and `cell`.
    pub purpose: Purpose,
    /// The switch's value on that side.
    pub switch: String,
    /// Status as a shell would report it, 124 for a deadline.
    pub rc: i32,
    /// Seconds from start to the end of the whole group.
    pub elapsed_s: f64,
    /// What the events said.
    pub counts: Counts,
    /// Which attempt of the cell, from 1.
    pub attempt: u32,
    /// How it ended.
    pub ending: Ending,
    /// In words, where something is to be said.
    pub reason: String,
    /// The card's own identity; empty where its back end tells none.
    pub uuid: String,
    /// The host.
    pub host: String,
    /// Wall clock at the start, UTC.
    pub started_utc: String,
    /// Seconds of the card's time: without those in which it got ready and waited for its turn.
    pub card_s: f64,
    /// What the card's readings add up to; none where none were to be taken.
    pub telemetry: Option<TelemetrySummary>,
}

/// One card of `plan.tsv`.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRow {
    /// The card's index.
    pub device: String,
    /// Operators as they were asked for, in the order they will be measured.
    pub operators: Vec<String>,
    /// Seconds of one round of them all.
    pub weight_s: f64,
    /// Rounds.
    pub rounds: u32,
    /// What measures them, as a line for a shell.
    pub command: String,
}

/// Writes `screen.tsv`.
#[must_use]
pub fn screen(rows: &[ScreenRow]) -> String {
    let mut table = Table::new(&[
        "op",
        "op_file",
        "dtypes",
        "rows_before",
        "rows_after",
        "kernels_before",
        "kernels_after",
        "cvt_before",
        "cvt_after",
        "elapsed_before",
        "elapsed_after",
        "verdict",
    ]);
    table.header(&SCRIPT_FIELDS);
    table.header(&[
        "first_stage",
        "spec",
        "kernels_changed",
        "fingerprint_before",
        "fingerprint_after",
        "reason",
    ]);
    for row in rows {
        let dtypes = if row.dtypes.is_empty() { "<all>".to_owned() } else { row.dtypes.join(",") };
        table.row([row.operator.as_str(), &row.file, &dtypes]);
        for (before, after) in [row.rows, row.kernels, row.cvt] {
            table.more([before.to_string(), after.to_string()]);
        }
        table.more([seconds(row.elapsed_s.0), seconds(row.elapsed_s.1), row.verdict.to_string()]);
        table.more(SCRIPT_FIELDS.map(|field| row.conditions.get(field).unwrap_or_default()));
        table.more([row.first_stage.as_deref().unwrap_or_default(), &row.spec]);
        table.more([row.kernels_changed.to_string()]);
        table.more(
            [row.fingerprints.0.as_deref(), row.fingerprints.1.as_deref()].map(Option::unwrap_or_default),
        );
        table.more([&row.reason]);
    }
    table.text()
}

/// Writes `status.tsv`.
#[must_use]
pub fn status(rows: &[StatusRow]) -> String {
    let mut table = Table::new(&[
        "device",
        "round",
        "op",
        "side",
        "switch",
        "rc",
        "elapsed_s",
        "success",
        "failed",
        "replay_fallback",
        "no_cudagraph",
        "capture_poisoned",
        "cell",
        "attempt",
        "ending",
        "reason",
        "uuid",
        "host",
        "started_utc",
        "sampler",
        "readings",
        "sm_clock_mhz",
        "throttle",
        "sampler_cpu_s",
        "card_s",
    ]);
    for row in rows {
        let round = row.purpose.round().map(|round| round.to_string()).unwrap_or_default();
        table.row([row.device.as_str(), &round, &row.operator]);
        table.more([row.purpose.sides().to_string(), row.switch.clone(), row.rc.to_string()]);
        table.more([seconds(row.elapsed_s)]);
        let counts = row.counts;
        table.more(
            [
                counts.success,
                counts.failed,
                counts.replay_fallback,
                counts.no_cudagraph,
                counts.capture_poisoned,
            ]
            .map(|it| it.to_string()),
        );
        let ending = match row.ending {
            Ending::Completed => "completed",
            Ending::Failed => "failed",
            Ending::Crashed => "crashed",
            Ending::Timeout => "timeout",
            Ending::Interrupted => "interrupted",
            Ending::NotStarted => "notstarted",
        };
        table.more([row.purpose.to_string(), row.attempt.to_string(), ending.to_owned()]);
        table.more([&row.reason, &row.uuid, &row.host, &row.started_utc]);
        match &row.telemetry {
            None => table.more([""; 5]),
            Some(it) => {
                let reasons: Vec<&str> = it.throttle.keys().map(String::as_str).collect();
                let cpu_s = format!("{:.6}", it.cpu_s);
                table.more([it.sampler.clone(), it.readings.to_string(), plain(it.sm_clock_mhz)]);
                table.more([reasons.join("+"), cpu_s]);
            }
        }
        table.more([seconds(row.card_s)]);
    }
    table.text()
}

/// The lines of `status.tsv` without its header, to be appended to one that is there.
#[must_use]
pub fn status_lines(rows: &[StatusRow]) -> String {
    let whole = status(rows);
    whole.split_once('\n').map(|(_, lines)| lines.to_owned()).unwrap_or_default()
}

/// Writes `plan.tsv`.
#[must_use]
pub fn plan(rows: &[PlanRow]) -> String {
    let mut table = Table::new(&["device", "ops", "weight_s", "rounds", "total_s", "command"]);
    for row in rows {
        table.row([row.device.as_str(), &row.operators.join(" ")]);
        let total = row.weight_s * f64::from(row.rounds);
        table.more([seconds(row.weight_s), row.rounds.to_string(), seconds(total), row.command.clone()]);
    }
    table.text()
}

/// Seconds to the millisecond.
fn seconds(value: f64) -> String {
    plain(Some((value * 1000.0).round() / 1000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_counts_all_rounds() {
        let row = PlanRow {
            device: "0".into(),
            operators: vec!["mm".into(), "perf_fft:fft:c64".into()],
            weight_s: 42.5,
            rounds: 6,
            command: "switchback ab mm perf_fft:fft:c64 --devices 0".into(),
        };
        assert_eq!(
            plan(&[row]),
            "device\tops\tweight_s\trounds\ttotal_s\tcommand\n0\tmm perf_fft:fft:c64\t42.5\t6\t255\t\
             switchback ab mm perf_fft:fft:c64 --devices 0\n"
        );
    }
}
