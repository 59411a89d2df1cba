//! Tests of the back ends' data against what tools and runtimes were seen to print.

use switchback_model::capture::CaptureErrorClass::{Fatal, Poisoned, Recoverable};

use super::*;

fn cuda() -> &'static Backend {
    Backend::named("cuda").unwrap()
}

#[test]
fn names_find_their_back_end() {
    for backend in Backend::ALL {
        assert!(std::ptr::eq(Backend::named(backend.name).unwrap(), *backend));
    }
    assert!(Backend::named("npu").is_none());
}

#[test]
fn a_cell_sees_its_card_only_and_other_vendors_variables_are_left_alone() {
    let variables =
        Backend::named("musa").unwrap().child_variables(&Backend::named("musa").unwrap().card("5"));
    assert_eq!(variables, Variables::from([("MUSA_VISIBLE_DEVICES".into(), Some("5".into()))]));
    let variables = cuda().child_variables(&cuda().card("1"));
    assert_eq!(variables["CUDA_VISIBLE_DEVICES"].as_deref(), Some("1"));
    assert_eq!(variables["CUDA_DEVICE_ORDER"].as_deref(), Some("PCI_BUS_ID"));
    let rocm = Backend::named("rocm").unwrap();
    assert_eq!(rocm.child_variables(&rocm.card("2"))["ROCR_VISIBLE_DEVICES"], None);
    let cpu = Backend::named("cpu").unwrap();
    assert!(cpu.child_variables(&cpu.card("0")).is_empty());
}

#[test]
fn sticky_errors_are_fatal_whatever_wraps_them() {
    for text in [
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        "CUDA error: device-side assert triggered",
        "Triton Error [CUDA]: misaligned address",
        "CUDA error: unspecified launch failure",
        "RuntimeError: first\n\nDuring handling of the above exception, another exception occurred:\n\nCUDA error: an illegal instruction was encountered",
    ] {
        assert_eq!(cuda().classify_capture_error(text), Fatal, "{text}");
    }
}

#[test]
fn an_unknown_device_error_is_fatal_an_unknown_other_error_is_not() {
    assert_eq!(cuda().classify_capture_error("CUBLAS_STATUS_EXECUTION_FAILED"), Fatal);
    assert_eq!(cuda().classify_capture_error("CUDA error: something of a later driver"), Fatal);
    assert_eq!(cuda().classify_capture_error("ValueError: no such axis"), Recoverable);
    let text = "ValueError: no such axis\n\nThe above exception was the direct cause of the following exception:\n\n\
        CUDA error: something of a later driver";
    assert_eq!(cuda().classify_capture_error(text), Fatal);
    // Nothing is known of these texts on MUSA, so nothing is claimed.
    assert_eq!(Backend::named("musa").unwrap().classify_capture_error("MUSA error: x"), Recoverable);
}

#[test]
fn what_one_case_may_do_wrong_is_recoverable() {
    for text in [
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 300000, Hardware limit: 232448",
        "RuntimeError: PassManager::run failed",
        "Triton Error [CUDA]: invalid argument",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "torch.AcceleratorError: CUDA error: operation would make the legacy stream depend on a capturing blocking stream",
        "CUDA failure 900: operation not permitted when stream is capturing",
    ] {
        assert_eq!(cuda().classify_capture_error(text), Recoverable, "{text}");
    }
}

#[test]
fn an_invalidated_capture_poisons_in_every_wording() {
    for text in [
        "cudaErrorStreamCaptureInvalidated(901)",
        "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: operation failed due to a previous error during capture",
        "status != cudaStreamCaptureStatus::cudaStreamCaptureStatusInvalidated",
        "CUDA error 901",
        "captures_underway.empty() INTERNAL ASSERT FAILED at \"c10/cuda/CUDACachingAllocator.cpp\":3941",
    ] {
        assert_eq!(cuda().classify_capture_error(text), Poisoned, "{text}");
    }
}

#[test]
fn a_lost_card_is_no_fault_of_a_kernel_s() {
    let said = |backend: &str, text: &str| Backend::named(backend).unwrap().classify_death(text);
    for text in [
        "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
        "RuntimeError: No CUDA GPUs are available",
        "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment",
        "Unable to determine the device handle for GPU0000:BA:00.0: GPU is lost.  Reboot the system to recover this GPU",
        "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
    ] {
        assert_eq!(said("cuda", text), Some(DeviceFault::Lost), "{text}");
    }
    let poisoned = "one line\nCUDA error: an illegal memory access was encountered\nmore";
    assert_eq!(said("cuda", poisoned), Some(DeviceFault::Poisoned));
    assert_eq!(said("rocm", "HW Exception by GPU node-1: GPU Hang"), Some(DeviceFault::Lost));
    for text in
        ["CUDA error: invalid argument", "torch.OutOfMemoryError: CUDA out of memory.", "AssertionError", ""]
    {
        assert_eq!(said("cuda", text), None, "{text}");
    }
    // Nothing is known of these texts there, so nothing is claimed.
    assert_eq!(said("musa", poisoned), None);
    assert_eq!(said("cpu", "GPU is lost"), None);
}

#[test]
fn the_first_exception_of_a_chain_decides() {
    let text = "RuntimeError: Offset increment outside graph capture encountered unexpectedly.\n\n\
        During handling of the above exception, another exception occurred:\n\n\
        torch.AcceleratorError: CUDA error: operation failed due to a previous error during capture";
    assert_eq!(cuda().classify_capture_error(text), Recoverable);
}

#[test]
fn the_listing_gives_card_and_conditions() {
    let line = "0, GPU-aaaaaaaa-0000-0000-0000-000000000000, NVIDIA H200, 580.159.04, 9.0, 700.00, 700.00, 700.00, \
        1980, 3201, 1980, 1980, Enabled, Disabled, 00000000:00:06.0\n";
    let listed = cuda().read_listing(line);
    assert_eq!(listed.len(), 1);
    let ListedCard { card, facts } = &listed[0];
    assert_eq!(card.lock_name(), "GPU-aaaaaaaa-0000-0000-0000-000000000000");
    assert_eq!((card.index.as_str(), card.name.as_deref()), ("0", Some("NVIDIA H200")));
    for (fact, value) in [
        ("device", "NVIDIA H200"),
        ("driver", "580.159.04"),
        ("compute_capability", "9.0"),
        ("power_limit_w", "700.00"),
        ("clock_lock", "none"),
    ] {
        assert_eq!(facts[fact], value, "{fact}");
    }
}

#[test]
fn what_the_tool_does_not_tell_is_absent_and_an_error_is_no_card() {
    let line = "1, GPU-b, Some GPU, 573.24, 8.0, [N/A], [Not Supported], [Unknown Error], 1410, 1593, 1200, 1410, \
        Enabled, [N/A], 00000000:02:00.0";
    let listed = cuda().read_listing(line);
    assert!(!listed[0].facts.contains_key("power_limit_w"));
    assert!(!listed[0].facts.contains_key("mig_mode"));
    assert_eq!(listed[0].facts["clock_lock"], "application clock 1200 MHz");
    for text in [
        "",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n",
        "Unable to determine the device handle for GPU 0000:BA:80.0: Unknown Error\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest, a, b",
    ] {
        assert!(cuda().read_listing(text).is_empty(), "{text}");
    }
}

#[test]
fn amd_cards_are_listed_in_both_shapes_of_the_answer() {
    let cards = r#"[{"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X", "asic_serial": "0xABC",
        "target_graphics_version": "gfx942"}, "bus": {"bdf": "0000:0c:00.0"}, "driver": {"name": "amdgpu",
        "version": "6.12.12"}, "limit": {"max_power": {"value": 750, "unit": "W"}, "socket_power": "N/A"}}]"#;
    for text in [cards.to_owned(), format!("{{\"gpu_data\": {cards}}}")] {
        let listed = Backend::named("rocm").unwrap().read_listing(&text);
        assert_eq!(listed[0].card.uuid.as_deref(), Some("0xABC"));
        assert_eq!(listed[0].facts["compute_capability"], "gfx942");
        assert_eq!(listed[0].facts["power_max_limit_w"], "750");
        assert!(!listed[0].facts.contains_key("power_limit_w"));
    }
    assert!(Backend::named("rocm").unwrap().read_listing("WARNING: No JSON data to report").is_empty());
}

#[test]
fn the_processor_has_two_virtual_cards_and_musa_no_listing() {
    let locks: Vec<String> =
        Backend::named("cpu").unwrap().list().unwrap().iter().map(|it| it.card.lock_name()).collect();
    assert_eq!(locks, ["cpu-0", "cpu-1"]);
    let error = Backend::named("musa").unwrap().list().unwrap_err();
    assert_eq!(error.to_string(), "no tool is known that lists the cards of back end `musa`");
}
