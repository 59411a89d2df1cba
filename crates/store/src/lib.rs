//! The only code that knows the disk: where a campaign's files lie, how they are written so that a crash leaves
//! them whole or absent, and how they are read when it did not.
//!
//! The layout (`ARCHITECTURE.md` draws it):
//! ```text
//! <campaign>/campaign.toml                  the request, never changed
//! <campaign>/cells/<op>/<cell>/<attempt>/   order.json events.jsonl run.log outcome.json run_identity.json …
//! <campaign>/ir/<sha256>                    IR texts, each once
//! <campaign>/campaign.db                    what outcomes said, to open sooner; derived
//! <campaign>/probe/  cache/                 what cells run and what their compilers keep
//! ```

pub mod atomic;
pub mod attempt;
pub mod campaign_dir;
pub mod error;
pub mod event_reader;
pub mod event_writer;
pub mod index;
pub mod ir_objects;
pub mod path_name;
pub mod script_dir;

pub use error::StoreError;
