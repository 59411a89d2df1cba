//! What an attempt's events add up to: counts for its outcome, conditions and identity for `run_identity.json`.

use std::collections::{BTreeMap, BTreeSet};

use switchback_model::capture::CaptureErrorClass;
use switchback_model::case::CaseKey;
use switchback_model::conditions::Conditions;
use switchback_model::event::{ConfigSource, EventBody, Timer};
use switchback_model::order::{Order, TimerChoice};
use switchback_model::outcome::Counts;
use switchback_store::attempt::RunIdentity;
use switchback_store::event_reader::EventLog;

/// The topic of the note by which a child says that it waits for its turn.
const WAITS: &str = "waits_for_card";

/// Counts what the events said.
///
/// A row counts as a success if it has no error; a screening row has no latency and is one. A case counts as
/// `no_cudagraph` once a side: it was timed `direct` although a graph was asked for, or was tried and failed.
pub(crate) fn counts(order: &Order, log: &EventLog) -> Counts {
    let mut counts = Counts::default();
    let mut not_captured = BTreeSet::new();
    let mut direct = BTreeSet::new();
    for body in log.bodies() {
        match body {
            EventBody::Row(row) if !row.ok => counts.failed += 1,
            EventBody::Row(row) => {
                counts.success += 1;
                if row.timer == Some(Timer::Direct) {
                    direct.insert((row.side, row.case.clone()));
                }
            }
            EventBody::Config(config) if config.source == ConfigSource::Fallback => {
                counts.replay_fallback += 1;
            }
            EventBody::Capture(capture) if !capture.captured => {
                not_captured.insert((capture.side, capture.case.clone()));
                if capture.class == Some(CaptureErrorClass::Poisoned) && !capture.skipped {
                    counts.capture_poisoned += 1;
                }
            }
            EventBody::Error(_) => counts.errors += 1,
            EventBody::End(_) => counts.ended = true,
            _ => {}
        }
    }
    let graph_was_asked_for = order.measure.timer == TimerChoice::Graph;
    counts.no_cudagraph =
        direct.iter().filter(|case| graph_was_asked_for || not_captured.contains(*case)).count() as u64;
    counts
}

/// Conditions and identity: what the engine ordered, and over it what the child found.
///
/// Where the child found another value than was ordered, the ordered one is kept as `ordered_<name>` in the identity.
pub(crate) fn identity(order: &Order, log: &EventLog, own: BTreeMap<String, String>) -> RunIdentity {
    let mut conditions = order.conditions.clone();
    let mut identity = own;
    identity.extend(order.identity.clone());
    for body in log.bodies() {
        let found = match body {
            EventBody::Start(start) => {
                identity.extend(start.identity.clone());
                &start.conditions
            }
            EventBody::Conditions(known) => &known.conditions,
            _ => continue,
        };
        for (name, value) in found {
            let before = conditions.insert(name.clone(), value.clone());
            if let Some(before) = before.filter(|before| before != value) {
                identity.entry(format!("ordered_{name}")).or_insert(before);
            }
        }
    }
    RunIdentity { conditions: Conditions(conditions), identity }
}

/// When the child's turn on the card came (`CLOCK_MONOTONIC`, seconds).
pub(crate) fn turn(log: &EventLog) -> Option<f64> {
    log.events.iter().find(|event| matches!(event.body, EventBody::Turn(_))).map(|event| event.t_s)
}

/// True if the child has said that it waits for its turn.
pub(crate) fn waits_for_its_turn(log: &EventLog) -> bool {
    log.bodies().any(|body| matches!(body, EventBody::Note(note) if note.topic == WAITS))
}

/// When rows were measured (`CLOCK_MONOTONIC`, seconds, from and to): each timed row from the end of its case's untimed pass
/// (its last `launch` or `outputs`), or from another case's row where that came later.
///
/// Where a benchmark says nothing of an untimed pass, from the event before the row. What a duet says of its proof comes after
/// measuring and begins nothing.
pub(crate) fn measured_spans(log: &EventLog) -> Vec<(f64, f64)> {
    let mut untimed: BTreeMap<&CaseKey, f64> = BTreeMap::new();
    let mut rows: BTreeMap<&CaseKey, f64> = BTreeMap::new();
    let mut before_s = None;
    let mut spans = Vec::new();
    for event in &log.events {
        match &event.body {
            EventBody::Launch(launch) => {
                untimed.insert(&launch.case, event.t_s);
            }
            EventBody::Outputs(outputs) => {
                untimed.insert(&outputs.case, event.t_s);
            }
            EventBody::Row(row) => {
                if row.ok && row.timer.is_some() {
                    // Both sides' rows of a duet's case were measured over the same time.
                    let other = rows
                        .iter()
                        .filter(|(case, _)| ***case != row.case)
                        .map(|(_, t_s)| *t_s)
                        .reduce(f64::max);
                    let from = match untimed.get(&row.case) {
                        Some(pass_s) => Some(other.map_or(*pass_s, |other| pass_s.max(other))),
                        None => before_s,
                    };
                    spans.extend(from.map(|from| (from, event.t_s)));
                }
                rows.insert(&row.case, event.t_s);
            }
            _ => {}
        }
        before_s = Some(event.t_s);
    }
    spans
}

/// The texts of all errors, of the cell and of its rows.
pub(crate) fn errors(log: &EventLog) -> Vec<&str> {
    log.bodies()
        .filter_map(|body| match body {
            EventBody::Error(failure) => Some(failure.error.as_str()),
            EventBody::Row(row) => row.error.as_deref(),
            _ => None,
        })
        .collect()
}

/// What is to be said about events that could not be read.
pub(crate) fn torn(log: &EventLog) -> Option<String> {
    let first = log.torn.first()?;
    let (count, line, detail) = (log.torn.len(), first.line, &first.detail);
    Some(format!("{count} lines of `events.jsonl` could not be read, the first is line {line}: {detail}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchback_store::event_reader::parse;

    fn order(timer: TimerChoice) -> Order {
        let text = include_str!("../tests/order.json").replace("\"auto\"", &format!("\"{timer}\""));
        serde_json::from_str(&text).unwrap()
    }

    const EVENTS: &str = r#"
{"kind":"start","t_s":1,"pid":7,"conditions":{"torch":"2.11","timer":"direct"},"identity":{"hostname":"x"}}
{"kind":"conditions","t_s":1,"conditions":{"shape_mode":"file"}}
{"kind":"conditions","t_s":1,"conditions":{"shape_mode":"file made for Pool","timer":"graph"}}
{"kind":"config","t_s":1,"side":"A","kernel":"k","key":"1","config":"c","source":"replayed"}
{"kind":"config","t_s":1,"side":"A","kernel":"k","key":"2","config":"c","source":"fallback"}
{"kind":"capture","t_s":1,"side":"A","case":{"dtype":"f","input":"1"},"captured":true}
{"kind":"capture","t_s":1,"side":"A","case":{"dtype":"f","input":"2"},"captured":false,"class":"poisoned"}
{"kind":"capture","t_s":1,"side":"A","case":{"dtype":"f","input":"3"},"captured":false,"class":"poisoned","skipped":true}
{"kind":"row","t_s":1,"operator":"o","side":"A","ok":true,"timer":"graph","case":{"dtype":"f","input":"1"}}
{"kind":"row","t_s":1,"operator":"o","side":"A","ok":true,"timer":"direct","case":{"dtype":"f","input":"2"}}
{"kind":"row","t_s":1,"operator":"o","side":"A","ok":true,"timer":"direct","case":{"dtype":"f","input":"3"}}
{"kind":"row","t_s":1,"operator":"o","side":"A","ok":true,"timer":"direct","case":{"dtype":"f","input":"4"}}
{"kind":"row","t_s":1,"operator":"o","side":"A","ok":false,"error":"no","case":{"dtype":"f","input":"5"}}
{"kind":"error","t_s":1,"place":"dtype","error":"no"}
{"kind":"end","t_s":2,"status":0,"rows":4}
"#;

    /// Spans of events given as kind, time, side and case.
    fn spans(events: &[(&str, f64, &str, &str)]) -> Vec<(f64, f64)> {
        let text: String = events
            .iter()
            .map(|(kind, t_s, side, case)| {
                let case = format!(r#""case":{{"dtype":"f","input":"{case}"}}"#);
                let more = match *kind {
                    "timed" => r#""kind":"row","operator":"o","ok":true,"timer":"gated""#.to_owned(),
                    "screened" => r#""kind":"row","operator":"o","ok":true"#.to_owned(),
                    "failed" => r#""kind":"row","operator":"o","ok":false,"error":"x""#.to_owned(),
                    "proof" => r#""kind":"proof","holds":true,"detail":"""#.to_owned(),
                    "note" => r#""kind":"note","topic":"a","detail":"b""#.to_owned(),
                    "launch" => r#""kind":"launch","compiled":[],"unknown":0"#.to_owned(),
                    _ => r#""kind":"outputs","verdict":"equal""#.to_owned(),
                };
                format!("{{{more},\"t_s\":{t_s},\"side\":\"{side}\",{case}}}\n")
            })
            .collect();
        let log = parse(text.as_bytes());
        assert_eq!(log.torn, []);
        measured_spans(&log)
    }

    #[test]
    fn a_duet_s_rows_are_measured_from_the_end_of_the_untimed_pass() {
        // As the probe wrote them on a card: the proof is told when all is measured, outputs now and then after the rows.
        let told = spans(&[
            ("launch", 699.89, "B", "1"),
            ("launch", 700.23, "A", "1"),
            ("outputs", 700.39, "A", "1"),
            ("proof", 700.74, "A", "1"),
            ("timed", 700.74, "A", "1"),
            ("timed", 700.74, "B", "1"),
            ("launch", 701.11, "B", "2"),
            ("launch", 701.22, "A", "2"),
            ("proof", 701.73, "A", "2"),
            ("timed", 701.73, "A", "2"),
            ("timed", 701.74, "B", "2"),
            ("outputs", 701.75, "A", "2"),
        ]);
        assert_eq!(told, [(700.39, 700.74), (700.39, 700.74), (701.22, 701.73), (701.22, 701.74)]);
    }

    #[test]
    fn a_row_does_not_begin_before_another_case_s_and_only_timed_rows_are_measured() {
        let told = spans(&[
            ("launch", 1.0, "A", "1"),
            ("launch", 2.0, "A", "2"),
            ("screened", 3.0, "A", "1"),
            ("timed", 9.0, "A", "1"),
            ("timed", 12.0, "A", "2"),
            ("failed", 13.0, "A", "3"),
        ]);
        assert_eq!(told, [(1.0, 9.0), (9.0, 12.0)]);
        // A benchmark that tells no untimed pass: from the event before.
        assert_eq!(spans(&[("note", 31.0, "A", "1"), ("timed", 33.5, "A", "1")]), [(31.0, 33.5)]);
    }

    #[test]
    fn events_are_counted() {
        let log = parse(EVENTS.as_bytes());
        assert_eq!(log.torn, []);
        let expected = Counts {
            success: 4,
            failed: 1,
            replay_fallback: 1,
            no_cudagraph: 2,
            capture_poisoned: 1,
            errors: 1,
            ended: true,
        };
        assert_eq!(counts(&order(TimerChoice::Auto), &log), expected);
        // With a graph asked for, input 4 is one more that should have been captured.
        assert_eq!(counts(&order(TimerChoice::Graph), &log), Counts { no_cudagraph: 3, ..expected });
        assert_eq!(counts(&order(TimerChoice::Auto), &parse(b"")), Counts::default());
    }

    #[test]
    fn the_child_knows_better_and_what_was_ordered_is_kept() {
        let log = parse(EVENTS.as_bytes());
        let own = BTreeMap::from([("host".to_owned(), "h".to_owned())]);
        let RunIdentity { conditions, identity } = identity(&order(TimerChoice::Auto), &log, own);
        assert_eq!(conditions.get("torch"), Some("2.11"));
        // What is told later replaces what was told before, and the ordered value is the one kept.
        assert_eq!(conditions.get("timer"), Some("graph"));
        assert_eq!(conditions.get("shape_mode"), Some("file made for Pool"));
        assert_eq!(conditions.get("suite"), Some("command"));
        assert_eq!(identity["ordered_timer"], "gated");
        assert_eq!((identity["host"].as_str(), identity["hostname"].as_str()), ("h", "x"));
    }

    #[test]
    fn torn_lines_are_named() {
        let log = parse(b"{\"kind\":\n\n{\"kind\":\"end\",\"t_s\":2}\n");
        let said = torn(&log).unwrap();
        assert!(
            said.starts_with("1 lines of `events.jsonl` could not be read, the first is line 1"),
            "{said}"
        );
        assert_eq!(torn(&parse(b"{\"kind\":\"end\",\"t_s\":2}\n{\"ki")), None);
    }
}
