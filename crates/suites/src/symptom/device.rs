//! Symptoms of the card, the vendor's stack and the machine.

use super::{FOREIGN_VENDOR_MODULE, Finding, Scene, short, word_value};

pub(super) fn foreign_vendor(scene: &Scene<'_>) -> Option<Finding> {
    let marker = scene.line(&[FOREIGN_VENDOR_MODULE]);
    let foreign = if scene.evidence.foreign_vendors.is_empty() {
        marker.and_then(|line| word_value(line, "loaded=")).map(str::to_owned)
    } else {
        Some(scene.evidence.foreign_vendors.join(","))
    };
    let missing = scene.line(&["dynamic_func() missing"]);
    let (detail, loaded) = match (missing, foreign) {
        (Some(line), Some(vendor)) => (short(line), format!("`{vendor}`'s kernels were loaded on this card")),
        (Some(line), None) => (short(line), "it often is another vendor's kernel".to_owned()),
        // A foreign module alone need not be a fault: some are shared. Without rows it is the first place to look.
        (None, Some(vendor)) if scene.no_rows() => (
            format!("{FOREIGN_VENDOR_MODULE} loaded={vendor}"),
            format!("`{vendor}`'s implementation was loaded"),
        ),
        (None, _) => return None,
    };
    Some(Finding::failure(
        "benchmark imports this vendor's kernels",
        detail,
        format!(
            "{loaded}: an `import` that succeeds only proves that the file is there. Does the benchmark ask for \
             `vendor_name` before it imports?"
        ),
    ))
}

pub(super) fn disk_full(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line(&["[Errno 28]", "No space left on device", "database or disk is full"])?;
    Some(Finding::failure(
        "there is room on the disk",
        short(line),
        "caches and IR go into the campaign's folder: make room there (and in `TMPDIR`), then `switchback resume`",
    ))
}

pub(super) fn out_of_memory(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line(&[
        "out of memory",
        "OutOfMemoryError",
        "hipErrorOutOfMemory",
        "cudaErrorMemoryAllocation",
        "Cannot allocate memory",
    ])?;
    Some(Finding::failure(
        "card has the memory",
        short(line),
        "is another process on the card? Else measure smaller shapes: `--level core`, `--shape-file`",
    ))
}

pub(super) fn too_large_for_the_card(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line(&["OutOfResources", "out of resource:"])?;
    Some(Finding::failure(
        "config fits the card",
        short(line),
        "a config asks for more shared memory or registers than the card has; a recording of a larger card, or a switch that \
         makes kernels larger, does that",
    ))
}

pub(super) fn timer_fault(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line(&["float division by zero", "ZeroDivisionError"])?;
    Some(Finding::failure(
        "timer measures something",
        short(line),
        "the timer read 0, a fault of the timer and not of the kernel: try `--timer direct`, or `--mode operator` (wall clock)",
    ))
}

pub(super) fn context_lost(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line(&[
        "illegal memory access",
        "device-side assert",
        "misaligned address",
        "unspecified launch failure",
        "illegal instruction was encountered",
    ])?;
    Some(Finding::failure(
        "device context survives",
        short(line),
        "after such an error every later call of the process fails alike, so only the first case is a suspect; run it alone",
    ))
}
