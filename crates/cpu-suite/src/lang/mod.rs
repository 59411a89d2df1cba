//! The loop-nest language: an operator's kernel as a few lines of Rust that write Cranelift IR.
//!
//! A [`Body`] holds the function under construction; a [`Value`] is one of its values with `+ - * /` on it. One
//! body serves every dtype: `load` and `store` move one element of the dtype, vector or scalar, and constants take
//! the type of what they meet. The text that comes out must not depend on the process, so buffers and sizes are
//! arguments and no address is ever a constant. It leaves compiling to [`crate::jit`] and gives the optimiser work on
//! purpose: arguments are loaded anew and constants written anew wherever they are used.

mod body;
mod math;
mod value;

pub use body::{Body, LibraryFunction};
pub use value::Value;
