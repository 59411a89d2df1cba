//! Why an attempt has no rows, or rows and no kernels: symptoms in what it left, each with its cause and a way out.
//!
//! The symptoms are those of people who were burnt by them. "Nothing measured" must never read as "the switch does
//! nothing", and an error deep in a compiler rarely names its cause. Each symptom is a function of the evidence alone;
//! all that apply are said, causes before consequences. Invariant: an attempt without rows is never left without a word.

use switchback_model::finding::Finding;
use switchback_model::marker::{CELL_TIMEOUT, FOREIGN_VENDOR_MODULE, PREFLIGHT_FAILED};

use crate::python::last_line;
use crate::suite::Evidence;

mod device;
mod harness;

/// What a symptom looks at.
struct Scene<'a> {
    /// The suite's name.
    suite: &'a str,
    /// The interpreter, if the suite has one.
    interpreter: Option<&'a str>,
    /// What the attempt left.
    evidence: &'a Evidence<'a>,
}

impl<'a> Scene<'a> {
    /// The first line, in errors and then in the log, that holds one of some texts.
    fn line(&self, texts: &[&str]) -> Option<&'a str> {
        let errors = self.evidence.errors.iter().flat_map(|error| error.lines());
        errors
            .chain(self.evidence.log.lines())
            .find(|line| texts.iter().any(|text| line.contains(text)))
            .map(str::trim)
    }

    /// The operator as a user may write it, for a hint.
    fn operator(&self) -> &'a str {
        self.evidence.operator
    }

    /// True if nothing was measured.
    fn no_rows(&self) -> bool {
        self.evidence.rows == 0
    }
}

/// All symptoms that apply, causes first. `interpreter` is the Python that ran, where the suite has one.
#[must_use]
pub fn explain(suite: &str, interpreter: Option<&str>, evidence: &Evidence<'_>) -> Vec<Finding> {
    let scene = Scene { suite, interpreter, evidence };
    let symptoms: [fn(&Scene<'_>) -> Option<Finding>; 20] = [
        device::disk_full,
        harness::wrong_interpreter,
        harness::file_missing,
        harness::function_missing,
        harness::unknown_option,
        harness::refused_dtype,
        harness::shapes_not_taken,
        device::foreign_vendor,
        harness::baseline_needed,
        harness::tuner_key,
        device::timer_fault,
        device::out_of_memory,
        device::too_large_for_the_card,
        device::context_lost,
        harness::crlf_script,
        timeout,
        harness::recording_refused,
        harness::nothing_collected,
        harness::all_skipped,
        died,
    ];
    let mut findings: Vec<Finding> = symptoms.iter().filter_map(|symptom| symptom(&scene)).collect();
    if evidence.rows > 0 && evidence.kernels == 0 {
        findings.push(not_compiled(&scene));
    }
    if evidence.rows == 0 && findings.is_empty() {
        findings.push(unexplained(&scene));
    }
    findings
}

fn timeout(scene: &Scene<'_>) -> Option<Finding> {
    if scene.evidence.status != 124 {
        return None;
    }
    let before = match scene.evidence.rows {
        0 => "before its first row".to_owned(),
        rows => format!("after {rows} rows"),
    };
    Some(Finding::failure(
        "cell ended in time",
        format!("{CELL_TIMEOUT}: ended at its deadline, {before}"),
        "a question of time, not of the switch: raise `--cell-timeout`, measure fewer dtypes or shapes, or look in \
         `run.log` for where it hung (tuning is the usual place)",
    ))
}

fn died(scene: &Scene<'_>) -> Option<Finding> {
    let (name, hint) = match scene.evidence.status {
        137 => (
            "SIGKILL",
            "often the host ran out of memory: the kernel's log says so; measure smaller shapes or fewer cells at once",
        ),
        139 => (
            "SIGSEGV",
            "a crash in native code: the last case before it is in `run.log`; does side A crash as well?",
        ),
        134 => (
            "SIGABRT",
            "native code gave up: the assertion is at the end of `run.log`; does side A give up as well?",
        ),
        136 => (
            "SIGFPE",
            "a crash in native code: the last case before it is in `run.log`; does side A crash as well?",
        ),
        _ => return None,
    };
    let line = last_line(scene.evidence.log).map(|line| format!(": {}", short(line))).unwrap_or_default();
    Some(Finding::failure("child lived", format!("died of {name}{line}"), hint))
}

fn not_compiled(scene: &Scene<'_>) -> Finding {
    Finding::warning(
        "cases launch compiled kernels",
        format!(
            "`{}` measured {} rows and launched no kernel of the compiler under test",
            scene.operator(),
            scene.evidence.rows
        ),
        "on this back end it runs a vendor's library or the framework's own kernel: the switch has nothing to act on, which \
         is neither \"no effect\" nor \"no kernel\"; caches are the cell's own, so a warm cache is not the reason",
    )
}

fn unexplained(scene: &Scene<'_>) -> Finding {
    let evidence = scene.evidence;
    let last = evidence.errors.last().and_then(|error| last_line(error)).or_else(|| last_line(evidence.log));
    if evidence.failed > 0 {
        let inputs = match evidence.failed {
            1 => "the one input failed".to_owned(),
            failed => format!("all {failed} inputs failed"),
        };
        let last =
            last.map_or_else(|| "no reason was given".to_owned(), |line| format!("last: `{}`", short(line)));
        return Finding::failure(
            "cell measured something",
            format!("{inputs}, {last}"),
            "no filter or option kept them away: the operator refuses these inputs or breaks on them; the attempt's `run.log` has all \
             that it said",
        );
    }
    let detail = match last {
        Some(line) => format!("no row, exit status {}; last words: `{}`", evidence.status, short(line)),
        None => format!("no row, exit status {}, and not a word of output", evidence.status),
    };
    // Inputs that were tried and failed are told above: here none was.
    let hint = if evidence.status == 0 {
        "it ended well without measuring: was an option, a filter or a skip too narrow? Is its output in another form?"
    } else {
        "the whole output is in the attempt's `run.log`"
    };
    Finding::failure("cell measured something", detail, hint)
}

/// A line cut for a message.
fn short(line: &str) -> String {
    const LIMIT: usize = 240;
    if line.chars().count() <= LIMIT {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(LIMIT).collect();
    cut.push('…');
    cut
}

/// The value of `key=` in a line of words.
fn word_value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key))
}
