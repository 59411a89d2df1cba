//! Symptoms of pytest, the interpreter and the benchmark's options.

use super::{Finding, PREFLIGHT_FAILED, Scene, short};

pub(super) fn wrong_interpreter(scene: &Scene<'_>) -> Option<Finding> {
    const MODULES: [&str; 6] = ["torch", "triton", "flag_gems", "pytest", "yaml", "switchback_probe"];
    let missing = scene.line(&["No module named "]).filter(|line| {
        let name = line.rsplit("No module named ").next().unwrap_or_default();
        let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
        MODULES.contains(&name.split('.').next().unwrap_or_default())
    });
    let conftest = || scene.line(&["ImportError while loading conftest"]).filter(|_| scene.no_rows());
    let not_started = (scene.evidence.status == 127).then_some("the interpreter could not be started");
    let line = missing.or_else(conftest).or(not_started.filter(|_| scene.interpreter.is_some()))?;
    let interpreter = scene.interpreter.unwrap_or("python");
    Some(Finding::failure(
        "interpreter imports the benchmark",
        format!(
            "{PREFLIGHT_FAILED} check=interpreter imports triton + flag_gems ({interpreter}): {}",
            short(line)
        ),
        format!(
            "is `{interpreter}` the interpreter you mean? `--python PATH` names another; triton usually comes from a \
             `PYTHONPATH` that points at a compiler's build"
        ),
    ))
}

pub(super) fn file_missing(scene: &Scene<'_>) -> Option<Finding> {
    // Without the file pytest does not load the benchmark's conftest either, and complains of its options instead.
    let line = scene
        .line(&["file or directory not found:"])
        .or_else(|| scene.line(&["unrecognized arguments: --level", "unrecognized arguments: --mode"]))?;
    Some(Finding::failure(
        "benchmark file exists",
        format!("{PREFLIGHT_FAILED} check=benchmark file exists: {}", short(line)),
        "an operator is written `OP:FILE`, as in `perf_sort:sort` for `test_perf_sort` in `test_sort.py`; written the wrong \
         way round the file is not found, and pytest then does not know `--level` either",
    ))
}

pub(super) fn function_missing(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line(&["ERROR: not found:"])?;
    Some(Finding::failure(
        "benchmark file holds the operator",
        short(line),
        format!("`switchback ops --suite {}` lists the operators of each file", scene.suite),
    ))
}

pub(super) fn unknown_option(scene: &Scene<'_>) -> Option<Finding> {
    if scene.evidence.status != 4 {
        return None;
    }
    let line = scene.line(&["unrecognized arguments:", "invalid choice:", "error: argument "])?;
    // The two that have a symptom of their own.
    if line.contains("--dtypes") || line.contains("--level") || line.contains("--mode") {
        return None;
    }
    Some(Finding::failure(
        "pytest takes the options",
        format!("pytest exit 4: {}", short(line)),
        "this checkout's `benchmark/conftest.py` does not define that option or value: is it of another version?",
    ))
}

pub(super) fn refused_dtype(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene
        .line(&["can't be supported by this op"])
        .or_else(|| scene.line(&["--dtypes: invalid choice"]))
        .or_else(|| scene.line(&["refuses ", "does not take "]).filter(|line| line.contains("takes ")))?;
    let takes = scene.evidence.takes_dtypes;
    let operator = scene.operator();
    let hint = match takes.first() {
        // The message says it all by itself.
        _ if line.contains("takes ") => None,
        Some(first) => Some(format!("it takes {}: write `{operator}::{first}`", takes.join(", "))),
        None => Some(format!(
            "give dtypes to the operator, `{operator}::DTYPE`, not one `--dtypes` to all; `switchback ops --suite {}` \
             shows what each takes",
            scene.suite
        )),
    };
    let finding = Finding::failure("operator takes the dtype", short(line), String::new());
    Some(Finding { hint, ..finding })
}

/// What the probe says of a shape file that it cannot carry out.
pub(super) fn shapes_not_taken(scene: &Scene<'_>) -> Option<Finding> {
    let ignored = scene.line(&["ignores the shape file"]);
    let (line, hint) = match ignored {
        Some(line) => (
            line,
            "nothing was measured: leave `--shape-file` out for this operator, or tell the probe how a shape becomes an \
             input of that class (`switchback_probe/shapes_registry.py`)",
        ),
        None => (
            scene.line(&["shape file `", "takes a shape of `"])?,
            "`--shape-file` names operators or classes, each with `shapes`, a list; docs/from-the-scripts.md has the fields \
             of each class",
        ),
    };
    Some(Finding::failure("shape file reaches the benchmark", short(line), hint))
}

pub(super) fn baseline_needed(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line(&["unsupported operand type(s) for *: 'NoneType' and 'float'"])?;
    Some(Finding::failure(
        "metrics can be computed",
        short(line),
        "the benchmark computes a bandwidth from the baseline's latency, which was not measured: `--with-baseline`, or \
         `--level core`, which adds none",
    ))
}

pub(super) fn tuner_key(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line(&["KeyError: 'BLOCK", "KeyError: (("])?;
    Some(Finding::failure(
        "tuner finds its own choice",
        short(line),
        "a fault of the tuner (the stored key differs from the one it asks for, or its list of configs was incomplete), not \
         of the switch: does side A fail alike?",
    ))
}

pub(super) fn crlf_script(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line(&["$'\\r': command not found", "^M: bad interpreter"])?;
    Some(Finding::failure(
        "script has line ends of this system",
        short(line),
        "CRLF line endings: save it with LF",
    ))
}

/// pytest says 5, the probe makes it 4 and tells of it: 5 is its word for a refused recording.
pub(super) fn nothing_collected(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.no_rows() || !matches!(scene.evidence.status, 4 | 5) {
        return None;
    }
    let line = scene.line(&["no test was selected", "no tests ran", "no tests collected", "deselected"])?;
    // What is not there, or refused, ends so too, and has a symptom of its own.
    if scene.line(&["not found:", "recording refused", "recording cannot be read"]).is_some() {
        return None;
    }
    Some(Finding::failure(
        "pytest collects the operator",
        format!("pytest exit 5: {}", short(line)),
        "the file was read and nothing in it was chosen: is there a filter in the checkout's `pytest.ini`, or a plugin that \
         deselects?",
    ))
}

pub(super) fn recording_refused(scene: &Scene<'_>) -> Option<Finding> {
    let told = scene.evidence.errors.iter().map(String::as_str).find(|error| error.starts_with("refused: "));
    let line = told.or_else(|| scene.line(&["recording refused", "recording cannot be read"]))?;
    Some(Finding::failure(
        "recording is of this machine",
        short(line),
        "a recording is replayed only on the back end, device class and compiler that it was made on: tune again here, in a \
         new campaign",
    ))
}

pub(super) fn all_skipped(scene: &Scene<'_>) -> Option<Finding> {
    if !scene.no_rows() || scene.evidence.status != 0 {
        return None;
    }
    let line = scene.line(&["SKIPPED [", " skipped"])?;
    Some(Finding::failure(
        "benchmark does not skip the operator",
        short(line),
        "the benchmark's own condition skips it on this machine; some are out of date (a test for `torch.cuda` on another \
         vendor's card): read the condition above the function",
    ))
}
