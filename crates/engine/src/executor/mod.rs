//! An executor runs `switchback cell ORDER` somewhere and tells when it has ended; several at once.

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

/// A supervisor that was started; the executor that started it gives each its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Started(pub u64);

/// Runs supervisors.
pub trait Executor {
    /// Starts the supervisor of the order in `order_path` and returns at once.
    ///
    /// # Errors
    /// It could not be started.
    fn start(&mut self, order_path: &Path) -> Result<Started, std::io::Error>;

    /// Sleeps until a supervisor has ended, at the longest for `limit`; none if none has.
    ///
    /// Each end is told once. Whether it went well is read from the attempt's folder, not from here.
    ///
    /// # Errors
    /// A supervisor could not be waited for.
    fn wait(&mut self, limit: Duration) -> Result<Option<Started>, std::io::Error>;

    /// Asks one supervisor to end its cell cleanly.
    fn stop_one(&mut self, started: Started);

    /// Asks all supervisors to end their cells cleanly.
    fn stop(&mut self);

    /// Has all cells killed at once.
    fn kill(&mut self);
}
