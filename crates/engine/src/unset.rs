//! Whether a variable that is set to A's value gives the code of one that is not set at all.
//!
//! `0` is not "unset" to a compiler that asks whether a variable is there; a result under `V=0` then says nothing of
//! those who never heard of `V`. What screening recorded of side A is compiled again without a card, in A's environment
//! and without the switch's variables: no cell more on the card, and no process beside a measurement. Kept in
//! `unset.json` at the top of the campaign; derived, and can be deleted. What acts before `ttir` is not seen.

use std::path::Path;

use serde::{Deserialize, Serialize};
use switchback_ir::Stage;
use switchback_model::finding::Finding;
use switchback_model::side::Side;
use switchback_model::switch::{self, Switch, Variables};
use switchback_model::verdict::ScreenVerdict;
use switchback_store::campaign_dir::CampaignDir;

use crate::campaign::Campaign;
use crate::error::EngineError;
use crate::executor::Interrupt;
use crate::recompile::{Ask, recompile};
use crate::request::Goal;

/// The file's name.
pub const FILE: &str = "unset.json";
/// Most operators that a sentence names.
const MOST_NAMED: usize = 5;

/// What became of the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unset {
    /// A's variables that were left out.
    pub variables: Variables,
    /// What compiled; empty where nothing could.
    #[serde(default)]
    pub compiled_by: String,
    /// Operators whose recorded kernels were compiled.
    #[serde(default)]
    pub operators: Vec<String>,
    /// Those whose code differs, with the first stage where it is known.
    #[serde(default)]
    pub differing: Vec<(String, Option<String>)>,
    /// Why it is not known, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// Side A's variables that have a value, if leaving them out is neither A nor B and there is code to compile again.
#[must_use]
pub fn wanted(campaign: &Campaign) -> Option<Variables> {
    let request = &campaign.request;
    if request.goal == Goal::Run || request.is_calibration() || campaign.dir.top(FILE).exists() {
        return None;
    }
    let switch = request.switch();
    let set: Variables =
        switch.a.iter().filter(|(_, value)| value.is_some()).map(|(k, v)| (k.clone(), v.clone())).collect();
    let b_is_unset = switch.b.values().all(Option::is_none);
    (!set.is_empty() && !b_is_unset && !recorded(campaign).is_empty()).then_some(set)
}

/// Operators with a recorded text that can be compiled again.
fn recorded(campaign: &Campaign) -> Vec<String> {
    let compiled = |name: &str| {
        campaign
            .screened()
            .get(name)
            .is_some_and(|it| matches!(it.verdict, ScreenVerdict::IrChanged | ScreenVerdict::NoIrDiff))
            && campaign
                .screen_evidence
                .get(&(name.to_owned(), Side::A))
                .is_some_and(|it| it.texts.iter().any(|(_, stage, _)| stage == Stage::Ttir.name()))
    };
    let names = campaign.request.operators.iter().map(|operator| operator.operator.clone());
    names.filter(|name| compiled(name)).collect()
}

/// Compiles side A's recorded kernels again, with and without `variables`, and keeps what came of it.
///
/// # Errors
/// The user asked to stop, or the campaign's folder cannot be written. A compiler that is not there, or another than the
/// recorded one, is a result.
pub fn compare(
    campaign: &Campaign,
    variables: Variables,
    program: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Unset, EngineError> {
    let without: Variables = variables.keys().map(|name| (name.clone(), None)).collect();
    let ask = Ask {
        source: campaign.dir.root().to_owned(),
        operators: recorded(campaign),
        switches: vec![Switch { a: variables.clone(), b: without }],
        ..Ask::default()
    };
    let mut it = Unset { variables, operators: ask.operators.clone(), ..Unset::default() };
    match recompile(&ask, program, interrupt, progress) {
        Ok(found) => {
            it.compiled_by = found.compiled_by;
            it.differing = found
                .operators
                .into_iter()
                .filter_map(|row| {
                    let cell = row.cells.into_iter().next()?;
                    (cell.verdict == ScreenVerdict::IrChanged).then_some((row.operator, cell.first_stage))
                })
                .collect();
        }
        Err(EngineError::Interrupted) => return Err(EngineError::Interrupted),
        Err(error) => it.unknown = Some(error.to_string()),
    }
    let mut text = serde_json::to_string_pretty(&it).unwrap_or_default();
    text.push('\n');
    campaign.dir.write_top(FILE, &text)?;
    Ok(it)
}

/// What is kept in a campaign's folder; nothing where there is nothing that can be read.
#[must_use]
pub fn kept(dir: &CampaignDir) -> Option<Unset> {
    serde_json::from_str(&std::fs::read_to_string(dir.top(FILE)).ok()?).ok()
}

impl Unset {
    /// What a reader must know; nothing if both give the same code.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        let set = switch::describe(&self.variables);
        let check = "side A may not be what a machine without the switch compiles".to_owned();
        if let Some(reason) = &self.unknown {
            return Some(Finding::warning(
                check,
                format!("not known whether `{set}` gives the code of an unset variable: {reason}"),
                "`screen --from DIR --each-switch NAME=:VALUE --python PATH` compares them where the compiler is",
            ));
        }
        if self.differing.is_empty() {
            return None;
        }
        let named: Vec<String> = self
            .differing
            .iter()
            .take(MOST_NAMED)
            .map(|(operator, stage)| match stage {
                Some(stage) => format!("`{operator}` from `{stage}` on"),
                None => format!("`{operator}`"),
            })
            .collect();
        let more = self.differing.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(Finding::warning(
            check,
            format!(
                "`{set}` gives other code than leaving it unset, in {} of {} operators: {}{more}",
                self.differing.len(),
                self.operators.len(),
                named.join(", ")
            ),
            "`--switch NAME=:1` compares with a variable that is not set",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_each_result() {
        let variables: Variables = [("V".to_owned(), Some("0".to_owned()))].into();
        let operators: Vec<String> = (0..9).map(|number| format!("op{number}")).collect();
        let mut it = Unset { variables, operators: operators.clone(), ..Unset::default() };
        assert_eq!(it.finding(), None);
        it.differing = operators.iter().map(|name| (name.clone(), Some("llir".to_owned()))).take(7).collect();
        let told = it.finding().unwrap();
        assert!(
            told.detail.starts_with("`V=0` gives other code than leaving it unset, in 7 of 9 operators: ")
        );
        assert!(told.detail.ends_with("`op4` from `llir` on and 2 more"), "{}", told.detail);
        it.unknown = Some("no compiler".into());
        assert!(it.finding().unwrap().detail.contains("not known whether `V=0`"));
    }
}
