//! Processes of a campaign that its coordinator left behind when it was killed.
//!
//! Each carries the campaign's id in its environment. They hold the card, so a campaign that goes on ends them first.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A process that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Its id.
    pub pid: i32,
    /// Its command line.
    pub command: String,
}

/// Ends all processes that carry the campaign's id: TERM, `grace`, KILL. Returns those that were found.
///
/// Processes whose environment this user may not read are other users' and not looked at.
#[must_use]
pub fn end_orphans(campaign: &str, grace: Duration) -> Vec<Orphan> {
    let found = find(campaign);
    signal(&found, Signal::TERM);
    let start = Instant::now();
    while !find(campaign).is_empty() && start.elapsed() < grace {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = find(campaign);
    signal(&left, Signal::KILL);
    let start = Instant::now();
    while !find(campaign).is_empty() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
    found
}

fn find(campaign: &str) -> Vec<Orphan> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let Ok(processes) = procfs::process::all_processes() else { return Vec::new() };
    processes
        .flatten()
        .filter(|process| process.pid != own)
        .filter(|process| {
            process.environ().is_ok_and(|environment| {
                environment
                    .get(std::ffi::OsStr::new("SWITCHBACK_CAMPAIGN"))
                    .is_some_and(|value| value.as_encoded_bytes() == campaign.as_bytes())
            })
        })
        .filter(|process| process.stat().is_ok_and(|stat| stat.state != 'Z'))
        .map(|process| Orphan { pid: process.pid, command: process.cmdline().unwrap_or_default().join(" ") })
        .collect()
}

fn signal(orphans: &[Orphan], signal: Signal) {
    for orphan in orphans {
        if let Some(pid) = Pid::from_raw(orphan.pid) {
            let _ = kill_process(pid, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processes_of_the_campaign_are_ended() {
        let spawn = |campaign: &str| {
            std::process::Command::new("sleep")
                .arg("60")
                .env("SWITCHBACK_CAMPAIGN", campaign)
                .spawn()
                .unwrap()
        };
        let (mut mine, mut other) = (spawn("orphans-test-one"), spawn("orphans-test-two"));
        // `spawn` returns while the kernel still sets up the child's new memory, its environment among it.
        let start = Instant::now();
        while find("orphans-test-one").is_empty() && start.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        let found = end_orphans("orphans-test-one", Duration::from_secs(5));
        assert_eq!(
            found.iter().map(|orphan| orphan.pid).collect::<Vec<_>>(),
            [i32::try_from(mine.id()).unwrap()]
        );
        assert!(found[0].command.contains("sleep 60"));
        assert!(!mine.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
