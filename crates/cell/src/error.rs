//! Why an attempt is left without an outcome: only what keeps the supervisor itself from working.

use std::path::PathBuf;

use switchback_store::StoreError;

/// The supervisor could not do its work; the attempt has no outcome and another one is needed.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// A file of the attempt could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The order is not in the folder that it names.
    #[error("`{order}` orders an attempt in `{attempt_dir}`")]
    Elsewhere {
        /// The order's file.
        order: PathBuf,
        /// The folder it names.
        attempt_dir: PathBuf,
    },
    /// The attempt was supervised before, or is being supervised.
    #[error("`{attempt_dir}` has been started before: `{file}` is there")]
    StartedBefore {
        /// The attempt's folder.
        attempt_dir: PathBuf,
        /// What shows it.
        file: &'static str,
    },
    /// A system call failed that does not fail on a healthy machine.
    #[error("cannot {action}")]
    System {
        /// What was being done.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

impl CellError {
    /// For `map_err`: what was being done when a system call failed.
    pub(crate) fn system(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { action, source }
    }

    /// Advice that goes with the message.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Elsewhere { .. } => {
                Some("an order is run where it was written; was the folder moved?".into())
            }
            Self::StartedBefore { .. } => {
                Some("an attempt is made once; `switchback resume` makes another".into())
            }
            Self::System { .. } => None,
        }
    }
}
