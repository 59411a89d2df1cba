//! Cards and their back ends: how a card is made visible, listed, and watched while a cell measures on it.
//!
//! A [`Backend`] is data plus small functions; knowledge about a vendor lies in its file below `backend/` and nowhere
//! else. What a back end's tools print is read leniently: a field that is not a number is absent, never zero, and no
//! input panics. Which card a cell gets is the engine's decision, when to sample the supervisor's.

pub mod backend;
pub mod command;
pub mod mask;
pub mod number;
pub mod occupancy;
pub mod telemetry;

pub use backend::{Backend, ListedCard, ListingError};
