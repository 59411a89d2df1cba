//! From a kernel's body to code that can be called: settings from variables, stages, native code.
//!
//! Nothing here reads the environment: settings come as values, so a process can hold both sides' code at once.

mod compile;
mod native;
mod settings;

pub use compile::{CompileError, Compiled, Stages, compile};
pub use native::Native;
pub use settings::{PREFIX, Settings, SettingsError, available};

/// Name and version of the compiler under test.
#[must_use]
pub fn compiler() -> String {
    format!("cranelift {}", cranelift_codegen::VERSION)
}
