//! From a request to verdicts: state, schedule, executor
