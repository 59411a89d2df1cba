//! The switchback command
fn main() {}
