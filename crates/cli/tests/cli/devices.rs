//! Cards that fail, are lost, disappear or have others on them: two cards of a stand-in for `nvidia-smi`.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Ran, Sandbox};

/// Lists the cards that have a file `card N`, and what computes on them; tells nothing else.
const NVIDIA_SMI: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
case "$*" in
    *--query-compute-apps*GPU-*)
        card=${*##*GPU-}
        [ ! -e "apps $card" ] || cat "apps $card"
        ;;
    *--query-gpu=index,uuid,name,driver_version*)
        for card in 0 1; do
            [ ! -e "card $card" ] || echo "$card, GPU-$card, NVIDIA H200, 580.1, 9.0, 700, 700, 700, 1980, 3201, 1980, 1980, Enabled, Disabled, 0:0$card"
        done
        ;;
    *) exit 9 ;;
esac
"#;

/// A sandbox with two cards.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let bin = sandbox.path("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(bin.join("nvidia-smi"), NVIDIA_SMI).unwrap();
    std::fs::set_permissions(bin.join("nvidia-smi"), std::fs::Permissions::from_mode(0o755)).unwrap();
    for card in ["card 0", "card 1"] {
        std::fs::write(bin.join(card), "").unwrap();
    }
    sandbox
}

fn campaign(sandbox: &Sandbox, operators: &[&str]) -> Ran {
    let mut arguments = sandbox.speaker(operators, &["--out", "out", "--devices", "0,1"]);
    arguments[0] = "campaign";
    let at = arguments.iter().position(|it| *it == "cpu").unwrap();
    arguments[at] = "cuda";
    sandbox.run_with_programs("bin", &arguments)
}

fn fault(sandbox: &Sandbox, who: &str, words: &str) {
    std::fs::write(sandbox.path(&format!("notes/fault {who}")), words).unwrap();
}

#[test]
fn a_lost_card_costs_no_operator_its_verdict() {
    let sandbox = sandbox();
    fault(&sandbox, "1", "Traceback\nRuntimeError: No CUDA GPUs are available\n");
    let ran = campaign(&sandbox, &["slow", "steady", "same"]).code(0);
    ran.says("card 1 gets no more cells: it was lost twice");
    for name in ["slow", "steady", "same"] {
        assert_eq!(sandbox.operator("out", name)["rounds"], 3, "{name}");
    }
    let first = |name: &str| sandbox.json(&format!("out/cells/{name}/screen_A/1/outcome.json"));
    let lost =
        ["slow", "steady", "same"].map(first).into_iter().find(|it| it["card"]["index"] == "1").unwrap();
    assert_eq!((lost["device_fault"].as_str(), lost["ending"].as_str()), (Some("lost"), Some("failed")));
}

#[test]
fn a_card_that_disappears_is_out_at_its_first_loss() {
    let sandbox = sandbox();
    // It is there when the campaign starts; the first cell on it finds it gone.
    fault(&sandbox, "1", "CUDA error: no CUDA-capable device is detected\n");
    let gone = sandbox.path("bin/card 1");
    std::fs::write(
        sandbox.path("bin/nvidia-smi"),
        NVIDIA_SMI
            .replace("for card in 0 1; do", "[ ! -e ../out/cells ] || rm -f 'card 1'\nfor card in 0 1; do"),
    )
    .unwrap();
    let ran =
        campaign(&sandbox, &["slow", "same"]).code(0).says("card 1 gets no more cells: it has disappeared");
    assert!(!gone.exists() && !ran.stderr.contains("lost twice"), "{}", ran.stderr);
    assert_eq!(sandbox.operator("out", "slow")["rounds"], 3);
    // Who goes on later is told which card is not there.
    std::fs::remove_dir_all(sandbox.path("out/cells/same/r3_B")).unwrap();
    sandbox.run_with_programs("bin", &["resume", "out"]).code(0).says("card `GPU-1` is not here");
}

#[test]
fn an_operator_that_poisons_its_context_on_two_cards_has_failed_and_the_cards_have_not() {
    let sandbox = sandbox();
    fault(&sandbox, "steady", "CUDA error: an illegal memory access was encountered\n");
    let ran = campaign(&sandbox, &["slow", "steady", "same"]).code(4);
    assert!(!ran.stderr.contains("gets no more cells"), "{}", ran.stderr);
    let cards = ["1", "2"].map(|attempt| {
        let outcome = sandbox.json(&format!("out/cells/steady/screen_A/{attempt}/outcome.json"));
        assert_eq!(outcome["device_fault"], "poisoned");
        outcome["card"]["index"].as_str().unwrap().to_owned()
    });
    assert_ne!(cards[0], cards[1], "the second try is on another card");
    assert!(!sandbox.path("out/cells/steady/screen_A/3").exists());
    assert_eq!(sandbox.operator("out", "slow")["rounds"], 3);
}

#[test]
fn a_card_on_which_cells_die_that_run_elsewhere_is_left_alone() {
    let sandbox = sandbox();
    fault(&sandbox, "0", "CUDA error: misaligned address\n");
    let ran = campaign(&sandbox, &["slow", "steady", "same"]).code(0);
    ran.says("card 0 gets no more cells: ").says("died on it and ran on another card");
    assert_eq!(sandbox.operator("out", "steady")["rounds"], 3);
}

#[test]
fn others_on_a_card_are_said_and_rows_keep_it() {
    let sandbox = sandbox();
    std::fs::write(sandbox.path("bin/apps 1"), "4711, /opt/train.py\n").unwrap();
    campaign(&sandbox, &["slow", "same"]).code(0).says("card 1 is shared: process 4711 `/opt/train.py`");
    let outcomes =
        ["slow", "same"].map(|name| sandbox.json(&format!("out/cells/{name}/screen_A/1/outcome.json")));
    let shared = outcomes.iter().find(|it| it["card"]["index"] == "1").unwrap();
    assert_eq!(shared["foreign"][0], "4711 `/opt/train.py`");
}
