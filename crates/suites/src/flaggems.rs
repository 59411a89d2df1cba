//! FlagGems' own benchmark (`benchmark/` of a checkout), run by pytest with the probe as a plugin.
//!
//! An operator is one test function: `OP:FILE` is `test_OP` in `benchmark/test_FILE.py`, as in `perf_sort:sort`. A test's
//! mark, which is mostly the name in the library, is an alias: `sort` finds `perf_sort:sort`, `einsum` all ten functions
//! marked so; the function's name wins where both exist. Only the function is exact: pytest's `-k` matches parts of
//! names, and one mark stands in several files (`router_gemm`, `fused_experts_impl`).
//!
//! Options of the benchmark are written `--name=value` behind the node's full path: pytest must load
//! `benchmark/conftest.py`, which defines them, while it does not know them yet, and finds that file by the path.
//! What the functions measure and how is the probe's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use switchback_model::finding::Finding;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::Command;
use switchback_model::side::Pairing;

use crate::embedded::{self, PROBE};
use crate::python::{Python, read_offered, read_path_check};
use crate::registry::Surroundings;
use crate::resolve::{nearest, resolve};
use crate::suite::{
    CellRequest, Check, CheckAction, CheckOutput, EmbeddedFile, Evidence, Offered, ProgramOutput, Suite,
    SuiteError, SuiteOptions,
};
use crate::symptom;
use crate::triton::{PAIRINGS, isolate_compiler};

/// Levels that the benchmark takes, the default first.
const LEVELS: [&str; 2] = ["core", COMPREHENSIVE];
/// The level at which benchmarks add shapes and metrics.
const COMPREHENSIVE: &str = "comprehensive";
/// Modes that the benchmark takes, the default first.
const MODES: [&str; 4] = ["kernel", "operator", "wrapper", "cudagraph"];
/// Metrics that a baseline adds, in the order in which the benchmark checks that one needs another.
const BASELINE_METRICS: [&str; 2] = ["latency_base", "speedup"];
/// What the interpreter must import.
const MODULES: [&str; 4] = ["torch", "triton", "flag_gems", "pytest"];
/// Vendors for which the benchmark reads its own shape file, whatever it is told.
const OWN_SHAPES: [&str; 2] = ["kunlunxin", "enflame"];
/// The vendor whose benchmark calls the mode `--fg_mode`, since a pytest plugin took `--mode`.
const FG_MODE_VENDOR: &str = "kunlunxin";

/// The shape of a cell's command, for the digest of the measurement path: each argument up to its value. Values are
/// conditions of their own.
const COMMAND_SHAPE: &str = "-m pytest NODE -p switchback_probe.plugin -p no:cacheprovider -p no:randomly -s -q -rfEs --rootdir \
     --level --mode --dtypes --metrics --warmup --iter --shape_file";

/// The suite of a FlagGems checkout.
#[derive(Debug, Clone)]
pub struct FlagGems {
    options: SuiteOptions,
    python: Python,
    checkout: PathBuf,
    shape_digest: Option<String>,
}

impl FlagGems {
    /// From options and surroundings; paths are absolute already.
    ///
    /// # Errors
    /// No checkout, a level or mode that the benchmark does not have, metrics without `latency`, a shape file for a vendor
    /// whose benchmark would not read it.
    pub fn new(options: SuiteOptions, surroundings: &Surroundings) -> Result<Self, SuiteError> {
        let Some(checkout) = options.flaggems_dir.clone() else {
            return Err(SuiteError::new(
                "suite `flaggems` was given no checkout",
                "`--flaggems-dir DIR` names it; its `benchmark` folder holds the operators",
            ));
        };
        for (flag, value, known) in
            [("--level", &options.level, LEVELS.as_slice()), ("--mode", &options.mode, MODES.as_slice())]
        {
            if let Some(value) = value.as_deref().filter(|value| !known.contains(value)) {
                let near = nearest(value, known.iter().copied(), 1).first().copied().unwrap_or(known[0]);
                return Err(SuiteError::new(
                    format!("the benchmark of FlagGems takes no `{flag} {value}`"),
                    format!("it takes {}; nearest: `{near}`", known.join(", ")),
                ));
            }
        }
        if !options.metrics.is_empty() && !options.metrics.iter().any(|metric| metric == "latency") {
            return Err(SuiteError::new(
                format!("`--metrics {}` measures no latency", options.metrics.join(",")),
                "add `latency`, it is what A and B are compared by",
            ));
        }
        if options.shape_file.is_some() && OWN_SHAPES.contains(&options.backend.as_str()) {
            return Err(SuiteError::new(
                format!("the benchmark reads no `--shape-file` on back end `{}`", options.backend),
                "it always takes the vendor's own `core_shapes.yaml` there; leave the option out",
            ));
        }
        let python = Python::new(&options, surroundings);
        Ok(Self { python, checkout, shape_digest: surroundings.shape_digest.clone(), options })
    }

    fn level(&self) -> &str {
        self.options.level.as_deref().unwrap_or(LEVELS[0])
    }

    fn mode(&self) -> &str {
        self.options.mode.as_deref().unwrap_or(MODES[0])
    }

    fn benchmark_dir(&self) -> PathBuf {
        self.checkout.join("benchmark")
    }

    fn benchmark_file(&self, operator: &OperatorSpec) -> PathBuf {
        let file = operator.file_name();
        let file = file.split_once('/').map_or(file, |(file, _)| file);
        self.benchmark_dir().join(format!("test_{file}.py"))
    }

    /// The test function of an operator: its own name, or the one after `/` where it was asked for by an alias.
    fn test_function<'a>(&self, operator: &'a OperatorSpec) -> &'a str {
        operator
            .file
            .as_deref()
            .and_then(|file| file.split_once('/'))
            .map_or(&operator.operator, |(_, name)| name)
    }

    /// Dtypes as the benchmark spells them; empty for the operator's own.
    fn dtypes(&self, operator: &OperatorSpec) -> Vec<String> {
        let chosen = if operator.dtypes.is_empty() { &self.options.dtypes } else { &operator.dtypes };
        let mut dtypes: Vec<String> = Vec::new();
        for dtype in chosen.iter().map(|dtype| dtype_name(dtype)) {
            if !dtypes.contains(&dtype) {
                dtypes.push(dtype);
            }
        }
        dtypes
    }

    /// Metrics with what each needs before it.
    fn metrics(&self, with_baseline: bool) -> Vec<String> {
        let mut metrics = vec!["latency".to_owned()];
        let asked = self.options.metrics.iter().map(String::as_str);
        for metric in BASELINE_METRICS.into_iter().filter(|_| with_baseline).chain(asked) {
            if metric == "speedup" && !metrics.iter().any(|known| known == "latency_base") {
                metrics.push("latency_base".into());
            }
            if !metrics.iter().any(|known| known == metric) {
                metrics.push(metric.into());
            }
        }
        metrics
    }

    fn arguments(&self, request: &CellRequest<'_>) -> Vec<String> {
        let (operator, measure) = (request.operator, request.measure);
        let node =
            format!("{}::test_{}", self.benchmark_file(operator).display(), self.test_function(operator));
        let mut arguments = vec![node];
        // No cache folder in the checkout, and no shuffling that is not ours.
        for plugin in ["switchback_probe.plugin", "no:cacheprovider", "no:randomly"] {
            arguments.extend(["-p".into(), plugin.into()]);
        }
        // The reasons of skips and failures at the end of the log.
        arguments.extend(["-s", "-q", "-rfEs"].map(str::to_owned));
        let vendors = [measure.vendor.as_str(), self.options.backend.as_str()];
        let mode_flag = if vendors.contains(&FG_MODE_VENDOR) { "--fg_mode" } else { "--mode" };
        arguments.push(format!("--rootdir={}", self.checkout.display()));
        arguments.push(format!("--level={}", self.level()));
        arguments.push(format!("{mode_flag}={}", self.mode()));
        arguments.extend(self.dtypes(operator).iter().map(|dtype| format!("--dtypes={dtype}")));
        let mut metrics = self.metrics(measure.with_baseline);
        // At this level some benchmarks add a bandwidth of their own, computed from the baseline's latency, and fail
        // without one. In mode `kernel` the probe answers for a baseline that was not asked for, and measures none.
        if self.level() == COMPREHENSIVE && !metrics.iter().any(|metric| metric == "latency_base") {
            metrics.push("latency_base".into());
        }
        arguments.extend(metrics.iter().map(|metric| format!("--metrics={metric}")));
        // Said even where they are the defaults: for some vendors the benchmark's own defaults changed between versions.
        arguments.push(format!("--warmup={}", whole_ms(measure.warmup_ms)));
        arguments.push(format!("--iter={}", whole_ms(measure.sample_ms)));
        if let Some(shape_file) = &self.options.shape_file {
            arguments.push(format!("--shape_file={}", shape_file.display()));
        }
        arguments
    }
}

impl Suite for FlagGems {
    fn name(&self) -> &'static str {
        "flaggems"
    }

    fn embedded(&self) -> Vec<EmbeddedFile> {
        embedded::files(&[PROBE])
    }

    fn measurement_path(&self) -> String {
        let template = COMMAND_SHAPE.split(' ').map(str::to_owned).collect::<Vec<_>>();
        embedded::digest(&self.embedded(), &template)
    }

    fn checks(&self, operators: &[OperatorSpec], probe_dir: &Path) -> Vec<Check> {
        let mut checks = vec![
            Check {
                name: "FlagGems directory exists".into(),
                action: CheckAction::FolderExists(self.checkout.clone()),
            },
            Check {
                name: "benchmark options are defined".into(),
                action: CheckAction::FileExists(self.benchmark_dir().join("conftest.py")),
            },
        ];
        for operator in operators {
            let action = CheckAction::FileExists(self.benchmark_file(operator));
            if !checks.iter().any(|check| check.action == action) {
                checks.push(Check { name: format!("benchmark file exists: {operator}"), action });
            }
        }
        if let Some(shape_file) = &self.options.shape_file {
            let action = CheckAction::FileExists(shape_file.clone());
            checks.push(Check { name: "shape file exists".into(), action });
        }
        let source = self.checkout.join("src");
        checks.push(self.python.check(&MODULES, probe_dir, &[&source]));
        checks
    }

    fn read_check(&self, check: &Check, output: &CheckOutput) -> Finding {
        if let CheckOutput::Program(output) = output {
            return self.python.read_check(&check.name, output);
        }
        let hint = if check.name.starts_with("benchmark file") {
            "an operator is written `OP:FILE`, as in `perf_sort:sort` for `test_perf_sort` in `test_sort.py`; \
             is it the wrong way round?"
        } else if check.name.starts_with("shape file") {
            "`--shape-file` names a YAML file of the benchmark's own format"
        } else {
            "`--flaggems-dir` names the checkout, the folder that holds `benchmark` and `src`"
        };
        read_path_check(check, output, hint)
    }

    fn list_command(&self, probe_dir: &Path) -> Command {
        let folder = self.benchmark_dir().to_string_lossy().into_owned();
        self.python.module("switchback_probe.collect", vec![folder], probe_dir, &[probe_dir])
    }

    fn read_list(&self, output: &ProgramOutput) -> Result<Vec<Offered>, SuiteError> {
        read_offered("python -m switchback_probe.collect", output)
    }

    fn resolve(&self, asked: &[OperatorSpec], offered: &[Offered]) -> Result<Vec<OperatorSpec>, SuiteError> {
        resolve(self.name(), asked, offered, &self.options.dtypes)
    }

    fn cell_command(&self, request: &CellRequest<'_>) -> Command {
        let source = self.checkout.join("src");
        let arguments = self.arguments(request);
        let mut command =
            self.python.module("pytest", arguments, &self.checkout, &[request.probe_dir, &source]);
        isolate_compiler(&mut command, request.cache_dir);
        // FlagGems keeps generated code and its tuner's results, both below one folder unless told; the tuner's even
        // holds the time of every config, by which one side would choose for the other.
        let flaggems_cache = request.cache_dir.join("flaggems");
        let database = request.cache_dir.join("flaggems_tuner.db");
        let set = |value: String| Some(value);
        command.env.insert("FLAGGEMS_CACHE_DIR".into(), set(flaggems_cache.to_string_lossy().into_owned()));
        command.env.insert("FLAGGEMS_DB_URL".into(), set(format!("sqlite:///{}", database.display())));
        // Options that somebody set for their own test runs.
        command.env.insert("PYTEST_ADDOPTS".into(), None);
        command
    }

    fn pairings(&self) -> &'static [Pairing] {
        PAIRINGS
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn tunes(&self) -> bool {
        true
    }

    fn conditions(&self, operator: &OperatorSpec) -> BTreeMap<String, String> {
        let shape_mode = match (&self.options.shape_file, &self.shape_digest) {
            (None, _) => "core_shapes".to_owned(),
            (Some(_), Some(digest)) => format!("file sha256:{}", &digest[..digest.len().min(16)]),
            (Some(path), None) => format!("file {}", path.display()),
        };
        let dtypes = self.dtypes(operator);
        let mut conditions = BTreeMap::from([
            ("suite".into(), self.name().into()),
            ("mode".into(), self.mode().into()),
            ("bench_level".into(), self.level().into()),
            ("shape_mode".into(), shape_mode),
            ("dtypes".into(), if dtypes.is_empty() { "all".into() } else { dtypes.join(",") }),
            ("metrics".into(), self.metrics(false).join(",")),
        ]);
        // The probe takes its order from this condition; where nothing was asked for it is unknown, as it was before.
        if self.options.avoid_mm_cluster {
            conditions.insert("mm_cluster".into(), "avoided".into());
        }
        conditions
    }

    fn explain(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        symptom::explain(self.name(), Some(self.python.interpreter()), evidence)
    }
}

/// Milliseconds as the benchmark reads them: whole, and at least one.
fn whole_ms(milliseconds: f64) -> u64 {
    // A float beyond the range, or none at all, becomes the nearest end of it.
    (milliseconds.round() as u64).max(1)
}

/// A dtype as the benchmark's `--dtypes` spells it: `fp16`, `half` and `torch.float16` are `float16`. An unknown one is
/// left as it is, for the benchmark to refuse.
#[must_use]
pub fn dtype_name(dtype: &str) -> String {
    let bare = dtype.strip_prefix("torch.").unwrap_or(dtype);
    let name = match bare {
        "fp16" | "f16" | "half" => "float16",
        "bf16" => "bfloat16",
        "fp32" | "f32" | "float" => "float32",
        "fp64" | "f64" | "double" => "float64",
        "i8" => "int8",
        "i16" | "short" => "int16",
        "i32" | "int" => "int32",
        "i64" | "long" => "int64",
        "cfloat" | "cf64" | "c64" => "complex64",
        other => other,
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> SuiteOptions {
        SuiteOptions { flaggems_dir: Some("/FlagGems".into()), ..SuiteOptions::default() }
    }

    fn fault(options: SuiteOptions) -> String {
        FlagGems::new(options, &Surroundings::default()).unwrap_err().message
    }

    #[test]
    fn options_that_the_benchmark_would_refuse_or_ignore_are_refused_before() {
        assert_eq!(fault(SuiteOptions::default()), "suite `flaggems` was given no checkout");
        let wrong = SuiteOptions { level: Some("cor".into()), ..options() };
        assert_eq!(fault(wrong), "the benchmark of FlagGems takes no `--level cor`");
        let wrong = SuiteOptions { mode: Some("kernels".into()), ..options() };
        assert_eq!(fault(wrong), "the benchmark of FlagGems takes no `--mode kernels`");
        let wrong = SuiteOptions { metrics: vec!["tflops".into()], ..options() };
        assert_eq!(fault(wrong), "`--metrics tflops` measures no latency");
        let wrong =
            SuiteOptions { shape_file: Some("/s.yaml".into()), backend: "enflame".into(), ..options() };
        assert_eq!(fault(wrong), "the benchmark reads no `--shape-file` on back end `enflame`");
    }

    #[test]
    fn metrics_come_after_what_they_need() {
        let suite = |metrics: &[&str]| {
            let metrics = metrics.iter().map(|metric| (*metric).to_owned()).collect();
            FlagGems::new(SuiteOptions { metrics, ..options() }, &Surroundings::default()).unwrap()
        };
        assert_eq!(suite(&[]).metrics(false), ["latency"]);
        assert_eq!(suite(&[]).metrics(true), ["latency", "latency_base", "speedup"]);
        assert_eq!(suite(&["speedup", "latency"]).metrics(false), ["latency", "latency_base", "speedup"]);
        assert_eq!(suite(&["latency", "tflops"]).metrics(false), ["latency", "tflops"]);
    }

    #[test]
    fn the_larger_level_has_the_baseline_that_its_bandwidths_need() {
        let metrics = |level: &str| {
            let options = SuiteOptions { level: Some(level.into()), ..options() };
            let suite = FlagGems::new(options, &Surroundings::default()).unwrap();
            let operator = OperatorSpec::named("sum");
            let arguments = suite.arguments(&CellRequest {
                operator: &operator,
                purpose: switchback_model::cell::Purpose::Run,
                measure: &measure(),
                probe_dir: Path::new("/p"),
                cache_dir: Path::new("/c"),
            });
            (
                arguments.into_iter().filter(|it| it.starts_with("--metrics")).collect::<Vec<_>>(),
                suite.conditions(&operator)["metrics"].clone(),
            )
        };
        assert_eq!(metrics("core"), (vec!["--metrics=latency".to_owned()], "latency".to_owned()));
        assert_eq!(
            metrics("comprehensive"),
            (vec!["--metrics=latency".to_owned(), "--metrics=latency_base".to_owned()], "latency".to_owned())
        );
    }

    #[test]
    fn dtypes_are_spelt_as_the_benchmark_does() {
        for (written, name) in [
            ("fp16", "float16"),
            ("torch.bfloat16", "bfloat16"),
            ("cf64", "complex64"),
            ("cfloat", "complex64"),
            ("float8_e4m3fn", "float8_e4m3fn"),
        ] {
            assert_eq!(dtype_name(written), name);
        }
        let suite = FlagGems::new(options(), &Surroundings::default()).unwrap();
        assert_eq!(suite.dtypes(&"mm::fp16,float16,bf16".parse().unwrap()), ["float16", "bfloat16"]);
    }

    /// Whoever changes the command changes the digest with it.
    #[test]
    fn the_shape_in_the_digest_is_that_of_the_command() {
        let options =
            SuiteOptions { shape_file: Some("/s.yaml".into()), dtypes: vec!["float16".into()], ..options() };
        let suite = FlagGems::new(options, &Surroundings::default()).unwrap();
        let operator = OperatorSpec::named("mm");
        let command = suite.cell_command(&CellRequest {
            operator: &operator,
            purpose: switchback_model::cell::Purpose::Run,
            measure: &measure(),
            probe_dir: Path::new("/p"),
            cache_dir: Path::new("/c"),
        });
        let shape: Vec<&str> = command.argv[1..]
            .iter()
            .map(|word| if word.contains("::") { "NODE" } else { word.split('=').next().unwrap() })
            .collect();
        assert_eq!(shape.join(" "), COMMAND_SHAPE);
    }

    fn measure() -> switchback_model::order::Measure {
        serde_json::from_str(
            r#"{"timed": true, "timer": "auto", "warmup_ms": 200.0, "sample_ms": 100.0, "direct_repeat": 1, "blocks": 8,
                "block_length": 12, "cache_state": "flush", "seed": 1, "tuning": "off"}"#,
        )
        .unwrap()
    }

    #[test]
    fn budgets_are_whole_and_at_least_one() {
        assert_eq!([0.0, 0.4, 1.6, 200.0, -3.0, f64::NAN].map(whole_ms), [1, 1, 2, 200, 1, 1]);
    }

    #[test]
    fn a_cluster_kernel_that_is_avoided_is_a_condition() {
        let with = |avoid_mm_cluster| {
            let options = SuiteOptions { avoid_mm_cluster, ..options() };
            let suite = FlagGems::new(options, &Surroundings::default()).unwrap();
            suite.conditions(&OperatorSpec::named("mm")).get("mm_cluster").cloned()
        };
        assert_eq!([with(false), with(true)], [None, Some("avoided".to_owned())]);
    }

    #[test]
    fn a_shape_file_is_a_condition_by_its_content() {
        let with = |digest: Option<&str>| {
            let options = SuiteOptions { shape_file: Some("/s.yaml".into()), ..options() };
            let surroundings =
                Surroundings { shape_digest: digest.map(str::to_owned), ..Surroundings::default() };
            FlagGems::new(options, &surroundings).unwrap().conditions(&OperatorSpec::named("mm"))["shape_mode"].clone()
        };
        assert_eq!(with(Some("0123456789abcdef0123")), "file sha256:0123456789abcdef");
        assert_eq!(with(None), "file /s.yaml");
    }
}
