//! Symptoms of cells without rows, each from a log as it really looks.

use switchback_model::finding::{Finding, Severity};
use switchback_suites::suite::Evidence;
use switchback_suites::symptom;

const PYTHON: &str = "/opt/venv/bin/python";

fn explain(evidence: &Evidence<'_>) -> Vec<Finding> {
    symptom::explain("flaggems", Some(PYTHON), evidence)
}

/// The one finding that a log gives.
fn only(operator: &str, status: i32, log: &str) -> Finding {
    let evidence = Evidence { operator, status, log, ..Evidence::default() };
    let mut findings = explain(&evidence);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].severity, Severity::Failure);
    findings.remove(0)
}

fn hint(finding: &Finding) -> &str {
    finding.hint.as_deref().unwrap()
}

#[test]
fn the_wrong_interpreter_is_named() {
    let it = only(
        "mm",
        4,
        "ImportError while loading conftest '/FlagGems/benchmark/conftest.py'.\n\
         benchmark/conftest.py:23: in <module>\n    import flag_gems\nE   ModuleNotFoundError: No module named 'flag_gems'\n",
    );
    assert_eq!(
        it.detail,
        "PREFLIGHT_FAILED check=interpreter imports triton + flag_gems (/opt/venv/bin/python): E   ModuleNotFoundError: No \
         module named 'flag_gems'"
    );
    assert!(
        hint(&it).contains("is `/opt/venv/bin/python` the interpreter you mean?")
            && hint(&it).contains("PYTHONPATH")
    );
    let it = only("mm", 1, "/usr/bin/python3: No module named pytest\n");
    assert!(it.detail.contains("No module named pytest"));
    let it = only("mm", 127, "");
    assert!(it.detail.ends_with("the interpreter could not be started"));
}

#[test]
fn a_module_that_an_operator_alone_needs_is_not_the_interpreter() {
    let it = only("moe", 2, "E   ModuleNotFoundError: No module named 'vllm'\n1 error in 4.02s\n");
    assert_eq!(it.check, "cell measured something");
    assert!(it.detail.contains("`1 error in 4.02s`"));
}

#[test]
fn a_missing_file_tells_of_the_order_of_the_two_names() {
    let it = only(
        "sort",
        4,
        "ERROR: usage: __main__.py [options] [file_or_dir] [file_or_dir] [...]\n\
         __main__.py: error: unrecognized arguments: --level=core --mode=kernel\n  inifile: None\n  rootdir: /FlagGems\n",
    );
    assert_eq!(it.check, "benchmark file exists");
    assert!(it.detail.starts_with("PREFLIGHT_FAILED check=benchmark file exists: "));
    assert!(hint(&it).contains("`perf_sort:sort` for `test_perf_sort` in `test_sort.py`"));
    let it = only(
        "sort",
        4,
        "ERROR: file or directory not found: /FlagGems/benchmark/test_perf_sort.py::test_sort\n\nno tests ran in 0.01s\n",
    );
    assert_eq!(it.check, "benchmark file exists");
}

#[test]
fn a_missing_function_sends_to_the_list() {
    let it = only(
        "sort",
        4,
        "ERROR: not found: /FlagGems/benchmark/test_sort.py::test_sort\n(no match in any of [<Module test_sort.py>])\n\n\
         no tests ran in 5.10s\n",
    );
    assert_eq!(it.check, "benchmark file holds the operator");
    assert!(hint(&it).contains("`switchback ops --suite flaggems`"));
}

const REFUSED: &str = "E       ValueError: Given dtype(s) 'torch.float16'can't be supported by this op 'fft'\n\n\
    benchmark/base.py:198: ValueError\n1 failed in 6.31s\n";

#[test]
fn a_refused_dtype_tells_what_the_operator_takes() {
    let takes = ["complex64".to_owned()];
    let evidence = Evidence {
        operator: "perf_fft",
        status: 1,
        log: REFUSED,
        takes_dtypes: &takes,
        ..Evidence::default()
    };
    let findings = explain(&evidence);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].check, "operator takes the dtype");
    assert_eq!(hint(&findings[0]), "it takes complex64: write `perf_fft::complex64`");
    let it = only("perf_fft", 1, REFUSED);
    assert!(hint(&it).contains("not one `--dtypes` to all"));
    let it = only(
        "sum",
        4,
        "__main__.py: error: argument --dtypes: invalid choice: 'int64' (choose from 'float16', 'float32')\n",
    );
    assert_eq!(it.check, "operator takes the dtype");
}

#[test]
fn a_refusal_of_the_cpu_suite_is_understood_too() {
    let errors = ["refuses f32, takes c64: `fft::c64`".to_owned()];
    let takes = ["c64".to_owned()];
    let evidence = Evidence { operator: "fft", errors: &errors, takes_dtypes: &takes, ..Evidence::default() };
    let findings = symptom::explain("cpu", None, &evidence);
    assert_eq!(findings.len(), 1);
    assert_eq!(
        (findings[0].check.as_str(), findings[0].detail.as_str()),
        ("operator takes the dtype", errors[0].as_str())
    );
}

#[test]
fn a_refusal_of_the_triton_suite_is_understood_too() {
    let it = only("add", 1, "ValueError: `add` does not take `complex64`; it takes `float16`, `float32`\n");
    assert_eq!((it.check.as_str(), it.hint), ("operator takes the dtype", None));
}

#[test]
fn a_foreign_vendors_kernel_is_named_as_the_cause_deep_in_the_compiler() {
    let log = "E   TypeError: dynamic_func() missing 4 required positional arguments: 'BLOCK_M', 'BLOCK_N', 'BLOCK_K', and \
               'SPLIT_K'\n[device-setup-plugin] FOREIGN_VENDOR_MODULE active=mthreads loaded=nvidia\n1 failed in 9s\n";
    let it = only("router_gemm", 1, log);
    assert_eq!(it.check, "benchmark imports this vendor's kernels");
    assert!(it.detail.contains("dynamic_func() missing 4"));
    assert!(hint(&it).contains("`nvidia`'s kernels were loaded"));
    // The probe's own word for it, without the old marker in the log.
    let vendors = ["ascend".to_owned()];
    let evidence = Evidence { operator: "x", status: 1, foreign_vendors: &vendors, ..Evidence::default() };
    assert!(hint(&explain(&evidence)[0]).contains("`ascend`'s implementation"));
    // With rows and kernels a shared module is no fault.
    let evidence = Evidence { rows: 3, kernels: 2, foreign_vendors: &vendors, ..evidence };
    assert_eq!(explain(&evidence), []);
}

#[test]
fn rows_without_kernels_did_not_go_through_the_compiler() {
    let evidence = Evidence { operator: "sort", rows: 5, kernels: 0, ..Evidence::default() };
    let findings = explain(&evidence);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].severity, Severity::Warning);
    assert_eq!(
        findings[0].detail,
        "`sort` measured 5 rows and launched no kernel of the compiler under test"
    );
    assert!(hint(&findings[0]).contains("neither"));
    assert_eq!(explain(&Evidence { rows: 5, kernels: 1, ..evidence }), []);
}

#[test]
fn pytests_statuses_4_and_5_are_told() {
    let it = only("mm", 4, "__main__.py: error: unrecognized arguments: --shape_file=/s.yaml\n");
    assert_eq!(it.check, "pytest takes the options");
    assert!(hint(&it).contains("of another version"));
    let it = only("mm", 5, "1 deselected in 3.90s\n");
    assert_eq!(it.detail, "pytest exit 5: 1 deselected in 3.90s");
    // The probe's way of saying the same.
    let errors = ["no test was selected".to_owned()];
    let evidence = Evidence { operator: "mm", status: 4, errors: &errors, ..Evidence::default() };
    assert_eq!(explain(&evidence)[0].check, "pytest collects the operator");
    let it = only(
        "mm",
        5,
        "!!! _pytest.outcomes.Exit: switchback: recording refused: made on `NVIDIA A100` !!!\nno tests ran in 9s\n",
    );
    assert_eq!(it.check, "recording is of this machine");
    let errors = ["refused: made with compiler 3.5.1, this is 3.6.0".to_owned()];
    let evidence = Evidence { operator: "mm", status: 5, errors: &errors, ..Evidence::default() };
    assert_eq!(explain(&evidence)[0].detail, errors[0]);
}

#[test]
fn a_skipped_operator_is_not_an_operator_without_effect() {
    let it =
        only("fft", 0, "SKIPPED [1] benchmark/test_fft.py:75: CUDA is not available\n1 skipped in 4.02s\n");
    assert_eq!(it.check, "benchmark does not skip the operator");
    assert!(it.detail.contains("CUDA is not available"));
}

#[test]
fn the_machines_troubles_are_told_as_such() {
    let checks: Vec<(&str, &str)> = vec![
        (
            "OSError: [Errno 28] No space left on device: '/c/cells/mm/r1_A/1/cache'",
            "there is room on the disk",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 79.10 GiB",
            "card has the memory",
        ),
        (
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 300000, Hardware limit: 232448",
            "config fits the card",
        ),
        ("FAILED test_abs.py::test_abs - Failed: float division by zero", "timer measures something"),
        (
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
            "device context survives",
        ),
        ("KeyError: ((1, 1024), 'torch.float16')", "tuner finds its own choice"),
        ("Failed: unsupported operand type(s) for *: 'NoneType' and 'float'", "metrics can be computed"),
        ("run.sh: line 2: $'\\r': command not found", "script has line ends of this system"),
    ];
    for (log, check) in checks {
        let it = only("mm", 1, log);
        assert_eq!((it.check.as_str(), it.detail.as_str()), (check, log));
    }
}

#[test]
fn a_deadline_is_a_question_of_time() {
    let it =
        only("topk", 124, "Operator: topk  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n");
    assert_eq!(it.detail, "CELL_TIMEOUT: ended at its deadline, before its first row");
    assert!(hint(&it).contains("`--cell-timeout`"));
    let evidence = Evidence { operator: "topk", status: 124, rows: 7, kernels: 3, ..Evidence::default() };
    assert_eq!(explain(&evidence)[0].detail, "CELL_TIMEOUT: ended at its deadline, after 7 rows");
}

#[test]
fn a_death_by_signal_is_named() {
    for (status, name) in [(137, "SIGKILL"), (139, "SIGSEGV"), (134, "SIGABRT"), (136, "SIGFPE")] {
        let it = only("mm", status, "benchmark/test_mm.py \nFatal Python error: x\n");
        assert_eq!(it.detail, format!("died of {name}: Fatal Python error: x"));
    }
}

#[test]
fn no_rows_are_never_left_without_a_word() {
    let it = only("mm", 0, "");
    assert_eq!(it.detail, "no row, exit status 0, and not a word of output");
    assert!(hint(&it).starts_with("it ended well without measuring"));
    let it = only("mm", 3, &format!("{}\n", "x".repeat(1000)));
    assert!(it.detail.len() < 400 && it.detail.ends_with("…`"), "{}", it.detail);
}

#[test]
fn causes_go_before_consequences() {
    let log =
        "OSError: [Errno 28] No space left on device\nE   ModuleNotFoundError: No module named 'triton'\n";
    let evidence = Evidence { operator: "mm", status: 124, log, ..Evidence::default() };
    let checks: Vec<String> = explain(&evidence).into_iter().map(|it| it.check).collect();
    assert_eq!(
        checks,
        ["there is room on the disk", "interpreter imports the benchmark", "cell ended in time"]
    );
}

#[test]
fn a_class_that_ignores_the_shape_file_is_named() {
    let ignored = "ShapesIgnored: `StubbornBenchmark` ignores the shape file: its inputs are written into the benchmark, \
                   and `shapes_registry` does not know the class";
    let errors = [ignored.to_owned()];
    let evidence = Evidence { operator: "stubborn", status: 1, errors: &errors, ..Evidence::default() };
    let findings = explain(&evidence);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert!(findings[0].detail.contains("`StubbornBenchmark` ignores the shape file"));
    assert!(hint(&findings[0]).starts_with("nothing was measured: leave `--shape-file` out"));
    let it =
        only("pool", 1, "ValueError: `MaxPool2dBenchmark` takes a shape of `N, C, H, W`, got `(2, 2, 4)`\n");
    assert_eq!(it.check, "shape file reaches the benchmark");
    assert!(hint(&it).contains("docs/from-the-scripts.md"));
}

#[test]
fn inputs_that_all_failed_were_not_kept_away_by_a_filter() {
    let errors = ["boom on [8]".to_owned(), "RuntimeError: boom\non [16]".to_owned()];
    let evidence = Evidence { operator: "x", failed: 2, errors: &errors, ..Evidence::default() };
    let findings = explain(&evidence);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].detail, "all 2 inputs failed, last: `on [16]`");
    assert!(!hint(&findings[0]).contains("too narrow"), "{}", hint(&findings[0]));
    let one = Evidence { failed: 1, errors: &errors[..1], ..evidence.clone() };
    assert_eq!(explain(&one)[0].detail, "the one input failed, last: `boom on [8]`");
    // Without any row at all the filter is a good question.
    let none = Evidence { failed: 0, errors: &[], ..evidence };
    assert!(hint(&explain(&none)[0]).contains("too narrow"));
}
