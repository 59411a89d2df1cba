//! The course of one attempt: lock, start, wait, end, count, write.
//!
//! Keeps two invariants: `outcome.json` is written by nobody else and last, when nothing of the cell runs any more; and
//! the card's lock is held from before the child starts until then.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use procfs::process::Process;
use procfs::{ProcError, ProcResult};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use switchback_device::Backend;
use switchback_device::occupancy::{ComputeProcess, Hindrance, compute_processes, hindrance};
use switchback_model::order::{Order, Turn};
use switchback_model::outcome::{DeviceFault, Ending, Outcome};
use switchback_model::telemetry::TelemetrySummary;
use switchback_store::attempt::AttemptDir;
use switchback_store::event_reader::EventLog;
use switchback_store::event_writer::monotonic_s;
use switchback_store::{StoreError, atomic};

use crate::card_lock::{self, CardLock, Holder};
use crate::coordinator::{self, Message};
use crate::death::Death;
use crate::error::CellError;
use crate::group::{Ended, Group, become_subreaper};
use crate::run_log::{LogSummary, Pump, RunLog};
use crate::settings::Settings;
use crate::telemetry::{self, Telemetry, chain};
use crate::{environment, fold, host, spawn};

/// The supervisor's own status when an attempt is left without an outcome (the environment's exit code).
const NO_OUTCOME: u8 = 3;

/// Bytes at the end of `run.log` that are looked through for what became of the card.
const LAST_WORDS: u64 = 16 * 1024;

/// Time for output and telemetry that are on their way when the last process has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// Supervises the attempt that an order describes, with the default [`Settings`].
///
/// Returns the status to exit with: that of the outcome as a shell would report it, 3 if there is no outcome. Must be
/// called from the main thread of a process that does nothing else: it becomes the subreaper, handles signals and
/// reads standard input where that is a pipe.
#[must_use]
pub fn supervise(order_path: &Path) -> u8 {
    supervise_with(order_path, &Settings::from_environment())
}

/// As [`supervise`], with other times and sizes.
#[must_use]
pub fn supervise_with(order_path: &Path, settings: &Settings) -> u8 {
    match run(order_path, settings) {
        Ok(outcome) => u8::try_from(outcome.shell_status()).unwrap_or(u8::MAX),
        Err(error) => {
            // The coordinator may have closed its end; there is nobody else to tell.
            let mut stderr = std::io::stderr().lock();
            let _ = writeln!(stderr, "error: {}", chain(&error));
            if let Some(hint) = error.hint() {
                let _ = writeln!(stderr, "hint: {hint}");
            }
            NO_OUTCOME
        }
    }
}

/// An attempt under way.
struct Attempt<'a> {
    dir: AttemptDir,
    order: Order,
    settings: &'a Settings,
    started_utc: String,
    started_s: f64,
}

/// How a child ended, before it is put into an outcome's words.
struct Ran {
    cause: Cause,
    status: Option<ExitStatus>,
    foreign: Vec<ComputeProcess>,
    group: Ended,
    log: LogSummary,
    telemetry: Option<TelemetrySummary>,
}

/// Why a child was not started.
struct NotStarted {
    reason: String,
    fault: Option<DeviceFault>,
}

/// Why a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// By itself.
    Itself,
    /// At the deadline.
    Deadline,
    /// Somebody asked.
    Asked(&'static str),
}

fn run(order_path: &Path, settings: &Settings) -> Result<Outcome, CellError> {
    let (sender, messages) = mpsc::channel();
    // Without `/proc` nothing that the child leaves behind would be found.
    Process::myself()
        .and_then(|process| process.stat())
        .map_err(std::io::Error::other)
        .map_err(CellError::system("read `/proc`"))?;
    become_subreaper().map_err(CellError::system("become the subreaper"))?;
    coordinator::watch_signals(sender.clone()).map_err(CellError::system("handle signals"))?;

    let order: Order = atomic::read_json(order_path)?;
    let dir = own_folder(order_path, &order)?;
    // Making the log claims the attempt: a second supervisor of the same order finds it.
    let log_path = dir.log_path();
    let log =
        RunLog::create(&log_path, settings.log_head_bytes, settings.log_tail_bytes).map_err(|source| {
            if source.kind() == std::io::ErrorKind::AlreadyExists {
                CellError::StartedBefore { attempt_dir: dir.path().into(), file: "run.log" }
            } else {
                StoreError::Io { action: "create", path: log_path.clone(), source }.into()
            }
        })?;
    coordinator::watch_pipe(sender.clone());

    let attempt = Attempt { dir, order, settings, started_utc: host::utc(), started_s: monotonic_s() };
    let order = &attempt.order;
    let holder = Holder {
        who: format!(
            "process {} on {}, campaign `{}`, since {}",
            std::process::id(),
            host::name(),
            order.campaign,
            attempt.started_utc
        ),
        // A copy of the campaign has its id as well, and another folder. Escaped, for it is compared as one line.
        shared_by: order.turn.map(|_| format!("campaign `{}`, {:?}", order.campaign, order.ir_dir)),
    };
    match CardLock::take(&settings.lock_dir, &attempt.order.card, &holder) {
        Err(error) => attempt.finish(Err(NotStarted { reason: error.to_string(), fault: None })),
        Ok(held_until_the_outcome_is_written) => {
            let ran =
                attempt.run_child(log, &messages, sender, held_until_the_outcome_is_written.in_company)?;
            attempt.finish(ran)
        }
    }
}

/// The folder of the order's file, if the order is meant for it.
fn own_folder(order_path: &Path, order: &Order) -> Result<AttemptDir, CellError> {
    let real = |path: &Path| {
        path.canonicalize().map_err(|source| StoreError::Io { action: "find", path: path.into(), source })
    };
    let order_path = real(order_path)?;
    let folder = order_path.parent().unwrap_or(Path::new("/"));
    if real(&order.attempt_dir)? != folder {
        return Err(CellError::Elsewhere { order: order_path, attempt_dir: order.attempt_dir.clone() });
    }
    Ok(AttemptDir::at(&order.attempt_dir))
}

impl Attempt<'_> {
    /// Runs the child and ends all that it started; in words, why it could not be started.
    fn run_child(
        &self,
        log: RunLog,
        messages: &Receiver<Message>,
        sender: Sender<Message>,
        in_company: bool,
    ) -> Result<Result<Ran, NotStarted>, CellError> {
        let run_dir = self.dir.path();
        match hindrance(&self.order.card) {
            None => {}
            // It is the campaign's own cells that have it: they will be gone, or share it, when this one's turn comes.
            Some(Hindrance::Memory(_)) if in_company => {}
            Some(Hindrance::Lost(reason)) => {
                return Ok(Err(NotStarted { reason, fault: Some(DeviceFault::Lost) }));
            }
            Some(Hindrance::Memory(reason)) => {
                let holders = foreign(&self.others(in_company));
                let reason = if holders.is_empty() {
                    reason
                } else {
                    format!("{reason}; process {} computes there", holders.join(", "))
                };
                return Ok(Err(NotStarted { reason, fault: None }));
            }
        }
        // A tool that fails here fails for the telemetry as well, which says so.
        let foreign = self.others(in_company);
        let turn_file =
            match self.order.turn.map(|_| card_lock::turn_file(&self.settings.lock_dir, &self.order.card)) {
                None => None,
                Some(Ok(path)) => Some(path),
                Some(Err(error)) => return Ok(Err(NotStarted { reason: error.to_string(), fault: None })),
            };
        let variables =
            environment::of_child(std::env::vars_os(), &self.order, run_dir, turn_file.as_deref());
        let (mut child, output) = match spawn::spawn(&self.order.command, variables) {
            Ok(started) => started,
            Err(error) => {
                let program = self.order.command.argv.first().map_or("", String::as_str);
                let reason = format!("`{program}` could not be started: {error}");
                return Ok(Err(NotStarted { reason, fault: None }));
            }
        };
        let pump = Pump::start(output, log);
        let telemetry = Telemetry::start(&self.dir, &self.order.card, self.settings.telemetry_interval);
        tell_when_ended(child.id(), sender);

        let (cause, at_once) = self.wait(messages);
        let group = Group::new(child.id(), &self.order.campaign, run_dir);
        let kill_now = || at_once || messages.try_iter().any(|message| matches!(message, Message::Kill(_)));
        let Settings { grace, leak_time, kill_time, .. } = *self.settings;
        let ended = match cause {
            Cause::Itself => group.sweep(leak_time, kill_time, kill_now),
            Cause::Deadline | Cause::Asked(_) => group.terminate(grace, kill_time, kill_now),
        };
        let telemetry = telemetry.map(|telemetry| telemetry.stop(PATIENCE));
        let log = pump.close(PATIENCE);
        // A child that cannot be killed is not waited for.
        let status = child.try_wait().map_err(CellError::system("wait for the child"))?;
        Ok(Ok(Ran { cause, status, foreign, group: ended, log, telemetry }))
    }

    /// Counts events and writes identity and outcome.
    fn finish(&self, ran: Result<Ran, NotStarted>) -> Result<Outcome, CellError> {
        let events = self.dir.events()?;
        let mut outcome = Outcome {
            ending: Ending::NotStarted,
            exit_status: None,
            signal: None,
            reason: String::new(),
            started_utc: self.started_utc.clone(),
            started_s: self.started_s,
            elapsed_s: monotonic_s() - self.started_s,
            turn_s: None,
            shared: self.order.turn == Some(Turn::Shared),
            boot_id: host::boot_id().into(),
            card: self.order.card.clone(),
            host: host::name(),
            counts: fold::counts(&self.order, &events),
            leaked_processes: 0,
            device_fault: None,
            foreign: Vec::new(),
            telemetry: None,
        };
        outcome.turn_s = self
            .order
            .turn
            .map(|_| fold::turn(&events).map_or(outcome.elapsed_s, |turn_s| turn_s - self.started_s));
        let mut own = BTreeMap::from([
            ("host".to_owned(), host::name()),
            ("kernel".to_owned(), host::kernel()),
            ("boot_id".to_owned(), host::boot_id().to_owned()),
        ]);
        let mut reasons = Vec::new();
        match ran {
            Err(not_started) => {
                outcome.device_fault = not_started.fault;
                reasons.push(not_started.reason);
            }
            Ok(ran) => {
                if !ran.foreign.is_empty() {
                    outcome.foreign = foreign(&ran.foreign);
                    let foreign = outcome.foreign.join(", ");
                    reasons.push(format!("others computed on the card: process {foreign}"));
                    own.insert("foreign_processes".into(), foreign);
                }
                outcome.leaked_processes = ran.group.leaked;
                outcome.telemetry = ran
                    .telemetry
                    .clone()
                    .map(|summary| telemetry::add_up(summary, &self.dir, &fold::measured_spans(&events)));
                reasons.extend(describe(&mut outcome, &ran, &self.order));
            }
        }
        if outcome.ending != Ending::NotStarted {
            outcome.device_fault = self.device_fault(&outcome, &events);
        }
        reasons.extend(fold::torn(&events));
        outcome.reason = reasons.join("; ");

        self.dir.write_identity(&fold::identity(&self.order, &events, own))?;
        self.dir.write_outcome(&outcome)?;
        Ok(outcome)
    }
}

impl Attempt<'_> {
    /// Processes on the card that are none of this campaign's.
    fn others(&self, in_company: bool) -> Vec<ComputeProcess> {
        let processes = compute_processes(&self.order.card).unwrap_or_default();
        let is_other = |it: &ComputeProcess| {
            let environment = Process::new(it.pid.cast_signed()).and_then(|it| it.environ());
            is_other(environment, &self.order.campaign, in_company)
        };
        processes.into_iter().filter(is_other).collect()
    }

    /// Waits for the first reason to end the group; true if it is to be killed at once.
    ///
    /// Where the cell has a turn its time runs from there: those that have the card before it have deadlines of their own. A
    /// child that does not come as far as to wait has as much time as one without a turn.
    fn wait(&self, messages: &Receiver<Message>) -> (Cause, bool) {
        let timeout = Duration::try_from_secs_f64(self.order.timeout_s).ok();
        let mut deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut had_its_turn = self.order.turn.is_none();
        loop {
            let message = match deadline {
                Some(deadline) => messages.recv_timeout(deadline.saturating_duration_since(Instant::now())),
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                // Without a sender nothing will ever be told: the signals' thread holds one as long as this process lives.
                Ok(Message::ChildEnded) | Err(RecvTimeoutError::Disconnected) => {
                    return (Cause::Itself, false);
                }
                Ok(Message::Stop(why)) => return (Cause::Asked(why), false),
                Ok(Message::Kill(why)) => return (Cause::Asked(why), true),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let left_s = match self.dir.events() {
                Ok(events) if !had_its_turn => match fold::turn(&events) {
                    Some(turn_s) => {
                        had_its_turn = true;
                        (turn_s + self.order.timeout_s - monotonic_s()).clamp(0.0, self.order.timeout_s)
                    }
                    None if fold::waits_for_its_turn(&events) => self.order.timeout_s,
                    None => 0.0,
                },
                _ => 0.0,
            };
            if left_s <= 0.0 {
                return (Cause::Deadline, false);
            }
            deadline = Instant::now().checked_add(Duration::from_secs_f64(left_s));
        }
    }

    /// What became of the card, by what the child said last; a cell that came to its end with rows says nothing of it.
    fn device_fault(&self, outcome: &Outcome, events: &EventLog) -> Option<DeviceFault> {
        let has_rows = outcome.counts.success > 0;
        let backend = Backend::named(&self.order.card.backend)?;
        if matches!(outcome.ending, Ending::Interrupted) || has_rows && outcome.ending == Ending::Completed {
            return None;
        }
        let last = self.dir.log_tail(LAST_WORDS).unwrap_or_default();
        let said = fold::errors(events).into_iter().chain([last.as_str()]);
        let mut faults: Vec<DeviceFault> = said.filter_map(|text| backend.classify_death(text)).collect();
        // The driver knows it before any text does.
        let lost = outcome.telemetry.as_ref().is_some_and(|telemetry| telemetry.lost);
        faults.extend(lost.then_some(DeviceFault::Lost));
        // Rows that were measured before a context was poisoned are rows; of a card that was lost nothing is certain.
        [DeviceFault::Lost, DeviceFault::Poisoned]
            .into_iter()
            .find(|fault| faults.contains(fault) && !(has_rows && *fault == DeviceFault::Poisoned))
    }
}

/// True if a process on the card is none of the campaign's, by what can be seen of its environment.
fn is_other(environment: ProcResult<HashMap<OsString, OsString>>, campaign: &str, in_company: bool) -> bool {
    match environment {
        Ok(environment) if !environment.is_empty() => environment
            .get(OsStr::new(environment::CAMPAIGN))
            .is_none_or(|id| id.as_encoded_bytes() != campaign.as_bytes()),
        // Another user's: the campaign's are all of one.
        Err(ProcError::PermissionDenied(_)) => true,
        // Within a container the driver's ids name nobody here, and of one that is ending the environment is gone before
        // the driver has let go of it: in company it is as likely one of ours.
        Ok(_) | Err(_) => !in_company,
    }
}

/// Processes as they are told.
fn foreign(processes: &[ComputeProcess]) -> Vec<String> {
    processes.iter().map(|it| format!("{} `{}`", it.pid, it.name)).collect()
}

/// Sends [`Message::ChildEnded`] once the child is a zombie, and leaves it one.
fn tell_when_ended(child: u32, sender: Sender<Message>) {
    thread::spawn(move || {
        let Some(pid) = Pid::from_raw(child.cast_signed()) else { return };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
        let _ = sender.send(Message::ChildEnded);
    });
}

/// Fills in how the child ended, and returns what is to be said about it.
fn describe(outcome: &mut Outcome, ran: &Ran, order: &Order) -> Vec<String> {
    let mut reasons = Vec::new();
    match ran.cause {
        Cause::Deadline => {
            outcome.ending = Ending::Timeout;
            reasons.push(format!("ended at the deadline of {} s", order.timeout_s));
        }
        Cause::Asked(why) => {
            outcome.ending = Ending::Interrupted;
            reasons.push(why.to_owned());
        }
        Cause::Itself => {
            let status = ran.status.map_or(Death::Status(-1), Death::of);
            (outcome.ending, outcome.exit_status, outcome.signal) = match status {
                Death::Status(0) => (Ending::Completed, Some(0), None),
                Death::Status(status) => (Ending::Failed, Some(status), None),
                Death::Signal { signal, .. } => (Ending::Crashed, None, Some(signal)),
            };
            reasons.extend(status.words());
        }
    }
    if outcome.ending != Ending::Completed && !ran.log.last_line.is_empty() {
        reasons.push(format!("the last line of `run.log` is `{}`", ran.log.last_line));
    }
    if let Some(error) = &ran.log.error {
        reasons.push(format!("`run.log` is not whole: {error}"));
    } else if ran.log.dropped_bytes > 0 {
        reasons.push(format!("`run.log` leaves out {} bytes of a flood of output", ran.log.dropped_bytes));
    }
    if !ran.group.left.is_empty() {
        let left: Vec<String> = ran.group.left.iter().map(ToString::to_string).collect();
        reasons.push(format!("processes {} could not be killed", left.join(", ")));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_ending_is_not_taken_for_another_s_and_another_user_s_is() {
        let of = |id: &str| Ok(HashMap::from([(OsString::from(environment::CAMPAIGN), OsString::from(id))]));
        for in_company in [false, true] {
            assert!(!is_other(of("one"), "one", in_company));
            assert!(is_other(of("two"), "one", in_company));
            let without = HashMap::from([("PATH".into(), "/bin".into())]);
            assert!(is_other(Ok(without), "one", in_company));
            assert!(is_other(Err(ProcError::PermissionDenied(None)), "one", in_company));
            // Alone on the card there is nobody of ours that it could be.
            assert_eq!(is_other(Ok(HashMap::new()), "one", in_company), !in_company);
            assert_eq!(is_other(Err(ProcError::NotFound(None)), "one", in_company), !in_company);
        }
    }
}
