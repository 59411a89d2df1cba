//! What is known about the recorded kernels must come out of the recorded texts.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{excerpts, files, full, kernels, texts};
use sha2::{Digest as _, Sha256};
use switchback_ir::{
    Difference, Fingerprint, IrVerdict, KernelIr, Stage, canonical, canonical_lines, compare, digest,
};

/// Truth: `mm_kernel_general*` differ from `ttgir` on but for `untouched` of them; `fill_scalar_kernel` does not.
///
/// The untouched are byte-identical on both sides, whatever the data's own description says of all general kernels: a
/// tile of 32 rows is too small for the instruction that the switch forbids.
fn assert_mm_truth(folder: &Path, untouched: usize) {
    let a = kernels(&folder.join("A"));
    let b = kernels(&folder.join("B"));
    let comparison = compare(&a, &b, &BTreeSet::new());
    let bytes_of = |side: &str, extension: &str| -> BTreeSet<Vec<u8>> {
        files(&folder.join(side))
            .into_iter()
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .map(|path| std::fs::read(path).expect("recorded text is readable"))
            .filter(|text| text.windows(10).any(|window| window == b"mm_kernel_"))
            .collect()
    };
    assert_eq!(bytes_of("A", "ttgir").intersection(&bytes_of("B", "ttgir")).count(), untouched);
    let mut same = 0;
    let mut changed = 0;
    for kernel in &comparison.kernels {
        match (kernel.kernel.as_str(), &kernel.difference) {
            ("fill_scalar_kernel", Difference::Same) => {}
            ("mm_kernel_general" | "mm_kernel_general_host_tma", Difference::Same) => same += 1,
            ("mm_kernel_general" | "mm_kernel_general_host_tma", Difference::Stage(Stage::Ttgir)) => {
                changed += 1;
            }
            _ => panic!("unexpected: {kernel:?}"),
        }
    }
    assert_eq!(same, untouched);
    assert!(changed > 0);
    assert_eq!(comparison.first_stage, Some(Stage::Ttgir));
    assert_eq!(comparison.verdict, IrVerdict::Changed);
    assert_ne!(Fingerprint::of(&a), Fingerprint::of(&b));
    // No other general kernel of A has its ttgir on side B.
    let stage_of = |side: &[KernelIr]| -> BTreeSet<_> {
        side.iter()
            .filter(|kernel| kernel.kernel.starts_with("mm_"))
            .map(|kernel| kernel.stages[&Stage::Ttgir])
            .collect()
    };
    assert_eq!(stage_of(&a).intersection(&stage_of(&b)).count(), untouched);
}

#[test]
fn mm_differs_first_at_ttgir_in_the_excerpt() {
    assert_mm_truth(&excerpts().join("mm-switch"), 0);
}

#[test]
fn mm_differs_first_at_ttgir_in_the_recording() {
    let Some(folder) = full() else { return };
    assert_mm_truth(&folder.join("mm-switch"), 1);
}

/// Truth: measured with Cranelift itself, setting by setting; see the folder names.
#[test]
fn settings_of_cranelift_act_first_where_they_are_known_to() {
    let folder = excerpts().join("cranelift");
    let compiled = |setting: &str| -> Vec<KernelIr> {
        ["add_f32", "scan_f32"]
            .into_iter()
            .map(|kernel| KernelIr {
                kernel: kernel.to_owned(),
                variant: String::new(),
                stages: ["clif", "clif_opt", "vcode", "bytes"]
                    .into_iter()
                    .map(|name| {
                        let path = folder.join(setting).join(format!("{kernel}.{name}"));
                        let stage = Stage::from_name(name);
                        let text = std::fs::read(path).expect("excerpt is readable");
                        let digest = digest(&stage, &text).digest;
                        (stage, digest)
                    })
                    .collect(),
            })
            .collect()
    };
    let base = compiled("base");
    for (setting, first) in [
        ("opt_none", Some(Stage::ClifOpt)),
        ("single_pass", Some(Stage::Vcode)),
        ("padding", Some(Stage::Bytes)),
        ("alias_analysis", None),
    ] {
        let comparison = compare(&base, &compiled(setting), &BTreeSet::new());
        assert_eq!(comparison.first_stage, first, "{setting}");
        let changed = comparison.kernels.iter().filter(|kernel| kernel.difference.is_change()).count();
        assert_eq!(changed, if first.is_some() { 2 } else { 0 }, "{setting}");
    }
}

#[test]
fn every_recorded_text_is_read_without_warning_and_canonical_form_is_stable() {
    let mut folders = vec![excerpts()];
    folders.extend(full());
    for folder in folders {
        let recorded = texts(&folder);
        assert!(recorded.len() > 15);
        for text in recorded {
            let once = canonical(&text.stage, &text.text);
            assert_eq!(once.warnings, Vec::<String>::new(), "{}", text.path.display());
            assert!(!once.raw && !once.incomplete && !once.crash_reproducer && once.stamps.is_empty());
            if text.text.starts_with(b"\x7fELF") {
                continue; // what is kept of a cubin is no cubin, and has no lines
            }
            let twice = canonical(&text.stage, &once.text);
            assert_eq!(
                String::from_utf8_lossy(&once.text),
                String::from_utf8_lossy(&twice.text),
                "{}",
                text.path.display()
            );
            let lines = canonical_lines(&text.stage, &text.text);
            let joined = lines.iter().map(|line| format!("{}\n", line.text)).collect::<String>();
            assert_eq!(joined.as_bytes(), once.text);
            let streamed = digest(&text.stage, &text.text);
            let expected: [u8; 32] = Sha256::digest(&once.text).into();
            assert_eq!(streamed.digest.0, expected);
            for leftover in [&b"loc("[..], b"#loc", b".loc\t", b"!dbg", b".debug", b"/opt/", b".py"] {
                assert!(
                    !once.text.windows(leftover.len()).any(|window| window == leftover),
                    "`{}` left in {}",
                    String::from_utf8_lossy(leftover),
                    text.path.display()
                );
            }
        }
    }
}

#[test]
fn different_kernels_of_the_recording_have_different_texts() {
    let Some(folder) = full() else { return };
    // Files that are equal once each `loc` is cut away by plain string search, and only those, may
    // share a digest.
    let mut digests = BTreeSet::new();
    let mut bare = BTreeSet::new();
    for path in files(&folder.join("softmax-record")) {
        if path.extension().is_some_and(|extension| extension == "ttgir") {
            let text = std::fs::read(&path).expect("recorded text is readable");
            digests.insert(digest(&Stage::Ttgir, &text).digest);
            let text = String::from_utf8(text).expect("recorded text is UTF-8");
            let lines: Vec<&str> = text
                .lines()
                .filter(|line| !line.starts_with("#loc"))
                .map(|line| line.split(" loc(").next().unwrap_or(line))
                .collect();
            bare.insert(lines.join("\n"));
        }
    }
    assert_eq!(digests.len(), bare.len());
}
