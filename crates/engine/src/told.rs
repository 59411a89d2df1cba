//! What cells said of how they measured that a reader of the report has to know: whose shapes, which upstream gates.
//!
//! Taken from one cell an operator, side A's screening or the single run: the others were told the same. What a cell
//! could not read is `judge`'s.

use switchback_model::cell::Purpose;
use switchback_model::finding::Finding;
use switchback_model::side::Side;

use crate::campaign::Campaign;
use crate::error::EngineError;
use crate::evidence::{DigestCache, Evidence};
use crate::request::Goal;
use crate::state::Standing;

/// A note's topic, what it says, and what to do about it.
const TOPICS: [(&str, &str, &str); 3] = [
    (
        "shapes",
        "shapes are not those of the file",
        "name the operator or its class in the shape file, or leave `--shape-file` out for it",
    ),
    (
        "compatibility",
        "a gate of the benchmark was taken out",
        "a gate that asks for another vendor's device was taken out for this back end; the rows behind it are real ones",
    ),
    (
        "compatibility_refused",
        "an override does not fit the benchmark",
        "the benchmark's file changed since the override was written: the gate was left as it is; read it, then renew the override",
    ),
];

/// True for a topic that reaches the report.
pub(crate) fn is_told(topic: &str) -> bool {
    TOPICS.iter().any(|(name, ..)| *name == topic)
}

/// What cells told, an operator each, in the order of the request.
///
/// # Errors
/// An attempt's file is damaged.
pub(crate) fn findings(campaign: &Campaign) -> Result<Vec<Finding>, EngineError> {
    let mut findings: Vec<Finding> = Vec::new();
    for spec in &campaign.request.operators {
        let name = &spec.operator;
        let told = match campaign.screen_evidence.get(&(name.clone(), Side::A)) {
            Some(evidence) => evidence.told.clone(),
            None if campaign.request.goal == Goal::Run => match campaign.state.standing(name, Purpose::Run) {
                Standing::Done(attempt) | Standing::Failed(attempt) => {
                    let ir_dir = campaign.dir.ir_dir();
                    Evidence::read(&attempt.dir, &ir_dir, &mut DigestCache::default())?.told
                }
                Standing::Open => Vec::new(),
            },
            None => Vec::new(),
        };
        for (topic, detail) in told {
            let Some((_, check, hint)) = TOPICS.iter().find(|(name, ..)| *name == topic) else { continue };
            let finding = Finding::warning(format!("{check} (`{name}`)"), detail, *hint);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    Ok(findings)
}
