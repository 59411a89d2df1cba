//! NVML through its real loader, against a small library that answers as it does (`fake_nvml.c`), and, where there is a
//! card, against the driver's own.
//!
//! The library keeps its state for the whole process and takes its part from a variable, so each part is a process: the
//! tests start this test program again with one test's name.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use switchback_device::Backend;
use switchback_device::telemetry::nvml::{LIBRARY, Library, NvmlSampler};
use switchback_device::telemetry::{Reading, Sampler, TelemetryError, open};
use switchback_model::card::Card;

/// Compiles the library; none where there is no compiler, which is said.
fn fake(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_nvml.c");
    let library = folder.join(LIBRARY);
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    match status {
        Ok(status) => {
            assert!(status.success(), "`cc` failed: {status}");
            Some(library)
        }
        Err(error) => {
            eprintln!("skipped: there is no `cc` to build the library with: {error}");
            None
        }
    }
}

fn card(uuid: Option<&str>) -> Card {
    Card { backend: "cuda".into(), index: "3".into(), uuid: uuid.map(str::to_owned), name: None }
}

/// Runs `play` in a process in which the library plays a part; the process is this program, at the test of that name.
fn as_part(test: &str, part: &str, play: impl FnOnce(Arc<Library>)) {
    if let Some(library) = std::env::var_os("FAKE_NVML_LIBRARY") {
        return play(Arc::new(Library::at(Path::new(&library)).expect("the library opens")));
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = fake(folder.path()) else { return };
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("FAKE_NVML", part)
        .env("FAKE_NVML_LIBRARY", library)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_card_is_read_by_uuid_and_by_index() {
    as_part("a_card_is_read_by_uuid_and_by_index", "", |library| {
        let expected = Reading {
            index: "3".into(),
            sm_clock_mhz: Some(1980.0),
            mem_clock_mhz: Some(3201.0),
            temp_c: Some(41.0),
            power_w: Some(477.68),
            util_pct: Some(87.0),
            throttle: Some("sw_power_cap+0x1000".into()),
            power_limit_w: Some(700.0),
            mem_used_mib: Some(500.0),
            mem_total_mib: Some(143_771.0),
            remark: None,
        };
        assert_eq!(library.read(&card(Some("GPU-fake"))).unwrap(), expected);
        assert_eq!(library.read(&card(None)).unwrap(), expected);
        let processes = library.compute_processes(&card(None)).unwrap();
        let told: Vec<(u32, &str)> = processes.iter().map(|it| (it.pid, it.name.as_str())).collect();
        assert_eq!(told, [(4711, "/opt/other/python4711")]);
    });
}

#[test]
fn a_card_that_the_library_does_not_know_is_an_error_and_no_other_card_s_reading() {
    as_part("a_card_that_the_library_does_not_know_is_an_error_and_no_other_card_s_reading", "", |library| {
        let error = NvmlSampler::new(library.clone(), card(Some("GPU-other"))).err().unwrap();
        assert!(matches!(error, TelemetryError::Library { .. }), "{error}");
        let error = NvmlSampler::new(library.clone(), card(Some("MIG-1"))).err().unwrap().to_string();
        assert!(error.contains("a part of a card has no clocks of its own"), "{error}");
        assert_eq!(library.compute_processes(&card(Some("GPU-other"))), None);
    });
}

#[test]
fn what_a_card_does_not_answer_is_absent_and_the_rest_stays() {
    as_part("what_a_card_does_not_answer_is_absent_and_the_rest_stays", "mig", |library| {
        let mut sampler = NvmlSampler::new(library, card(Some("GPU-fake"))).unwrap();
        let reading = &sampler.sample().unwrap()[0];
        assert_eq!((reading.power_w, reading.util_pct), (None, None));
        assert_eq!((reading.temp_c, reading.sm_clock_mhz), (Some(41.0), Some(1980.0)));
        assert_eq!(reading.mem_free_mib(), None);
        let remark = reading.remark.as_deref().unwrap();
        assert!(remark.starts_with("power_w: ") && remark.contains("; mem_used_mib: "), "{remark}");
    });
}

#[test]
fn a_card_that_falls_off_the_bus_is_lost() {
    as_part("a_card_that_falls_off_the_bus_is_lost", "lost", |library| {
        let mut sampler = NvmlSampler::new(library, card(Some("GPU-fake"))).unwrap();
        sampler.sample().unwrap();
        let error = sampler.sample().unwrap_err();
        assert!(matches!(error, TelemetryError::CardLost { .. }), "{error}");
        assert!(error.to_string().starts_with("card `GPU-fake` is lost: "), "{error}");
    });
}

#[test]
fn a_library_that_is_missing_or_another_driver_s_is_told_and_the_tool_taken() {
    let error = Library::at(Path::new("/nowhere/libnvidia-ml.so.1")).unwrap_err().to_string();
    assert!(error.starts_with("NVML: ") && error.contains("libnvidia-ml.so.1"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = fake(folder.path()) else { return };
    if std::env::var("FAKE_NVML").as_deref() == Ok("mismatch") {
        let opened = open(&card(Some("GPU-fake"))).unwrap();
        assert_eq!(opened.sampler.name(), "nvidia-smi");
        let remark = opened.remark.unwrap();
        assert!(remark.contains("version") && remark.ends_with("; `nvidia-smi` is run instead"), "{remark}");
        return;
    }
    let test = "a_library_that_is_missing_or_another_driver_s_is_told_and_the_tool_taken";
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("FAKE_NVML", "mismatch")
        .env("LD_LIBRARY_PATH", library.parent().unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// On a machine with a card: the library and the tool read the same card, and what a reading costs is printed.
#[test]
fn library_and_tool_agree_on_a_real_card() {
    let cuda = Backend::named("cuda").unwrap();
    let listed = match (Library::load(), cuda.list()) {
        (Ok(_), Ok(listed)) => listed,
        (Err(error), _) => return eprintln!("skipped: {error}"),
        (_, Err(error)) => return eprintln!("skipped: {error}"),
    };
    let card = &listed[0].card;
    let mut library = open(card).unwrap();
    assert_eq!((library.sampler.name(), &library.remark), ("nvml", &None));
    let mut tool = switchback_device::telemetry::nvidia_smi::NvidiaSmi::new(card.clone());
    let told = tool.sample().unwrap().remove(0);
    let asked = std::time::Instant::now();
    let read = library.sampler.sample().unwrap().remove(0);
    let took = asked.elapsed();
    eprintln!("nvml took {took:?}\n{read:?}\nnvidia-smi\n{told:?}");
    assert_eq!((&read.index, read.power_limit_w), (&told.index, told.power_limit_w));
    // An idle card drifts between two readings: only what it is sure to answer is compared by value.
    let whole = [read.sm_clock_mhz, read.mem_clock_mhz, read.temp_c, read.power_w, read.util_pct];
    assert!(whole.iter().all(Option::is_some) && read.throttle.is_some(), "{read:?}");
    assert!((read.temp_c.unwrap() - told.temp_c.unwrap()).abs() <= 5.0, "{read:?} {told:?}");
    assert_eq!(read.mem_clock_mhz, told.mem_clock_mhz);
}
