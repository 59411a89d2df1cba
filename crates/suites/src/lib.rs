//! Where operators come from; a suite starts nothing, it returns commands as data.

pub mod suite;
