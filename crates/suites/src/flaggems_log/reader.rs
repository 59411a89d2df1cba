//! Walks the lines of a log once and gathers rows, failures, tuner reports, counts and warnings.

use switchback_model::case::CaseKey;
use switchback_model::event::{Config, ConfigSource, Row, Timer};
use switchback_model::marker;
use switchback_model::side::Side;

use super::line::{self, Cell, Heading, RowFault, TableRow};
use super::pytest::{summary, test_failure};
use super::record::{self, Block, Metrics};
use super::{FlagGemsLog, Format, LogFailure, LogRow, Warning, unmeasurable};

/// Words that are counted.
const MARKERS: [&str; 7] = [
    marker::REPLAY_FALLBACK,
    marker::NO_CUDAGRAPH,
    marker::CAPTURE_POISONED,
    marker::FOREIGN_VENDOR_MODULE,
    marker::CELL_TIMEOUT,
    marker::SWITCH_NO_IR_DIFF,
    marker::PREFLIGHT_FAILED,
];
/// A message or a report that has not ended after so many lines has lost its end.
const LONGEST_MESSAGE: usize = 50;
/// Begins a failure to build an input; behind it the operator's name.
const INPUT_FAILURE: &str = "FAILED: Operator=";
/// Begins a tuner's report; behind it the kernel's name.
const TUNER_REPORT: &str = "Triton autotuning for function ";

pub(super) fn read(bytes: &[u8], side: Side) -> FlagGemsLog {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::new(side);
    reader.remark_bytes(bytes, &text);
    if let Some(entries) = record::file(&text) {
        reader.file(entries);
    } else {
        let lines: Vec<String> = text.split('\n').map(line::clean).collect();
        reader.lines(&lines);
    }
    reader.finish(&text)
}

/// The state of a reading.
pub(super) struct Reader {
    side: Side,
    pub(super) log: FlagGemsLog,
    heading: Option<Heading>,
    /// Columns that the table's names announce, and whether a row that disagrees was told.
    extra: Option<(usize, bool)>,
    /// Rows since the last heading.
    rows_in_table: usize,
    /// True once the log said that its times are wall time.
    pub(super) wall_time: bool,
}

impl Reader {
    fn new(side: Side) -> Self {
        Self {
            side,
            log: FlagGemsLog::default(),
            heading: None,
            extra: None,
            rows_in_table: 0,
            wall_time: false,
        }
    }

    pub(super) fn warn(&mut self, line: usize, message: impl Into<String>) {
        self.log.warnings.push(Warning { line, message: message.into() });
    }

    fn remark_bytes(&mut self, bytes: &[u8], text: &str) {
        if let Some(at) = bytes.windows(2).position(|pair| pair == b"\r\n") {
            let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
            self.warn(line, "lines end with CRLF; read as LF");
        }
        if bytes.contains(&0) {
            self.warn(0, "NUL bytes are left out: was the file cut off by a crash of its machine?");
        }
        if text.contains('\u{fffd}') && std::str::from_utf8(bytes).is_err() {
            self.warn(0, "bytes that are no UTF-8 were replaced");
        }
    }

    fn lines(&mut self, lines: &[String]) {
        let mut index = 0;
        while index < lines.len() {
            index += self.one(&lines[index..], index + 1);
        }
    }

    /// Reads what begins at the first of some lines; returns how many it took, at least one.
    fn one(&mut self, lines: &[String], number: usize) -> usize {
        let line = lines[0].as_str();
        for marker in MARKERS {
            if line.contains(marker) {
                *self.log.markers.entry(marker).or_default() += 1;
            }
        }
        if let Some(heading) = line::heading(line) {
            self.heading = Some(heading);
            self.extra = None;
            self.rows_in_table = 0;
        } else if let Some(columns) = line::extra_columns(line) {
            self.extra = Some((columns, false));
        } else if let Some(block) = record::line(line) {
            match block {
                Ok(block) => self.block(block, number),
                Err(error) => self.warn(number, format!("a record that cannot be read: {error}")),
            }
        } else if let Some(row) = line::row(line) {
            self.table_row(row, number);
        } else if line.contains(TUNER_REPORT) {
            return self.tuner_report(lines, number);
        } else if line.find(INPUT_FAILURE).is_some_and(|at| line::is_progress(&line[..at])) {
            return self.input_failure(lines, number);
        } else if let Some(failure) = test_failure(line, number) {
            self.log.failures.push(failure);
        } else if let Some(summary) = summary(line) {
            self.log.summary = Some(summary);
        } else if line.contains("Wall time is used instead of elapsed_time") {
            self.wall_time = true;
            self.warn(number, "the back end's events are not used, all rows are wall time");
        }
        1
    }

    fn table_row(&mut self, row: Result<TableRow, RowFault>, number: usize) {
        let row = match row {
            Ok(row) => row,
            Err(RowFault::CutOff) => return self.warn(number, "a row that is cut off is left out"),
            Err(RowFault::Columns(count)) => {
                return self.warn(number, format!("a row with {count} numbers is left out: six are known"));
            }
        };
        let extra = &row.cells[3..];
        if let Some((announced, told)) = &mut self.extra
            && *announced != extra.len()
            && !*told
        {
            *told = true;
            let message = format!(
                "a row has {} numbers behind its speedup, its table's heading announces {announced}",
                extra.len()
            );
            self.warn(number, message);
        }
        if let Some(text) = &row.beside {
            let message = format!("other output on the line of a row: `{text}`");
            self.warn(number, message);
        }
        if self.heading.is_none() {
            self.warn(number, "a row without a heading above it: operator, dtype and mode are unknown");
        }
        // One number is a rate, two are bandwidths of baseline and operator, three are both.
        let (tflops, gbps): (Option<&Cell>, &[Cell]) = match extra {
            [tflops] => (Some(tflops), &[]),
            [_, _] => (None, extra),
            [tflops, gbps @ ..] => (Some(tflops), gbps),
            [] => (None, &[]),
        };
        let heading = self.heading.clone().unwrap_or_default();
        let latency = &row.cells[1];
        let values = Values {
            input: row.input,
            latency_us: latency.thousandfold(),
            baseline_us: row.cells[0].thousandfold(),
            resolution_us: latency.resolution_thousandfold(),
            speedup: row.cells[2].value(),
            tflops: tflops.and_then(Cell::value),
            gbps_baseline: gbps.first().and_then(Cell::value),
            gbps: gbps.get(1).and_then(Cell::value),
            error: (!row.ok).then(|| "the benchmark says FAILED".to_owned()),
        };
        self.push(&heading, values, Format::Table, number);
        self.rows_in_table += 1;
    }

    fn block(&mut self, block: Block, number: usize) {
        let heading =
            Heading { operator: block.operator, dtype: block.dtype, mode: block.mode, level: block.level };
        for metrics in block.result {
            self.push(&heading, Values::from(metrics), Format::Record, number);
        }
    }

    fn file(&mut self, entries: Vec<(String, record::Entry)>) {
        for (mark, entry) in entries {
            if entry.details.is_empty() && entry.result.as_deref() == Some("passed") {
                self.warn(0, format!("`{mark}` passed and measured nothing under that name"));
            }
            if entry.result.as_deref() == Some("failed") {
                self.log.failures.push(LogFailure {
                    line: 0,
                    operator: Some(mark.clone()),
                    dtype: None,
                    test: entry.test_case,
                    error: entry.reason,
                });
            }
            for mut block in entry.details {
                if block.operator.is_empty() {
                    block.operator.clone_from(&mark);
                }
                self.block(block, 0);
            }
        }
    }

    fn push(&mut self, heading: &Heading, values: Values, format: Format, number: usize) {
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        let ok = values.error.is_none();
        if ok && values.latency_us.is_none() {
            self.warn(number, format!("`{}` {}: a row without a latency", heading.operator, values.input));
        }
        let timer = match heading.mode.as_str() {
            "kernel" => Some(Timer::Direct),
            "cudagraph" => Some(Timer::Graph),
            "operator" | "wrapper" => Some(Timer::Wall),
            _ => None,
        };
        self.log.rows.push(LogRow {
            row: Row {
                operator: heading.operator.clone(),
                side: self.side,
                case: CaseKey { dtype: heading.dtype.clone(), input: values.input, occurrence: 0 },
                ok,
                error: values.error,
                timer,
                timer_reason: None,
                samples_us: Vec::new(),
                latency_us: values.latency_us,
                baseline_us: finite(values.baseline_us),
                host_us: None,
                host_bound: false,
                dropped: 0,
                clock_mhz: None,
                standard_error_pct: None,
                regime: switchback_model::order::Regime::Burst,
            },
            line: number,
            format,
            mode: heading.mode.clone(),
            level: heading.level.clone(),
            unmeasurable: unmeasurable(values.latency_us),
            resolution_us: values.resolution_us,
            speedup: finite(values.speedup),
            tflops: finite(values.tflops),
            gbps_baseline: finite(values.gbps_baseline),
            gbps: finite(values.gbps),
        });
    }

    /// `FAILED: Operator=add dtype=… err=<<<…>>>`, the message over several lines. Values that the benchmark forgot to fill
    /// in (`{dtype}`, `{e}`) are unknown.
    fn input_failure(&mut self, lines: &[String], number: usize) -> usize {
        let first = lines[0].split_once(INPUT_FAILURE).map_or("", |(_, rest)| rest);
        let (names, message) = first.split_once("err=").unwrap_or((first, ""));
        let filled = |text: &str| {
            let text = text.trim_start_matches('<').trim_end_matches('>').trim();
            let placeholder = text.starts_with('{') && text.ends_with('}');
            (!placeholder && !text.is_empty()).then(|| text.to_owned())
        };
        let mut taken = 1;
        let mut error = message.to_owned();
        if message.starts_with("<<<") && !message.contains(">>>") {
            match lines.iter().take(LONGEST_MESSAGE).skip(1).position(|line| line.contains(">>>")) {
                Some(further) => {
                    taken += further + 1;
                    error = std::iter::once(message)
                        .chain(lines[1..taken].iter().map(String::as_str))
                        .collect::<Vec<_>>()
                        .join("\n");
                }
                None => self.warn(number, "the end `>>>` of a message is missing; its first line is kept"),
            }
        }
        let operator = names.split_whitespace().next().and_then(filled);
        let dtype = names.split_whitespace().find_map(|word| word.strip_prefix("dtype=")).and_then(filled);
        // The table of a dtype is printed when the dtype is through, so only one without rows can be this failure's.
        let open = self.heading.as_ref().filter(|heading| {
            self.rows_in_table == 0 && operator.as_deref() == Some(heading.operator.as_str())
        });
        self.log.failures.push(LogFailure {
            line: number,
            dtype: dtype.or_else(|| open.map(|heading| heading.dtype.clone())),
            operator,
            test: None,
            error: filled(&error),
        });
        taken
    }

    /// A report on one line (FlagGems) or on four (Triton).
    fn tuner_report(&mut self, lines: &[String], number: usize) -> usize {
        const BEST: &str = "best config selected:";
        let Some(last) = lines.iter().take(6).position(|line| line.contains(BEST)) else {
            self.warn(number, "a tuner's report without its config is left out");
            return 1;
        };
        let text = lines[..=last].join(" ");
        let after = |start: &str| text.split_once(start).map(|(_, rest)| rest).unwrap_or_default();
        let kernel = after(TUNER_REPORT).split([',', ' ']).next().unwrap_or_default();
        let key = if text.contains("config key:") {
            after("config key:").split(", benchmark key:").next().unwrap_or_default()
        } else {
            after("with key as").split(", finished").next().unwrap_or_default()
        };
        let config = after(BEST).split(';').next().unwrap_or_default();
        self.log.tuned.push(Config {
            side: self.side,
            kernel: kernel.to_owned(),
            key: key.trim().trim_end_matches(',').to_owned(),
            config: config.trim().trim_end_matches(',').to_owned(),
            source: ConfigSource::Tuned,
            tuner: if text.contains("config key:") { "LibTuner".into() } else { "Autotuner".into() },
        });
        last + 1
    }
}

/// What a row says, in whichever format.
struct Values {
    input: String,
    latency_us: Option<f64>,
    baseline_us: Option<f64>,
    resolution_us: f64,
    speedup: Option<f64>,
    tflops: Option<f64>,
    gbps_baseline: Option<f64>,
    gbps: Option<f64>,
    error: Option<String>,
}

impl From<Metrics> for Values {
    fn from(metrics: Metrics) -> Self {
        let microseconds = |milliseconds: f64| milliseconds * 1e3;
        let input =
            if metrics.shape_detail.is_null() { "N/A".into() } else { metrics.shape_detail.to_string() };
        Self {
            input,
            latency_us: metrics.latency.map(microseconds),
            baseline_us: metrics.latency_base.map(microseconds),
            resolution_us: 0.0,
            speedup: metrics.speedup,
            tflops: metrics.tflops,
            gbps_baseline: metrics.gbps_base,
            gbps: metrics.gbps,
            error: metrics.error_msg,
        }
    }
}
