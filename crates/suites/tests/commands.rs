//! The commands of every suite, as they will be run: program, folder, environment.

use std::path::Path;

use switchback_model::cell::Purpose;
use switchback_model::operator::OperatorSpec;
use switchback_model::order::{CacheState, Command, Measure, TimerChoice, Tuning};
use switchback_model::side::{CellSides, Pairing};
use switchback_suites::suite::{CellRequest, CheckAction, CheckOutput, Suite, SuiteOptions};
use switchback_suites::{Surroundings, suite_in};

fn measure() -> Measure {
    Measure {
        timed: true,
        timer: TimerChoice::Auto,
        warmup_ms: 200.0,
        sample_ms: 100.0,
        direct_repeat: 1,
        blocks: 8,
        block_length: 12,
        case_precision_pct: 0.0,
        regime: switchback_model::order::Regime::Burst,
        cache_state: CacheState::Flush,
        seed: 7,
        tuning: Tuning::Replay,
        recording: None,
        with_baseline: false,
        keep_ir: true,
        capture_denied: Vec::new(),
        capture_fatal: Vec::new(),
        capture_poisoned: Vec::new(),
        capture_supported: true,
        vendor: "nvidia".into(),
    }
}

fn surroundings() -> Surroundings {
    Surroundings {
        cwd: "/home/u".into(),
        python_path: Some("/build/triton/python".into()),
        shape_digest: Some("f0".repeat(32)),
    }
}

fn options() -> SuiteOptions {
    SuiteOptions {
        python: Some("venv/bin/python".into()),
        flaggems_dir: Some("FlagGems".into()),
        command: ["./bench", "--op={operator}", "--dtypes", "{dtypes}"].map(str::to_owned).to_vec(),
        env: [("USE_FLAGTUNE".to_owned(), Some("1".to_owned()))].into(),
        ..SuiteOptions::default()
    }
}

fn suite(name: &str, options: &SuiteOptions) -> Box<dyn Suite> {
    suite_in(name, options, Path::new("/opt/switchback"), &surroundings()).unwrap()
}

fn cell(suite: &dyn Suite, operator: &str, measure: &Measure) -> Command {
    let operator: OperatorSpec = operator.parse().unwrap();
    suite.cell_command(&CellRequest {
        operator: &operator,
        purpose: Purpose::Round(1, CellSides::A),
        measure,
        probe_dir: Path::new("/campaign/probe"),
        cache_dir: Path::new("/campaign/cache/mm_A"),
    })
}

fn written(command: &Command) -> String {
    let mut text = format!("in {}\n", command.cwd.display());
    for (name, value) in &command.env {
        match value {
            Some(value) => text.push_str(&format!("{name}={value}\n")),
            None => text.push_str(&format!("{name} removed\n")),
        }
    }
    for (index, word) in command.argv.iter().enumerate() {
        text.push_str(if index == 0 { "$ " } else { "    " });
        text.push_str(if word.is_empty() { "''" } else { word });
        text.push('\n');
    }
    text
}

#[test]
fn cells_and_lists_of_every_suite() {
    for name in switchback_suites::NAMES {
        let suite = suite(name, &options());
        insta::assert_snapshot!(
            format!("{name}_cell"),
            written(&cell(&*suite, "perf_sort:sort:fp16,bfloat16", &measure()))
        );
        insta::assert_snapshot!(
            format!("{name}_list"),
            written(&suite.list_command(Path::new("/campaign/probe")))
        );
    }
}

#[test]
fn all_options_of_the_flaggems_suite_reach_the_benchmark() {
    let options = SuiteOptions {
        level: Some("comprehensive".into()),
        mode: Some("operator".into()),
        dtypes: vec!["float32".into()],
        metrics: vec!["latency".into(), "tflops".into()],
        shape_file: Some("shapes.yaml".into()),
        env: [
            ("TRITON_CACHE_DIR".to_owned(), Some("/shared".to_owned())),
            ("PYTHONPATH".to_owned(), Some("/mine".to_owned())),
        ]
        .into(),
        ..options()
    };
    let suite = suite("flaggems", &options);
    let measure = Measure { with_baseline: true, vendor: "kunlunxin".into(), ..measure() };
    insta::assert_snapshot!(written(&cell(&*suite, "mm", &measure)));
    insta::assert_debug_snapshot!(suite.conditions(&"mm".parse().unwrap()));
}

#[test]
fn sides_differ_in_caches_only_and_never_share_one() {
    for name in ["triton", "flaggems", "command"] {
        let suite = suite(name, &options());
        let operator = OperatorSpec::named("mm");
        let measure = measure();
        let of = |cache: &'static str| {
            suite.cell_command(&CellRequest {
                operator: &operator,
                purpose: Purpose::Run,
                measure: &measure,
                probe_dir: Path::new("/campaign/probe"),
                cache_dir: Path::new(cache),
            })
        };
        let (a, b) = (of("/cache/A"), of("/cache/B"));
        assert_eq!((&a.argv, &a.cwd), (&b.argv, &b.cwd), "{name}");
        for (variable, value) in &a.env {
            let cache = value.as_deref().is_some_and(|value| value.contains("/cache/A"));
            assert_eq!(cache, b.env[variable] != *value, "{name} {variable}");
        }
        assert!(a.env["TRITON_CACHE_DIR"].as_deref().unwrap().starts_with("/cache/A/"), "{name}");
    }
}

#[test]
fn checks_of_the_flaggems_suite() {
    let options = SuiteOptions { shape_file: Some("shapes.yaml".into()), ..options() };
    let suite = suite("flaggems", &options);
    let operators: Vec<OperatorSpec> =
        ["mm", "mm_out:mm", "perf_sort:sort"].iter().map(|text| text.parse().unwrap()).collect();
    let checks = suite.checks(&operators, Path::new("/campaign/probe"));
    let lines: Vec<String> = checks
        .iter()
        .map(|check| match &check.action {
            CheckAction::FolderExists(path) => format!("{}: folder {}", check.name, path.display()),
            CheckAction::FileExists(path) => format!("{}: file {}", check.name, path.display()),
            CheckAction::Run(command) => format!("{}:\n{}", check.name, written(command)),
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    let sort = checks.iter().find(|check| check.name.contains("perf_sort")).unwrap();
    let finding = suite.read_check(sort, &CheckOutput::Exists(false));
    assert_eq!(finding.check, "benchmark file exists: perf_sort:sort");
    assert_eq!(finding.detail, "`/home/u/FlagGems/benchmark/test_sort.py` is not there");
    assert!(finding.hint.unwrap().contains("the wrong way round?"));
}

#[test]
fn pairings_and_tuning() {
    let of = |name| {
        let suite = suite(name, &options());
        (suite.pairings(), suite.tunes())
    };
    assert_eq!(of("cpu"), (&[Pairing::Duet, Pairing::Process][..], false));
    assert_eq!(of("triton"), (&[Pairing::Duet, Pairing::Process][..], true));
    assert_eq!(of("flaggems"), (&[Pairing::Duet, Pairing::Process][..], true));
    assert_eq!(of("command"), (&[Pairing::Process][..], false));
}

#[test]
fn measurement_paths_tell_suites_and_commands_apart() {
    let of = |name: &str, options: &SuiteOptions| suite(name, options).measurement_path();
    let mut paths: Vec<String> = switchback_suites::NAMES.iter().map(|name| of(name, &options())).collect();
    paths.push(of("command", &SuiteOptions { command: vec!["./other".into()], ..options() }));
    let count = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), count);
    // Options of a run are conditions of their own and leave the path alone.
    let other = SuiteOptions { level: Some("comprehensive".into()), python: None, ..options() };
    assert_eq!(of("flaggems", &other), of("flaggems", &options()));
}

#[test]
fn every_condition_is_a_field() {
    for name in switchback_suites::NAMES {
        for field in suite(name, &options()).conditions(&OperatorSpec::named("mm")).keys() {
            assert!(switchback_model::conditions::FIELDS.contains(&field.as_str()), "{name} {field}");
        }
    }
}
