//! `nvidia-smi --query-gpu`: one line of comma-separated values a card.

use switchback_model::card::Card;

use super::{Reading, SAMPLING_LIMIT, Sampler, TelemetryError, readings, throttle};
use crate::command::{self, CommandError};

/// The tool.
const PROGRAM: &str = "nvidia-smi";

/// The fields of the query, in the order of the columns of the answer.
///
/// The throttle reasons go by their older name, which newer drivers take as well.
pub const FIELDS: &[&str] = &[
    "index",
    "clocks.sm",
    "clocks.mem",
    "temperature.gpu",
    "power.draw",
    "utilization.gpu",
    "clocks_throttle_reasons.active",
    "power.limit",
    "memory.used",
    "memory.total",
];

/// The command that reads `fields` of one card, by UUID where it has one, or of all cards.
#[must_use]
pub fn argv(fields: &[&str], card: Option<&Card>) -> Vec<String> {
    let mut argv = vec![
        PROGRAM.to_owned(),
        format!("--query-gpu={}", fields.join(",")),
        "--format=csv,noheader,nounits".into(),
    ];
    if let Some(card) = card {
        // A part of a card has no clocks of its own and is no `-i`; then all cards are read.
        let name = card.uuid.as_deref().unwrap_or(&card.index);
        if !name.starts_with("MIG-") {
            argv.extend(["-i".to_owned(), name.to_owned()]);
        }
    }
    argv
}

/// Reads the answer to a query of `fields`; a line with another number of columns is no reading.
#[must_use]
pub fn parse(fields: &[&str], stdout: &str) -> Vec<Reading> {
    stdout.lines().filter_map(|line| parse_line(fields, line)).collect()
}

fn parse_line(fields: &[&str], line: &str) -> Option<Reading> {
    let columns: Vec<&str> = line.split(',').map(str::trim).collect();
    if columns.len() != fields.len() {
        return None;
    }
    let mut reading = Reading::default();
    for (field, text) in fields.iter().zip(columns) {
        match *field {
            "index" => reading.index = text.into(),
            "clocks.sm" => reading.sm_clock_mhz = reading.figure("sm_clock_mhz", text),
            "clocks.mem" => reading.mem_clock_mhz = reading.figure("mem_clock_mhz", text),
            "temperature.gpu" => reading.temp_c = reading.figure("temp_c", text),
            "power.draw" => reading.power_w = reading.figure("power_w", text),
            "utilization.gpu" => reading.util_pct = reading.figure("util_pct", text),
            "power.limit" => reading.power_limit_w = reading.figure("power_limit_w", text),
            "memory.used" => reading.mem_used_mib = reading.figure("mem_used_mib", text),
            "memory.total" => reading.mem_total_mib = reading.figure("mem_total_mib", text),
            _ => reading.throttle = throttle(text),
        }
    }
    let is_index = !reading.index.is_empty() && reading.index.bytes().all(|byte| byte.is_ascii_digit());
    is_index.then_some(reading)
}

/// Names of the bits of a hexadecimal mask.
fn throttle(text: &str) -> Option<String> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(throttle::names)
}

/// Samples one card; a field that the driver does not know is asked for once and then left out.
pub struct NvidiaSmi {
    program: String,
    card: Card,
    fields: Vec<&'static str>,
}

impl NvidiaSmi {
    /// A sampler of that card.
    #[must_use]
    pub fn new(card: Card) -> Self {
        Self::of_program(PROGRAM, card)
    }

    /// The same with a tool of another name or in another place.
    #[must_use]
    pub fn of_program(program: &str, card: Card) -> Self {
        Self { program: program.into(), card, fields: FIELDS.to_vec() }
    }
}

impl Sampler for NvidiaSmi {
    fn name(&self) -> &str {
        "nvidia-smi"
    }

    fn sample(&mut self) -> Result<Vec<Reading>, TelemetryError> {
        loop {
            let mut argv = argv(&self.fields, Some(&self.card));
            argv[0].clone_from(&self.program);
            let (answer, said) = match command::run(&argv, SAMPLING_LIMIT) {
                Ok(stdout) => (readings(self.name(), parse(&self.fields, &stdout), &stdout), stdout),
                Err(error @ CommandError::Status { .. }) => {
                    let CommandError::Status { stdout, said, .. } = &error else { return Err(error.into()) };
                    let said = format!("{said}\n{stdout}");
                    (Err(error.into()), said)
                }
                Err(error) => return Err(error.into()),
            };
            if answer.is_ok() {
                return answer;
            }
            if let Some((card, said)) = lost_card(&said) {
                return Err(TelemetryError::CardLost { card, said });
            }
            if !self.drop_refused(&said) {
                return answer;
            }
        }
    }
}

/// The card that an answer says is gone, by its place on the bus, and the sentence; the tool then tells of no card at all.
#[must_use]
pub fn lost_card(answer: &str) -> Option<(String, String)> {
    answer.lines().map(str::trim).find_map(|line| {
        let rest = line.strip_prefix("Unable to determine the device handle for ")?;
        // `GPU 0000:BA:80.0: Unknown Error`, `GPU1: 0000:CB:00.0: Unknown Error` and the like.
        let place = rest
            .split([' ', ';'])
            .map(|word| word.trim_end_matches(':'))
            .find(|word| word.matches(':').count() == 2 && word.contains('.'))?;
        Some((place.to_owned(), line.to_owned()))
    })
}

impl NvidiaSmi {
    /// Leaves out the field that the answer says is not valid; true if there was one.
    fn drop_refused(&mut self, answer: &str) -> bool {
        let refused = answer.lines().find_map(|line| {
            let (name, rest) = line.trim().strip_prefix("Field \"")?.split_once('"')?;
            rest.contains("not a valid field").then(|| name.to_owned())
        });
        let before = self.fields.len();
        if let Some(refused) = refused {
            self.fields.retain(|field| *field == "index" || *field != refused);
        }
        self.fields.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIX: &[&str] =
        &["index", "clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "utilization.gpu"];

    #[test]
    fn the_scripts_columns_read_as_they_did() {
        let expected = Reading {
            index: "0".into(),
            sm_clock_mhz: Some(1980.0),
            mem_clock_mhz: Some(2619.0),
            temp_c: Some(41.0),
            power_w: Some(122.35),
            util_pct: Some(63.0),
            ..Reading::default()
        };
        assert_eq!(parse(SIX, "0, 1980, 2619, 41, 122.35, 63\n"), [expected]);
    }

    #[test]
    fn a_card_s_answer_to_our_query_is_read_whole() {
        // An idle H200, driver 580.159.04.
        let readings = parse(FIELDS, "0, 345, 3201, 39, 77.94, 0, 0x0000000000000001, 700.00, 0, 143771\n");
        let expected = Reading {
            index: "0".into(),
            sm_clock_mhz: Some(345.0),
            mem_clock_mhz: Some(3201.0),
            temp_c: Some(39.0),
            power_w: Some(77.94),
            util_pct: Some(0.0),
            throttle: Some("gpu_idle".into()),
            power_limit_w: Some(700.0),
            mem_used_mib: Some(0.0),
            mem_total_mib: Some(143_771.0),
            remark: None,
        };
        assert_eq!(readings, [expected]);
    }

    #[test]
    fn a_field_that_is_not_told_is_absent_and_the_others_stay() {
        for word in ["[N/A]", "[Not Supported]", "[Unknown Error]", "[Insufficient Permissions]", "N/A", ""] {
            let readings = parse(SIX, &format!("0, 345, 3201, 38 C, {word}, 0 %\r\n1, 1, 2, 3, 4, 5"));
            assert_eq!(readings[0].power_w, None, "{word}");
            assert_eq!((readings[0].temp_c, readings[0].util_pct), (Some(38.0), Some(0.0)), "{word}");
            assert_eq!(readings[1].power_w, Some(4.0));
        }
    }

    #[test]
    fn throttle_masks_are_read() {
        assert_eq!(throttle("0x0000000000000000").as_deref(), Some("none"));
        assert_eq!(throttle("0x0000000000000001").as_deref(), Some("gpu_idle"));
        assert_eq!(throttle("0x0000000000000044").as_deref(), Some("sw_power_cap+hw_thermal_slowdown"));
        assert_eq!(throttle("0x0000000000001080").as_deref(), Some("hw_power_brake_slowdown+0x1000"));
        assert_eq!(throttle("[N/A]"), None);
    }

    #[test]
    fn a_refused_field_is_left_out_and_only_once() {
        let mut sampler =
            NvidiaSmi::new(Card { backend: "cuda".into(), index: "0".into(), uuid: None, name: None });
        let answer = "Field \"clocks_throttle_reasons.active\" is not a valid field to query.\n";
        assert!(sampler.drop_refused(answer));
        assert!(!sampler.fields.contains(&"clocks_throttle_reasons.active"));
        assert!(!sampler.drop_refused(answer));
        assert!(!sampler.drop_refused("Field \"index\" is not a valid field to query.\n"));
    }

    #[test]
    fn one_card_is_asked_for_by_uuid_and_all_without_a_flag() {
        let card = Card { backend: "cuda".into(), index: "3".into(), uuid: None, name: None };
        assert_eq!(argv(SIX, Some(&card))[3..], ["-i", "3"]);
        let card = Card { uuid: Some("GPU-x".into()), ..card };
        assert_eq!(argv(SIX, Some(&card))[3..], ["-i", "GPU-x"]);
        assert!(!argv(SIX, None).contains(&"-i".to_owned()));
    }
}
