//! What an attempt's events add up to: counts for its outcome, conditions and identity for `run_identity.json`.

use std::collections::{BTreeMap, BTreeSet};

use switchback_model::capture::CaptureErrorClass;
use switchback_model::conditions::Conditions;
use switchback_model::event::{ConfigSource, EventBody, Timer};
use switchback_model::order::{Order, TimerChoice};
use switchback_model::outcome::Counts;
use switchback_store::attempt::RunIdentity;
use switchback_store::event_reader::EventLog;

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

/// When rows were measured (`CLOCK_MONOTONIC`, seconds, from and to): each timed row from the event before it to its own.
///
/// What stands before (compiling, the untimed pass) ends with an event of its own, so that it is not in.
pub(crate) fn measured_spans(log: &EventLog) -> Vec<(f64, f64)> {
    log.events
        .windows(2)
        .filter_map(|pair| match &pair[1].body {
            EventBody::Row(row) if row.ok && row.timer.is_some() => Some((pair[0].t_s, pair[1].t_s)),
            _ => None,
        })
        .collect()
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

    #[test]
    fn rows_are_measured_from_the_event_before_them() {
        let log = parse(
            br#"
{"kind":"start","t_s":1,"pid":7,"conditions":{},"identity":{}}
{"kind":"row","t_s":20,"operator":"o","side":"A","ok":true,"case":{"dtype":"f","input":"1"}}
{"kind":"note","t_s":31,"topic":"a","detail":"b"}
{"kind":"row","t_s":33.5,"operator":"o","side":"A","ok":true,"timer":"gated","case":{"dtype":"f","input":"1"}}
{"kind":"row","t_s":33.6,"operator":"o","side":"B","ok":true,"timer":"gated","case":{"dtype":"f","input":"1"}}
{"kind":"row","t_s":40,"operator":"o","side":"A","ok":false,"error":"x","case":{"dtype":"f","input":"2"}}
"#,
        );
        assert_eq!(log.torn, []);
        assert_eq!(measured_spans(&log), [(31.0, 33.5), (33.5, 33.6)]);
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
