//! The only code that knows the disk
