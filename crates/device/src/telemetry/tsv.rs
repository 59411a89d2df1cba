//! `telemetry.tsv`: the scripts' columns first, ours after; an absent value is an empty field.
//!
//! `timestamp` is UTC (RFC 3339, milliseconds). `monotonic_s` and `boot_id` stand beside it so that readings can be
//! matched with events, whose times are monotonic.

use super::Reading;
use crate::number::number;

/// Names of the columns.
pub const COLUMNS: [&str; 14] = [
    "timestamp",
    "index",
    "sm_clock_mhz",
    "mem_clock_mhz",
    "temp_c",
    "power_w",
    "util_pct",
    "monotonic_s",
    "boot_id",
    "throttle",
    "power_limit_w",
    "mem_used_mib",
    "mem_total_mib",
    "remark",
];

/// A reading and when it was taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// Wall clock, UTC, RFC 3339.
    pub timestamp: String,
    /// `CLOCK_MONOTONIC`, seconds.
    pub monotonic_s: Option<f64>,
    /// The kernel's boot id.
    pub boot_id: String,
    /// The reading.
    pub reading: Reading,
}

/// The first line, with its line end.
#[must_use]
pub fn header() -> String {
    COLUMNS.join("\t") + "\n"
}

/// The line of a sample, with its line end.
#[must_use]
pub fn row(sample: &Sample) -> String {
    let text = |text: &str| text.replace(|c: char| c.is_control(), " ");
    let figure = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let reading = &sample.reading;
    let fields = [
        text(&sample.timestamp),
        text(&reading.index),
        figure(reading.sm_clock_mhz),
        figure(reading.mem_clock_mhz),
        figure(reading.temp_c),
        figure(reading.power_w),
        figure(reading.util_pct),
        sample.monotonic_s.map_or_else(String::new, |seconds| format!("{seconds:.3}")),
        text(&sample.boot_id),
        text(reading.throttle.as_deref().unwrap_or_default()),
        figure(reading.power_limit_w),
        figure(reading.mem_used_mib),
        figure(reading.mem_total_mib),
        text(reading.remark.as_deref().unwrap_or_default()),
    ];
    fields.join("\t") + "\n"
}

/// Reads a file back, the scripts' too; columns are found by the names in its first line, unknown ones ignored.
#[must_use]
pub fn read(text: &str) -> Vec<Sample> {
    let mut lines = text.lines().map(|line| line.trim_end_matches('\r'));
    let Some(first) = lines.next() else { return Vec::new() };
    let columns: Vec<&str> = first.split('\t').collect();
    lines.filter(|line| !line.is_empty()).map(|line| read_row(&columns, line)).collect()
}

fn read_row(columns: &[&str], line: &str) -> Sample {
    let mut sample = Sample::default();
    for (column, text) in columns.iter().zip(line.split('\t')) {
        let reading = &mut sample.reading;
        match *column {
            "timestamp" => sample.timestamp = text.into(),
            "index" => reading.index = text.into(),
            "sm_clock_mhz" => reading.sm_clock_mhz = reading.figure(column, text),
            "mem_clock_mhz" => reading.mem_clock_mhz = reading.figure(column, text),
            "temp_c" => reading.temp_c = reading.figure(column, text),
            "power_w" => reading.power_w = reading.figure(column, text),
            "util_pct" => reading.util_pct = reading.figure(column, text),
            "monotonic_s" => sample.monotonic_s = number(text),
            "boot_id" => sample.boot_id = text.into(),
            "throttle" => reading.throttle = (!text.is_empty()).then(|| text.into()),
            "power_limit_w" => reading.power_limit_w = reading.figure(column, text),
            "mem_used_mib" => reading.mem_used_mib = reading.figure(column, text),
            "mem_total_mib" => reading.mem_total_mib = reading.figure(column, text),
            "remark" if !text.is_empty() => reading.note(text),
            _ => {}
        }
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_columns_come_first() {
        assert!(
            header()
                .starts_with("timestamp\tindex\tsm_clock_mhz\tmem_clock_mhz\ttemp_c\tpower_w\tutil_pct\t")
        );
    }

    #[test]
    fn a_row_reads_back_and_absent_stays_absent() {
        let sample = Sample {
            timestamp: "2026-09-10T07:41:12.250Z".into(),
            monotonic_s: Some(12.5),
            boot_id: "b".into(),
            reading: Reading {
                index: "7".into(),
                sm_clock_mhz: Some(1888.0),
                power_w: Some(477.68),
                throttle: Some("none".into()),
                ..Reading::default()
            },
        };
        let line = row(&sample);
        assert_eq!(line, "2026-09-10T07:41:12.250Z\t7\t1888\t\t\t477.68\t\t12.500\tb\tnone\t\t\t\t\n");
        assert_eq!(read(&(header() + &line)), [sample]);
    }

    #[test]
    fn a_file_of_the_scripts_reads_too() {
        let text = "timestamp\tindex\tsm_clock_mhz\tmem_clock_mhz\ttemp_c\tpower_w\tutil_pct\r\n\
            2026-09-10T07:41:12\t7\t1888\t2500\t36\t477.68\t87\r\n\
            2026-09-10T07:41:17\t7\t1888\t2500\t36\t24,0\t";
        let samples = read(text);
        assert_eq!(samples.len(), 2);
        assert_eq!((samples[0].reading.util_pct, samples[0].monotonic_s), (Some(87.0), None));
        let torn = &samples[1].reading;
        assert_eq!(torn.power_w, None);
        let remark = "power_w: `24,0` has a decimal comma, a locale was not held off";
        assert_eq!(torn.remark.as_deref(), Some(remark));
        assert_eq!(read(""), []);
    }
}
