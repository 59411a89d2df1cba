//! Tasks of the repository: setup, ci, gpu, bench.
fn main() {}
