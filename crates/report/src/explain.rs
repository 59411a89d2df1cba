//! Why a verdict is what it is, in sentences: `report --explain OP`.
//!
//! Repeats what judging found and says how far it reaches; judges nothing itself. Distances between rounds and the
//! noise of one side are two different things and have a sentence each.

use std::collections::BTreeMap;

use switchback_model::report::{CaseReport, OperatorReport, Report};
use switchback_model::switch::describe;
use switchback_model::verdict::ScreenVerdict;

use crate::facts::{self, OutputsTally, Standing};
use crate::number::{
    interval, latency_us, margin_percent, percent, percent_within, probability, size_percent,
};
use crate::text::{count, one_line, pad_right, printable};

/// Kernels that are named, and cases that are listed; the rest is counted.
const LISTED: usize = 8;

/// Explains the operators of that name (or asked for in these words); none if the report has none.
///
/// A sentence a line, each with a word in front that says what it is about.
#[must_use]
pub fn operator(report: &Report, name: &str) -> Option<String> {
    let found: Vec<String> = report
        .operators
        .iter()
        .filter(|it| it.operator == name || it.spec == name)
        .map(|it| explain(report, it))
        .collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

/// Lines in the making.
struct Lines {
    text: String,
    last: &'static str,
}

impl Lines {
    fn say(&mut self, about: &'static str, sentence: &str) {
        let label = if self.last == about { "" } else { about };
        self.last = about;
        self.text.push_str(&format!("{}{sentence}\n", pad_right(label, 10)));
    }
}

fn explain(report: &Report, operator: &OperatorReport) -> String {
    let standing = facts::standing(operator);
    let mut title = format!("{}: {}", printable(&operator.operator), standing.word());
    if operator.spec != operator.operator && !operator.spec.is_empty() {
        title.push_str(&format!(" (asked for as `{}`)", printable(&operator.spec)));
    }
    let mut lines = Lines { text: format!("{title}\n"), last: "" };
    lines.say("A", &printable(&describe(&report.switch.a)));
    lines.say("B", &printable(&describe(&report.switch.b)));
    verdict(&mut lines, report, operator, standing);
    for reason in operator.reasons.iter().map(|it| one_line(it)).filter(|it| !it.is_empty()) {
        lines.say("because", &reason);
    }
    code(&mut lines, operator);
    if standing.has_figures() {
        lines.say("evidence", &format!("{}.", first_upper(&facts::evidence(report, operator))));
        rounds(&mut lines, report, operator);
        noise(&mut lines, report, operator);
    }
    cases(&mut lines, operator);
    if standing.has_figures() || standing == Standing::Wrong {
        lines.say("outputs", &format!("A's and B's are {}.", OutputsTally::of(operator).sentence()));
    }
    if operator.replay_fallbacks > 0 {
        let keys = count(operator.replay_fallbacks, "tuner key was", "tuner keys were");
        lines.say(
            "tuning",
            &format!("{keys} not in the recording: those configs may differ between the sides."),
        );
    }
    if !report.allowed.is_empty() {
        let fields: Vec<String> = report.allowed.iter().map(|it| format!("`{}`", printable(it))).collect();
        lines.say("allowed", &format!("Rows are compared although {} may differ.", fields.join(", ")));
    }
    for hint in operator.hints.iter().map(|it| one_line(it)).filter(|it| !it.is_empty()) {
        lines.say("hint", &hint);
    }
    lines.text
}

fn verdict(lines: &mut Lines, report: &Report, operator: &OperatorReport, standing: Standing) {
    if let Some((effect, ci)) = facts::effect(operator) {
        let mut sentence = format!("B against A: {}", percent_within(effect, ci));
        if let Some(ci) = ci {
            sentence.push_str(&format!(", 95 % interval {} %", interval(ci)));
        }
        lines.say("verdict", &format!("{sentence}; positive means that B takes less time."));
    }
    let margin = margin_percent(report.margin_pct);
    let after_holm = operator.p_adjusted.map_or_else(String::new, |p| {
        format!(" (p = {} after Holm's correction over the operators)", probability(p))
    });
    let meaning = match standing {
        Standing::Faster | Standing::Slower => format!(
            "The test rejects zero{after_holm} and the effect is not smaller than the margin of {margin}."
        ),
        Standing::Equivalent => {
            format!("The effect lies within ±{margin}: both one-sided tests say so.")
        }
        Standing::Inconclusive => {
            let mut need = facts::rounds_to_tell(report, operator);
            if operator.rounds_needed.is_some() {
                need.push_str(&format!(", there are {}", operator.rounds));
            }
            format!("Neither a difference nor equivalence within ±{margin} is shown{after_holm}; {need}.")
        }
        Standing::Wrong => {
            "B's outputs are worse than A's beyond what rounding explains; no speedup of a wrong kernel is printed."
                .into()
        }
        Standing::Control => {
            "Its code is identical on both sides: whatever it reads is noise, and says how far to trust the others."
                .into()
        }
        Standing::Same => "Its code is identical on both sides: it was not measured, a number would be noise.".into(),
        Standing::NotCompiled => {
            "It ran, but nothing of it went through the compiler under test: neither \"no effect\" nor \"no kernel\"."
                .into()
        }
        Standing::NoRows => "Nothing of it was measured: it has to run before the switch can be judged.".into(),
        Standing::Unmeasured if operator.screen.is_none() => "It was not screened yet.".into(),
        Standing::Unmeasured => {
            let code = if facts::no_difference_seen(operator) {
                "No difference of its code was seen, though not all of it was"
            } else {
                "Its code differs"
            };
            match operator.rounds_requested {
                None => format!("{code}, and it was not measured."),
                Some(_) => format!("{code}, and no round of it is complete."),
            }
        }
    };
    lines.say("verdict", &meaning);
    if operator.mixed && standing.has_figures() {
        lines.say("verdict", "Mixed: some cases are significantly faster, others significantly slower.");
    }
}

fn first_upper(text: &str) -> String {
    let mut characters = text.trim_end_matches('.').chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn code(lines: &mut Lines, operator: &OperatorReport) {
    let sentence = match operator.screen {
        Some(ScreenVerdict::IrChanged) => match &operator.first_stage {
            Some(stage) => format!("IR_CHANGED: the sides differ from stage `{}` on.", printable(stage)),
            None if !facts::no_difference_seen(operator) => "IR_CHANGED: the sides differ.".into(),
            None if operator.unseen.is_empty() => {
                "IR_CHANGED: measured to be safe: identical as far as seen, and not all was seen.".into()
            }
            None => {
                "IR_CHANGED: measured to be safe: no difference was seen, and not all could be seen.".into()
            }
        },
        Some(ScreenVerdict::NoIrDiff) => {
            "NO_IR_DIFF: all that its cases launch is identical at every stage.".into()
        }
        Some(ScreenVerdict::NotCompiled) => "NOT_COMPILED: there are rows and no IR.".into(),
        Some(ScreenVerdict::NoRows) => "NO_ROWS: there is no row on one side at least.".into(),
        None => "It was not screened.".into(),
    };
    lines.say("screen", &sentence);
    if operator.kernels.is_empty() {
        return;
    }
    let changed: Vec<_> = operator.kernels.iter().filter(|it| it.changed > 0).collect();
    lines.say("kernels", &format!("{} of {} differ.", changed.len(), operator.kernels.len()));
    for kernel in changed.iter().take(LISTED) {
        let stage = kernel
            .first_stage
            .as_deref()
            .map_or_else(String::new, |stage| format!(", first at `{}`", printable(stage)));
        lines.say(
            "kernels",
            &format!(
                "`{}`: {} of {}{stage}",
                printable(&kernel.kernel),
                kernel.changed,
                count(kernel.variants, "variant", "variants")
            ),
        );
    }
    if changed.len() > LISTED {
        lines.say("kernels", &format!("and {} more", changed.len() - LISTED));
    }
}

fn rounds(lines: &mut Lines, report: &Report, operator: &OperatorReport) {
    let asked = facts::rounds_asked(report, operator);
    let mut sentence = if operator.rounds < asked {
        let verb = if operator.rounds == 1 { "has" } else { "have" };
        format!("{} of {} {verb} both sides", operator.rounds, count(asked, "round", "rounds"))
    } else {
        format!("{} with both sides", count(operator.rounds, "round", "rounds"))
    };
    if let Some((low, high)) = operator.rounds_range_pct {
        sentence.push_str(&format!("; their effects lie between {} and {}", percent(low), percent(high)));
    }
    match operator.sign_stable {
        Some(true) => sentence.push_str(", all of one sign"),
        Some(false) => sentence.push_str(", not all of one sign"),
        None => {}
    }
    lines.say("rounds", &format!("{sentence}. How far rounds lie apart says how steady the difference is."));
    let figures = [
        (
            if facts::standing(operator) == Standing::Control {
                "median over cases"
            } else {
                "median over cases whose code differs"
            },
            operator.median_pct,
        ),
        ("geometric mean over all cases", operator.geometric_mean_pct),
    ];
    let figures: Vec<String> = figures
        .iter()
        .filter_map(|(name, value)| value.map(|value| format!("{name} {}", percent(value))))
        .collect();
    if !figures.is_empty() {
        lines.say("rounds", &format!("Other summaries: {}.", figures.join(", ")));
    }
}

fn noise(lines: &mut Lines, report: &Report, operator: &OperatorReport) {
    if let (Some(a), Some(b)) = (operator.noise_a_pct, operator.noise_b_pct) {
        lines.say(
            "noise",
            &format!(
                "One side alone moves from round to round by {} (A) and {} (B), one standard deviation: that is \
                 the machine, not the switch.",
                size_percent(a),
                size_percent(b)
            ),
        );
    }
    let safe = facts::noise_of_operators(&report.controls);
    for sentence in facts::noise(&report.controls).into_iter().chain(safe) {
        lines.say("floor", &format!("{}.", first_upper(&sentence)));
    }
    if let (Some(floor), Some((effect, _))) = (report.controls.floor_pct, facts::effect(operator)) {
        let standing = facts::standing(operator);
        if standing.is_judged() {
            lines.say(
                "floor",
                if effect.abs() > floor.abs() {
                    "The effect lies outside of that floor."
                } else {
                    "The effect lies inside that floor: identical code reads as much."
                },
            );
        }
    }
    for sentence in facts::noise_beside(report) {
        lines.say("floor", &format!("{}.", first_upper(&sentence)));
    }
}

fn cases(lines: &mut Lines, operator: &OperatorReport) {
    if operator.cases.is_empty() {
        return;
    }
    let mut timers = BTreeMap::new();
    for case in &operator.cases {
        let timer = case.timer.map_or_else(|| "not timed".to_owned(), |timer| timer.to_string());
        *timers.entry(timer).or_insert(0_u64) += 1;
    }
    let timers: Vec<String> = timers.into_iter().map(|(timer, cases)| format!("{cases} {timer}")).collect();
    let number = |which: fn(&CaseReport) -> bool| operator.cases.iter().filter(|case| which(case)).count();
    let mut sentence =
        format!("{}: {}", count(operator.cases.len() as u64, "case", "cases"), timers.join(", "));
    let identical = match facts::standing(operator) {
        Standing::Control => "with identical code",
        _ => "with identical code, not averaged in",
    };
    for (cases, what) in [
        (number(|case| case.untouched), identical),
        (number(|case| case.host_bound), "host-bound, not averaged in"),
    ] {
        if cases > 0 {
            sentence.push_str(&format!("; {cases} {what}"));
        }
    }
    lines.say("cases", &format!("{sentence}."));
    if let Some(left_out) = facts::left_out(operator) {
        lines.say("cases", &format!("{left_out}."));
    }
    let mut largest: Vec<_> = operator
        .cases
        .iter()
        .filter(|case| !case.untouched && !case.host_bound)
        .filter_map(|case| facts::case_effect(operator, case).map(|(effect, ci)| (effect, ci, case)))
        .collect();
    largest.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    if !largest.is_empty() {
        lines.say("largest", "Cases whose code differs, the largest effects first:");
    }
    for (effect, ci, case) in largest.into_iter().take(LISTED) {
        let mut sentence = format!("`{}` {}", printable(&case.case), percent_within(effect, ci));
        if let Some(ci) = ci {
            sentence.push_str(&format!(" ({})", interval(ci)));
        }
        if let (Some(a), Some(b)) = (case.a_us, case.b_us) {
            sentence.push_str(&format!(", {} us against {} us", latency_us(a), latency_us(b)));
        }
        if let Some(q) = case.q {
            sentence.push_str(&format!(", q = {}", probability(q)));
        }
        lines.say("largest", &sentence);
    }
    let noted = operator.cases.iter().flat_map(|case| case.notes.iter().map(move |note| (case, note)));
    let noted: Vec<_> = noted.collect();
    for (case, note) in noted.iter().take(LISTED) {
        lines.say("notes", &format!("`{}`: {}", printable(&case.case), one_line(note)));
    }
    if noted.len() > LISTED {
        lines.say("notes", &format!("and {} more", noted.len() - LISTED));
    }
}
