//! One attempt of one cell, as a process of its own
