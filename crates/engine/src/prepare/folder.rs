//! From a request, or from what lies there, to an open campaign: its folder made, gone on with, or read.
//!
//! Whether the machine can serve a request is left to `prepare`, what is then done to the campaign. Invariant: a folder that
//! holds something else, or a campaign of another request, is refused as it is.

use std::path::{Path, PathBuf};

use switchback_device::Backend;
use switchback_store::campaign_dir::CampaignDir;
use switchback_suites::registry;
use switchback_suites::suite::Suite;

use super::Prepared;
use crate::campaign::{Aim, Campaign};
use crate::error::EngineError;
use crate::recordings;
use crate::request::{Goal, Request};

/// Where a campaign's folder is to be.
#[derive(Debug, Clone)]
pub enum Place {
    /// Where the user said.
    Out(PathBuf),
    /// A new folder below this one, named after the switch.
    Below(PathBuf),
    /// A new folder below this one with a name of its own.
    Named(PathBuf, String),
}

impl Prepared {
    /// Makes the campaign's folder, or goes on with the unfinished one of the same request that is there.
    ///
    /// # Errors
    /// The folder holds something else, or a campaign of another request.
    pub fn open(self, place: &Place) -> Result<Campaign, EngineError> {
        let root = match place {
            Place::Out(root) => root.clone(),
            Place::Named(runs, name) => switchback_store::campaign_dir::new_root(runs, name),
            Place::Below(runs) => {
                let name = match self.request.goal {
                    Goal::Run => format!("run-{}", self.request.suite),
                    Goal::Screen => format!("screen-{}", self.request.switch().name()),
                    Goal::Ab => self.request.switch().name(),
                };
                switchback_store::campaign_dir::new_root(runs, &name)
            }
        };
        if root.exists() && !root.is_dir() {
            return Err(switchback_store::StoreError::Exists { path: root }.into());
        }
        if CampaignDir::is_campaign(&root) {
            let dir = CampaignDir::open(&root)?;
            let there: Request = dir.request()?;
            if let Some((field, here, there)) = self.request.difference(&there) {
                return Err(EngineError::OtherRequest { path: root, field, there, here });
            }
            let cards = self.request.cards();
            let cells_per_card = self.request.cells_per_card.or(there.cells_per_card);
            let request = Request { time_budget_s: self.request.time_budget_s, cells_per_card, ..there };
            dir.make_folders()?;
            let mut campaign = Campaign::open(dir, request, self.suite, self.backend, Aim::GoOn)?;
            campaign.use_cards(cards);
            return Ok(campaign);
        }
        let recordings = self.recordings;
        let dir = CampaignDir::create_with(&root, &self.request, |dir| recordings::keep(&recordings, dir))?;
        let cards = self.request.cards();
        let mut campaign = Campaign::open(dir, self.request, self.suite, self.backend, Aim::GoOn)?;
        campaign.use_cards(cards);
        Ok(campaign)
    }
}

/// Opens a campaign's folder to go on with it.
///
/// # Errors
/// No campaign, another process works in it, or its card is not there.
pub fn resume(root: &Path, program: &Path) -> Result<Campaign, EngineError> {
    open(root, program, Aim::GoOn)
}

/// Opens a campaign's folder to judge it by today's rules and write its tables anew; nothing that earlier rules found is
/// believed.
///
/// # Errors
/// No campaign, or another process works in it.
pub fn rescore(root: &Path, program: &Path) -> Result<Campaign, EngineError> {
    open(root, program, Aim::JudgeAnew)
}

fn open(root: &Path, program: &Path, aim: Aim) -> Result<Campaign, EngineError> {
    let (dir, request, suite, backend) = parts(root, program)?;
    dir.make_folders()?;
    Campaign::open(dir, request, suite, backend, aim)
}

/// Opens a campaign's folder to read it; works while another process runs it, and on a machine without its card.
///
/// # Errors
/// No campaign, or a damaged one.
pub fn read(root: &Path, program: &Path) -> Result<Campaign, EngineError> {
    let (dir, request, suite, backend) = parts(root, program)?;
    Campaign::read(dir, request, suite, backend, Aim::GoOn)
}

/// The same to judge it at once, so that no round is read twice.
///
/// # Errors
/// As [`read`].
pub fn read_to_judge(root: &Path, program: &Path) -> Result<Campaign, EngineError> {
    let (dir, request, suite, backend) = parts(root, program)?;
    Campaign::read(dir, request, suite, backend, Aim::Judge)
}

type Parts = (CampaignDir, Request, Box<dyn Suite>, &'static Backend);

fn parts(root: &Path, program: &Path) -> Result<Parts, EngineError> {
    let dir = CampaignDir::open(root)?;
    let request: Request = dir.request()?;
    let suite = registry::suite(&request.suite, &request.options, program)?;
    let backend = Backend::named(&request.card.backend).ok_or_else(|| EngineError::NoRun {
        path: root.to_owned(),
        detail: format!(
            "its card has the back end `{}`, which this version does not know",
            request.card.backend
        ),
    })?;
    Ok((dir, request, suite, backend))
}
