//! What the scripts before switchback left on disk, good and broken, read by the real program.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

/// Code of a real kernel on both sides of a real switch.
const CODE: [&str; 2] = [
    include_str!("../../../ir/tests/data/mm-switch/A/mm_kernel_general_host_tma.ttgir"),
    include_str!("../../../ir/tests/data/mm-switch/B/mm_kernel_general_host_tma.ttgir"),
];

/// A folder of one run, as the description of the scripts has it.
struct Old {
    path: PathBuf,
}

/// Two rows, 1024 rows at `ms` and 4096 rows at twice as much.
fn log(ms: f64) -> String {
    let row = |size: u32, ms: f64| {
        format!(
            "SUCCESS{:>23}{ms:>20.6}{:>20}          [torch.Size([{size}, {size}]), torch.Size([{size}, {size}])]\n",
            "N/A", "N/A"
        )
    };
    format!(
        "\nOperator: mm  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n\
         Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          Size Detail\n\
         {}\n{}{}\n.\n1 passed in 41.20s\n",
        "-".repeat(95),
        row(1024, ms),
        row(4096, 2.0 * ms)
    )
}

fn identity() -> Value {
    json!({
        "backend": "cuda", "device": "NVIDIA H200", "timer": "cuda_graph", "bench_level": "core",
        "shape_mode": "core_shapes", "tuner_cache": "isolated", "direct_repeat": 1,
        "python": "3.12.3", "op": "mm", "stamp": "20260910-074112"
    })
}

impl Old {
    /// A run with both rows, all its conditions and code of side `side`.
    fn run(path: &Path, ms: f64, side: usize) -> Self {
        let it = Self { path: path.to_owned() };
        it.write("run.log", &log(ms))
            .write("run_identity.json", &identity().to_string())
            .write("ttgir/naming.md", "BSM: BLOCK_SIZE_M\n")
            .write("ttgir/index.tsv", "shape\tkernel\tfile\n")
            .write("ttgir/1024x1024/mm_kernel__BSM64.ttgir", CODE[side])
            .write("autotune_records/meta.json", r#"{"backend": "cuda"}"#)
            .write(
                "autotune_records/records.json",
                r#"[{"kernel": "mm_kernel", "key": [1024, 1024], "config": {"BLOCK_SIZE_M": 64, "num_warps": 4}}]"#,
            );
        it
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn remove(&self, name: &str) -> &Self {
        let path = self.path.join(name);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
        self
    }

    fn identity(&self, changed: &[(&str, Value)]) -> &Self {
        let mut identity = identity();
        for (name, value) in changed {
            identity[*name] = value.clone();
        }
        self.write("run_identity.json", &identity.to_string())
    }
}

/// Both sides compiled to the same code, and the switch left its stamp on side B.
fn stamped() -> String {
    let stamped =
        CODE[0].replacen("module attributes {", "module attributes {\"ttg.rlc-enhance\" = 1 : i32, ", 1);
    assert_ne!(stamped, CODE[0]);
    stamped
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Everything below a folder with its content.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(content(&path));
        } else {
            found.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_run_is_reported_with_its_conditions_and_left_as_it_is() {
    let sandbox = Sandbox::new();
    let old = Old::run(&sandbox.path("mm_20260910-074112"), 0.1, 0);
    let before = content(&old.path);
    let ran = sandbox.run(&["report", "mm_20260910-074112"]).code(0);
    let ran = ran
        .prints("Operator: mm  Performance Test (dtype=torch.float16, mode=kernel,level=core)")
        .prints("Gems Latency (ms)")
        .prints("0.100000                  N/A  [torch.Size([1024, 1024]), torch.Size([1024, 1024])]");
    assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("SUCCESS")).count(), 2);
    assert_eq!(ran.stderr, "");
    let report = json_of(&sandbox.run(&["report", "mm_20260910-074112", "--format", "json"]).code(0));
    assert_eq!(report["conditions"]["direct_repeat"], "1");
    assert_eq!(report["conditions"]["timer"], "cuda_graph");
    assert_eq!(report["identity"]["stamp"], "20260910-074112");
    assert_eq!(report["operators"][0]["cases"][1]["a_us"], 200.0);
    let raw = sandbox.run(&["report", "mm_20260910-074112", "--raw"]).code(0);
    assert_eq!(raw.stdout, log(0.1));
    sandbox.run(&["report", "mm_20260910-074112", "--format", "tsv"]).code(0).prints("mm\ttorch.float16 [");
    sandbox.run(&["report", "mm_20260910-074112", "--format", "markdown"]).code(0).prints("`NVIDIA H200`");
    assert_eq!(content(&old.path), before);
}

#[test]
fn what_a_run_lacks_is_said() {
    let sandbox = Sandbox::new();
    let old = Old::run(&sandbox.path("mm_1"), 0.1, 0);
    old.identity(&[("direct_repeat", Value::Null), ("tuner_cache", json!(""))]);
    sandbox
        .run(&["report", "mm_1"])
        .code(0)
        .says("`run_identity.json` has no `tuner_cache`, `direct_repeat`");
    old.remove("run_identity.json");
    sandbox.run(&["report", "mm_1"]).code(0).says("`run_identity.json` is missing");
    old.write("run_identity.json", "{\"backend\":");
    sandbox.run(&["report", "mm_1"]).code(0).says("`run_identity.json` cannot be read");
    old.identity(&[("bench_level", json!("comprehensive"))]);
    let ran = sandbox.run(&["report", "mm_1"]).code(0);
    ran.says("`run_identity.json` says `bench_level` is `comprehensive`, the log says `core`");
    old.identity(&[]).write("autotune_records/meta.json", r#"{"backend": "musa"}"#);
    let ran = sandbox.run(&["report", "mm_1"]).code(0);
    ran.says("another back end's recording: it says `musa`, the run `cuda`");
    old.remove("autotune_records/meta.json");
    sandbox.run(&["report", "mm_1"]).code(0).says("whose recording it is is not known");
    old.remove("autotune_records");
    let fallen = format!(
        "{}[cudagraph] BENCHMARK_DIRECT_NO_CUDAGRAPH op=mm repeat=3\nAUTOTUNE_REPLAY_FALLBACK kernel=mm_kernel\n",
        log(0.1)
    );
    old.write("run.log", &fallen);
    let ran = sandbox.run(&["report", "mm_1"]).code(0);
    ran.says(
        "BENCHMARK_DIRECT_NO_CUDAGRAPH: 1 rows were timed direct although a graph was asked for, of 2 rows",
    )
    .says("AUTOTUNE_REPLAY_FALLBACK: 1 tuner keys were not in the recording");
}

#[test]
fn a_run_without_rows_says_what_to_check() {
    let sandbox = Sandbox::new();
    let old = Old::run(&sandbox.path("perf_fft_1"), 0.1, 0);
    old.write("run.log", "E  ValueError: Given dtype(s) 'torch.float16'can't be supported by this op 'fft'\n1 failed in 6.31s\n");
    let ran = sandbox.run(&["report", "perf_fft_1"]).code(0).prints("no row was measured");
    let ran = ran.prints("not one `--dtypes` to all").says("no row is in `run.log`");
    assert!(!ran.stdout.contains("SUCCESS"));
    old.remove("run.log");
    sandbox.run(&["report", "perf_fft_1"]).code(0).says("`run.log` is missing, and with it every row");
    let whole = Old::run(&sandbox.path("mm_1"), 0.1, 0).path.display().to_string();
    sandbox
        .run(&["compare", "perf_fft_1", &whole])
        .code(2)
        .says("`run.log` is missing, and with it every row");
    sandbox.run(&["doctor", "perf_fft_1"]).code(0).prints("perf_fft_1 (NO_ROWS)");
}

#[test]
fn two_runs_are_compared_by_their_conditions_and_their_code() {
    let sandbox = Sandbox::new();
    Old::run(&sandbox.path("mm_a"), 0.2, 0);
    let b = Old::run(&sandbox.path("mm_b"), 0.1, 1);
    let report = json_of(&sandbox.run(&["compare", "mm_a", "mm_b", "--json"]).code(0));
    let mm = &report["operators"][0];
    assert_eq!((mm["screen"].as_str(), mm["first_stage"].as_str()), (Some("IR_CHANGED"), Some("ttgir")));
    assert!((mm["cases"][0]["effect_pct"].as_f64().unwrap() - 100.0).abs() < 1e-9, "{mm}");
    assert_eq!(report["conditions"]["tuner_cache"], "isolated");

    b.write("ttgir/1024x1024/mm_kernel__BSM64.ttgir", &stamped());
    let report = json_of(&sandbox.run(&["compare", "mm_a", "mm_b", "--json"]).code(0));
    assert_eq!(report["operators"][0]["screen"], "NO_IR_DIFF");
    assert_eq!(report["stamps"]["ttg.rlc-*"], 1);
    // Only files of code count: the lists beside them are the same on both sides whatever was compiled.
    b.remove("ttgir/1024x1024");
    sandbox.path("mm_a/ttgir/1024x1024").read_dir().unwrap();
    std::fs::remove_dir_all(sandbox.path("mm_a/ttgir/1024x1024")).unwrap();
    let report = json_of(&sandbox.run(&["compare", "mm_a", "mm_b", "--json"]).code(0));
    assert_eq!(report["operators"][0]["screen"], "NOT_COMPILED");

    b.identity(&[("direct_repeat", json!(3))]);
    let ran = sandbox.run(&["compare", "mm_a", "mm_b"]).code(5).prints_nothing();
    ran.says("`direct_repeat` is `1` in A, `3` in B");
    b.remove("run_identity.json");
    let ran = sandbox.run(&["compare", "mm_a", "mm_b"]).code(5);
    ran.says("`backend` is `cuda` in A, unknown in B").says("`tuner_cache` is `isolated` in A, unknown in B");
}

/// A root of rounds: side B takes half of A's time, with a little noise.
fn rounds(root: &Path, rounds: u32) -> PathBuf {
    let operator = root.join("mm");
    for round in 1..=rounds {
        let noise = 1.0 + 0.001 * f64::from(round);
        Old::run(&operator.join(format!("r{round}_A")), 0.2 * noise, 0);
        Old::run(&operator.join(format!("r{round}_B")), 0.1, 1);
    }
    std::fs::write(root.join("summary.log"), format!(">>> switch=MY_PASS  rounds={rounds}  ops=mm\n"))
        .unwrap();
    operator
}

const STATUS: &str = "round\top\tside\tswitch\trc\telapsed_s\tsuccess\tfailed\treplay_fallback\tno_cudagraph\tcapture_poisoned\n";

#[test]
fn rounds_are_judged_by_todays_rules() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("ab_repeat_MY_PASS_20260910-074112");
    let operator = rounds(&root, 3);
    let name = "ab_repeat_MY_PASS_20260910-074112";
    let before = content(&root);
    let report = json_of(&sandbox.run(&["report", name, "--format", "json"]).code(0));
    let mm = &report["operators"][0];
    assert_eq!((mm["operator"].as_str(), mm["screen"].as_str()), (Some("mm"), Some("IR_CHANGED")));
    assert_eq!((mm["rounds"].as_u64(), report["pairing"].as_str()), (Some(3), Some("process")));
    // Rounds of 100.1, 100.2 and 100.3 %: their mean on the scale of logarithms.
    let expected = 100.0 * ((2.002f64 * 2.004 * 2.006).powf(1.0 / 3.0) - 1.0);
    assert!((mm["effect_pct"].as_f64().unwrap() - expected).abs() < 1e-3, "{mm}");
    assert_eq!(report["switch"], json!({"a": {"MY_PASS": "0"}, "b": {"MY_PASS": "1"}}));
    sandbox.run(&["report", name]).code(0).prints("MY_PASS=1").prints("mm");
    sandbox.run(&["report", name, "--explain", "mm"]).code(0).prints("3 rounds");
    // The operator's own folder tells the same, but for the switch's name.
    let ran = sandbox.run(&["report", &format!("{name}/mm"), "--format", "json"]).code(0);
    assert_eq!(json_of(&ran)["operators"][0]["effect_pct"], mm["effect_pct"]);
    assert_eq!(content(&root), before);

    // A missing side, and the table that says why.
    std::fs::remove_dir_all(operator.join("r2_B")).unwrap();
    std::fs::write(root.join("status.tsv"), format!("{STATUS}2\tmm\tB\t1\t124\t2400\t0\t0\t0\t0\t0\n"))
        .unwrap();
    let report = json_of(&sandbox.run(&["report", name, "--format", "json"]).code(0));
    let mm = &report["operators"][0];
    assert!(["INCONCLUSIVE", "NOT_MEASURED"].contains(&mm["verdict"].as_str().unwrap()), "{mm}");
    let reasons = mm["reasons"].to_string();
    assert!(reasons.contains("r2_B: ended with status 124, CELL_TIMEOUT"), "{reasons}");
    let findings = report["findings"].to_string();
    assert!(findings.contains("1 of 6 are missing: r2_B"), "{findings}");

    // Another level in one of them: refused before a latency is read.
    Old { path: operator.join("r3_A") }.identity(&[("bench_level", json!("comprehensive"))]);
    let ran = sandbox.run(&["report", name]).code(5).prints_nothing();
    ran.says("`bench_level` is `core` in A, `comprehensive` in B");
    sandbox.run(&["report", name, "--allow", "bench_level"]).code(0);
    let ran = sandbox.run(&["rescore", name]).code(2);
    ran.says("has no table that could be scored again").says("`switchback report` judges rounds");
    sandbox.run(&["compare", name, name]).code(2).says("it holds runs of both sides");
}

#[test]
fn rounds_without_rows_or_code_are_no_conclusion() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("ab");
    let operator = rounds(&root, 2);
    for run in ["r1_A", "r1_B", "r2_A", "r2_B"] {
        Old { path: operator.join(run) }.remove("ttgir");
    }
    let report = json_of(&sandbox.run(&["report", "ab", "--format", "json"]).code(0));
    assert_eq!(report["operators"][0]["screen"], Value::Null);
    assert!(report["operators"][0]["reasons"].to_string().contains("nothing is known of the code"));
    for run in ["r1_B", "r2_B"] {
        Old { path: operator.join(run) }.write("run.log", "dynamic_func() missing BLOCK_M, BLOCK_N\n");
    }
    let report = json_of(&sandbox.run(&["report", "ab", "--format", "json"]).code(0));
    let mm = &report["operators"][0];
    assert_eq!((mm["screen"].as_str(), mm["verdict"].as_str()), (Some("NO_ROWS"), Some("NOT_MEASURED")));
    assert_eq!(mm["effect_pct"], Value::Null);
    assert!(mm["hints"].to_string().contains("Does the benchmark ask for `vendor_name`"), "{mm}");
}

#[test]
fn a_campaign_over_cards_is_one_report() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("campaign_MY_PASS_20260910-074112");
    for (card, device) in [("card0", "0"), ("card7", "7")] {
        rounds(&root.join(card), 2);
        if card == "card7" {
            std::fs::rename(root.join("card7/mm"), root.join("card7/topk")).unwrap();
        }
        for run in ["r1_A", "r1_B", "r2_A", "r2_B"] {
            let name = if card == "card0" { "mm" } else { "topk" };
            Old { path: root.join(card).join(name).join(run) }.identity(&[("device", json!(device))]);
        }
    }
    let report =
        json_of(&sandbox.run(&["report", "campaign_MY_PASS_20260910-074112", "--format", "json"]).code(0));
    let names: Vec<&str> =
        report["operators"].as_array().unwrap().iter().map(|it| it["operator"].as_str().unwrap()).collect();
    assert_eq!(names, ["mm", "topk"]);
    // What differs between the cards is no condition of all.
    assert_eq!(report["conditions"]["device"], Value::Null);
    assert_eq!(report["conditions"]["backend"], "cuda");
}

const HEADER: &str = "op\top_file\tdtypes\trows_before\trows_after\tkernels_before\tkernels_after\tcvt_before\tcvt_after\t\
     elapsed_before\telapsed_after\tverdict\tbackend\tdevice\ttimer\tbench_level\tshape_mode\ttuner_cache\tdirect_repeat";

/// A screening: `add` changed, `relu` only stamped, `copy` without code, `fft` without rows, `gone` without its runs.
fn screening(root: &Path) -> String {
    Old::run(&root.join("add_before"), 0.2, 0);
    Old::run(&root.join("add_after"), 0.1, 1);
    Old::run(&root.join("relu_before"), 0.1, 0);
    Old::run(&root.join("relu_after"), 0.1, 0).write("ttgir/1024x1024/mm_kernel__BSM64.ttgir", &stamped());
    for side in ["before", "after"] {
        Old::run(&root.join(format!("copy_{side}")), 0.1, 0).remove("ttgir/1024x1024");
        Old::run(&root.join(format!("fft_{side}")), 0.1, 0).write("run.log", "1 failed in 6.31s\n");
    }
    let row = |op: &str, file: &str, dtypes: &str, seconds: u32, verdict: &str| {
        format!(
            "{op}\t{file}\t{dtypes}\t2\t2\t1\t1\t15\t15\t{seconds}\t{}\t{verdict}\tcuda\tNVIDIA H200\tcuda_graph\tcore\t\
             core_shapes\tisolated\t1\n",
            seconds + 2
        )
    };
    let table = format!(
        "{HEADER}\n{}{}{}{}{}",
        row("add", "add", "<all>", 10, "IR_CHANGED"),
        row("relu", "relu", "float16 bfloat16", 20, "IR_CHANGED"),
        row("copy", "copy", "<all>", 5, "NO_TRITON"),
        row("fft", "fft", "complex64", 3, "NO_ROWS"),
        row("gone", "gone", "<all>", 3, "NO_IR_DIFF"),
    );
    std::fs::write(root.join("screen.tsv"), &table).unwrap();
    std::fs::write(root.join("summary.log"), ">>> vendor=MUSA  switch=FLAGTREE_MUSA_RLC_ENHANCE  ops=add\n")
        .unwrap();
    table
}

#[test]
fn a_screening_is_scored_again_and_its_table_kept() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("ab_rlc_1");
    let table = screening(&root);
    let report = json_of(&sandbox.run(&["report", "ab_rlc_1", "--format", "json"]).code(0));
    let screens: Vec<_> =
        report["operators"].as_array().unwrap().iter().map(|it| it["screen"].clone()).collect();
    assert_eq!(screens, ["IR_CHANGED", "NO_IR_DIFF", "NOT_COMPILED", "NO_ROWS", "NO_ROWS"]);
    assert_eq!(report["switch"]["b"], json!({"FLAGTREE_MUSA_RLC_ENHANCE": "1"}));
    sandbox
        .run(&["report", "ab_rlc_1"])
        .code(0)
        .prints("1 IR_CHANGED  1 NO_IR_DIFF  1 NOT_COMPILED  2 NO_ROWS");
    assert_eq!(std::fs::read_to_string(root.join("screen.tsv")).unwrap(), table);

    let ran = sandbox.run(&["rescore", "ab_rlc_1"]).code(0);
    assert_eq!(ran.stdout, "relu  screen: IR_CHANGED → NO_IR_DIFF\n1 verdict changed, of 5 operators\n");
    ran.says("left as it was: `gone`: its runs are not there any more").says("screen.tsv.before-rescore");
    assert_eq!(std::fs::read_to_string(root.join("screen.tsv.before-rescore")).unwrap(), table);
    let written = std::fs::read_to_string(root.join("screen.tsv")).unwrap();
    let relu = |text: &str| text.lines().find(|line| line.starts_with("relu")).unwrap().to_owned();
    assert_eq!(relu(&written), relu(&table).replace("IR_CHANGED", "NO_IR_DIFF"));
    assert_eq!(
        written.replace("NO_IR_DIFF", ""),
        table.replace(&relu(&table), &relu(&written)).replace("NO_IR_DIFF", "")
    );
    let ran = sandbox.run(&["rescore", "ab_rlc_1"]).code(0).prints("no verdict changed, of 5 operators");
    ran.says("screen.tsv.before-rescore.2");
}

#[test]
fn a_screening_tells_what_a_plan_costs() {
    let sandbox = Sandbox::new();
    screening(&sandbox.path("ab_rlc_1"));
    fn plan(more: &[&'static str]) -> Vec<&'static str> {
        let mut arguments = vec!["plan"];
        arguments.extend(more);
        arguments.extend(["--switch", "MY_PASS", "--devices", "0,1", "--rounds", "6", "--from"]);
        arguments
    }
    // A pair of cells took 10 + 12 s and 20 + 22 s; six rounds are six pairs.
    let mut arguments = plan(&["add", "relu", "fft"]);
    arguments.push("ab_rlc_1");
    let ran = sandbox.run(&arguments).code(0);
    let line = |name: &str| {
        ran.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{}", ran.stdout))
    };
    assert!(line("add ").ends_with("2 min 12 s"), "{}", ran.stdout);
    assert!(line("relu").ends_with("4 min 12 s"), "{}", ran.stdout);
    assert!(line("fft").contains("not measured: NO_ROWS"), "{}", ran.stdout);
    assert!(line("card 0").contains("relu") && line("card 1").contains("add"), "{}", ran.stdout);
    // The table alone does as well, without its times too, and names the operators itself.
    let text = std::fs::read_to_string(sandbox.path("ab_rlc_1/screen.tsv")).unwrap();
    let kept: String = text
        .lines()
        .filter(|line| ["op\t", "add\t", "relu\t"].iter().any(|start| line.starts_with(start)))
        .map(|line| format!("{}\n", line.replace("float16 bfloat16", "<all>")))
        .collect();
    std::fs::write(sandbox.path("table.tsv"), &kept).unwrap();
    let mut arguments = plan(&[]);
    arguments.push("table.tsv");
    sandbox.run(&arguments).code(0).prints("card 0").prints("relu").prints("add");
    std::fs::write(sandbox.path("table.tsv"), "op\tverdict\nadd\tIR_CHANGED\nrelu\tIR_CHANGED\n").unwrap();
    sandbox
        .run(&arguments)
        .code(0)
        .prints("a guess")
        .prints("guessed, ")
        .prints("tells none of these operators");
    std::fs::write(sandbox.path("table.tsv"), "op\tverdict\nadd\tMAYBE\n").unwrap();
    sandbox.run(&arguments).code(2).says("`add` has the verdict `MAYBE`");
    Old::run(&sandbox.path("mm_1"), 0.1, 0);
    let mut arguments = plan(&["add"]);
    arguments.push("mm_1");
    sandbox.run(&arguments).code(2).says("`mm_1` was not screened: it has no `screen.tsv`");
}

#[test]
fn a_screening_without_its_table_is_read_from_its_runs() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("s");
    screening(&root);
    std::fs::remove_file(root.join("screen.tsv")).unwrap();
    let report = json_of(&sandbox.run(&["report", "s", "--format", "json"]).code(0));
    let screens: Vec<(String, Value)> = report["operators"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["operator"].as_str().unwrap().to_owned(), it["screen"].clone()))
        .collect();
    let expected =
        [("add", "IR_CHANGED"), ("copy", "NOT_COMPILED"), ("fft", "NO_ROWS"), ("relu", "NO_IR_DIFF")];
    assert_eq!(screens, expected.map(|(name, screen)| (name.to_owned(), json!(screen))));
    assert!(report["findings"].to_string().contains("operators are those that have a run"));
    sandbox.run(&["rescore", "s"]).code(2).says("screen.tsv` is damaged: it is missing");
}

#[test]
fn a_damaged_table_is_told_and_not_written_over() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("s");
    let table = screening(&root);
    for (damaged, detail) in [
        ("op\trows_before\nadd\t2\n".to_owned(), "it has no columns `op` and `verdict`"),
        (table.replace("NO_TRITON", "PERHAPS"), "`copy` has the verdict `PERHAPS`"),
        (format!("{HEADER}\nadd\tadd\n"), "line 2 is cut off"),
    ] {
        std::fs::write(root.join("screen.tsv"), &damaged).unwrap();
        sandbox.run(&["rescore", "s"]).code(2).says(detail);
        assert_eq!(std::fs::read_to_string(root.join("screen.tsv")).unwrap(), damaged);
        assert!(!root.join("screen.tsv.before-rescore").exists());
    }
}
