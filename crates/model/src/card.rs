//! One accelerator.

use serde::{Deserialize, Serialize};

/// A card as its back end lists it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Card {
    /// The back end's name: `cuda`, `musa`, `rocm`, `cpu`.
    pub backend: String,
    /// The index that the visibility variable takes.
    pub index: String,
    /// The card's own identity where the back end tells one; the lock is held by it.
    #[serde(default)]
    pub uuid: Option<String>,
    /// The product's name, as the driver prints it.
    #[serde(default)]
    pub name: Option<String>,
}

impl Card {
    /// What the card's lock is named after: its UUID, or back end and index where it has none.
    #[must_use]
    pub fn lock_name(&self) -> String {
        self.uuid.clone().unwrap_or_else(|| format!("{}-{}", self.backend, self.index))
    }
}
