//! The commands on compiled code, through the real program: what they print when piped, and with which exit code.

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;

fn excerpts(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ir/tests/data").join(path)
}

fn switchback(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_switchback"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("SWITCHBACK_PYTHON")
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn two_plain_folders_are_compared_without_colours_in_a_pipe() {
    let (a, b) = (shown(&excerpts("mm-switch/A")), shown(&excerpts("mm-switch/B")));
    let output = switchback(Path::new("."), &["ir", "diff", &a, &b]);
    assert_eq!(output.status.code(), Some(0));
    let out = text(&output.stdout);
    assert!(!out.contains('\u{1b}'), "colours in a pipe");
    for said in [
        "code      differs first at `ttgir`: 1 of 2 variants",
        "ttng.warp_group_dot",
        "#ttg.nvidia_mma<{versionMajor = 3",
        "#ttg.nvidia_mma<{versionMajor = 2",
        "@ mm.py:",
        "lines the same on both sides",
    ] {
        assert!(out.contains(said), "`{said}` is not in:\n{out}");
    }
    assert!(output.stderr.is_empty());
    let same = switchback(Path::new("."), &["ir", "diff", &a, &a]);
    assert!(text(&same.stdout).contains("identical: 2 variants at every stage"));
    let wrong = switchback(Path::new("."), &["ir", "diff", &a, &b, "--kernel", "mm"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("hint: there are: fill_scalar_kernel, mm_kernel_general_host_tma"));
    let empty = tempfile::tempdir().unwrap();
    let none = switchback(Path::new("."), &["ir", "diff", &a, &shown(empty.path())]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("no file of a known stage"));
}

#[test]
fn another_checkout_s_paths_do_not_move_a_fingerprint() {
    let scratch = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(excerpts("mm-switch/A")).unwrap() {
        let path = entry.unwrap().path();
        let moved = std::fs::read_to_string(&path).unwrap().replace("/opt/FlagGems/", "/home/else/");
        std::fs::write(scratch.path().join(path.file_name().unwrap()), moved).unwrap();
    }
    let here = shown(&excerpts("mm-switch/A"));
    let output = switchback(scratch.path(), &["ir", "fingerprint", &here, ".", "--json"]);
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["fingerprint"].as_str().unwrap().len(), 64);
    assert_eq!(lines[0]["fingerprint"], lines[1]["fingerprint"]);
    assert_eq!(lines[0]["kernels"].as_array().unwrap().len(), 2);
}

#[test]
fn a_campaign_s_operator_is_compared_and_judged_again() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let screened = switchback(
        folder,
        &[
            "screen",
            "add_64MB",
            "--switch",
            "SWITCHBACK_CPU_ENABLE_NAN_CANONICALIZATION=true:false",
            "--out",
            "out",
        ],
    );
    assert_eq!(screened.status.code(), Some(0), "{}", text(&screened.stderr));
    let output = switchback(folder, &["ir", "diff", "out", "add_64MB", "--stage", "vcode"]);
    let out = text(&output.stdout);
    assert!(out.contains("code      differs first at `clif_opt`") && out.contains("A: vcode"), "{out}");
    let unknown = switchback(folder, &["ir", "diff", "out", "mul"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("its operators are: add_64MB"));

    let again = switchback(folder, &["rescore", "out"]);
    assert_eq!(text(&again.stdout), "no verdict changed, of 1 operator\n");
    let table = folder.join("out/screen.tsv");
    let planted = std::fs::read_to_string(&table).unwrap().replace("IR_CHANGED", "NO_IR_DIFF");
    std::fs::write(&table, &planted).unwrap();
    let changed = switchback(folder, &["rescore", "out"]);
    assert!(
        text(&changed.stdout)
            .contains("add_64MB  screen: NO_IR_DIFF at `clif_opt` → IR_CHANGED at `clif_opt`")
    );
    assert_eq!(std::fs::read_to_string(folder.join("out/screen.tsv.before-rescore.2")).unwrap(), planted);
    assert!(std::fs::read_to_string(&table).unwrap().contains("IR_CHANGED"));
    // The cpu suite's code has no `ttir` that could be compiled again.
    let none = switchback(folder, &["screen", "--from", "out", "--each-switch", "X"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("no `ttir` was kept"), "{}", text(&none.stderr));
}

/// An interpreter whose driver launches nothing, so that the triton suite's kernels compile and run without a card.
const SITE: &str = "import fake_driver\n";
/// An assembler with another output each time it is asked, as one for a newer card was seen to be.
const SHAKY_ASSEMBLER: &str = "#!/bin/sh\ncase $SWITCHBACK_RUN_DIR in */tune_A/*) level=0 ;; */screen_A/*) level=1 ;; \
                               *) level=3 ;; esac\nexec \"$REAL_PTXAS\" --opt-level $level \"$@\"\n";

#[test]
fn side_a_is_compiled_twice_where_the_sides_differ_and_tuning_and_replaying_launch_the_same_code() {
    let Some(python) = std::env::var_os("SWITCHBACK_TEST_TRITON_PYTHON") else {
        eprintln!("skipped: `SWITCHBACK_TEST_TRITON_PYTHON` names no interpreter with triton");
        return;
    };
    let python = python.into_string().unwrap();
    let asked = "import os, triton; print(os.path.join(os.path.dirname(triton.__file__), 'backends/nvidia/bin/ptxas'))";
    let asked = std::process::Command::new(&python).args(["-c", asked]).output().unwrap();
    let real = format!("REAL_PTXAS={}", text(&asked.stdout).trim());
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("sitecustomize.py"), SITE).unwrap();
    let shaky = scratch.path().join("ptxas");
    std::fs::write(&shaky, SHAKY_ASSEMBLER).unwrap();
    std::fs::set_permissions(&shaky, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let assembler = format!("TRITON_PTXAS_PATH={}", shown(&shaky));
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites/python/tests/fake");
    let path = format!("{}:{}", shown(&stand_in), shown(scratch.path()));
    let run = |out: &str, operators: &[&str], switch: &str, more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_switchback"))
            .arg("screen")
            .args(operators)
            .args(["--suite", "triton", "--backend", "cpu", "--switch", switch, "--python", &python])
            .args(["--out", out])
            .args(more)
            .current_dir(scratch.path())
            .env("PYTHONPATH", &path)
            .env("SWITCHBACK_LOCK_DIR", scratch.path().join("locks"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let file = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(scratch.path().join(path)).unwrap()).unwrap()
    };
    let screen = |out: &str, more: &[&str]| {
        run(out, &["add_autotuned::float32", "matmul::float16"], "DISABLE_MMA_V3", more);
        let report = file(&format!("{out}/report.json"));
        let told = |at: usize, field: &str| report["operators"][at][field].clone();
        [0, 1].map(|at| [told(at, "screen"), told(at, "first_stage"), told(at, "unseen")])
    };
    let fingerprint = |attempt: &str| {
        let output = switchback(scratch.path(), &["ir", "fingerprint", attempt, "--json"]);
        let line: serde_json::Value = serde_json::from_str(text(&output.stdout).trim()).unwrap();
        line["fingerprint"].as_str().unwrap().to_owned()
    };
    let null = serde_json::Value::Null;
    let [add, matmul] = screen("steady", &[]);
    assert_eq!(add, ["NO_IR_DIFF".into(), null.clone(), null.clone()]);
    assert_eq!(matmul, ["IR_CHANGED".into(), "ttgir".into(), null]);
    for operator in ["add_autotuned", "matmul"] {
        let of = |cell: &str| fingerprint(&format!("steady/cells/{operator}/{cell}/1"));
        assert_eq!(of("tune_A"), of("screen_A"), "{operator}");
    }
    let [add, matmul] = screen("shaky", &["--env", &assembler, "--env", &real]);
    assert_eq!(
        (&add[0], &matmul[0], &matmul[1]),
        (&"NO_IR_DIFF".into(), &"IR_CHANGED".into(), &"ttgir".into())
    );
    for [_, _, unseen] in [&add, &matmul] {
        // How many kernels there are is for the tuner to choose; the assembler never does the same twice.
        let [stage] = unseen.as_array().unwrap().as_slice() else { panic!("{unseen}") };
        assert_eq!(stage["stage"], "sass");
        let words: Vec<&str> = stage["reason"].as_str().unwrap().split_whitespace().collect();
        assert_eq!(words[..6], ["two", "compilations", "of", "side", "A", "differ"], "{words:?}");
        assert_eq!(words[7], words[9], "{words:?}");
    }
    let output = switchback(scratch.path(), &["ir", "diff", "shaky", "matmul"]);
    let out = text(&output.stdout);
    assert!(out.contains("`sass` is no evidence") && out.contains("sass (no evidence) differs"), "{out}");
    assert!(out.contains("A: ttgir"), "{out}");
    // Compiled without a card, in A's environment and without the variable; this switch is off where it is not set.
    let it = file("steady/unset.json");
    assert_eq!(it["operators"], serde_json::json!(["add_autotuned", "matmul"]));
    assert_eq!((&it["differing"], &it["unknown"]), (&serde_json::json!([]), &serde_json::Value::Null));
    // Floating-point contraction is on where nothing is said of it.
    let out = run("contraction", &["gelu::float32"], "TRITON_DEFAULT_FP_FUSION", &[]);
    let said =
        "`TRITON_DEFAULT_FP_FUSION=0` gives other code than leaving it unset, in 1 of 1 operators: `gelu`";
    assert!(out.contains(said), "{out}");
    assert_eq!(file("contraction/unset.json")["differing"][0][0], "gelu");
}

#[test]
fn switches_are_screened_from_a_folder_without_a_card() {
    let Some(python) = std::env::var_os("SWITCHBACK_TEST_TRITON_PYTHON") else {
        eprintln!("skipped: `SWITCHBACK_TEST_TRITON_PYTHON` names no interpreter with triton 3.6");
        return;
    };
    let python = python.into_string().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let from = shown(&excerpts("mm-switch/A"));
    let output = switchback(
        scratch.path(),
        &[
            "screen",
            "--from",
            &from,
            "--each-switch",
            "DISABLE_MMA_V3=:1",
            "--each-switch",
            "TRITON_DISABLE_LINE_INFO=:1",
            "--each-switch",
            "DISABLE_PTXAS_OPT=:1",
            "--python",
            &python,
            "--out",
            "kept",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = std::fs::read_to_string(scratch.path().join("kept/switches.tsv")).unwrap();
    let told: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let verdicts: Vec<[&str; 4]> = told.iter().map(|row| [row[0], row[1], row[3], row[4]]).collect();
    assert_eq!(
        verdicts,
        [
            ["fill_scalar_kernel", "DISABLE_MMA_V3", "NO_IR_DIFF", ""],
            ["fill_scalar_kernel", "TRITON_DISABLE_LINE_INFO", "NO_IR_DIFF", ""],
            ["fill_scalar_kernel", "DISABLE_PTXAS_OPT", "IR_CHANGED", "sass"],
            ["mm_kernel_general_host_tma", "DISABLE_MMA_V3", "IR_CHANGED", "ttgir"],
            ["mm_kernel_general_host_tma", "TRITON_DISABLE_LINE_INFO", "NO_IR_DIFF", ""],
            ["mm_kernel_general_host_tma", "DISABLE_PTXAS_OPT", "IR_CHANGED", "sass"],
        ]
    );
    // What was kept is a folder like any other, and is what the card recorded under the switch.
    let b = shown(&excerpts("mm-switch/B"));
    let kept = switchback(scratch.path(), &["ir", "diff", &b, "kept/DISABLE_MMA_V3%3D1", "--stage", "ttgir"]);
    let out = text(&kept.stdout);
    assert!(out.contains("ttgir same, llir on one side only, ptx same"), "{out}");
    // Machine code through the disassembler that lies beside the compiler; registers as the cubins tell them.
    let machine = switchback(
        scratch.path(),
        &["ir", "diff", "kept/A", "kept/DISABLE_PTXAS_OPT%3D1", "--kernel", "fill_scalar_kernel"],
    );
    let out = text(&machine.stdout);
    assert!(out.contains("A: sass") && out.contains("S2R R0, SR_TID.X"), "{out}");
    let registers = out.lines().find(|line| line.trim_start().starts_with("registers")).unwrap();
    let counts: Vec<&str> = registers.split_whitespace().skip(1).collect();
    assert!(counts.len() == 2 && counts[0] != counts[1], "{registers}");
    let refused = switchback(scratch.path(), &["ir", "recompile", &b, "--python", &python]);
    assert_eq!(refused.status.code(), Some(5));
    assert!(text(&refused.stdout).contains("`mm_kernel_general_host_tma`: differs first at ttgir"));
}
