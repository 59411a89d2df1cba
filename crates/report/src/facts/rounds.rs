//! How many rounds there are, of how many that were asked for, and whether more of them would tell.

use switchback_model::report::{OperatorReport, Report};

use super::{Standing, standing};
use crate::text::count;

/// Beyond this many rounds nobody plans by their number, and scatter of few rounds does not tell it.
const MOST_ROUNDS_TOLD: u32 = 100;

/// A number of rounds that it would take; a number that is past all planning is not given.
#[must_use]
pub fn rounds_that_tell(rounds: u32) -> String {
    if rounds > MOST_ROUNDS_TOLD {
        format!("more than {MOST_ROUNDS_TOLD} rounds")
    } else {
        count(rounds, "round", "rounds")
    }
}

/// The rounds that an operator was to get.
#[must_use]
pub fn rounds_asked(report: &Report, operator: &OperatorReport) -> u32 {
    operator.rounds_requested.unwrap_or(report.rounds)
}

/// What it would take to tell, of an `INCONCLUSIVE` operator: rounds that are missing, more rounds, or something else.
#[must_use]
pub fn rounds_to_tell(report: &Report, operator: &OperatorReport) -> String {
    let asked = rounds_asked(report, operator);
    match operator.rounds_needed {
        Some(rounds) => format!("{} would tell", rounds_that_tell(rounds)),
        None if operator.rounds_cannot_tell => "more rounds would not tell".into(),
        None if operator.rounds < asked => {
            let missing = asked - operator.rounds;
            let verb = if missing == 1 { "is" } else { "are" };
            format!("no verdict yet: {missing} of {} {verb} missing", count(asked, "round", "rounds"))
        }
        None => "rounds it would take: not known".into(),
    }
}

/// How many rounds an operator has, where that is not what was asked for of all: `2 of 3 rounds`, `7 rounds`.
#[must_use]
pub fn rounds_otherwise(report: &Report, operator: &OperatorReport) -> Option<String> {
    let asked = rounds_asked(report, operator);
    if operator.rounds < asked {
        Some(format!("{} of {}", operator.rounds, count(asked, "round", "rounds")))
    } else if operator.rounds != report.rounds {
        Some(count(operator.rounds, "round", "rounds"))
    } else {
        None
    }
}

/// The rounds that were measured, of the operators that were: `4 rounds`, `3 to 8 rounds` by precision, `2 to 3 of 8 rounds`
/// where some are missing.
#[must_use]
pub fn rounds_measured(report: &Report) -> String {
    let measured = || report.operators.iter().filter(|it| standing(it) <= Standing::Control);
    let Some(there) = range(measured().map(|it| it.rounds)) else {
        return count(report.rounds, "round", "rounds");
    };
    let short = measured().any(|it| it.rounds < rounds_asked(report, it));
    let asked = range(measured().map(|it| rounds_asked(report, it).max(it.rounds))).filter(|_| short);
    match asked {
        None => format!("{} {}", span(there), if there.1 == 1 { "round" } else { "rounds" }),
        Some(asked) => {
            format!("{} of {} {}", span(there), span(asked), if asked.1 == 1 { "round" } else { "rounds" })
        }
    }
}

fn range(numbers: impl Iterator<Item = u32>) -> Option<(u32, u32)> {
    numbers.fold(None, |range, it| {
        let (least, most) = range.unwrap_or((it, it));
        Some((least.min(it), most.max(it)))
    })
}

fn span((least, most): (u32, u32)) -> String {
    if least == most { most.to_string() } else { format!("{least} to {most}") }
}

#[cfg(test)]
mod tests {
    use super::super::remarks;
    use super::*;
    use switchback_model::verdict::{ScreenVerdict, Verdict};

    fn with(rounds: &[(u32, Option<u32>)], verdict: Verdict) -> Report {
        let operator = |&(rounds, rounds_requested): &(u32, Option<u32>)| OperatorReport {
            rounds,
            rounds_requested,
            effect_pct: Some(5.0),
            screen: Some(ScreenVerdict::IrChanged),
            verdict,
            ..OperatorReport::default()
        };
        Report { rounds: 3, operators: rounds.iter().map(operator).collect(), ..Report::default() }
    }

    #[test]
    fn what_was_measured_is_told_of_what_was_asked_for() {
        let of = |rounds: &[(u32, Option<u32>)]| rounds_measured(&with(rounds, Verdict::Faster));
        assert_eq!(of(&[]), "3 rounds");
        assert_eq!(of(&[(3, Some(3)), (3, None)]), "3 rounds");
        assert_eq!(of(&[(2, Some(8)), (3, Some(8))]), "2 to 3 of 8 rounds");
        assert_eq!(of(&[(1, Some(3))]), "1 of 3 rounds");
        assert_eq!(of(&[(3, Some(3)), (7, Some(7))]), "3 to 7 rounds", "by precision");
        assert_eq!(of(&[(3, Some(3)), (5, Some(7))]), "3 to 5 of 3 to 7 rounds");
        // What is wrong was measured as well; what has no verdict was not.
        assert_eq!(rounds_measured(&with(&[(2, Some(3))], Verdict::Wrong)), "2 of 3 rounds");
        assert_eq!(rounds_measured(&with(&[(2, Some(3))], Verdict::NotMeasured)), "3 rounds");
    }

    #[test]
    fn rounds_by_precision_are_told_beside_the_operator() {
        let report = with(&[(3, Some(3)), (7, Some(7)), (2, None), (5, Some(7))], Verdict::Faster);
        let told: Vec<String> = report.operators.iter().map(|it| remarks(&report, it).join(", ")).collect();
        assert_eq!(told, ["", "7 rounds", "2 of 3 rounds", "5 of 7 rounds"]);
    }

    #[test]
    fn rounds_past_all_planning_are_not_counted_out() {
        assert_eq!(rounds_that_tell(1), "1 round");
        assert_eq!(rounds_that_tell(100), "100 rounds");
        assert_eq!(rounds_that_tell(7976), "more than 100 rounds");
    }

    #[test]
    fn rounds_are_named_only_where_their_number_is_known() {
        let report = with(&[(2, Some(8)), (3, Some(3)), (3, Some(3)), (1, Some(2))], Verdict::Inconclusive);
        let [mut cut_off, mut never, open, mut short] = report.operators.clone().try_into().unwrap();
        let told = |it: &OperatorReport| remarks(&report, it).join(", ");
        assert_eq!(told(&cut_off), "no verdict yet: 6 of 8 rounds are missing");
        assert_eq!(told(&short), "no verdict yet: 1 of 2 rounds is missing");
        never.rounds_cannot_tell = true;
        assert_eq!(told(&never), "more rounds would not tell");
        assert_eq!(told(&open), "rounds it would take: not known");
        cut_off.rounds_needed = Some(11);
        assert_eq!(told(&cut_off), "11 rounds would tell, 2 of 8 rounds");
        // A case that fails in a round stays left out, whatever round follows.
        short.rounds_cannot_tell = true;
        assert_eq!(told(&short), "more rounds would not tell, 1 of 2 rounds");
    }
}
