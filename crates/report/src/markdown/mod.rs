//! A page to publish: what was switched, the verdicts, each operator's evidence, the noise, the conditions.
//!
//! Leaves to `escape` what keeps names from outside from becoming markdown or HTML of their own.

mod escape;
mod run;

use switchback_model::conditions::FIELDS;
use switchback_model::finding::Severity;
use switchback_model::report::{OperatorReport, Report};
use switchback_model::switch::describe;

use self::escape::{code, html, prose};
pub use self::run::runs;
use crate::facts::{self, OutputsTally, Standing};
use crate::number;
use crate::terminal::case_remarks;
use crate::text::count;

/// Writes the page.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    header(&mut out, report);
    verdicts(&mut out, report);
    operators(&mut out, report);
    noise(&mut out, report);
    conditions(&mut out, report);
    out.push_str(HOW_TO_READ);
    out
}

const HOW_TO_READ: &str = "\
## How to read it

- *B against A* is `100 (time A / time B - 1)`: positive means that B takes less time. An operator's effect is the mean \
over rounds of the mean over the cases whose code differs; cases with identical code and host-bound cases are listed, \
not averaged in.
- `FASTER`, `SLOWER`: the test rejects zero after Holm's correction over all operators, and the effect is not smaller \
than the margin. `EQUIVALENT`: it lies within the margin. `INCONCLUSIVE`: neither is shown. `WRONG`: B's outputs are \
worse than A's beyond what rounding explains, so no speed is given. `control`: identical code, measured to see the noise.
- *Rounds* says how far the rounds' effects lie apart; *noise A* and *noise B* say how much one side alone moves from \
round to round. They are two different things.
- An operator that was not measured has no figure: it has no effect of zero either.
- `mixed`: some cases are significantly faster and others significantly slower. *q* is corrected over cases \
(Benjamini-Hochberg).
";

fn header(out: &mut String, report: &Report) {
    let names: Vec<String> = report.switch.names().iter().map(|name| code(name)).collect();
    let names = if names.is_empty() { "no switch".into() } else { names.join(" + ") };
    let operators = count(report.operators.len() as u64, "operator", "operators");
    out.push_str(&format!("# {names} on {operators}\n\n"));
    let mut facts = vec![
        ("A", code(&describe(&report.switch.a))),
        ("B", code(&describe(&report.switch.b))),
        ("suite", code(&report.suite)),
    ];
    facts.push((
        "measured",
        match report.pairing {
            Some(pairing) => format!(
                "{} pairing, {}, margin {}",
                facts::pairing(report, pairing),
                facts::rounds_measured(report),
                number::margin_percent(report.margin_pct)
            ),
            None => "nothing".into(),
        },
    ));
    facts.extend(origin(report));
    facts_table(out, &facts);

    let (counts, unscreened) = facts::screen_counts(report);
    let mut words: Vec<String> = counts
        .iter()
        .filter(|(_, number)| *number > 0)
        .map(|(verdict, number)| format!("{number} `{verdict}`"))
        .collect();
    if unscreened > 0 {
        words.push(format!("{unscreened} not screened"));
    }
    if !words.is_empty() {
        out.push_str(&format!("- Screening: {}.\n", words.join(", ")));
    }
    let standings: Vec<Standing> = report.operators.iter().map(facts::standing).collect();
    let judged = [
        Standing::Wrong,
        Standing::Faster,
        Standing::Slower,
        Standing::Equivalent,
        Standing::Inconclusive,
        Standing::Control,
    ];
    let words: Vec<String> = judged
        .iter()
        .map(|standing| (standing.word(), standings.iter().filter(|it| *it == standing).count()))
        .filter(|(_, number)| *number > 0)
        .map(|(word, number)| format!("{number} `{word}`"))
        .collect();
    if !words.is_empty() {
        out.push_str(&format!("- Verdicts: {}.\n", words.join(", ")));
    }
    out.push('\n');
    if !report.allowed.is_empty() {
        let fields: Vec<String> = report.allowed.iter().map(|it| code(it)).collect();
        out.push_str(&format!(
            "> **Conditions differ.** Rows are compared although these were allowed to differ: {}.\n\n",
            fields.join(", ")
        ));
    }
    warnings(out, report);
}

/// How long it took, where it came from, what judged it, and the conditions that people ask for first.
fn origin(report: &Report) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    for (phase, spent) in &report.elapsed_s {
        facts.push(("time spent", format!("{}: {}", prose(phase), number::seconds(*spent))));
    }
    facts.push(("campaign", format!("{}, created {}", code(&report.campaign), prose(&report.created_utc))));
    facts.push(("judged by", format!("switchback {}", prose(&report.switchback))));
    for field in ["device", "driver", "compiler", "torch", "library"] {
        if let Some(value) = report.conditions.get(field) {
            facts.push((field, code(value)));
        }
    }
    facts
}

fn facts_table(out: &mut String, facts: &[(&str, String)]) {
    out.push_str("| | |\n|---|---|\n");
    for (name, value) in facts {
        out.push_str(&format!("| {name} | {value} |\n"));
    }
    out.push('\n');
}

fn warnings(out: &mut String, report: &Report) {
    for finding in report.findings.iter().filter(|it| it.severity != Severity::Ok) {
        let severity = if finding.severity == Severity::Failure { "Failure" } else { "Warning" };
        out.push_str(&format!("> **{severity}:** {}: {}", prose(&finding.check), prose(&finding.detail)));
        if let Some(hint) = &finding.hint {
            out.push_str(&format!(" Hint: {}", prose(hint)));
        }
        out.push_str("\n\n");
    }
}

fn verdicts(out: &mut String, report: &Report) {
    out.push_str("## Verdicts\n\n");
    let ordered = facts::in_order(report);
    if ordered.is_empty() {
        out.push_str("No operator was asked for.\n\n");
        return;
    }
    let (measured, others): (Vec<_>, Vec<_>) =
        ordered.into_iter().partition(|(it, _)| *it <= Standing::Control);
    if measured.is_empty() {
        out.push_str("No operator was measured.\n\n");
    } else {
        out.push_str(
            "| operator | code | verdict | B against A | 95 % interval | rounds | noise A | noise B | outputs | |\n\
             |---|---|---|--:|---|---|--:|--:|---|---|\n",
        );
    }
    for (standing, operator) in &measured {
        let figures = facts::effect(operator);
        let known = |value: Option<String>| {
            value.filter(|_| figures.is_some()).unwrap_or_else(|| number::NONE.into())
        };
        let interval = figures.and_then(|(_, interval)| interval);
        let rounds = match operator.rounds_range_pct.filter(|_| figures.is_some()) {
            Some(range) => format!("{}: {}", operator.rounds, number::interval(range)),
            None => operator.rounds.to_string(),
        };
        let mut remarks = facts::remarks(report, operator);
        remarks.extend(facts::why_no_figure(operator));
        let cells = [
            code(&operator.operator),
            code(facts::code(operator)),
            format!("`{}`", standing.word()),
            known(figures.map(|(effect, interval)| number::percent_within(effect, interval))),
            known(interval.map(number::interval)),
            rounds,
            known(operator.noise_a_pct.map(number::size_percent)),
            known(operator.noise_b_pct.map(number::size_percent)),
            OutputsTally::of(operator).sentence(),
            prose(&remarks.join(", ")),
        ];
        row(out, &cells);
    }
    if !measured.is_empty() {
        out.push('\n');
    }
    if others.is_empty() {
        return;
    }
    out.push_str("### Not measured\n\n| operator | screening | why | check |\n|---|---|---|---|\n");
    for (standing, operator) in &others {
        let screen = operator.screen.map_or_else(|| "not screened".to_owned(), |it| format!("`{it}`"));
        let why: Vec<String> = match standing {
            Standing::Same | Standing::NotCompiled => facts::why_no_figure(operator).into_iter().collect(),
            _ if operator.reasons.is_empty() => facts::why_no_figure(operator).into_iter().collect(),
            _ => operator.reasons.clone(),
        };
        let sentences = |all: &[String]| all.iter().map(|it| prose(it)).collect::<Vec<_>>().join("; ");
        row(out, &[code(&operator.operator), screen, sentences(&why), sentences(&operator.hints)]);
    }
    out.push('\n');
}

fn operators(out: &mut String, report: &Report) {
    let with_more: Vec<_> = facts::in_order(report)
        .into_iter()
        .filter(|(standing, it)| {
            let told = it.reasons.is_empty() || *standing > Standing::Control;
            !(it.cases.is_empty() && it.kernels.is_empty() && told)
        })
        .collect();
    if with_more.is_empty() {
        return;
    }
    out.push_str("## Operators\n\n");
    for (standing, operator) in with_more {
        details(out, standing, operator);
    }
}

fn details(out: &mut String, standing: Standing, operator: &OperatorReport) {
    let effect = facts::effect(operator).map_or_else(String::new, |(effect, interval)| {
        format!(" {}", number::percent_within(effect, interval))
    });
    out.push_str(&format!(
        "<details>\n<summary><code>{}</code> {}{effect}</summary>\n\n",
        html(&operator.operator),
        standing.word()
    ));
    if operator.spec != operator.operator && !operator.spec.is_empty() {
        out.push_str(&format!("Asked for as {}.\n\n", code(&operator.spec)));
    }
    for reason in &operator.reasons {
        out.push_str(&format!("- {}\n", prose(reason)));
    }
    for hint in &operator.hints {
        out.push_str(&format!("- Hint: {}\n", prose(hint)));
    }
    if !(operator.reasons.is_empty() && operator.hints.is_empty()) {
        out.push('\n');
    }
    if !operator.kernels.is_empty() {
        out.push_str("| kernel | variants | changed | first stage |\n|---|--:|--:|---|\n");
        for kernel in &operator.kernels {
            let stage = kernel.first_stage.as_deref().map_or_else(|| number::NONE.into(), code);
            row(out, &[code(&kernel.kernel), kernel.variants.to_string(), kernel.changed.to_string(), stage]);
        }
        out.push('\n');
    }
    if !operator.cases.is_empty() {
        out.push_str(
            "| case | timer | A, us | B, us | B against A | 95 % interval | q | |\n\
             |---|---|--:|--:|--:|---|--:|---|\n",
        );
        for case in &operator.cases {
            let none = || number::NONE.to_owned();
            let (a, b) = facts::case_latencies(operator, case);
            let effect = facts::case_effect(operator, case);
            row(
                out,
                &[
                    code(&case.case),
                    case.timer.map_or_else(none, |timer| timer.to_string()),
                    a.map_or_else(none, number::latency_us),
                    b.map_or_else(none, number::latency_us),
                    effect.map_or_else(none, |(effect, interval)| number::percent_within(effect, interval)),
                    effect.and_then(|(_, interval)| interval).map_or_else(none, number::interval),
                    case.q.filter(|_| effect.is_some()).map_or_else(none, number::probability),
                    prose(&case_remarks(case).join(", ")),
                ],
            );
        }
        out.push('\n');
    }
    out.push_str("</details>\n\n");
}

fn noise(out: &mut String, report: &Report) {
    out.push_str("## Noise\n\n");
    let safe = facts::noise_of_operators(&report.controls);
    for sentence in facts::noise_of(report).into_iter().chain(safe) {
        out.push_str(&format!("- {sentence}\n"));
    }
    out.push('\n');
}

fn conditions(out: &mut String, report: &Report) {
    out.push_str("## Conditions\n\n");
    if report.conditions.0.is_empty() {
        out.push_str("None are known.\n\n");
    } else {
        out.push_str(
            "All rows agree in these, or the difference is named above.\n\n| field | value |\n|---|---|\n",
        );
        let known =
            FIELDS.iter().filter_map(|field| report.conditions.get(field).map(|value| (*field, value)));
        let others = report.conditions.0.iter().map(|(field, value)| (field.as_str(), value.as_str()));
        let others = others.filter(|(field, value)| !FIELDS.contains(field) && !value.is_empty());
        for (field, value) in known.chain(others) {
            row(out, &[code(field), code(value)]);
        }
        out.push('\n');
    }
    if !report.identity.is_empty() {
        out.push_str("Recorded, not compared:\n\n| | |\n|---|---|\n");
        for (name, value) in &report.identity {
            row(out, &[code(name), code(value)]);
        }
        out.push('\n');
    }
    if !report.stamps.is_empty() {
        out.push_str("Stamps removed before code was compared:\n\n| pattern | matches |\n|---|--:|\n");
        for (pattern, matches) in &report.stamps {
            row(out, &[code(pattern), matches.to_string()]);
        }
        out.push('\n');
    }
}

fn row(out: &mut String, cells: &[String]) {
    out.push('|');
    for text in cells {
        out.push_str(&format!(" {text} |"));
    }
    out.push('\n');
}
