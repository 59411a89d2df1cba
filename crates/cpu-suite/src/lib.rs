//! Operators compiled by Cranelift, for machines without a card.
//!
//! The suite is an embedded benchmark with a real compiler in it: `SWITCHBACK_CPU_<SETTING>` sets any of Cranelift's
//! settings, and a cell compiles an operator's kernels under one or both sides' settings, checks what they compute
//! and times them. It speaks the cell protocol (`docs/cell-protocol.md`) and knows nothing of campaigns; the engine
//! starts it as `switchback cpu-suite cell` like any other benchmark.
//!
//! Rooms: [`lang`] writes kernels, [`jit`] compiles them, [`operators`] holds them, [`operands`] their buffers,
//! [`reference`](mod@reference) what they should compute, [`cell`] runs an order.

pub mod cell;
pub mod dtype;
pub mod jit;
pub mod lang;
mod list;
mod measurement_path;
pub mod operands;
pub mod operators;
pub mod reference;

use std::path::Path;

use switchback_model::order::Order;
use switchback_model::switch::Variables;
use switchback_store::StoreError;
use switchback_store::attempt::AttemptDir;

pub use cell::{AttemptSink, Sink};
pub use list::{OfferedOperator, list};
pub use measurement_path::measurement_path;

/// Runs an order with this process's environment, prints the rows' table on standard output, and gives the exit
/// status: 0 if all cases were measured, 1 if one failed, 2 if an operator or a setting is none.
///
/// # Errors
/// An event or a text cannot be written.
pub fn run_cell(order: &Order, events: &mut impl Sink) -> Result<i32, StoreError> {
    cell::run(order, &environment(), events, &mut std::io::stdout().lock())
}

/// Runs the order in an attempt's folder (`$SWITCHBACK_RUN_DIR`) and writes its `events.jsonl`; the exit status is
/// that of [`run_cell`].
///
/// # Errors
/// The order cannot be read, or an event or a text not be written.
pub fn run_cell_in(run_dir: &Path) -> Result<i32, StoreError> {
    let attempt = AttemptDir::at(run_dir);
    let order = attempt.order()?;
    let mut sink = AttemptSink::create(&attempt.events_path(), &order.ir_dir, order.measure.keep_ir)?;
    run_cell(&order, &mut sink)
}

/// The variables of this process that name settings; a value that is no text can be none.
fn environment() -> Variables {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with(jit::PREFIX))
        .map(|(name, value)| (name, Some(value.to_string_lossy().into_owned())))
        .collect()
}
