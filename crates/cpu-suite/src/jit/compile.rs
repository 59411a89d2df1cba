//! Compiles a kernel's body and keeps the text of every stage.
//!
//! Each kernel gets a module, and so pages, of its own: it starts at the beginning of a page whatever else was
//! compiled, and no other kernel shares its cache lines. Keeps one invariant: equal bodies under equal settings give
//! equal texts in every process.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use cranelift_codegen::Context;
use cranelift_codegen::isa::CallConv;
use cranelift_module::{Linkage, Module, ModuleError};

use super::native::{self, Native};
use super::settings::Settings;
use crate::lang::{Body, LibraryFunction};

/// The texts that a compilation leaves, front end first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages {
    /// Cranelift IR as the operator wrote it.
    pub clif: String,
    /// Cranelift IR after optimisation.
    pub clif_opt: String,
    /// Machine instructions with registers assigned.
    pub vcode: String,
    /// The code before relocation, in hexadecimal, 16 bytes a line, then its relocations, one a line.
    pub bytes: String,
}

impl Stages {
    /// Names (as `events.jsonl` has them) and texts, front end first.
    #[must_use]
    pub fn named(&self) -> [(&'static str, &str); 4] {
        [("clif", &self.clif), ("clif_opt", &self.clif_opt), ("vcode", &self.vcode), ("bytes", &self.bytes)]
    }
}

/// A compiled kernel.
pub struct Compiled {
    /// The code.
    pub native: Native,
    /// The texts.
    pub stages: Stages,
    /// Time to compile, texts aside where that can be told, milliseconds.
    pub compile_ms: f64,
}

/// Why a kernel could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The compiler says no.
    #[error("`{kernel}` does not compile")]
    Refused {
        /// The kernel.
        kernel: String,
        /// What it says.
        #[source]
        cause: Box<ModuleError>,
    },
    /// The compiler gave up in a panic.
    #[error("the compiler panicked over `{kernel}`: {message}")]
    Panicked {
        /// The kernel.
        kernel: String,
        /// Its last words.
        message: String,
    },
}

/// Compiles a kernel whose body is written by `write`.
///
/// # Errors
/// The compiler refuses the function, or panics, under these settings.
pub fn compile(
    kernel: &str,
    settings: &Settings,
    write: impl Fn(CallConv) -> Body,
) -> Result<Compiled, CompileError> {
    // Some settings meet assertions deep inside the compiler; they end the case, not the cell.
    catch_unwind(AssertUnwindSafe(|| compile_or_panic(settings, write)))
        .unwrap_or_else(|panic| {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            Err(CompileFault::Panic(message.to_owned()))
        })
        .map_err(|fault| match fault {
            CompileFault::Module(cause) => CompileError::Refused { kernel: kernel.into(), cause },
            CompileFault::Panic(message) => CompileError::Panicked { kernel: kernel.into(), message },
        })
}

enum CompileFault {
    Module(Box<ModuleError>),
    Panic(String),
}

impl From<ModuleError> for CompileFault {
    fn from(error: ModuleError) -> Self {
        Self::Module(Box::new(error))
    }
}

fn compile_or_panic(settings: &Settings, write: impl Fn(CallConv) -> Body) -> Result<Compiled, CompileFault> {
    let isa = settings.isa();
    let call_conv = isa.default_call_conv();
    let mut module = native::module(isa);
    let kernel = module.declare_function("kernel", Linkage::Export, &Body::signature(call_conv))?;
    for function in LibraryFunction::ALL {
        module.declare_function(function.symbol(), Linkage::Import, &function.signature(call_conv))?;
    }
    let mut context = Context::for_function(write(call_conv).finish());
    context.set_disasm(true);
    let clif = context.func.display().to_string();
    let start = Instant::now();
    module.define_function(kernel, &mut context)?;
    let compile_ms = start.elapsed().as_secs_f64() * 1e3;
    let clif_opt = context.func.display().to_string();
    let code = context.compiled_code().expect("a defined function has been compiled");
    let stages =
        Stages { clif, clif_opt, vcode: code.vcode.clone().unwrap_or_default(), bytes: bytes_text(code) };
    module.finalize_definitions()?;
    Ok(Compiled { native: Native::new(module, kernel), stages, compile_ms })
}

fn bytes_text(code: &cranelift_codegen::CompiledCode) -> String {
    let mut text = String::new();
    for line in code.code_buffer().chunks(16) {
        for byte in line {
            write!(text, "{byte:02x}").expect("a string takes all text");
        }
        text.push('\n');
    }
    for relocation in code.buffer.relocs() {
        writeln!(text, "{:08x} {:?} {:?}", relocation.offset, relocation.kind, relocation.target)
            .expect("a string takes all text");
    }
    text
}
