//! An executor runs `switchback cell ORDER` somewhere and tells when it has ended.

mod local;
mod orphans;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use local::LocalExecutor;
pub use orphans::{Orphan, end_orphans};

/// How often the user has asked to stop: once ends cells cleanly, twice kills them.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Counts one more request to stop.
    pub fn request(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// How often it was asked.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// The counter itself, for a signal handler.
    #[must_use]
    pub fn counter(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }
}

/// Runs supervisors.
pub trait Executor {
    /// Runs the order in `order_path` and returns when its supervisor has ended.
    ///
    /// `tick` is called several times a second with the time since the start. Whether it went well is read from the
    /// attempt's folder, not from here.
    ///
    /// # Errors
    /// The supervisor could not be started or waited for.
    fn run(
        &self,
        order_path: &Path,
        interrupt: &Interrupt,
        tick: &mut dyn FnMut(Duration),
    ) -> Result<(), std::io::Error>;
}
