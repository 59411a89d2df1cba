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

/// The kernel's boot id, without which monotonic times of two files cannot be compared; empty if it is not told.
#[must_use]
pub fn boot_id() -> &'static str {
    static BOOT_ID: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    BOOT_ID.get_or_init(|| {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    })
}
