//! Against a real compiler, without a card: needs `SWITCHBACK_TEST_TRITON_PYTHON`, an interpreter with triton 3.6.

use std::path::{Path, PathBuf};

use serde_json::json;
use switchback_model::switch::{Switch, Variables};
use switchback_model::verdict::ScreenVerdict;

use super::{Ask, Recompiled, recompile};
use crate::error::EngineError;
use crate::executor::Interrupt;

fn interpreter() -> Option<String> {
    let found = std::env::var("SWITCHBACK_TEST_TRITON_PYTHON").ok();
    if found.is_none() {
        eprintln!("skipped: `SWITCHBACK_TEST_TRITON_PYTHON` names no interpreter with triton 3.6");
    }
    found
}

fn excerpts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ir/tests/data")
}

fn full() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/h200-ir");
    folder.is_dir().then_some(folder)
}

fn switch(text: &str) -> Switch {
    let mut it = Switch::default();
    it.add(text).unwrap();
    it.complete().unwrap()
}

fn run(ask: &Ask) -> Result<Recompiled, EngineError> {
    recompile(ask, Path::new("unused"), &Interrupt::default(), &mut |_, _| {})
}

/// Truth: what the card recorded on each side.
#[test]
fn both_sides_of_mm_come_out_as_the_card_recorded_them() {
    let Some(python) = interpreter() else { return };
    // Without the switch only what it does not touch comes out as B recorded it: `fill`, and the one mm with a tile too
    // small for the instruction.
    for (folder, kernels, untouched) in
        [(excerpts(), 2, 1)].into_iter().chain(full().map(|folder| (folder, 11, 2)))
    {
        for (side, value, equal) in [("A", None, kernels), ("B", Some("1"), kernels), ("B", None, untouched)]
        {
            let it = run(&Ask {
                source: folder.join("mm-switch").join(side),
                python: Some(python.clone()),
                env: Variables::from([("DISABLE_MMA_V3".into(), value.map(str::to_owned))]),
                ..Ask::default()
            })
            .unwrap();
            assert_eq!((it.proof.kernels, it.proof.equal), (kernels, equal), "{side} {:?}", it.proof);
            assert_eq!(it.proof.stages, ["ttgir", "ptx"]);
            eprintln!("{side} {value:?}: {equal} of {kernels} equal, {:.1} s", it.elapsed_s);
        }
    }
}

/// Truth: what these variables are for, in Triton's own documentation of its knobs.
#[test]
fn switches_act_first_where_they_are_known_to() {
    let Some(python) = interpreter() else { return };
    let source =
        full().map_or_else(|| excerpts().join("softmax-record"), |folder| folder.join("softmax-record"));
    let expected = [
        ("DISABLE_MMA_V3=:1", None),
        ("DISABLE_LLVM_OPT=:1", Some("llir")),
        ("DISABLE_PTXAS_OPT=:1", Some("sass")),
        ("TRITON_DISABLE_LINE_INFO=:1", None),
        ("TRITON_DEFAULT_FP_FUSION=:0", Some("ptx")),
    ];
    let ask = Ask {
        source,
        python: Some(python),
        switches: expected.iter().map(|(text, _)| switch(text)).collect(),
        ..Ask::default()
    };
    let mut most = 0;
    let it = recompile(&ask, Path::new("unused"), &Interrupt::default(), &mut |done, all| {
        assert!(done <= all);
        most = most.max(done);
    })
    .unwrap();
    assert!(it.proof.holds(), "{:?}", it.proof);
    assert_eq!(most, it.proof.kernels * (2 + expected.len()));
    eprintln!(
        "{} of {} equal; {} kernels x {} switches: {:.1} s on {} processes",
        it.proof.equal,
        it.proof.kernels,
        it.proof.kernels,
        expected.len(),
        it.elapsed_s,
        it.workers
    );
    assert_eq!(it.unseen, []);
    for (index, (name, stage)) in expected.iter().enumerate() {
        let cells: Vec<_> = it.operators.iter().map(|row| &row.cells[index]).collect();
        let first: std::collections::BTreeSet<_> =
            cells.iter().filter_map(|cell| cell.first_stage.as_deref()).collect();
        assert_eq!(first, stage.iter().copied().collect(), "{name}");
        assert!(cells.iter().all(|cell| cell.failed == 0));
        if stage.is_none() {
            assert!(cells.iter().all(|cell| cell.verdict == ScreenVerdict::NoIrDiff), "{name}");
        }
    }
}

#[test]
fn a_recording_that_this_compiler_does_not_reproduce_is_refused_with_the_versions() {
    let Some(python) = interpreter() else { return };
    let scratch = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(excerpts().join("mm-switch/A")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, scratch.path().join(path.file_name().unwrap())).unwrap();
    }
    // As if another compiler had chosen another constant.
    let path = scratch.path().join("fill_scalar_kernel.ttgir");
    let text = std::fs::read_to_string(&path).unwrap();
    let other = text.replacen("sizePerThread = [", "sizePerThread = [1", 1);
    assert_ne!(text, other);
    std::fs::write(&path, other).unwrap();
    let ask = Ask {
        source: scratch.path().to_owned(),
        python: Some(python),
        switches: vec![switch("DISABLE_LLVM_OPT=:1")],
        ..Ask::default()
    };
    let error = run(&ask).unwrap_err();
    assert_eq!(error.exit_code().code(), 5);
    let text = error.to_string();
    for said in ["1 of 2 kernels differ", "`fill_scalar_kernel`: differs first at ttgir", "triton 3.6.0"] {
        assert!(text.contains(said), "{text}");
    }
}

/// A stand-in that speaks the script's language: what a crash, a hang in a kernel and a missing compiler look like.
fn stand_in(folder: &Path, body: &str) -> String {
    let path = folder.join("python");
    let text = format!(
        "#!/usr/bin/env python3\nimport json, os, signal, sys\njob = json.load(open(sys.argv[2]))\n\
         def tell(**fields): print(json.dumps(fields), flush=True)\n\
         if job['action'] == 'describe':\n    tell(kind='compiler', triton='0.1', python='3', triton_path='x', defaults={{}})\n    \
         tell(kind='end'); sys.exit()\n{body}"
    );
    std::fs::write(&path, text).unwrap();
    let mut mode = std::fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    path.display().to_string()
}

const COPY: &str = "
for kernel in job['kernels']:
    tell(kind='begin', id=kernel['id'])
    source = RECORDED
    BREAK
    folder = os.path.join(job['out'], kernel['id'])
    for stage in ('ttgir', 'ptx'):
        with open(os.path.join(source, kernel['name'] + '.' + stage), 'rb') as file: text = file.read()
        with open(os.path.join(folder, kernel['name'] + '.' + stage), 'wb') as file: file.write(text)
    tell(kind='done', id=kernel['id'], stages=['ttgir', 'ptx'])
tell(kind='end')
";

fn copying(folder: &Path, with: &str) -> String {
    let recorded = json!(excerpts().join("mm-switch/A")).to_string();
    stand_in(folder, &COPY.replace("RECORDED", &recorded).replace("BREAK", with))
}

#[test]
fn a_kernel_on_which_the_compiler_dies_is_its_own_failure() {
    let scratch = tempfile::tempdir().unwrap();
    let with =
        "if os.environ.get('PASS') and kernel['name'].startswith('mm'): os.kill(os.getpid(), signal.SIGABRT)";
    let ask = Ask {
        source: excerpts().join("mm-switch/A"),
        python: Some(copying(scratch.path(), with)),
        switches: vec![switch("PASS=:1")],
        out: Some(scratch.path().join("out")),
        ..Ask::default()
    };
    let it = run(&ask).unwrap();
    assert!(it.proof.holds());
    let cell = |name: &str| &it.operators.iter().find(|row| row.operator == name).unwrap().cells[0];
    assert_eq!(cell("fill_scalar_kernel").verdict, ScreenVerdict::NoIrDiff);
    let dead = cell("mm_kernel_general_host_tma");
    assert_eq!((dead.verdict, dead.failed), (ScreenVerdict::NoRows, 1));
    assert!(dead.error.as_deref().unwrap().contains("died of signal 6"), "{dead:?}");
    // The texts stay where they were asked for, as folders that can be compared.
    let kept = crate::code::of_folder(&scratch.path().join("out/A")).unwrap();
    assert_eq!(kept.kernels.len(), 2);
    let again = run(&ask).unwrap_err();
    assert!(again.to_string().contains("already exists"), "{again}");
}

#[test]
fn an_environment_in_which_the_compiler_does_not_start_fails_and_side_a_is_unharmed() {
    let scratch = tempfile::tempdir().unwrap();
    let body = format!(
        "if os.environ.get('PASS'): tell(kind='no_compiler', error='ImportError: broken', executable='x'); sys.exit()\n{}",
        COPY.replace("RECORDED", &json!(excerpts().join("mm-switch/A")).to_string()).replace("BREAK", "pass")
    );
    let ask = Ask {
        source: excerpts().join("mm-switch/A"),
        python: Some(stand_in(scratch.path(), &body)),
        switches: vec![switch("PASS=:1"), switch("OTHER=:1")],
        ..Ask::default()
    };
    let it = run(&ask).unwrap();
    for row in &it.operators {
        assert_eq!(row.cells[0].verdict, ScreenVerdict::NoRows);
        assert!(row.cells[0].error.as_deref().unwrap().contains("ImportError: broken"));
        assert_eq!(row.cells[1].verdict, ScreenVerdict::NoIrDiff);
    }
    assert!(it.notes.iter().any(|note| note.contains("`OTHER=1` touches no kernel of 2")), "{:?}", it.notes);
}

#[test]
fn a_compiler_that_gives_two_outputs_for_one_input_is_no_evidence_at_that_stage() {
    let scratch = tempfile::tempdir().unwrap();
    let with = "pass\n    folder = os.path.join(job['out'], kernel['id'])\n    open(os.path.join(folder, kernel['name'] + '.odd'), 'w').write(str(os.getpid()))";
    let python = copying(scratch.path(), with);
    let text =
        std::fs::read_to_string(&python).unwrap().replace("['ttgir', 'ptx'])", "['ttgir', 'ptx', 'odd'])");
    std::fs::write(&python, text).unwrap();
    let ask = Ask {
        source: excerpts().join("mm-switch/A"),
        python: Some(python),
        switches: vec![switch("PASS=:1")],
        ..Ask::default()
    };
    let it = run(&ask).unwrap();
    assert_eq!(it.unseen.len(), 1);
    assert_eq!(it.unseen[0].name(), "odd");
    assert!(it.unseen[0].reason.contains("two compilations of side A differ in 2 of 2"));
    assert!(it.operators.iter().all(|row| row.cells[0].verdict == ScreenVerdict::NoIrDiff));
}

#[test]
fn no_compiler_and_no_recording_are_told() {
    let scratch = tempfile::tempdir().unwrap();
    let body = "";
    let python = stand_in(scratch.path(), body);
    let text = std::fs::read_to_string(&python).unwrap();
    let text = text.replace(
        "tell(kind='compiler', triton='0.1', python='3', triton_path='x', defaults={})",
        "tell(kind='no_compiler', error='ModuleNotFoundError: triton', executable='py')",
    );
    std::fs::write(&python, text).unwrap();
    let ask = Ask { source: excerpts().join("mm-switch/A"), python: Some(python), ..Ask::default() };
    let error = run(&ask).unwrap_err();
    assert_eq!(error.exit_code().code(), 3);
    assert!(error.to_string().contains("ModuleNotFoundError: triton"), "{error}");
    let ask = Ask { source: excerpts().join("cranelift/base"), ..Ask::default() };
    assert!(run(&ask).unwrap_err().to_string().contains("no `ttir`"));
    let ask = Ask { source: excerpts().join("mm-switch/A"), operators: vec!["add".into()], ..Ask::default() };
    assert!(run(&ask).unwrap_err().hint().unwrap().contains("fill_scalar_kernel"));
}

/// A campaign knows operators, side A's variables and options that its compile events carry.
#[test]
fn a_campaign_is_compiled_again_by_operators_in_the_environment_of_its_side_a() {
    use std::collections::BTreeMap;
    use switchback_model::event::{Compile, Event, EventBody, Launch, Launched};
    use switchback_model::outcome::Ending;
    use switchback_model::side::Side;
    use switchback_store::campaign_dir::CampaignDir;
    use switchback_store::ir_objects;

    let scratch = tempfile::tempdir().unwrap();
    let mut request = crate::request::tests::request();
    request.suite = "triton".into();
    request.goal = crate::request::Goal::Screen;
    request.operators = vec!["mm".parse().unwrap(), "zeros".parse().unwrap(), "none".parse().unwrap()];
    let campaign = CampaignDir::create(&scratch.path().join("c"), &request).unwrap();
    let recorded = excerpts().join("mm-switch/A");
    for (operator, names) in [
        ("mm", &["mm_kernel_general_host_tma", "fill_scalar_kernel"][..]),
        ("zeros", &["fill_scalar_kernel"][..]),
    ] {
        let path = campaign.cells_dir().join(operator).join("screen_A/1");
        std::fs::create_dir_all(&path).unwrap();
        let mut bodies = Vec::new();
        for name in names {
            let read = |extension: &str| std::fs::read(recorded.join(format!("{name}.{extension}"))).unwrap();
            let options: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&read("json")).unwrap();
            let stages = ["ttir", "ttgir", "ptx"]
                .map(|stage| (stage.to_owned(), ir_objects::put(&campaign.ir_dir(), &read(stage)).unwrap()));
            bodies.push(EventBody::Compile(Compile {
                side: Side::A,
                id: (*name).into(),
                kernel: (*name).into(),
                variant: "v".into(),
                constexprs: BTreeMap::new(),
                signature: BTreeMap::new(),
                specialization: BTreeMap::new(),
                options,
                stages: stages.into(),
                missing: BTreeMap::new(),
                registers: None,
                spills: None,
                shared_bytes: None,
                compile_ms: None,
                tuning: false,
                cache_hit: false,
            }));
        }
        bodies.push(EventBody::Launch(Launch {
            side: Side::A,
            case: switchback_model::case::CaseKey { dtype: "f16".into(), input: "x".into(), occurrence: 0 },
            compiled: names.iter().map(|name| Launched { id: (*name).into(), launches: 1 }).collect(),
            unknown: 0,
        }));
        let lines: Vec<String> = bodies
            .into_iter()
            .map(|body| serde_json::to_string(&Event { t_s: 0.0, body }).unwrap() + "\n")
            .collect();
        std::fs::write(path.join("events.jsonl"), lines.concat()).unwrap();
        let outcome = crate::state::tests::outcome(Ending::Completed, 1, "2026-01-01T10:00:00Z", "0");
        switchback_store::attempt::AttemptDir::at(&path).write_outcome(&outcome).unwrap();
    }
    // The request's side A has `OTHER=0`; the stand-in gives other code without it, and under `OTHER=1`.
    let with = "if os.environ.get('OTHER') != '0' and kernel['name'].startswith('mm'): source += '/../B'";
    let python = copying(scratch.path(), with);
    let ask = Ask {
        source: campaign.root().to_owned(),
        python: Some(python),
        switches: vec![switch("OTHER=0:1"), switch("UNKNOWN=:1")],
        ..Ask::default()
    };
    let it = run(&ask).unwrap();
    // Two operators launch the same `fill`, which is compiled once.
    assert_eq!((it.proof.kernels, it.proof.equal), (2, 2));
    let told: Vec<(&str, usize, ScreenVerdict, Option<&str>, ScreenVerdict)> = it
        .operators
        .iter()
        .map(|row| {
            let first = &row.cells[0];
            (
                row.operator.as_str(),
                row.kernels,
                first.verdict,
                first.first_stage.as_deref(),
                row.cells[1].verdict,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("mm", 2, ScreenVerdict::IrChanged, Some("ttgir"), ScreenVerdict::NoIrDiff),
            ("zeros", 1, ScreenVerdict::NoIrDiff, None, ScreenVerdict::NoIrDiff),
            ("none", 0, ScreenVerdict::NotCompiled, None, ScreenVerdict::NotCompiled),
        ]
    );
    assert!(it.notes.iter().any(|note| note.contains("`none` has no `screen_A`")), "{:?}", it.notes);
}

#[test]
fn a_user_who_asks_to_stop_is_heard_while_a_kernel_compiles() {
    let scratch = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::default();
    interrupt.request();
    let ask = Ask {
        source: excerpts().join("mm-switch/A"),
        python: Some(copying(scratch.path(), "import time; time.sleep(600)")),
        ..Ask::default()
    };
    let error = recompile(&ask, Path::new("unused"), &interrupt, &mut |_, _| {}).unwrap_err();
    assert_eq!(error.exit_code().code(), 130);
}
