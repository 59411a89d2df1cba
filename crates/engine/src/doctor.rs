//! What of this machine, or of a run, stands in the way of a measurement.

use std::path::Path;
use std::time::Instant;

use switchback_device::Backend;
use switchback_device::telemetry::{self, Opened};
use switchback_model::finding::Finding;
use switchback_suites::suite::SuiteOptions;

use crate::error::EngineError;
use crate::prepare;

mod folder;

pub use folder::run;

/// Below this a campaign of some hundred operators may fill the disk.
const LITTLE_SPACE_BYTES: u64 = 10 << 30;
/// Below this nothing can be written safely.
const NO_SPACE_BYTES: u64 = 256 << 20;

/// Looks at the machine: cards, sampler, free space, and the suite's own checks.
///
/// # Errors
/// No such suite.
pub fn machine(
    suite: &str,
    options: &SuiteOptions,
    backend: Option<&str>,
    folder: &Path,
    program: &Path,
) -> Result<Vec<Finding>, EngineError> {
    switchback_suites::registry::suite(suite, options, program)?;
    let mut findings = Vec::new();
    let mut options = options.clone();
    match crate::cards::choose(suite, backend, &[], |name| std::env::var(name).ok()) {
        Ok(cards) => {
            for card in &cards {
                options.backend = card.backend.name.to_owned();
                findings.push(card_finding(card));
                findings.push(sampler(card.backend, &card.card));
            }
        }
        Err(EngineError::Preflight(failures)) => findings.extend(failures),
        Err(error) => return Err(error),
    }
    findings.push(space(folder));
    findings.extend(prepare::checks(suite, &options, program)?);
    Ok(findings)
}

fn card_finding(card: &crate::cards::ChosenCard) -> Finding {
    let name = card.card.name.clone().or_else(|| card.facts.get("device").cloned());
    let driver = card.facts.get("driver").map(|driver| format!(", driver {driver}")).unwrap_or_default();
    let told = format!(
        "{} {}: {}{driver}",
        card.backend.name,
        card.card.index,
        name.as_deref().unwrap_or("no name told")
    );
    match capped(card) {
        Some(finding) => Finding { detail: format!("{told}; {}", finding.detail), ..finding },
        None => Finding::ok("a card is there", told),
    }
}

/// A warning of a card that is held down by its power limit.
pub(crate) fn capped(card: &crate::cards::ChosenCard) -> Option<Finding> {
    let detail = format!("card {}: {}", card.card.index, card.capped.as_ref()?);
    let hint = "`nvidia-smi --power-limit` sets it; rows of another limit are not comparable";
    Some(Finding::warning("the card is held below its own power limit", detail, hint))
}

fn sampler(backend: &'static Backend, card: &switchback_model::card::Card) -> Finding {
    let check = "telemetry";
    if backend.name == "cpu" {
        return Finding::ok(check, "the cpu suite has no card to sample");
    }
    let hint = "rounds will have no record of clocks and temperature";
    let Some(Opened { mut sampler, remark }) = telemetry::open(card) else {
        return Finding::warning(check, format!("no sampler is known for `{}`", backend.name), hint);
    };
    let asked = Instant::now();
    match sampler.sample() {
        Ok(_) => {
            let took_ms = asked.elapsed().as_secs_f64() * 1000.0;
            let answers = format!(
                "`{}` answers in {took_ms:.1} ms, asked every {} s",
                sampler.name(),
                sampler.interval().as_secs()
            );
            let detail = remark.map_or_else(|| answers.clone(), |remark| format!("{answers} ({remark})"));
            Finding::ok(check, detail)
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            let remark = remark.map(|remark| format!(" ({remark})"));
            let detail = format!("{error}{}{}", cause.unwrap_or_default(), remark.unwrap_or_default());
            Finding::warning(check, detail, hint)
        }
    }
}

/// Free space where runs go.
#[must_use]
pub fn space(folder: &Path) -> Finding {
    let check = "free space";
    let there = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    match rustix::fs::statvfs(there) {
        Err(error) => Finding::warning(check, format!("cannot tell: {error}"), "look at it yourself"),
        Ok(told) => {
            let free_bytes = told.f_bavail.saturating_mul(told.f_frsize);
            #[allow(clippy::cast_precision_loss, reason = "printed with one decimal")]
            let gib = free_bytes as f64 / f64::from(1u32 << 30);
            let detail = format!("{gib:.1} GiB below `{}`", there.display());
            if free_bytes < NO_SPACE_BYTES {
                Finding::failure(check, detail, "free some: a full disk loses the cell that is running")
            } else if free_bytes < LITTLE_SPACE_BYTES {
                Finding::warning(check, detail, "500 operators with all IR take about 10 GiB")
            } else {
                Finding::ok(check, detail)
            }
        }
    }
}
