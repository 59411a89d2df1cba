//! What vendors' tools were seen to print, a test an oddity, in the order of the public cases they come from (B01 … B25).
//!
//! Tools that fail are played by shell scripts: exit status, streams and retries are those of a real process.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use switchback_device::Backend;
use switchback_device::mask;
use switchback_device::telemetry::nvidia_smi::{self, NvidiaSmi, lost_card};
use switchback_device::telemetry::{Reading, Sampler, SamplerKind, TelemetryError, tsv};
use switchback_model::card::Card;

const SEVEN: &[&str] = &[
    "clocks.sm",
    "clocks.mem",
    "utilization.gpu",
    "temperature.gpu",
    "power.draw",
    "memory.used",
    "memory.total",
];

/// Reads columns behind an index, which is 0.
fn nvidia(fields: &[&'static str], line: &str) -> Reading {
    let fields: Vec<&str> = std::iter::once("index").chain(fields.iter().copied()).collect();
    let mut readings = nvidia_smi::parse(&fields, &format!("0, {line}\n"));
    assert_eq!(readings.len(), 1, "{line}");
    readings.remove(0)
}

/// A script in the place of `nvidia-smi`; it is told in `asked`, a line a run.
struct Played {
    folder: tempfile::TempDir,
    sampler: NvidiaSmi,
}

impl Played {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("nvidia-smi");
        std::fs::write(&program, format!("#!/bin/sh\necho \"$*\" >> \"${{0%/*}}/asked\"\n{script}\n"))
            .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let card = Card { backend: "cuda".into(), index: "0".into(), uuid: Some("GPU-1".into()), name: None };
        let sampler = NvidiaSmi::of_program(&program.to_string_lossy(), card);
        Self { folder, sampler }
    }

    fn asked(&self) -> Vec<String> {
        let path: PathBuf = self.folder.path().join("asked");
        std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
    }
}

/// An error with all its causes.
fn told(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(|cause| format!(": {}", told(cause))).unwrap_or_default();
    format!("{error}{cause}")
}

#[test]
fn b01_not_supported_became_n_a_with_a_driver_update() {
    for word in ["[N/A]", "[Not Supported]", "N/A", ""] {
        let it = nvidia(SEVEN, &format!("2004, 2004, 0, 44, {word}, 0, 0"));
        assert_eq!((it.power_w, it.sm_clock_mhz, it.util_pct), (None, Some(2004.0), Some(0.0)), "{word}");
        assert_eq!((it.temp_c, it.mem_used_mib), (Some(44.0), Some(0.0)), "{word}");
    }
    let it = nvidia(SEVEN, "[Not Supported], [Not Supported], 52 %, 52, [Not Supported], [N/A], [N/A]");
    assert_eq!((it.util_pct, it.temp_c), (Some(52.0), Some(52.0)));
    assert_eq!((it.sm_clock_mhz, it.power_w, it.mem_total_mib), (None, None, None));
}

#[test]
fn b02_an_unknown_error_is_one_cell_s_of_one_card() {
    let fields = ["index", "utilization.gpu", "power.draw", "clocks.sm", "power.limit"];
    let answer = "0, 100, 228.82, 1560, [Unknown Error]\n1, 53 %, 123.00 W, 1746 MHz, 250.00 W\n";
    let readings = nvidia_smi::parse(&fields, answer);
    assert_eq!((readings[0].power_w, readings[0].power_limit_w), (Some(228.82), None));
    assert_eq!(readings[0].remark.as_deref(), Some("power_limit_w: Unknown Error"));
    let second = &readings[1];
    assert_eq!((second.util_pct, second.power_w), (Some(53.0), Some(123.0)));
    assert_eq!(
        (second.sm_clock_mhz, second.power_limit_w, &second.remark),
        (Some(1746.0), Some(250.0), &None)
    );
}

#[test]
fn b04_memory_that_is_not_told_is_neither_free_nor_used() {
    let it = nvidia(
        &["temperature.gpu", "utilization.gpu", "memory.total", "memory.used"],
        "47, [N/A], [Insufficient Permissions], [Insufficient Permissions]",
    );
    assert_eq!((it.temp_c, it.util_pct, it.mem_used_mib, it.mem_free_mib()), (Some(47.0), None, None, None));
    let remark =
        "util_pct: N/A; mem_total_mib: Insufficient Permissions; mem_used_mib: Insufficient Permissions";
    assert_eq!(it.remark.as_deref(), Some(remark));
}

#[test]
fn b05_fields_are_read_by_position_and_a_refused_one_is_left_out_once() {
    // The query goes without a header, so that no renamed one can matter.
    assert!(nvidia_smi::argv(nvidia_smi::FIELDS, None).contains(&"--format=csv,noheader,nounits".to_owned()));
    let mut it = Played::new(
        "case \"$1\" in\n\
         *clocks_throttle_reasons.active*)\n\
         echo 'Field \"clocks_throttle_reasons.active\" is not a valid field to query.'; exit 2;;\n\
         *) echo '0, 1980, 3201, 41, 122.35, 63, 700.00, 500, 143771';;\n\
         esac",
    );
    let reading = it.sampler.sample().unwrap().remove(0);
    assert_eq!(
        (reading.sm_clock_mhz, reading.power_limit_w, reading.throttle),
        (Some(1980.0), Some(700.0), None)
    );
    it.sampler.sample().unwrap();
    let refused = it.asked().iter().filter(|asked| asked.contains("throttle")).count();
    assert_eq!((it.asked().len(), refused), (3, 1));
}

#[test]
fn b07_an_error_on_standard_output_is_an_error_and_no_card_s_name() {
    let text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161";
    let mut it = Played::new(&format!("printf '%s\\n' '{text}'; exit 18"));
    let error = told(&it.sampler.sample().unwrap_err());
    assert!(error.contains("exit status: 18"), "{error}");
    assert!(error.ends_with("Failed to initialize NVML: Driver/library version mismatch"), "{error}");
    assert_eq!(it.asked().len(), 1, "no retry");
    assert!(Backend::named("cuda").unwrap().read_listing(text).is_empty());
}

#[test]
fn b08_a_lost_card_is_told_by_its_place_on_the_bus() {
    let text = "Unable to determine the device handle for GPU 0000:BA:80.0: Unknown Error";
    let mut it = Played::new(&format!("echo '{text}'"));
    match it.sampler.sample().unwrap_err() {
        TelemetryError::CardLost { card, said } => {
            assert_eq!((card.as_str(), said.as_str()), ("0000:BA:80.0", text));
        }
        other => panic!("{other}"),
    }
    let newer =
        "Unable to determine the device handle for GPU0: 0000:CB:00.0: GPU is lost.  Reboot the system";
    assert_eq!(lost_card(newer).unwrap().0, "0000:CB:00.0");
    assert_eq!(lost_card("0, 1980, 3201, 41, 122.35, 63"), None);
}

#[test]
fn b10_a_card_is_asked_for_by_uuid_and_counted_along_the_bus() {
    let cuda = Backend::named("cuda").unwrap();
    let big = "1, GPU-bbbbbbbb-0000-0000-0000-000000000000, Big GPU, 580.1, 9.0, 700, 700, 700, 1, 1, 1, 1, Enabled, Disabled, 00000000:02:00.0";
    let card = cuda.read_listing(big).remove(0).card;
    assert_eq!(card.uuid.as_deref(), Some("GPU-bbbbbbbb-0000-0000-0000-000000000000"));
    let argv = nvidia_smi::argv(nvidia_smi::FIELDS, Some(&card));
    assert_eq!(argv[argv.len() - 2..], ["-i", "GPU-bbbbbbbb-0000-0000-0000-000000000000"]);
    let variables = cuda.child_variables(&card);
    assert_eq!(variables["CUDA_DEVICE_ORDER"].as_deref(), Some("PCI_BUS_ID"));
    assert_eq!(variables["CUDA_VISIBLE_DEVICES"].as_deref(), Some("1"));
}

#[test]
fn b11_a_mask_ends_at_its_first_entry_that_is_none() {
    let old_mig = "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/2";
    let new_mig = "MIG-11111111-2222-3333-4444-555555555555";
    for (text, entries) in [
        ("0,1,2,3,-1,5,6,7", vec!["0", "1", "2", "3"]),
        ("GPU-5a88edbe", vec!["GPU-5a88edbe"]),
        ("GPU-5a88edbe,GPU-7d1a2244-", vec!["GPU-5a88edbe", "GPU-7d1a2244-"]),
        (old_mig, vec![old_mig]),
        (new_mig, vec![new_mig]),
        ("", vec![]),
    ] {
        assert_eq!(mask::parse(text), entries, "{text}");
    }
    // Nothing visible is no card, not all of them.
    let cuda = Backend::named("cuda").unwrap();
    assert_eq!(cuda.inherited_mask(|_| Some(String::new())), Some(Vec::new()));
}

#[test]
fn b13_power_under_either_name_and_a_word_hides_no_figure() {
    let answer = r#"{"card1": {"Average Graphics Package Power (W)": "N/A (Secondary die)"},
        "card0": {"Average Graphics Package Power (W)": "17.0", "Current Socket Graphics Package Power (W)": "N/A",
        "GPU use (%)": "0", "VRAM Total Memory (B)": "25753026560"}}"#;
    let readings = SamplerKind::AmdSmi.parse(answer);
    assert_eq!(readings.iter().map(|it| it.index.as_str()).collect::<Vec<_>>(), ["0", "1"]);
    assert_eq!((readings[0].power_w, readings[0].util_pct), (Some(17.0), Some(0.0)));
    assert_eq!((readings[0].mem_total_mib, readings[0].mem_free_mib()), (Some(24560.0), None));
    assert_eq!(readings[1].power_w, None);
    assert_eq!(readings[1].remark.as_deref(), Some("power_w: N/A (Secondary die)"));
}

#[test]
fn b14_a_warning_in_the_place_of_json_is_no_reading() {
    assert_eq!(SamplerKind::AmdSmi.parse("WARNING: No JSON data to report\n"), []);
    assert!(Backend::named("rocm").unwrap().read_listing("WARNING: No JSON data to report").is_empty());
}

const GMI_2_3: &str = "Tue Mar 31 13:39:52 2026
---------------------------------------------------------------------
    mthreads-gmi:2.3.2           Driver Version:3.3.5-server
---------------------------------------------------------------------
ID   Name                 |PCIe                |%GPU  Mem
     Device Type   Perf   |Pcie Lane Width     |Temp  MPC Capable
                                               |      ECC Mode
+-------------------------------------------------------------------+
0    MTT S5000            |00000000:2a:00.0    |0%    66641MiB(81920MiB)
     Physical      P0     |16x(16x)            |52C   YES
                                               |      On-die, EDC
+-------------------------------------------------------------------+
Processes:
ID   PID       Process name                         GPU Memory
                                                         Usage
+-------------------------------------------------------------+
   No running processes found
";

#[test]
fn b16_the_table_of_cards_in_both_widths_ends_at_the_processes() {
    let readings = SamplerKind::MthreadsGmi.parse(GMI_2_3);
    let expected = Reading {
        index: "0".into(),
        util_pct: Some(0.0),
        temp_c: Some(52.0),
        mem_used_mib: Some(66641.0),
        mem_total_mib: Some(81920.0),
        ..Reading::default()
    };
    assert_eq!(readings, [expected]);
    let s80 = "0    MTT S80        |00000000:04:00.0    |0%    2MiB(16384MiB)
     Physical       |4x(16x)             |49C   YES
                                         |      N/A
Processes:
0    4711 | 00000000:04:00.0 | 9% 1MiB(2MiB)
";
    let readings = SamplerKind::MthreadsGmi.parse(s80);
    assert_eq!(readings.len(), 1);
    assert_eq!((readings[0].temp_c, readings[0].mem_used_mib), (Some(49.0), Some(2.0)));
    assert_eq!(readings[0].mem_total_mib, Some(16384.0));
    assert_eq!(readings[0].remark.as_deref(), Some("4 of 16 PCIe lanes"));
}

#[test]
fn b17_one_key_means_what_its_section_says() {
    let text = "GPU 00000000:2a:00.0
    Product Name        : MTT S5000
    FB Memory Usage
        Total           : 81920MiB
        Used            : 10MiB
    BAR1 Memory Usage
        Total           : 256MiB
        Used            : 2MiB
    Utilization
        Gpu             : 0%
        Memory          : 0%
    Temperature
        GPU Current Temp: 52C
    Power Readings
        Power Draw      : N/A
    Clocks
        Graphics        : 1750MHz
        Memory          : 2000MHz
";
    let expected = Reading {
        index: "0".into(),
        sm_clock_mhz: Some(1750.0),
        mem_clock_mhz: Some(2000.0),
        temp_c: Some(52.0),
        util_pct: Some(0.0),
        mem_used_mib: Some(10.0),
        mem_total_mib: Some(81920.0),
        remark: Some("power_w: N/A".into()),
        ..Reading::default()
    };
    assert_eq!(SamplerKind::MthreadsGmi.parse(text), std::slice::from_ref(&expected));
    let json = r#"{"GPU": [{"Index": "0", "FB Memory Usage": {"Total": "81920MiB", "Used": "10MiB"},
        "BAR1 Memory Usage": {"Total": "256MiB", "Used": "2MiB"}, "Utilization": {"Gpu": "0%", "Memory": "0%"},
        "Temperature": {"GPU Current Temp": "52C"}, "Power Readings": {"Power Draw": "N/A"},
        "Clocks": {"Graphics": "1750MHz", "Memory": "2000MHz"}}]}"#;
    assert_eq!(SamplerKind::MthreadsGmi.parse(json), [expected]);
}

#[test]
fn b19_a_decimal_comma_is_an_error_of_its_field_with_the_reason() {
    let it = Played::new("echo \"$LC_ALL\" >> \"${0%/*}/asked\"; exit 1");
    let Played { folder, mut sampler } = it;
    assert!(sampler.sample().is_err());
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    assert_eq!(asked.lines().last(), Some("C.UTF-8"));
    let text = "index\ttemp_c\tpower_w\n0\t24,0\t300,50\n1\t24.0\t300.50\n";
    let samples = tsv::read(text);
    assert_eq!((samples[0].reading.temp_c, samples[0].reading.power_w), (None, None));
    let remark = samples[0].reading.remark.as_deref().unwrap();
    assert!(
        remark.starts_with("temp_c: `24,0` has a decimal comma") && remark.contains("locale"),
        "{remark}"
    );
    assert_eq!((samples[1].reading.temp_c, samples[1].reading.power_w), (Some(24.0), Some(300.5)));
}

#[test]
fn b20_a_card_without_memory_of_its_own_still_has_power() {
    let it = nvidia(
        &["utilization.gpu", "memory.used", "memory.total", "temperature.gpu", "power.draw"],
        "0, [N/A], [N/A], 38, 4.72",
    );
    assert_eq!((it.util_pct, it.temp_c, it.power_w), (Some(0.0), Some(38.0), Some(4.72)));
    assert_eq!((it.mem_used_mib, it.mem_free_mib()), (None, None));
}

#[test]
fn b22_a_power_limit_below_the_card_s_own_is_told() {
    let facts = |limit: &str, default: &str| {
        let facts = [("power_limit_w", limit), ("power_default_limit_w", default)];
        BTreeMap::from(facts.map(|(name, value)| (name, value.to_owned())))
    };
    let told = switchback_device::backend::power_capped(&facts("500.00", "1400.00")).unwrap();
    assert_eq!(told, "the power limit is 500 W, the card's own is 1400 W");
    for (limit, default) in [("700.00", "700.00"), ("700.00", "500.00"), ("[N/A]", "700.00")] {
        assert_eq!(switchback_device::backend::power_capped(&facts(limit, default)), None);
    }
}

#[test]
fn b23_a_raw_word_in_json_is_refused_by_its_key() {
    let text = r#"{ "timestamp": "11-25 07:26:50", "temperature": 44, "utilization": 0, "power": [N/A] }"#;
    for kind in [SamplerKind::MthreadsGmi, SamplerKind::AmdSmi] {
        assert_eq!(kind.parse(text), [], "{kind:?}");
        let error = kind.readings("a-tool", text).unwrap_err().to_string();
        assert_eq!(error, "no telemetry: `a-tool` gave no reading: the value of `power` is no JSON");
    }
    // What is missing is written as nothing.
    let line = tsv::row(&tsv::Sample::default());
    assert!(line.split('\t').all(|field| field.trim().is_empty()), "{line:?}");
}

#[test]
fn b25_a_vendor_s_own_variable_and_no_other_one_s() {
    let musa = Backend::named("musa").unwrap();
    let mask =
        musa.inherited_mask(|name| (name == "MUSA_VISIBLE_DEVICES").then(|| "4,5".to_owned())).unwrap();
    // Its card 1 is the second of those that are left to it.
    let variables = musa.child_variables(&musa.card(&mask[1]));
    let expected = BTreeMap::from([("MUSA_VISIBLE_DEVICES".to_owned(), Some("5".to_owned()))]);
    assert_eq!(variables, expected);
}

#[test]
fn the_samples_of_a_real_run_are_read_to_the_last_field() {
    // Lines of an H200 while it ran, `nvidia-smi` once a second; the columns behind the time.
    let fields = ["clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "utilization.gpu"];
    for (line, expected) in [
        ("345, 3201, 42, 111.90, 0", [345.0, 3201.0, 42.0, 111.9, 0.0]),
        ("345, 3201, 41, 82.82, 0", [345.0, 3201.0, 41.0, 82.82, 0.0]),
    ] {
        let it = nvidia(&fields, line);
        let read = [it.sm_clock_mhz, it.mem_clock_mhz, it.temp_c, it.power_w, it.util_pct];
        assert_eq!(read, expected.map(Some), "{line}");
    }
}
