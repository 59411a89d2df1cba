//! One attempt of one cell, as a process of its own: `switchback cell ORDER` calls [`supervise`] and nothing else.
//!
//! The supervisor holds the card's lock, starts the child, ends everything that descends from it, samples telemetry,
//! and alone writes `outcome.json`. It measures nothing and, while the child runs, sleeps but for output and
//! telemetry. What the events mean is left to the engine; here they are only counted.

mod card_lock;
mod coordinator;
mod death;
mod environment;
mod error;
mod fold;
mod group;
mod host;
mod run_log;
mod settings;
mod spawn;
mod supervisor;
mod telemetry;

pub use settings::Settings;
pub use supervisor::{supervise, supervise_with};
