//! The files at the top of a campaign's folder: tables, reports, the summary.

use switchback_engine::campaign::Campaign;
use switchback_engine::export::StatusFacts;
use switchback_engine::readings::Watched;
use switchback_engine::request::Goal;
use switchback_engine::{EngineError, calibration, export, readings};
use switchback_model::cell::CellKey;
use switchback_model::report::Report;
use switchback_report::terminal::{self, RunReport, TerminalStyle};
use switchback_report::tsv::{self, ScreenRow, StatusRow};
use switchback_report::{json, markdown};

use crate::commands::{run_reports, run_tables};
use crate::plan_table;

/// Width of texts that go into files.
const FILE_WIDTH: usize = 110;

/// The table of cells.
const STATUS: &str = "status.tsv";

/// Writes all of them anew; each is derived and can be deleted.
pub fn write(campaign: &Campaign, report: &Report) -> anyhow::Result<()> {
    let rows = screen_rows(campaign)?;
    if !rows.is_empty() {
        campaign.dir.write_top("screen.tsv", &tsv::screen(&rows))?;
    }
    campaign.dir.write_top(STATUS, &tsv::status(&status_rows(campaign)))?;
    // It can be large, and grows with every cell: whoever only reports has it unless somebody deleted it.
    if !campaign.dir.top(readings::FILE).exists() {
        readings::write(campaign)?;
    }
    campaign.dir.write_top("report.json", &json::render(report))?;
    campaign.dir.write_top("report.md", &page(campaign, report)?)?;
    campaign.dir.write_top("report.tsv", &lines(campaign, report)?)?;
    if let Some(calibration) = campaign.calibration(report) {
        campaign.dir.write_top(calibration::FILE, &calibration.text())?;
    }
    if let Some(table) = plan_table::of_campaign(campaign) {
        campaign.dir.write_top(plan_table::FILE, &table)?;
    }
    let style = TerminalStyle { width: FILE_WIDTH, colour: false };
    let summary = match campaign.request.goal {
        Goal::Run => run_tables(campaign, &style)?,
        Goal::Screen | Goal::Ab => terminal::render(report, &style, &[]),
    };
    campaign
        .dir
        .write_top("summary.log", &format!("{}\n{}", summary.trim_end(), totals(campaign).lines()))?;
    Ok(())
}

/// Begins the tables that grow while a campaign runs; what an earlier start left out of them is put in.
pub fn begin(campaign: &Campaign) -> Result<(), EngineError> {
    Ok(campaign.dir.write_top(STATUS, &tsv::status(&status_rows(campaign)))?)
}

/// Puts a cell's latest attempt into those tables.
pub fn record(campaign: &Campaign, cell: &CellKey) -> Result<(), EngineError> {
    if let Some(facts) = export::latest_status(campaign, cell) {
        campaign.dir.append_top(STATUS, &tsv::status_lines(&[status_row(facts)]))?;
    }
    Ok(readings::append(campaign, cell)?)
}

/// Ends those tables: each whole, in the order in which the cells were started.
pub fn end(campaign: &Campaign) -> Result<(), EngineError> {
    begin(campaign)?;
    Ok(readings::write(campaign)?)
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
    export::status_facts(campaign).into_iter().map(status_row).collect()
}

fn status_row(it: StatusFacts) -> StatusRow {
    StatusRow {
        device: it.outcome.card.index.clone(),
        operator: it.cell.operator,
        purpose: it.cell.purpose,
        switch: it.switch,
        rc: it.outcome.shell_status(),
        elapsed_s: it.outcome.elapsed_s,
        card_s: it.outcome.card_s(),
        counts: it.outcome.counts,
        attempt: it.attempt,
        ending: it.outcome.ending,
        reason: it.outcome.reason,
        uuid: it.outcome.card.uuid.unwrap_or_default(),
        host: it.outcome.host,
        started_utc: it.outcome.started_utc,
        telemetry: it.outcome.telemetry,
    }
}

/// What all cells add up to, as the scripts printed it at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    cells: u64,
    /// Cells with another status than 0.
    failed: u64,
    /// The three markers: `replay_fallback`, `no_cudagraph`, `capture_poisoned`.
    markers: [u64; 3],
    telemetry: String,
}

/// Adds up all attempts that have ended.
pub fn totals(campaign: &Campaign) -> Totals {
    let mut it = Totals { telemetry: telemetry(&readings::watched(campaign)), ..Totals::default() };
    for facts in export::status_facts(campaign) {
        let counts = facts.outcome.counts;
        it.cells += 1;
        it.failed += u64::from(facts.outcome.shell_status() != 0);
        it.markers[0] += counts.replay_fallback;
        it.markers[1] += counts.no_cudagraph;
        it.markers[2] += counts.capture_poisoned;
    }
    it
}

impl Totals {
    fn markers(&self) -> String {
        let [fallback, direct, poisoned] = self.markers;
        format!("replay_fallback={fallback} no_cudagraph={direct} capture_poisoned={poisoned}")
    }

    /// The end of `summary.log`, whatever the figures.
    fn lines(&self) -> String {
        format!(
            "cells     {}, {} with another status than 0\nmarkers   {}\ntelemetry {}\n",
            self.cells,
            self.failed,
            self.markers(),
            self.telemetry
        )
    }

    /// What a terminal is told; none if all is as it should be.
    pub fn remark(&self) -> Option<String> {
        let failed = (self.failed > 0)
            .then(|| format!("{} of {} cells ended with another status than 0", self.failed, self.cells));
        let markers = (self.markers != [0; 3]).then(|| self.markers());
        let parts: Vec<String> = failed.into_iter().chain(markers).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Telemetry in a line: what was read with and at what cost, or why there is none.
fn telemetry(it: &Watched) -> String {
    let most = it.remarks.iter().max_by_key(|(_, count)| **count).map(|(remark, _)| remark.as_str());
    if it.readings == 0 {
        return most.map_or_else(|| "none".to_owned(), |remark| format!("none: {remark}"));
    }
    let names: Vec<&str> = it.samplers.keys().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let remark = most.map(|remark| format!("; {remark}")).unwrap_or_default();
    format!(
        "{} readings of {} of {} cells with {}, {:.3} % of a processor{remark}",
        it.readings,
        it.attempts_read,
        it.attempts,
        names.join(" and "),
        100.0 * it.cpu_s / it.elapsed_s.max(f64::MIN_POSITIVE)
    )
}
