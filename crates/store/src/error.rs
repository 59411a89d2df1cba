//! What can go wrong with a file, with its path and what was being done.

use std::path::{Path, PathBuf};

/// A file could not be read or written, or holds something else.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} `{path}`")]
    Io {
        /// What was being done: `read`, `write`, `create`, …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// So little is left on the disk that what is written next may not be whole.
    #[error("`{path}` has {free_mib} MiB left, and a cell may write more")]
    NoSpace {
        /// The folder.
        path: PathBuf,
        /// What is left, MiB.
        free_mib: u64,
    },
    /// The file is not what it should be.
    #[error("`{path}` is damaged: {detail}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and field where they are known.
        detail: String,
    },
    /// There is something in the place where a folder was to be made.
    #[error("`{path}` already exists")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The folder is no campaign.
    #[error("`{path}` is no campaign: it has no `campaign.toml`")]
    NoCampaign {
        /// The folder.
        path: PathBuf,
    },
    /// Another process works in the folder.
    #[error("another switchback is working in `{path}`")]
    Locked {
        /// The folder.
        path: PathBuf,
    },
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn damaged(path: &Path, detail: impl std::fmt::Display) -> Self {
        Self::Damaged { path: path.to_owned(), detail: detail.to_string() }
    }

    /// True if the disk (or a quota) is full: nothing written after it can be trusted to be whole.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::NoSpace { .. } => true,
            Self::Io { source, .. } => {
                matches!(source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    /// Advice that goes with the message.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { .. } | Self::NoSpace { .. } if self.is_disk_full() => Some(
                "the disk is full; what was measured is whole, free space and `switchback resume`".into(),
            ),
            Self::Exists { path } => Some(format!(
                "`--out` takes a new folder, or an unfinished campaign of the same request (`{}` is neither)",
                path.display()
            )),
            Self::Locked { .. } => Some("wait for it, or end it".into()),
            Self::Io { .. } | Self::NoSpace { .. } | Self::Damaged { .. } | Self::NoCampaign { .. } => None,
        }
    }
}
