//! What is known of the recorded kernels must come out of folders and diffs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::diff::{CodeVerdict, DiffChoice, RankedBy, ShownKind, diff};
use super::fingerprint::fingerprint;
use super::{CompiledCode, find, of_attempt, of_folder};
use switchback_model::event::{Compile, Event, EventBody, Launch, Launched, Start};
use switchback_model::side::Side;
use switchback_store::attempt::AttemptDir;
use switchback_store::ir_objects;

fn excerpts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ir/tests/data")
}

/// The full recordings, if this machine has them.
fn full() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/h200-ir");
    folder.is_dir().then_some(folder)
}

fn folder(path: &Path) -> CompiledCode {
    of_folder(path).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn mm_differs_from_ttgir_on_and_fill_does_not() {
    for (recording, kernels, identical_mm) in
        [(excerpts(), 2, 0)].into_iter().chain(full().map(|folder| (folder, 11, 1)))
    {
        let (a, b) = (folder(&recording.join("mm-switch/A")), folder(&recording.join("mm-switch/B")));
        assert_eq!((a.kernels.len(), b.kernels.len()), (kernels, kernels));
        assert_eq!((a.notes.as_slice(), b.notes.as_slice()), (&[][..], &[][..]));
        let it = diff(&a, &b, &DiffChoice::default()).unwrap();
        assert_eq!(it.verdict, CodeVerdict::Changed);
        assert_eq!(it.first_stage.as_deref(), Some("ttgir"));
        assert_eq!(it.ranked_by, RankedBy::Name);
        let mut same = Vec::new();
        for kernel in &it.kernels {
            for variant in &kernel.variants {
                if variant.changed {
                    assert_eq!(variant.difference, "ttgir", "{}", kernel.kernel);
                    assert!(variant.stages.contains(&("ttir".to_owned(), Some(true))));
                    // The switch forbids this instruction: A has it, B does not.
                    let wgmma =
                        variant.operations.iter().find(|it| it.name == "ttng.warp_group_dot").unwrap();
                    assert!(wgmma.a > 0 && wgmma.b == 0, "{wgmma:?}");
                    let rows = &variant.shown.as_ref().unwrap().rows;
                    assert!(
                        rows.iter().any(|row| row.kind == ShownKind::OnlyA || row.kind == ShownKind::Changed)
                    );
                    assert!(
                        rows.iter().any(|row| {
                            row.source.as_deref().is_some_and(|source| source.starts_with("mm"))
                        })
                    );
                } else {
                    same.push(kernel.kernel.as_str());
                }
            }
        }
        assert_eq!(same.iter().filter(|name| **name == "fill_scalar_kernel").count(), 1);
        assert_eq!(same.len(), 1 + identical_mm);
        // What differs comes first.
        assert_eq!(it.kernels.last().unwrap().kernel, "fill_scalar_kernel");
    }
}

#[test]
fn a_kernel_or_stage_that_is_not_there_is_told_with_those_that_are() {
    let a = folder(&excerpts().join("mm-switch/A"));
    let kernel = DiffChoice { kernel: Some("mm".into()), stage: None };
    let error = diff(&a, &a, &kernel).unwrap_err();
    assert!(error.hint().unwrap().contains("mm_kernel_general_host_tma"), "{error}");
    let stage = DiffChoice { kernel: None, stage: Some("llir".into()) };
    assert_eq!(diff(&a, &a, &stage).unwrap_err().hint().unwrap(), "there are: ttir, ttgir, ptx");
}

#[test]
fn what_a_plain_folder_cannot_tell_is_said() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    let recorded = excerpts().join("mm-switch/A");
    let text = |name: &str| std::fs::read(recorded.join(name)).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    // Cut off in the middle, overwritten by another kernel, listed and not there, half written, a torn list.
    let whole = text("fill_scalar_kernel.ttgir");
    write("one/fill_scalar_kernel.ttgir", &whole[..whole.len() / 4]);
    write("two/fill_scalar_kernel.ttgir", &text("mm_kernel_general_host_tma.ttgir"));
    write("two/fill_scalar_kernel.json", &text("fill_scalar_kernel.json"));
    write(
        "two/__grp__fill_scalar_kernel.json",
        br#"{"child_paths": {"fill_scalar_kernel.ptx": "/elsewhere/x.ptx"}}"#,
    );
    write("three/fill_scalar_kernel.ttir.tmp.pid_1_x", b"module {");
    write("three/__grp__x.json", b"{\"child");
    write("three/fill_scalar_kernel.ttir", &text("fill_scalar_kernel.ttir"));
    let notes = folder(root).notes.join("\n");
    for said in [
        "probably cut off",
        "holds no `fill_scalar_kernel`: overwritten",
        "lists `fill_scalar_kernel.ptx`, which is not there",
        "the cache's list is cut off",
        "1 of 3 kernels have no `ttgir`",
    ] {
        assert!(notes.contains(said), "`{said}` is not in:\n{notes}");
    }
    assert!(of_folder(&root.join("three").join("none")).is_err());
    std::fs::create_dir(root.join("empty")).unwrap();
    let error = of_folder(&root.join("empty")).unwrap_err();
    assert!(error.to_string().contains("no file of a known stage"), "{error}");
}

#[test]
fn launches_and_times_of_an_attempt_rank_its_kernels_and_moving_the_campaign_is_no_matter() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    let path = root.join("cells/mm/screen_A/1");
    std::fs::create_dir_all(&path).unwrap();
    let ir_dir = root.join("ir");
    std::fs::create_dir(&ir_dir).unwrap();
    let case = |input: &str| switchback_model::case::CaseKey {
        dtype: "f16".into(),
        input: input.into(),
        occurrence: 0,
    };
    let compile = |id: &str, text: &[u8]| {
        EventBody::Compile(Compile {
            side: Side::A,
            id: id.into(),
            kernel: id.into(),
            variant: "v".into(),
            constexprs: BTreeMap::new(),
            signature: BTreeMap::new(),
            specialization: BTreeMap::new(),
            options: BTreeMap::new(),
            stages: BTreeMap::from([("ttir".into(), ir_objects::put(&ir_dir, text).unwrap())]),
            missing: BTreeMap::new(),
            registers: Some(40),
            spills: None,
            shared_bytes: None,
            compile_ms: None,
            tuning: false,
            cache_hit: false,
        })
    };
    let launch = |input: &str, compiled: &[(&str, u64)]| {
        EventBody::Launch(Launch {
            side: Side::A,
            case: case(input),
            compiled: compiled
                .iter()
                .map(|(id, launches)| Launched { id: (*id).into(), launches: *launches })
                .collect(),
            unknown: 0,
        })
    };
    let bodies = [
        EventBody::Start(Start::default()),
        compile("light", b"module { light }"),
        compile("heavy", b"module { heavy }"),
        compile("tried", b"module { tried }"),
        launch("small", &[("light", 3), ("heavy", 1)]),
        launch("large", &[("heavy", 1)]),
    ];
    let lines: Vec<String> = bodies
        .into_iter()
        .map(|body| serde_json::to_string(&Event { t_s: 0.0, body }).unwrap() + "\n")
        .collect();
    std::fs::write(path.join("events.jsonl"), lines.concat()).unwrap();

    let latencies_us = BTreeMap::from([(case("small"), 8.0), (case("large"), 92.0)]);
    let code = of_attempt(&AttemptDir::at(&path), &ir_dir, Side::A, &latencies_us).unwrap();
    // What was compiled and not launched is not there.
    let told: Vec<(&str, u64, f64)> =
        code.kernels.iter().map(|it| (it.kernel.as_str(), it.launches, it.time_us)).collect();
    assert_eq!(told, [("heavy", 2, 94.0), ("light", 3, 6.0)]);

    let found = find(&path, Path::new("unused")).unwrap();
    assert_eq!(found.sides.len(), 1);
    let (one, two) = (&found.sides[0].1, fingerprint(&code));
    assert_eq!(fingerprint(one).fingerprint, two.fingerprint);
    let it =
        diff(&code, &CompiledCode { kernels: Vec::new(), ..code.clone() }, &DiffChoice::default()).unwrap();
    assert_eq!(it.verdict, CodeVerdict::NoIr);
    assert_eq!(it.kernels[0].kernel, "heavy");
    assert!((it.kernels[0].share.unwrap() - 0.94).abs() < 1e-12);
}

#[test]
fn readable_names_hold_the_same_texts_and_are_explained() {
    let scratch = tempfile::tempdir().unwrap();
    let code = folder(&excerpts().join("mm-switch/A"));
    let out = scratch.path().join("names");
    assert_eq!(super::names::write(&code, &out).unwrap(), 2);
    let index = std::fs::read_to_string(out.join("index.tsv")).unwrap();
    let mut lines = index.lines();
    let header: Vec<&str> = lines.next().unwrap().split('\t').collect();
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), header.len());
        // One variant a kernel: its name is enough.
        assert_eq!(fields[0], fields[1]);
        let original = excerpts().join("mm-switch/A").join(format!("{}.ttgir", fields[1]));
        let copy = std::fs::read(out.join(format!("{}.ttgir", fields[0]))).unwrap();
        assert_eq!(copy, std::fs::read(original).unwrap());
    }
    assert!(std::fs::read_to_string(out.join("naming.md")).unwrap().contains("No name is abbreviated"));
    assert!(super::names::write(&code, &out).unwrap_err().to_string().contains("already exists"));
}
