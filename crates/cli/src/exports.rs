//! The files at the top of a campaign's folder: tables, reports, the summary.

use switchback_engine::campaign::Campaign;
use switchback_engine::request::Goal;
use switchback_engine::{EngineError, calibration, export};
use switchback_model::report::Report;
use switchback_report::terminal::{self, RunReport, TerminalStyle};
use switchback_report::tsv::{self, ScreenRow, StatusRow};
use switchback_report::{json, markdown};

use crate::commands::{run_reports, run_tables};

/// Width of texts that go into files.
const FILE_WIDTH: usize = 110;

/// Writes all of them anew; each is derived and can be deleted.
pub fn write(campaign: &Campaign, report: &Report) -> anyhow::Result<()> {
    let rows = screen_rows(campaign)?;
    if !rows.is_empty() {
        campaign.dir.write_top("screen.tsv", &tsv::screen(&rows))?;
    }
    campaign.dir.write_top("status.tsv", &tsv::status(&status_rows(campaign)))?;
    campaign.dir.write_top("report.json", &json::render(report))?;
    campaign.dir.write_top("report.md", &page(campaign, report)?)?;
    campaign.dir.write_top("report.tsv", &lines(campaign, report)?)?;
    if let Some(calibration) = campaign.calibration(report) {
        campaign.dir.write_top(calibration::FILE, &calibration.text())?;
    }
    let style = TerminalStyle { width: FILE_WIDTH, colour: false };
    let summary = match campaign.request.goal {
        Goal::Run => run_tables(campaign, &style)?,
        Goal::Screen | Goal::Ab => terminal::render(report, &style, &[]),
    };
    campaign.dir.write_top("summary.log", &summary)?;
    Ok(())
}

/// The page to publish.
pub fn page(campaign: &Campaign, report: &Report) -> anyhow::Result<String> {
    Ok(match campaign.request.goal {
        Goal::Run => markdown::runs(report, &runs(campaign)?),
        Goal::Screen | Goal::Ab => markdown::render(report),
    })
}

/// The lines for another program: an operator each, or a row of a single run.
pub fn lines(campaign: &Campaign, report: &Report) -> anyhow::Result<String> {
    Ok(match campaign.request.goal {
        Goal::Run => tsv::runs(&runs(campaign)?),
        Goal::Screen | Goal::Ab => tsv::report(report),
    })
}

fn runs(campaign: &Campaign) -> anyhow::Result<Vec<RunReport>> {
    Ok(run_reports(campaign)?.into_iter().map(|(run, _)| run).collect())
}

/// Writes `status.tsv`, cell by cell while a campaign runs.
pub fn write_status(campaign: &Campaign) -> Result<(), EngineError> {
    Ok(campaign.dir.write_top("status.tsv", &tsv::status(&status_rows(campaign)))?)
}

fn screen_rows(campaign: &Campaign) -> Result<Vec<ScreenRow>, EngineError> {
    let facts = export::screen_facts(campaign)?;
    Ok(facts
        .into_iter()
        .map(|it| ScreenRow {
            file: it.operator.file_name().to_owned(),
            dtypes: it.operator.dtypes.clone(),
            spec: it.operator.to_string(),
            operator: it.operator.operator,
            rows: it.rows,
            kernels: it.kernels,
            cvt: it.cvt,
            elapsed_s: it.elapsed_s,
            verdict: it.screened.verdict,
            conditions: it.conditions,
            first_stage: it.screened.first_stage,
            kernels_changed: it.screened.kernels.iter().map(|kernel| u64::from(kernel.changed)).sum(),
            fingerprints: it.fingerprints,
            reason: it.screened.reasons.join("; "),
        })
        .collect())
}

fn status_rows(campaign: &Campaign) -> Vec<StatusRow> {
    export::status_facts(campaign)
        .into_iter()
        .map(|it| StatusRow {
            device: it.outcome.card.index.clone(),
            operator: it.cell.operator,
            purpose: it.cell.purpose,
            switch: it.switch,
            rc: it.outcome.shell_status(),
            elapsed_s: it.outcome.elapsed_s,
            counts: it.outcome.counts,
            attempt: it.attempt,
            ending: it.outcome.ending,
            reason: it.outcome.reason,
        })
        .collect()
}

/// The totals of the three markers over all cells, as the scripts printed them at the end; none if all are zero.
pub fn markers(campaign: &Campaign) -> Option<String> {
    let mut totals = [0, 0, 0];
    for it in export::status_facts(campaign) {
        let counts = it.outcome.counts;
        totals[0] += counts.replay_fallback;
        totals[1] += counts.no_cudagraph;
        totals[2] += counts.capture_poisoned;
    }
    (totals != [0, 0, 0]).then(|| {
        format!("replay_fallback={} no_cudagraph={} capture_poisoned={}", totals[0], totals[1], totals[2])
    })
}
