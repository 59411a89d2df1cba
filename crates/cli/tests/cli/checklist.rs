//! The five symptoms of the checklist, each reproduced, each with its cause named in `doctor` and under the verdict.

use serde_json::Value;

use crate::mini::{mini, python};
use crate::support::Sandbox;

/// What stands under an operator's verdict.
fn hints(sandbox: &Sandbox, campaign: &str, operator: &str) -> String {
    let found = sandbox.operator(campaign, operator);
    found["hints"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

/// A run of the scripts that left this log.
fn left(sandbox: &Sandbox, name: &str, log: &str) {
    std::fs::create_dir_all(sandbox.path(name)).unwrap();
    std::fs::write(sandbox.path(name).join("run.log"), log).unwrap();
}

#[test]
fn one_the_wrong_interpreter() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    // An interpreter with everything but the library's torch.
    let without = |name: &str, sandbox: &Sandbox| {
        let mut arguments = vec![name];
        if name == "ab" {
            arguments.extend(["add", "--switch", "X"]);
        }
        arguments.extend(["--suite", "triton", "--python", &python, "--backend", "cpu"]);
        sandbox.run(&arguments)
    };
    let ran = without("ab", &sandbox).code(3).prints_nothing();
    ran.says("PREFLIGHT_FAILED check=interpreter imports").says("`torch`: ModuleNotFoundError").says(&python);
    let ran = without("doctor", &sandbox).code(3);
    ran.prints("FAILURE  interpreter imports").prints("`torch`: ModuleNotFoundError").prints("PYTHONPATH");
    // In a cell that got so far, it ends in the same words.
    left(
        &sandbox,
        "mm_1",
        "ImportError while loading conftest '/g/benchmark/conftest.py'.\nE   ModuleNotFoundError: No module named 'flag_gems'\n",
    );
    for command in ["report", "doctor"] {
        let ran = sandbox.run(&[command, "mm_1"]).code(0);
        ran.prints("PREFLIGHT_FAILED check=interpreter imports triton + flag_gems")
            .prints("`--python PATH` names another");
    }
}

#[test]
fn two_file_and_operator_the_wrong_way_round() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    let ran = mini(&sandbox, &python, &["ab", "sort:perf_sort", "--switch", "X"]).code(2).prints_nothing();
    ran.says("`sort:perf_sort` is the wrong way round").says("hint: write `perf_sort:sort`, operator first");
    left(
        &sandbox,
        "sort_1",
        "ERROR: file or directory not found: /g/benchmark/test_perf_sort.py::test_sort\n\nno tests ran in 0.01s\n",
    );
    for command in ["report", "doctor"] {
        let ran = sandbox.run(&[command, "sort_1"]).code(0);
        ran.prints("PREFLIGHT_FAILED check=benchmark file exists")
            .prints("`perf_sort:sort` for `test_perf_sort`");
    }
}

#[test]
fn three_a_dtype_that_the_operator_refuses() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    let arguments = ["screen", "perf_spectrum", "--dtypes", "float16", "--switch", "X", "--out", "out"];
    let ran = mini(&sandbox, &python, &arguments).code(4);
    ran.prints("can't be supported by this op 'spectrum'").prints("`perf_spectrum::complex64`");
    assert_eq!(sandbox.operator("out", "perf_spectrum")["screen"], "NO_ROWS");
    assert!(
        hints(&sandbox, "out", "perf_spectrum")
            .ends_with("it takes complex64: write `perf_spectrum::complex64`")
    );
    let ran = sandbox
        .run(&["doctor", "out"])
        .code(0)
        .prints("FAILURE  perf_spectrum (NO_ROWS): ValueError: Given dtype(s)");
    ran.prints("hint: it takes complex64: write `perf_spectrum::complex64`");
    // With its own dtype it runs.
    let arguments = ["screen", "perf_spectrum::complex64", "--switch", "X", "--out", "own"];
    mini(&sandbox, &python, &arguments).code(0).prints("NOT_COMPILED");
}

#[test]
fn four_another_vendors_kernel() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    let ran = mini(&sandbox, &python, &["screen", "router_gemm", "--switch", "X", "--out", "out"]).code(4);
    // The error is deep in the compiler and names neither vendor nor import.
    ran.prints("dynamic_func() missing").prints("BLOCK_M").prints("`cambricon`'s kernels were");
    let said = hints(&sandbox, "out", "router_gemm");
    assert!(said.contains("an `import` that succeeds only proves that the file is there"), "{said}");
    let ran = sandbox
        .run(&["doctor", "out"])
        .code(0)
        .prints("FAILURE  router_gemm (NO_ROWS): TypeError: dynamic_func() missing");
    ran.prints("hint: `cambricon`'s kernels were loaded on this card")
        .prints("`vendor_name` before it imports?");
    let log = std::fs::read_to_string(sandbox.path("out/cells/router_gemm/screen_A/1/run.log"))
        .or_else(|_| std::fs::read_to_string(sandbox.path("out/cells/router_gemm/tune_A/1/run.log")))
        .unwrap();
    assert!(log.contains("FOREIGN_VENDOR_MODULE active=nvidia loaded=cambricon"), "{log}");
}

#[test]
fn five_rows_without_a_kernel() {
    let Some(python) = python() else { return };
    let sandbox = Sandbox::new();
    let ran = mini(&sandbox, &python, &["screen", "perf_spectrum", "--switch", "X", "--out", "out"]).code(0);
    ran.prints("NOT_COMPILED").prints("ran without the compiler under test");
    assert_eq!(sandbox.operator("out", "perf_spectrum")["screen"], "NOT_COMPILED");
    let said = hints(&sandbox, "out", "perf_spectrum");
    assert!(
        said.contains("the switch has nothing to act on") && said.contains("caches are the cell's own"),
        "{said}"
    );
    let ran = sandbox.run(&["doctor", "out"]).code(0);
    let ran = ran.prints(
        "warning  perf_spectrum (NOT_COMPILED): `perf_spectrum` measured 1 rows and launched no kernel",
    );
    ran.prints("hint: on this back end it runs a vendor's library or the framework's own kernel");
    sandbox.run(&["report", "out", "--explain", "perf_spectrum"]).code(0).prints("the switch has nothing to");
}
