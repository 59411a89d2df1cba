//! Code in memory, and the one place where it is called.
//!
//! All of the crate's `unsafe` is here. What makes it sound: kernels come from [`crate::lang`] bodies written for the
//! layouts of their operators (the operators' tests run every one of them on every shape against a reference), they
//! are compiled only for instructions that the host has ([`super::settings`]), and they take one argument under the
//! host's C convention.
#![allow(unsafe_code)]

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, default_libcall_names};

use crate::operands::Operands;

type Entry = unsafe extern "C" fn(words: *const u64);

unsafe extern "C" {
    fn tanhf(x: f32) -> f32;
    fn tanh(x: f64) -> f64;
}

/// A module in which a kernel may be defined, with the C library's functions bound.
pub(super) fn module(isa: OwnedTargetIsa) -> JITModule {
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    // Bound here and not looked up by name, so that a statically linked program finds them too.
    builder.symbol("tanhf", tanhf as *const u8);
    builder.symbol("tanh", tanh as *const u8);
    JITModule::new(builder)
}

/// A kernel's code; its memory is given back with it.
pub struct Native {
    module: Option<JITModule>,
    entry: Entry,
}

impl Native {
    /// The code of a finished kernel.
    pub(super) fn new(module: JITModule, kernel: FuncId) -> Self {
        let address = module.get_finalized_function(kernel);
        // SAFETY: the address is that of a finished function in executable memory of `module`, which lives as long as
        // `entry`; `crate::lang::Body::signature` is one pointer-sized argument under the host's convention.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        Self { module: Some(module), entry }
    }

    /// Runs the kernel on operands of the layout it was written for.
    #[inline]
    pub fn call(&self, operands: &mut Operands) {
        let words = operands.words().as_ptr();
        // SAFETY: `words` holds the addresses of buffers that live and are borrowed mutably for this call, in the
        // order and of the sizes that the operator's layout says; the kernel reads and writes within them.
        unsafe { (self.entry)(words) }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: `entry` is the only pointer into the module's memory and is not used again; `call` borrows
            // `self`, so no call is running.
            unsafe { module.free_memory() }
        }
    }
}
