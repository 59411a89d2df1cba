//! The command as its users have it: the real program, its exit codes, what it prints and what it leaves on disk.
//!
//! A file a subject. What must be known beforehand (times, code, when a cell stops) comes from `speaker.sh`, a benchmark
//! of the suite `command`; what must be real (a compiler, a clock) from the cpu suite. Each test has a folder of its own,
//! with locks of its own, so tests neither wait for each other nor for a campaign on the same machine.

mod ab;
mod campaign;
mod checklist;
mod command_suite;
mod compare;
mod damage;
mod defaults;
mod devices;
mod faults;
mod flaggems;
mod from_the_scripts;
mod kills;
mod layers;
mod mini;
mod old_folders;
mod pairing;
mod pipes;
mod refusals;
mod reports;
mod statistics;
mod support;
mod telemetry;
mod told;
