//! The reader of FlagGems' logs against real logs, against known traps, and against arbitrary bytes.

use proptest::prelude::*;
use switchback_model::event::Timer;
use switchback_model::side::Side;
use switchback_suites::flaggems_log::{FlagGemsLog, Format, PytestSummary, input, read};

const SORT: &str = include_str!("data/sort_h200.log");
const MM: &str = include_str!("data/mm_h200.log");
const HEADING: &str = "Operator: add  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n\
    Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          Size Detail\n";

fn log(text: &str) -> FlagGemsLog {
    read(text.as_bytes(), Side::A)
}

fn table(rows: &str) -> FlagGemsLog {
    log(&format!("{HEADING}{rows}"))
}

fn warnings(log: &FlagGemsLog) -> Vec<String> {
    log.warnings.iter().map(ToString::to_string).collect()
}

/// Rows as a script would cut them out: latency in milliseconds, third word of each line that starts with the status.
fn cut_out(text: &str) -> Vec<f64> {
    text.lines()
        .filter(|line| line.starts_with("SUCCESS"))
        .map(|line| line.split_whitespace().nth(2).unwrap().parse().unwrap())
        .collect()
}

fn agrees_with_a_script(text: &str) {
    let it = log(text);
    let milliseconds = cut_out(text);
    assert_eq!(it.rows.len(), milliseconds.len());
    for (row, milliseconds) in it.rows.iter().zip(milliseconds) {
        let microseconds = row.row.latency_us.unwrap();
        assert!((microseconds / 1e3 - milliseconds).abs() < 1e-12, "{microseconds} {milliseconds}");
        assert!((row.resolution_us - 0.001).abs() < 1e-15);
        assert_eq!((row.format, row.row.timer), (Format::Table, Some(Timer::Direct)));
    }
    assert_eq!(it.warnings, []);
    assert_eq!(it.failures, []);
}

#[test]
fn a_real_sort_log_is_read_whole() {
    agrees_with_a_script(SORT);
    let it = log(SORT);
    assert_eq!(it.rows.len(), 10);
    assert_eq!(it.summary, Some(PytestSummary { passed: 2, ..PytestSummary::default() }));
    let row = &it.rows[0];
    assert_eq!(row.row.operator, "sort");
    assert_eq!(row.row.case.dtype, "torch.float16");
    assert_eq!(row.row.case.input, "([torch.Size([64, 64])], {'dim': -1, 'descending': False})");
    assert_eq!(
        (row.row.latency_us, row.row.baseline_us, row.speedup),
        (Some(931.296), Some(15.152), Some(0.016))
    );
    assert_eq!((row.mode.as_str(), row.level.as_str(), row.line), ("kernel", "core", 5));
    assert_eq!(it.rows[9].row.operator, "sort_stable");
    assert_eq!(it.rows[9].row.latency_us, Some(19145.151));
    assert_eq!(it.measured().count(), 10);
    let conditions = it.conditions();
    assert_eq!(conditions["bench_level"], "core");
    assert_eq!(conditions["metrics"], "latency,latency_base");
    assert_eq!(conditions["dtypes"], "float16");
    assert_eq!(conditions["timer"], "direct");
}

#[test]
fn rows_that_print_alike_in_a_real_mm_log_are_told_apart() {
    agrees_with_a_script(MM);
    let it = log(MM);
    let alike: Vec<(u32, f64)> = it
        .rows
        .iter()
        .filter(|row| row.row.operator == "mm" && row.row.case.input.starts_with("[torch.Size([4096, 4096])"))
        .map(|row| (row.row.case.occurrence, row.row.latency_us.unwrap()))
        .collect();
    assert_eq!(alike, [(0, 223.52), (1, 255.792)]);
    assert_eq!(it.rows.iter().filter(|row| row.row.operator == "mm_self_transpose").count(), 9);
    assert_eq!(it.rows[0].row.baseline_us, None);
}

#[test]
fn all_logs_of_the_data_folder_beside_the_project_are_read_whole() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let mut read = 0;
    for folder in ["h200-logs", "h200-noise/flaggems/direct"] {
        let Ok(entries) = std::fs::read_dir(data.join(folder)) else {
            eprintln!("skipped: no data folder beside the project");
            return;
        };
        for path in entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "log"))
        {
            agrees_with_a_script(&std::fs::read_to_string(&path).unwrap());
            read += 1;
        }
    }
    assert_eq!(read, 20);
}

#[test]
fn colours_and_unfilled_placeholders_of_an_input_failure() {
    let it = log("\u{1b}[31mFAILED\u{1b}[0m: Operator=add dtype={dtype} err=<<<{e}>>>\n\
         FAILED benchmark/test_add.py::test_add - Failed: CUDA error: invalid argument\n1 failed in 3.20s\n");
    assert_eq!(it.rows.len(), 0);
    let failure = &it.failures[0];
    assert_eq!((failure.operator.as_deref(), failure.dtype.as_deref(), failure.line), (Some("add"), None, 1));
    assert_eq!(failure.error.as_deref(), Some("Failed: CUDA error: invalid argument"));
    assert_eq!(it.failures[1].test.as_deref(), Some("benchmark/test_add.py::test_add"));
    assert_eq!(it.summary.unwrap().failed, 1);
    assert!(!format!("{it:?}").contains("{dtype}"));
}

#[test]
fn heading_and_rows_may_disagree_on_columns() {
    let it = log("Operator: addmm  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n\
        Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup               TFLOPS          Size Detail\n\
        SUCCESS               0.010240            0.020480               0.500               1.250          [torch.Size([64, 64])]\n\
        SUCCESS               0.010240            0.020480               0.500          [torch.Size([0, 64])]\n\
        SUCCESS               0.155424            0.184432               0.843            3454.234            2910.942          [torch.Size([1024, 65536]), 1]\n\
        SUCCESS               0.155424            0.184432               0.843            1.5       3454.234            2910.942          [1]\n");
    let values: Vec<_> = it.rows.iter().map(|row| (row.tflops, row.gbps_baseline, row.gbps)).collect();
    assert_eq!(
        values,
        [
            (Some(1.25), None, None),
            (None, None, None),
            (None, Some(3454.234), Some(2910.942)),
            (Some(1.5), Some(3454.234), Some(2910.942))
        ]
    );
    assert_eq!(
        warnings(&it),
        ["line 4: a row has 0 numbers behind its speedup, its table's heading announces 1"],
        "told once a table"
    );
}

#[test]
fn an_input_is_pythons_own_notation_kept_whole() {
    let inputs = [
        "[torch.Size([1073741824]), -2.5]",
        "([0.25, torch.Size([2, 19, 7])], {'out': torch.Size([2, 19, 7])})",
        "[[torch.Size([64, 64]), torch.Size([64, 64])], 0]",
        "[torch.Size([]), None, True, torch.float32, 'ij,jk->ik']",
        "{'input': torch.Size([2, 3]), 'dim': -1}",
    ];
    let rows: String =
        inputs.iter().map(|input| format!("SUCCESS  4.239035  3.514796  1.206          {input}\n")).collect();
    let it = table(&rows);
    let read: Vec<&str> = it.rows.iter().map(|row| row.row.case.input.as_str()).collect();
    assert_eq!(read, inputs);
    assert!(it.rows.iter().all(|row| row.gbps.is_none() && row.tflops.is_none()), "0.25 is no bandwidth");
    assert_eq!(it.warnings, []);
}

#[test]
fn missing_values_stay_missing() {
    let it = table("SUCCESS                    N/A            0.020000                 N/A          N/A\n");
    let row = &it.rows[0];
    assert_eq!((row.row.baseline_us, row.row.latency_us, row.speedup), (None, Some(20.0), None));
    assert_eq!(row.row.case.input, "N/A");
    let it = table("SUCCESS               0.020000                 N/A                 N/A          [1]\n");
    assert!(it.rows[0].row.ok && it.rows[0].row.latency_us.is_none());
    assert_eq!(warnings(&it), ["line 3: `add` [1]: a row without a latency"]);
    assert_eq!(it.measured().count(), 0);
}

#[test]
fn zero_and_negative_latencies_are_kept_and_marked() {
    let it = table(
        "FAILED test_abs.py::test_abs - Failed: float division by zero\n\
         SUCCESS               0.000000            0.004000               0.000          [torch.Size([1])]\n\
         SUCCESS               0.004000            0.000000           12500.000          [torch.Size([1])]\n\
         SUCCESS               0.004000           -0.000512              -0.128          [torch.Size([64, 64])]\n\
         SUCCESS               0.004000            nan                   nan          [torch.Size([64, 64])]\n",
    );
    assert_eq!(it.failures[0].error.as_deref(), Some("Failed: float division by zero"));
    let marked: Vec<bool> = it.rows.iter().map(|row| row.unmeasurable.is_some()).collect();
    assert_eq!(marked, [false, true, true, true]);
    assert_eq!(it.rows[2].row.latency_us, Some(-0.512));
    assert_eq!(it.measured().count(), 1);
    assert_eq!(it.rows[1].row.case.occurrence, 1);
    assert_eq!(it.rows[3].speedup, None, "no number, so none");
    assert_eq!(warnings(&it), ["3 of 4 rows have a latency that is none (zero, negative)"]);
}

#[test]
fn a_change_of_clock_is_told_and_enters_the_timer() {
    let it = table(
        "WARNING:root:Wall time is used instead of elapsed_time because of the bug ('negative timings').\n\
         SUCCESS               0.004000            0.004000               1.000          [1]\n",
    );
    assert_eq!(it.rows[0].row.timer, Some(Timer::Wall));
    assert_eq!(it.conditions()["timer"], "wall");
    assert_eq!(warnings(&it), ["line 3: the back end's events are not used, all rows are wall time"]);
}

#[test]
fn dtypes_are_an_open_set_also_in_records() {
    let it = log(
        r#"[INFO] {"op_name": "sum", "dtype": "torch.float16", "mode": "kernel", "level": "core", "result": [{"shape_detail": [[64, 64]], "latency_base": 0.02, "latency": 0.01, "speedup": 2.0}]}
[INFO] {"op_name": "sum", "dtype": "torch.float8_e4m3fn", "mode": "kernel", "level": "core", "result": [{"shape_detail": [[64, 64]], "latency_base": 0.02, "latency": 0.04, "speedup": 0.5}]}
"#,
    );
    let read: Vec<_> =
        it.rows.iter().map(|row| (row.row.case.dtype.as_str(), row.speedup, row.resolution_us)).collect();
    assert_eq!(read, [("torch.float16", Some(2.0), 0.0), ("torch.float8_e4m3fn", Some(0.5), 0.0)]);
    assert_eq!(it.rows[0].row.latency_us, Some(10.0));
    assert_eq!(input::canonical(&it.rows[0].row.case.input), input::canonical("[torch.Size([64, 64])]"));
}

#[test]
fn the_json_file_is_read_and_a_mark_without_rows_is_told() {
    let it = log(
        r#"{"div_tensor": {"result": "passed", "test_case": "test_div.py::test_div", "reason": null},
 "topk": {"result": "failed", "test_case": "test_topk.py::test_topk", "reason": "CUDA out of memory"},
 "div": {"details": [{"dtype": "torch.float16", "result": [{"shape_detail": [[64, 64]], "latency_base": 0.01, "latency": 0.02, "speedup": 0.5}]}]}}"#,
    );
    assert_eq!((it.rows.len(), it.rows[0].row.operator.as_str()), (1, "div"));
    assert_eq!(warnings(&it), ["`div_tensor` passed and measured nothing under that name"]);
    assert_eq!(it.failures[0].error.as_deref(), Some("CUDA out of memory"));
}

#[test]
fn a_table_and_its_record_in_one_file_are_one_measurement() {
    let record = r#"[INFO] {"op_name": "add", "dtype": "torch.float16", "mode": "kernel", "level": "core", "result": [{"shape_detail": [[64, 64]], "latency": 0.0100004}]}"#;
    let it = table(&format!("SUCCESS  N/A  0.010000  N/A          [torch.Size([64, 64])]\n{record}\n"));
    assert_eq!(it.rows.len(), 1);
    assert_eq!(it.rows[0].row.latency_us, Some(0.010_000_4 * 1e3));
    assert_eq!(
        warnings(&it),
        ["`add` torch.float16 is there as a table of 1 rows and as a record of 1: the record is read"]
    );
}

#[test]
fn other_output_between_and_on_lines_is_told_or_ignored() {
    let it = log(
        "collecting 233 items          WARNING 07-13 02:46:58 [interface.py:869] Current platform cuda\n\
         collected 850 items / 849 deselected / 1 selected\n\
         Running 1 items in this shard: benchmark/test_baddbmm.py::test_baddbmm_out\n\n\
         .Operator: baddbmm_out  Performance Test (dtype=torch.float16, mode=kernel,level=comprehensive)\n\
         Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          Size Detail\n\
         WARNING 07-13 02:46:58 [interface.py:869] Current platform cuda\n\
         .SUCCESS  0.1  0.2  0.5          [torch.Size([64, 64])]\n\
         SUCCESS  0.1  0.2  0.5          [torch.Size([64, 65])]WARNING 07-13 [interface.py:869]\n\
         SUCCESS  0.1  0.2  0.5          [torch.Size([64,\n",
    );
    assert_eq!(it.rows.len(), 2);
    assert_eq!(
        (it.rows[0].row.operator.as_str(), it.rows[0].level.as_str()),
        ("baddbmm_out", "comprehensive")
    );
    assert_eq!(
        warnings(&it),
        [
            "line 9: other output on the line of a row: `WARNING 07-13 [interface.py:869]`",
            "line 10: a row that is cut off is left out"
        ]
    );
}

#[test]
fn a_message_over_several_lines_ends_and_a_quoted_one_is_none() {
    let it = table(
        "E       print(f\"FAILED: Operator={self.op_name} dtype={dtype} err=<<<{e}>>>\")\n\
         \u{1b}[31mFAILED\u{1b}[0m: Operator=conv2d dtype=torch.float16 err=<<<CUDA error: an illegal memory access\n\
         CUDA kernel errors might be asynchronously reported at some other API call\n\
         >>>\n\
         SUCCESS               0.008000            0.008000               1.000          [torch.Size([64, 64])]\n\
         SUCCESS               0.008000            0.008000               1.000          [torch.Size([64, 64])]\n",
    );
    assert_eq!(it.failures.len(), 1);
    let failure = &it.failures[0];
    assert_eq!((failure.line, failure.dtype.as_deref()), (4, Some("torch.float16")));
    assert_eq!(
        failure.error.as_deref(),
        Some(
            "CUDA error: an illegal memory access\nCUDA kernel errors might be asynchronously reported at some other API call"
        )
    );
    let occurrences: Vec<u32> = it.rows.iter().map(|row| row.row.case.occurrence).collect();
    assert_eq!(occurrences, [0, 1], "equal rows are two rows");
}

#[test]
fn a_message_without_an_end_does_not_swallow_the_rest() {
    let rows = "SUCCESS  0.1  0.2  0.5          [1]\n".repeat(3);
    let it = table(&format!("FAILED: Operator=add dtype=torch.int8 err=<<<one\n{rows}"));
    assert_eq!((it.rows.len(), it.failures[0].error.as_deref()), (3, Some("one")));
    assert_eq!(warnings(&it), ["line 3: the end `>>>` of a message is missing; its first line is kept"]);
}

#[test]
fn tuner_reports_are_choices_and_no_rows() {
    let it = table(
        "Triton autotuning for function mm_kernel_general finished after 3.21s; config key: (1024, 1024, 1024, \
         'torch.float16'), benchmark key: (1024, 1024, 1024, 'torch.float16'), best config selected: BLOCK_M: 128, \
         BLOCK_N: 128, num_warps: 8, maxnreg: None;\n\
         Triton autotuning for function add_kernel,\nwith key as (1024, 'torch.float16'),\nfinished after 0.50s,\n\
         best config selected: BLOCK: 1024, num_warps: 4;\n\
         SUCCESS  0.1  0.2  0.5          [1]\n",
    );
    let read: Vec<_> = it
        .tuned
        .iter()
        .map(|it| (it.kernel.as_str(), it.key.as_str(), it.config.as_str(), it.tuner.as_str()))
        .collect();
    assert_eq!(
        read,
        [
            (
                "mm_kernel_general",
                "(1024, 1024, 1024, 'torch.float16')",
                "BLOCK_M: 128, BLOCK_N: 128, num_warps: 8, maxnreg: None",
                "LibTuner"
            ),
            ("add_kernel", "(1024, 'torch.float16')", "BLOCK: 1024, num_warps: 4", "Autotuner"),
        ]
    );
    assert_eq!((it.rows.len(), it.rows[0].line), (1, 8));
}

#[test]
fn nothing_measured_is_said_and_never_a_success() {
    let it = log("1 passed in 0.50s\n");
    assert_eq!(warnings(&it), ["1 tests passed and not one row was printed (is `-s` missing?)"]);
    let it = log(
        "Using CUDA device Sample GPU\nDriver: 9020\n\nRuntime (seconds): 0.5\nBandwidth (GB/s):  700.0\n",
    );
    assert_eq!(
        warnings(&it),
        [
            "no output of FlagGems' benchmark is recognised; it starts: `Using CUDA device Sample GPU | Driver: 9020 | \
          Runtime (seconds): 0.5`"
        ]
    );
    assert_eq!(log("").warnings, []);
}

#[test]
fn crlf_and_nul_change_nothing_but_are_told() {
    let crlf = format!("{HEADING}SUCCESS  0.1  0.2  0.5          [torch.Size([64])]\n").replace('\n', "\r\n");
    let it = log(&crlf);
    assert_eq!(it.rows[0].row.case.input, "[torch.Size([64])]");
    assert_eq!(warnings(&it), ["line 1: lines end with CRLF; read as LF"]);
    let it = table("SUCC\0ESS  0.1  0.2  0.5          [1]\n\0\0\0");
    assert_eq!(it.rows.len(), 1);
    assert_eq!(warnings(&it), ["NUL bytes are left out: was the file cut off by a crash of its machine?"]);
}

#[test]
fn two_runs_in_one_log_are_told_and_differ_from_one() {
    let it = log(&format!(
        "{HEADING}SUCCESS  0.1  0.2  0.5  [1]\n{}SUCCESS  0.1  0.3  0.5  [1]\n",
        HEADING.replace("core", "comprehensive")
    ));
    assert_eq!(warnings(&it), ["more than one level in one log: `comprehensive`, `core`"]);
    assert_eq!(it.conditions()["bench_level"], "comprehensive,core");
    assert_eq!(it.rows[1].row.case.occurrence, 1);
}

#[test]
fn markers_of_the_scripts_are_counted() {
    let it = table(
        "BENCHMARK_DIRECT_NO_CUDAGRAPH op=rand repeat=3\nBENCHMARK_DIRECT_NO_CUDAGRAPH op=rand\n\
         FOREIGN_VENDOR_MODULE active=mthreads loaded=nvidia\n",
    );
    assert_eq!(it.markers["BENCHMARK_DIRECT_NO_CUDAGRAPH"], 2);
    assert_eq!(it.markers["FOREIGN_VENDOR_MODULE"], 1);
    assert!(!it.markers.contains_key("CELL_TIMEOUT"));
}

/// Pieces that logs are made of, to be shuffled: random bytes alone hardly ever reach the inner branches.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let fixed = [
        HEADING,
        "SUCCESS",
        "FAILED",
        "  0.1  0.2  0.5  ",
        "[torch.Size([64, 64])]",
        "([1], {'a': 'b]'})",
        "N/A ",
        "-0.0 ",
        "FAILED: Operator=",
        " err=<<<",
        ">>>",
        "dtype={dtype}",
        "Triton autotuning for function ",
        "best config selected:",
        "[INFO] {\"op_name\": \"a\", \"result\": [",
        "{\"latency\": NaN}]}",
        " 1 passed in 2s",
        "\u{1b}[31m",
        "\u{1b}]",
        "\r\n",
        "\n",
        "ü…",
    ];
    prop_oneof![
        8 => prop::sample::select(fixed.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes, Side::B);
    }

    #[test]
    fn no_mixture_of_pieces_makes_it_panic_or_invent_rows(pieces in prop::collection::vec(piece(), 0..40)) {
        let bytes = pieces.concat();
        let it = read(&bytes, Side::B);
        let text = String::from_utf8_lossy(&bytes);
        // A row needs its status, or an entry of a record.
        let clean = text.replace('\0', "");
        let most = clean.matches("SUCCESS").count() + clean.matches("FAILED").count() + clean.matches('{').count();
        prop_assert!(it.rows.len() <= most);
        prop_assert!(it.rows.iter().all(|row| row.row.side == Side::B && row.line <= text.split('\n').count()));
    }

    /// What is printed the way the benchmark prints it is read back to the digit.
    #[test]
    fn printed_rows_read_back(latencies in prop::collection::vec(1u64..50_000_000, 1..20)) {
        let rows: String = latencies
            .iter()
            .map(|nanoseconds| {
                let milliseconds = format!("{}.{:06}", nanoseconds / 1_000_000, nanoseconds % 1_000_000);
                format!("SUCCESS   {:>20}{milliseconds:>20}{:>20}          [torch.Size([64])]\n", "N/A", "N/A")
            })
            .collect();
        let it = table(&rows);
        prop_assert_eq!(it.rows.len(), latencies.len());
        for (index, (row, nanoseconds)) in it.rows.iter().zip(&latencies).enumerate() {
            prop_assert_eq!(row.row.case.occurrence as usize, index);
            prop_assert_eq!(row.row.latency_us, Some(*nanoseconds as f64 / 1e3));
        }
    }
}
