//! What an operator's figures rest on, in one line.

use switchback_model::report::{OperatorReport, Report};
use switchback_model::side::Pairing;

use super::{OutputsTally, left_out};
use crate::number;
use crate::text::{count, one_line};

/// What an operator's figures rest on, in one line: rounds, timer, floor, clocks, the sides' code, outputs, tuning. Says
/// of each what is known, and that it is not where it is not.
#[must_use]
pub fn evidence(report: &Report, operator: &OperatorReport) -> String {
    let mut parts = Vec::new();
    let mut rounds = match operator.rounds_requested {
        Some(asked) if asked != operator.rounds => {
            format!("{} of {}", operator.rounds, count(asked, "round", "rounds"))
        }
        _ => count(operator.rounds, "round", "rounds"),
    };
    if let (Some(a), Some(b)) = (operator.noise_a_pct, operator.noise_b_pct) {
        rounds.push_str(&format!(
            ", one side moves {} (A) and {} (B)",
            number::size_percent(a),
            number::size_percent(b)
        ));
    }
    parts.push(rounds);
    let mut timers: Vec<(String, usize)> = Vec::new();
    for timer in operator.cases.iter().filter_map(|case| case.timer).map(|timer| timer.to_string()) {
        match timers.iter_mut().find(|(name, _)| *name == timer) {
            Some((_, cases)) => *cases += 1,
            None => timers.push((timer, 1)),
        }
    }
    parts.push(match &timers[..] {
        [] => "timer not known".into(),
        [(timer, _)] => format!("timer {timer}"),
        several => {
            let words: Vec<String> =
                several.iter().map(|(timer, cases)| format!("{timer} in {cases}")).collect();
            format!("timers {}", words.join(", "))
        }
    });
    parts.push(report.controls.floor_pct.filter(|_| report.controls.cases > 0).map_or_else(
        || "floor not measured".into(),
        |floor| {
            let cases = count(report.controls.cases, "case", "cases");
            format!("floor ±{} ({cases} of identical code)", number::size_percent(floor))
        },
    ));
    parts.push(clocks(report, operator));
    parts.push(match (operator.proof, operator.pairing.or(report.pairing)) {
        (Some(proof), _) if proof.failed == 0 => {
            format!("duet, proven in {}", count(proof.cases, "case", "cases"))
        }
        (Some(proof), _) => {
            format!("duet proof failed in {} of {}", proof.failed, count(proof.cases, "case", "cases"))
        }
        (None, Some(Pairing::Duet)) => "duet, its proof not recorded".into(),
        (None, Some(Pairing::Process)) if report.pairing == Some(Pairing::Duet) => {
            "a process a side, for its duet is not proven".into()
        }
        (None, Some(Pairing::Process)) => "a process a side".into(),
        (None, None) => "pairing not known".into(),
    });
    parts.extend(left_out(operator));
    parts.push(format!("outputs {}", OutputsTally::of(operator).sentence()));
    parts.push(operator.tuned_on.map_or_else(|| "not tuned".into(), |side| format!("tuned on {side}")));
    parts.join("; ")
}

/// How the sides were paired: `duet`, and how many operators otherwise.
#[must_use]
pub fn pairing(report: &Report, asked: Pairing) -> String {
    let otherwise =
        report.operators.iter().filter(|it| it.pairing.is_some_and(|it| it != asked)).count() as u64;
    match otherwise {
        0 => asked.to_string(),
        number => format!("{asked} ({} one process a side)", count(number, "operator", "operators")),
    }
}

/// What is known of the card's clocks while an operator was measured.
fn clocks(report: &Report, operator: &OperatorReport) -> String {
    let lock = report.conditions.get("clock_lock").map(|lock| format!("clock lock {}", one_line(lock)));
    let Some(clocks) = &operator.clocks else {
        return lock.unwrap_or_else(|| "clocks not recorded".into());
    };
    let cells = count(clocks.cells, "cell", "cells");
    let mut text = match clocks.sm_clock_mhz {
        Some((low, high)) if high - low < 1.0 => format!("clock {low:.0} MHz in {cells}"),
        Some((low, high)) => format!("clocks {low:.0} to {high:.0} MHz over {cells}"),
        None => format!("clocks not read in {cells}"),
    };
    for (reason, cells) in &clocks.throttled {
        text.push_str(&format!(", slowed in {} ({})", count(*cells, "cell", "cells"), one_line(reason)));
    }
    lock.into_iter().chain([text]).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_that_fell_back_is_counted_and_says_so() {
        let operator = |pairing| OperatorReport { pairing: Some(pairing), ..OperatorReport::default() };
        let report = Report {
            pairing: Some(Pairing::Duet),
            operators: vec![operator(Pairing::Duet), operator(Pairing::Process)],
            ..Report::default()
        };
        assert_eq!(pairing(&report, Pairing::Duet), "duet (1 operator one process a side)");
        let said = evidence(&report, &report.operators[1]);
        assert!(said.contains("a process a side, for its duet is not proven"), "{said}");
        let all = Report { operators: vec![operator(Pairing::Duet)], ..report };
        assert_eq!(pairing(&all, Pairing::Duet), "duet");
    }
}
