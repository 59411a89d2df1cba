//! Everything that a cell's child started: found, ended, reaped.
//!
//! A process belongs to the cell if it descends from the supervisor, which as the subreaper inherits every orphan, and
//! is not in the supervisor's own session (its telemetry tools are); or if it carries this campaign and attempt in its
//! environment, wherever it was reparented to. The child leads a session of its own, so nothing of the cell can be
//! in the supervisor's. While the child is not waited for, its id names no other process.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use procfs::process::{Process, Stat, all_processes};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};

use crate::environment::{CAMPAIGN, RUN_DIR};

/// Time between the first two looks at the processes while a cell is being ended.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Time between later ones: a long grace must not disturb what is measured on other cards meanwhile.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// A child and all that descends from it.
#[derive(Debug)]
pub(crate) struct Group {
    child: i32,
    campaign: String,
    run_dir: PathBuf,
}

/// What it took to end a group.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Processes that were still there after the child had ended and got a KILL.
    pub leaked: u32,
    /// Processes that are still there.
    pub left: Vec<i32>,
}

/// Makes this process inherit the orphans among its descendants.
///
/// # Errors
/// The kernel refuses, which Linux never does.
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

impl Group {
    /// The group of a child that leads its own session.
    pub(crate) fn new(child: u32, campaign: &str, run_dir: &Path) -> Self {
        Self { child: child.cast_signed(), campaign: campaign.into(), run_dir: run_dir.into() }
    }

    /// Ends the group after the child was interrupted: TERM, `grace`, KILL.
    ///
    /// `kill_now` is asked again and again; once it says yes the grace is over.
    pub(crate) fn terminate(
        &self,
        grace: Duration,
        kill_time: Duration,
        kill_now: impl FnMut() -> bool,
    ) -> Ended {
        let mut told = BTreeSet::new();
        self.wait_until_empty(grace, kill_now, |pid| {
            if told.insert(pid) {
                signal(pid, Signal::TERM);
            }
        });
        self.kill(kill_time)
    }

    /// Ends what a child that ended by itself left behind: `leak_time`, then KILL.
    pub(crate) fn sweep(
        &self,
        leak_time: Duration,
        kill_time: Duration,
        kill_now: impl FnMut() -> bool,
    ) -> Ended {
        self.wait_until_empty(leak_time, kill_now, |_| {});
        self.kill(kill_time)
    }

    fn wait_until_empty(
        &self,
        patience: Duration,
        mut cut_short: impl FnMut() -> bool,
        mut meanwhile: impl FnMut(i32),
    ) {
        let deadline = Instant::now() + patience;
        let mut pauses = Pauses::default();
        loop {
            let seen = self.look();
            if seen.members.is_empty() {
                return;
            }
            seen.members.iter().copied().for_each(&mut meanwhile);
            if Instant::now() >= deadline || cut_short() {
                return;
            }
            pauses.next(deadline);
        }
    }

    /// Kills until none is left, since a process that is being killed may have forked.
    fn kill(&self, patience: Duration) -> Ended {
        let deadline = Instant::now() + patience;
        let mut pauses = Pauses::default();
        let mut killed = BTreeSet::new();
        let mut leaked = 0;
        loop {
            let seen = self.look();
            for &pid in &seen.members {
                signal(pid, Signal::KILL);
                if killed.insert(pid) && seen.child_ended {
                    leaked += 1;
                }
            }
            if seen.members.is_empty() || Instant::now() >= deadline {
                return Ended { leaked, left: seen.members };
            }
            pauses.next(deadline);
        }
    }

    /// Looks at all processes; reaps orphans that have ended.
    fn look(&self) -> Seen {
        let own = getpid().as_raw_nonzero().get();
        let stats: BTreeMap<i32, Stat> = all_processes()
            .into_iter()
            .flatten()
            .filter_map(|process| Some((process.as_ref().ok()?.pid(), process.ok()?.stat().ok()?)))
            .collect();
        let own_session = stats.get(&own).map(|stat| stat.session);
        let mut seen = Seen { child_ended: true, members: Vec::new() };
        for (&pid, stat) in &stats {
            let ended = has_ended(stat);
            if pid == self.child && !ended {
                seen.child_ended = false;
            }
            let is_member =
                pid != own && Some(stat.session) != own_session && self.descends(pid, own, &stats);
            if is_member && !ended {
                seen.members.push(pid);
            } else if is_member && stat.ppid == own && pid != self.child {
                reap(pid);
            }
        }
        if seen.members.is_empty() {
            // Reading every environment costs more, so it is left for the end.
            seen.members = stats
                .iter()
                .filter(|&(&pid, stat)| pid != own && !has_ended(stat) && self.is_marked(pid))
                .map(|(&pid, _)| pid)
                .collect();
        }
        seen
    }

    /// True for a process below `ancestor`, or in the child's session.
    fn descends(&self, pid: i32, ancestor: i32, stats: &BTreeMap<i32, Stat>) -> bool {
        let mut at = pid;
        // The chain of parents is read while it changes; a bound keeps a loop in it from being followed for ever.
        for _ in 0..stats.len() {
            let Some(stat) = stats.get(&at) else { return false };
            if stat.session == self.child || stat.ppid == ancestor {
                return true;
            }
            at = stat.ppid;
        }
        false
    }

    /// True for a process that carries this campaign and attempt in its environment.
    fn is_marked(&self, pid: i32) -> bool {
        let Ok(environment) = Process::new(pid).and_then(|process| process.environ()) else { return false };
        let holds = |name: &str, value: &std::ffi::OsStr| {
            environment.get(std::ffi::OsStr::new(name)).is_some_and(|held| held == value)
        };
        holds(CAMPAIGN, self.campaign.as_ref()) && holds(RUN_DIR, self.run_dir.as_os_str())
    }
}

/// Pauses between looks, short ones first, none beyond a deadline.
struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

impl Pauses {
    fn next(&mut self, deadline: Instant) {
        std::thread::sleep(self.0.min(deadline.saturating_duration_since(Instant::now())));
        self.0 = (self.0 * 3 / 2).min(LONGEST_PAUSE);
    }
}

struct Seen {
    child_ended: bool,
    members: Vec<i32>,
}

/// True for a zombie. One whose first thread alone has ended looks like one and still runs.
fn has_ended(stat: &Stat) -> bool {
    matches!(stat.state, 'Z' | 'X' | 'x') && stat.num_threads <= 1
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may have ended meanwhile, or belong to another user; the next look tells.
        let _ = kill_process(pid, signal);
    }
}

fn reap(pid: i32) {
    let _ = waitpid(Pid::from_raw(pid), WaitOptions::NOHANG);
}
