//! The page of single runs: what was measured, under which conditions; nothing that looks like a comparison.

use switchback_model::report::Report;

use super::escape::{code, prose};
use super::{conditions, origin, row, warnings};
use crate::number;
use crate::terminal::RunReport;
use crate::text::count;

/// Writes the page; `runs` are the report's operators with their rows.
#[must_use]
pub fn runs(report: &Report, runs: &[RunReport]) -> String {
    let operators = count(runs.len() as u64, "operator", "operators");
    let mut out = format!("# Single run of {operators}\n\n");
    let mut facts = vec![("suite", code(&report.suite))];
    facts.extend(origin(report));
    super::facts_table(&mut out, &facts);
    warnings(&mut out, report);
    for run in runs {
        out.push_str(&format!("## {}\n\n", code(&run.operator)));
        let own = report.operators.iter().find(|it| it.operator == run.operator);
        for hint in own.iter().flat_map(|it| &it.hints) {
            out.push_str(&format!("- {}\n\n", prose(hint)));
        }
        if run.rows.is_empty() {
            match &run.cut_off {
                Some(why) => out.push_str(&format!("No row: {}.\n\n", prose(why))),
                None => out.push_str("No row was measured.\n\n"),
            }
            continue;
        }
        out.push_str(
            "| case | timer | us | spread | samples | baseline, us | |\n|---|---|--:|--:|--:|--:|---|\n",
        );
        for it in &run.rows {
            let or_none = |value: Option<String>| value.unwrap_or_else(|| number::NONE.into());
            let cells = [
                code(&it.case.to_string()),
                or_none(it.timer.map(|timer| timer.to_string())),
                or_none(it.latency_us.map(number::latency_us)),
                or_none(it.spread_pct.map(number::size_percent)),
                it.samples.to_string(),
                or_none(it.baseline_us.map(number::latency_us)),
                prose(it.error.as_deref().unwrap_or_default()),
            ];
            row(&mut out, &cells);
        }
        out.push('\n');
    }
    conditions(&mut out, report);
    out
}
