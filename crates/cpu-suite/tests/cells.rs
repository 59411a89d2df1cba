//! Cells of both pairings through a sink in memory: the events they give, and what the seed draws.

use std::collections::BTreeMap;

use serde_json::json;
use switchback_cpu_suite::Sink;
use switchback_cpu_suite::cell::{self, text_digest};
use switchback_model::event::{EventBody, OutputsVerdict, Row, Timer};
use switchback_model::order::Order;
use switchback_model::side::Side;
use switchback_model::switch::Variables;
use switchback_store::StoreError;

#[derive(Default)]
struct Memory {
    events: Vec<EventBody>,
    texts: BTreeMap<String, Vec<u8>>,
}

impl Sink for Memory {
    fn event(&mut self, body: EventBody) -> Result<(), StoreError> {
        self.events.push(body);
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<String, StoreError> {
        let name = text_digest(text);
        self.texts.insert(name.clone(), text.to_vec());
        Ok(name)
    }
}

fn order(operator: &str, purpose: &str, seed: u64, changes: serde_json::Value) -> Order {
    let mut order = json!({
        "protocol": 1, "campaign": "c", "operator": operator, "purpose": purpose, "attempt": 1,
        "attempt_dir": "/a", "ir_dir": "/ir", "command": {"argv": [], "cwd": "/", "env": {}},
        "switch": {
            "a": {"SWITCHBACK_CPU_ENABLE_NAN_CANONICALIZATION": "true"},
            "b": {"SWITCHBACK_CPU_ENABLE_NAN_CANONICALIZATION": "false"},
        },
        "measure": {
            "timed": !purpose.starts_with("screen"), "timer": "auto", "warmup_ms": 0.5, "sample_ms": 1.0,
            "direct_repeat": 1, "blocks": 4, "block_length": 2, "cache_state": "warm", "seed": seed,
            "tuning": "off",
        },
        "timeout_s": 60.0, "card": {"backend": "cpu", "index": "0"}, "conditions": {}, "identity": {},
    });
    for (name, value) in changes.as_object().into_iter().flatten() {
        order[name] = value.clone();
    }
    serde_json::from_value(order).unwrap()
}

struct Ran {
    status: i32,
    memory: Memory,
    table: String,
}

fn run(order: &Order) -> Ran {
    run_in(order, &Variables::new())
}

fn run_in(order: &Order, environment: &Variables) -> Ran {
    let mut memory = Memory::default();
    let mut table = Vec::new();
    let status = cell::run(order, environment, &mut memory, &mut table).unwrap();
    Ran { status, memory, table: String::from_utf8(table).unwrap() }
}

impl Ran {
    /// What a reader picks from the events, in their order.
    fn pick<'a, T>(&'a self, pick: impl Fn(&'a EventBody) -> Option<T>) -> Vec<T> {
        self.memory.events.iter().filter_map(pick).collect()
    }

    fn rows(&self) -> Vec<&Row> {
        self.pick(|event| if let EventBody::Row(row) = event { Some(row) } else { None })
    }

    fn notes(&self, topic: &str) -> Vec<&str> {
        self.pick(|event| match event {
            EventBody::Note(note) if note.topic == topic => Some(note.detail.as_str()),
            _ => None,
        })
    }

    fn draws(&self) -> &str {
        self.notes("draws")[0]
    }

    fn errors(&self) -> Vec<(&str, &str)> {
        self.pick(|event| match event {
            EventBody::Error(error) => Some((error.place.as_str(), error.error.as_str())),
            _ => None,
        })
    }

    /// Checks what every cell must keep to, whatever it ran.
    fn assert_protocol(&self) {
        assert!(matches!(self.memory.events.first(), Some(EventBody::Start(_))));
        let Some(EventBody::End(end)) = self.memory.events.last() else { panic!("no end") };
        assert_eq!(end.status, self.status);
        assert_eq!(end.rows, self.rows().iter().filter(|row| row.ok).count() as u64);
        let mut compiled = BTreeMap::new();
        let mut launched = Vec::new();
        let mut compared = Vec::new();
        for event in &self.memory.events {
            match event {
                EventBody::Compile(event) => {
                    for (stage, name) in &event.stages {
                        assert!(self.memory.texts.contains_key(name), "{stage} of {} is not kept", event.id);
                    }
                    let stages: Vec<&str> = event.stages.keys().map(String::as_str).collect();
                    assert_eq!(stages, ["bytes", "clif", "clif_opt", "vcode"]);
                    assert!(compiled.insert(event.id.clone(), event.side).is_none(), "{} twice", event.id);
                }
                EventBody::Launch(event) => {
                    for it in &event.compiled {
                        assert_eq!(compiled[&it.id], event.side, "compiled before it is launched");
                    }
                    launched.push((event.case.clone(), event.side));
                }
                EventBody::Outputs(event) => compared.push(event.case.clone()),
                EventBody::Row(row) if row.ok => {
                    assert!(compared.contains(&row.case), "outputs before rows");
                    let is_kernel = row.operator != "sort";
                    assert_eq!(launched.contains(&(row.case.clone(), row.side)), is_kernel, "{row:?}");
                }
                _ => {}
            }
        }
        assert_eq!(self.table.lines().count(), 1 + self.rows().len(), "{}", self.table);
    }
}

#[test]
fn a_process_cell_measures_every_case_on_its_side() {
    let ran = run(&order("add", "r1_B", 1, json!({})));
    ran.assert_protocol();
    assert_eq!(ran.status, 0, "{:?}", ran.errors());
    assert_eq!(ran.rows().len(), 8);
    for row in ran.rows() {
        assert_eq!((row.side, row.timer), (Side::B, Some(Timer::Wall)));
        assert!(!row.samples_us.is_empty() && row.samples_us.iter().flatten().all(|us| *us > 0.0));
        let (low, high) = row
            .samples_us
            .iter()
            .flatten()
            .fold((f64::MAX, 0f64), |(low, high), us| (low.min(*us), high.max(*us)));
        assert!((low..=high).contains(&row.latency_us.unwrap()));
    }
    let outputs = ran.memory.events.iter().filter_map(|event| match event {
        EventBody::Outputs(outputs) => Some(outputs),
        _ => None,
    });
    for outputs in outputs {
        assert_eq!((outputs.side, outputs.repeatable), (Some(Side::B), Some(true)));
        assert_eq!(outputs.digest.as_ref().unwrap().len(), 64);
    }
}

#[test]
fn a_duet_cell_holds_both_sides_code() {
    let ran = run(&order("sum", "r1_AB", 1, json!({})));
    ran.assert_protocol();
    assert_eq!(ran.status, 0, "{:?}", ran.errors());
    assert_eq!(ran.rows().len(), 16);
    for row in ran.rows() {
        assert_eq!(row.samples_us.len(), 4);
    }
    let mut outputs = 0;
    for event in &ran.memory.events {
        match event {
            EventBody::Proof(proof) => assert!(proof.holds, "{proof:?}"),
            EventBody::Outputs(it) => {
                assert_eq!(it.verdict, Some(OutputsVerdict::Equal), "no input is a NaN");
                outputs += 1;
            }
            _ => {}
        }
    }
    assert_eq!(outputs, 8);
    assert_eq!(ran.memory.events.iter().filter(|event| matches!(event, EventBody::Proof(_))).count(), 8);
}

/// Stages by side and variant.
fn compiled(ran: &Ran) -> BTreeMap<(Side, String), BTreeMap<String, String>> {
    ran.memory
        .events
        .iter()
        .filter_map(|event| match event {
            EventBody::Compile(it) => Some(((it.side, it.variant.clone()), it.stages.clone())),
            _ => None,
        })
        .collect()
}

#[test]
fn a_duet_holds_what_isolated_cells_hold() {
    let duet = compiled(&run(&order("gelu", "r1_AB", 5, json!({}))));
    let mut isolated = compiled(&run(&order("gelu", "screen_A", 6, json!({}))));
    isolated.extend(compiled(&run(&order("gelu", "screen_B", 7, json!({})))));
    assert_eq!(duet, isolated);
    let sides = |side: Side| duet.iter().filter(move |((it, _), _)| *it == side);
    for (((_, variant_a), a), ((_, variant_b), b)) in sides(Side::A).zip(sides(Side::B)) {
        assert_eq!(variant_a, variant_b, "a variant is the same on both sides");
        assert_eq!(a["clif"], b["clif"]);
        assert_ne!(a["clif_opt"], b["clif_opt"]);
        assert_ne!(a["bytes"], b["bytes"]);
    }
    assert_eq!(duet.len(), 6);
}

#[test]
fn a_screening_cell_runs_each_case_once_and_times_none() {
    let ran = run(&order("matmul", "screen_A", 1, json!({})));
    ran.assert_protocol();
    assert_eq!(ran.rows().len(), 6);
    assert!(ran.rows().iter().all(|row| row.ok && row.samples_us.is_empty() && row.timer.is_none()));
}

#[test]
fn isolated_cells_give_outputs_that_can_be_compared_whatever_their_seeds() {
    let digests = |purpose, seed| -> BTreeMap<_, _> {
        run(&order("softmax", purpose, seed, json!({})))
            .memory
            .events
            .into_iter()
            .filter_map(|event| match event {
                EventBody::Outputs(it) => Some((it.case, it.digest)),
                _ => None,
            })
            .collect()
    };
    assert_eq!(digests("screen_A", 1), digests("screen_B", 2));
}

#[test]
fn the_seed_draws_the_order() {
    let draws = |seed| run(&order("relu", "r1_AB", seed, json!({}))).draws().to_owned();
    assert_eq!(draws(1), draws(1));
    let all: Vec<String> = (0..8).map(draws).collect();
    for side in ["side A compiled first", "side B compiled first"] {
        assert!(all.iter().any(|text| text.contains(side)), "{all:?}");
    }
    let mut orders: Vec<&str> = all.iter().map(|text| text.split_once("cases").unwrap().1).collect();
    orders.sort_unstable();
    orders.dedup();
    assert!(orders.len() > 4, "{orders:?}");
}

#[test]
fn plain_rust_has_rows_and_no_kernel() {
    let ran = run(&order("sort", "r1_AB", 1, json!({})));
    ran.assert_protocol();
    assert_eq!(ran.status, 0);
    assert_eq!(ran.rows().len(), 8);
    assert!(compiled(&ran).is_empty());
}

#[test]
fn fft_takes_complex_numbers_and_refuses_others() {
    let ran = run(&order("fft::f32", "screen_A", 1, json!({})));
    ran.assert_protocol();
    assert_eq!(ran.status, 1);
    assert_eq!(ran.errors(), [("dtype", "refuses f32, takes c64: `fft::c64`")]);
    assert_eq!(ran.rows().len(), 1);
    assert!(!ran.rows()[0].ok);
    for spec in ["fft", "fft::c64"] {
        let ran = run(&order(spec, "r1_A", 1, json!({})));
        ran.assert_protocol();
        assert_eq!(ran.status, 0, "{spec}: {:?}", ran.errors());
        assert_eq!(ran.rows().len(), 2, "{spec}");
    }
}

#[test]
fn what_cannot_begin_says_why() {
    let ran = run(&order("flash_attention", "r1_A", 1, json!({})));
    ran.assert_protocol();
    assert_eq!(ran.status, 2);
    assert_eq!(ran.errors(), [("collect", "the cpu suite has no operator `flash_attention`")]);

    let switch = json!({"switch": {"a": {}, "b": {"SWITCHBACK_CPU_OPT_LEVEL": "fast"}}});
    let ran = run(&order("add", "r1_AB", 1, switch.clone()));
    ran.assert_protocol();
    assert_eq!(ran.status, 2);
    let text = "side B: `SWITCHBACK_CPU_OPT_LEVEL` is `fast`: `opt_level` takes none, speed, speed_and_size";
    assert_eq!(ran.errors(), [("setup", text)]);
    // Side A of the same switch is fine.
    assert_eq!(run(&order("add", "screen_A", 1, switch)).status, 0);
}

#[test]
fn a_side_that_does_not_compile_leaves_no_half_comparison() {
    // A stack probe that the program does not have: the linker in memory gives up.
    let switch = json!({"switch": {"a": {}, "b": {
        "SWITCHBACK_CPU_ENABLE_PROBESTACK": "1", "SWITCHBACK_CPU_PROBESTACK_SIZE_LOG2": "0",
        "SWITCHBACK_CPU_PROBESTACK_STRATEGY": "outline", "SWITCHBACK_CPU_OPT_LEVEL": "none",
        "SWITCHBACK_CPU_REGALLOC_ALGORITHM": "single_pass",
    }}});
    let ran = run(&order("gelu::f64", "r1_AB", 1, switch));
    ran.assert_protocol();
    assert_eq!(ran.status, 1, "{:?}", ran.memory.events);
    assert!(ran.rows().iter().all(|row| !row.ok && row.error.is_some()));
    assert_eq!(ran.rows().len(), 4);
}

#[test]
fn settings_of_the_environment_reach_a_process_cell() {
    let environment: Variables = [("SWITCHBACK_CPU_OPT_LEVEL".to_owned(), Some("none".to_owned()))].into();
    let plain = compiled(&run(&order("add", "screen_A", 1, json!({"switch": {"a": {}, "b": {}}}))));
    let order = order("add", "screen_A", 1, json!({"switch": {"a": {}, "b": {}}}));
    let ran = run_in(&order, &environment);
    assert!(plain.iter().zip(compiled(&ran)).all(|(one, other)| one.1["bytes"] != other.1["bytes"]));
    let options = ran.memory.events.iter().find_map(|event| match event {
        EventBody::Compile(it) => Some(it.options.clone()),
        _ => None,
    });
    assert_eq!(options.unwrap()["opt_level"], "none");
}

#[test]
fn a_switch_of_somebody_else_is_said_to_be_none() {
    let ran =
        run(&order("dot", "screen_A", 1, json!({"switch": {"a": {"MY_PASS": "0"}, "b": {"MY_PASS": "1"}}})));
    let notes = ran.notes("switch");
    assert_eq!(notes, ["`MY_PASS`: no variable of the cpu suite, so its code cannot change"]);
}

#[test]
fn an_attempt_folder_gets_its_events_and_texts() {
    let folder = tempfile::tempdir().unwrap();
    let attempt = folder.path().join("attempt");
    let ir_dir = folder.path().join("ir");
    std::fs::create_dir(&attempt).unwrap();
    std::fs::create_dir(&ir_dir).unwrap();
    let order = order("relu", "screen_A", 1, json!({"attempt_dir": attempt, "ir_dir": ir_dir}));
    std::fs::write(attempt.join("order.json"), serde_json::to_vec(&order).unwrap()).unwrap();
    assert_eq!(switchback_cpu_suite::run_cell_in(&attempt).unwrap(), 0);
    let events = std::fs::read_to_string(attempt.join("events.jsonl")).unwrap();
    assert!(events.lines().next().unwrap().contains("\"kind\":\"start\""));
    assert!(events.lines().last().unwrap().contains("\"kind\":\"end\""));
    // Three kernels of four stages; no two texts are equal.
    assert_eq!(std::fs::read_dir(&ir_dir).unwrap().count(), 12);
}
