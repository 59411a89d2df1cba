//! A calibration: what identical code reads on a machine, kept so that later campaigns can show it beside their own.
//!
//! `calibration.json` at the top of a campaign without a switch, version 1 of its form; `floor.json` is the copy in a
//! campaign that shows it. Measuring and judging are those of any campaign. Invariant: a floor is shown only beside rows
//! of the same machine, timer and measurement path; the refusal names the fields.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use switchback_model::conditions::{Conditions, Difference};
use switchback_model::report::{CalibratedBand, CalibratedFloor, Report};
use switchback_model::side::Pairing;
use switchback_stats::effect::percent;
use switchback_stats::judgement::ControlsSummary;
use switchback_suites::suite::Suite;

use crate::error::EngineError;
use crate::orders;
use crate::request::Request;

/// The file's name in the folder of the campaign that measured it.
pub const FILE: &str = "calibration.json";
/// The copy's name in the folder of a campaign that shows it.
pub const FLOOR_FILE: &str = "floor.json";

/// Version of the form.
const SCHEMA: u32 = 1;

/// Conditions that must agree between a floor and the rows it is shown beside: the machine, and how rows are timed.
/// Compilers, libraries and inputs may differ: they decide what is fast, not how steadily it is measured.
const COMPARED: [&str; 16] = [
    "backend",
    "device",
    "driver",
    "compute_capability",
    "power_limit_w",
    "clock_lock",
    "timer",
    "cache_state",
    "warmup_ms",
    "sample_ms",
    "case_precision_pct",
    "blocks",
    "regime",
    "pairing",
    "direct_repeat",
    "measurement_path",
];

/// What identical code reads on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of this form.
    pub schema: u32,
    /// The version of switchback that judged.
    pub switchback: String,
    /// The campaign's folder name.
    pub campaign: String,
    /// When it was created, RFC 3339, UTC.
    pub created_utc: String,
    /// The suite's name.
    pub suite: String,
    /// How the sides were brought together; none if nothing was measured.
    pub pairing: Option<Pairing>,
    /// Rounds of each operator: a floor over more rounds is lower.
    pub rounds: u32,
    /// What its rows were measured under.
    pub conditions: Conditions,
    /// Versions and facts that are recorded but not compared.
    #[serde(default)]
    pub identity: BTreeMap<String, String>,
    /// All latencies and timers together.
    pub total: CalibratedBand,
    /// By timer and latency; only those that hold controls.
    pub bands: Vec<CalibratedBand>,
}

impl Calibration {
    /// Puts together what a campaign of identical code read.
    #[must_use]
    pub fn new(report: &Report, controls: &ControlsSummary) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let pairing = |process_paired| if process_paired { Pairing::Process } else { Pairing::Duet };
        Self {
            schema: SCHEMA,
            switchback: report.switchback.clone(),
            campaign: report.campaign.clone(),
            created_utc: report.created_utc.clone(),
            suite: report.suite.clone(),
            pairing: report.pairing,
            rounds: report.rounds,
            conditions: report.conditions.clone(),
            identity: report.identity.clone(),
            total: CalibratedBand {
                pairing: report.pairing,
                timer: String::new(),
                from_us: 0.0,
                below_us: None,
                cases: count(controls.cases),
                operators: count(controls.operators),
                processes: count(controls.processes),
                floor_pct: controls.floor.map(percent),
                tau_pct: percent(controls.tau),
                false_positives: count(controls.false_positives),
                upper95: controls.upper95,
                false_positive_operators: count(controls.false_positive_operators),
                upper95_operators: controls.upper95_operators,
            },
            bands: controls
                .bands
                .iter()
                .map(|band| CalibratedBand {
                    pairing: Some(pairing(band.process_paired)),
                    timer: band.timer.clone(),
                    from_us: band.from_us,
                    below_us: band.below_us,
                    cases: count(band.cases),
                    operators: count(band.operators),
                    processes: count(band.processes),
                    floor_pct: band.floor.map(percent),
                    tau_pct: percent(band.tau),
                    false_positives: count(band.false_positives),
                    upper95: band.upper95,
                    false_positive_operators: count(band.false_positive_operators),
                    upper95_operators: band.upper95_operators,
                })
                .collect(),
        }
    }

    /// Reads a calibration: its file, or the folder of the campaign that measured it.
    ///
    /// # Errors
    /// There is none, or it cannot be read as one.
    pub fn read(path: &Path) -> Result<Self, EngineError> {
        let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        let no_floor = |detail: String| EngineError::NoFloor { path: file.clone(), detail };
        let text = std::fs::read_to_string(&file).map_err(|error| no_floor(error.to_string()))?;
        let it: Self = serde_json::from_str(&text).map_err(|error| no_floor(error.to_string()))?;
        if it.schema != SCHEMA {
            return Err(no_floor(format!("its form is version {}, this program reads {SCHEMA}", it.schema)));
        }
        if it.is_empty() {
            return Err(no_floor("the calibration measured nothing, so there is no floor in it".into()));
        }
        Ok(it)
    }

    /// True if no case was measured, so that it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total.cases == 0
    }

    /// The calibration as its file has it.
    #[must_use]
    pub fn text(&self) -> String {
        // Every figure is finite, or `serde_json` writes null, which `read` refuses by name.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// What of it stands in a report.
    #[must_use]
    pub fn floor(&self) -> CalibratedFloor {
        CalibratedFloor {
            campaign: self.campaign.clone(),
            created_utc: self.created_utc.clone(),
            suite: self.suite.clone(),
            pairing: self.pairing,
            rounds: self.rounds,
            total: self.total.clone(),
            bands: self.bands.clone(),
        }
    }

    /// Refuses before anything is measured what [`Self::check`] would refuse after it.
    ///
    /// # Errors
    /// The fields that differ, as far as they are known.
    pub fn check_request(
        &self,
        request: &Request,
        suite: &dyn Suite,
        allowed: &BTreeSet<String>,
    ) -> Result<(), EngineError> {
        let rows = orders::conditions_of_rounds(request, suite);
        let mut floor = self.clone();
        // A cell that says what its measurement path really was leaves the ordered one among the facts.
        if let Some(ordered) = self.identity.get("ordered_measurement_path") {
            floor.conditions.0.insert("measurement_path".into(), ordered.clone());
        }
        floor.check(&rows, allowed)
    }

    /// Refuses to stand beside rows of another machine, timer or measurement path. Fields that `rows` does not know yet
    /// are left to when they are known; `allowed` ones may differ.
    ///
    /// # Errors
    /// The fields that differ.
    pub fn check(&self, rows: &Conditions, allowed: &BTreeSet<String>) -> Result<(), EngineError> {
        let compared = |conditions: &Conditions| {
            let known = COMPARED.iter().filter(|field| rows.get(field).is_some());
            let fields = known.filter_map(|field| {
                conditions.get(field).map(|value| ((*field).to_owned(), value.to_owned()))
            });
            Conditions(fields.collect())
        };
        let differences: Vec<Difference> = compared(&self.conditions).differences(&compared(rows), allowed);
        if differences.is_empty() { Ok(()) } else { Err(EngineError::OtherFloor(differences)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchback_stats::{CaseInput, CaseRound, OperatorInput, Settings, judge};

    fn conditions(changed: &[(&str, &str)]) -> Conditions {
        let mut it = BTreeMap::from(
            [
                ("device", "NVIDIA H200"),
                ("timer", "auto"),
                ("measurement_path", "aa11"),
                ("compiler", "triton 3.6"),
            ]
            .map(|(field, value)| (field.to_owned(), value.to_owned())),
        );
        it.extend(changed.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())));
        Conditions(it)
    }

    /// Two operators of identical code, one of 5 us (one case), one of 50 us (two cases), three rounds.
    fn calibration() -> Calibration {
        let case = |name: &str, b_us: f64, effects_pct: [f64; 3]| CaseInput {
            case: name.into(),
            timer: "gated".into(),
            rounds: (1..)
                .zip(effects_pct)
                .map(|(round, effect)| CaseRound::pair(round, b_us * (1.0 + 0.01 * effect), b_us))
                .collect(),
            ..CaseInput::default()
        };
        let operator = |name: &str, cases| OperatorInput {
            operator: name.into(),
            control: true,
            all_identical: true,
            cases,
            ..OperatorInput::default()
        };
        let inputs = [
            operator("short", vec![case("x", 5.0, [0.2, 0.3, 0.4])]),
            operator("middle", vec![case("x", 50.0, [0.0, 0.1, -0.1]), case("y", 50.0, [0.1, 0.0, 0.05])]),
        ];
        let judgement = judge(&inputs, &Settings { rounds_requested: 3, ..Settings::default() });
        let text = serde_json::json!({
            "schema": 1, "campaign": "calibrate-x", "switchback": "0.1.0", "created_utc": "2026-11-30T10:00:00Z",
            "switch": {"a": {}, "b": {}}, "suite": "triton", "pairing": "duet", "rounds": 3, "margin_pct": 0.5,
            "conditions": conditions(&[]), "operators": [],
            "controls": {"cases": 0, "processes": 0, "false_positives": 0}
        });
        Calibration::new(&serde_json::from_value(text).unwrap(), &judgement.controls)
    }

    #[test]
    fn a_calibration_reads_back_and_holds_each_band() {
        let it = calibration();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), it.text()).unwrap();
        assert_eq!(Calibration::read(folder.path()).unwrap(), it);
        assert_eq!((it.total.cases, it.total.operators, it.total.processes), (3, 2, 6));
        let bands: Vec<_> = it
            .bands
            .iter()
            .map(|band| {
                (band.timer.as_str(), band.from_us, band.below_us, band.cases, band.operators, band.processes)
            })
            .collect();
        assert_eq!(bands, [("gated", 0.0, Some(10.0), 1, 1, 3), ("gated", 10.0, Some(100.0), 2, 1, 3)]);
        // One case's floor is what it read: the mean of its three rounds.
        assert!((it.bands[0].floor_pct.unwrap() - 0.3).abs() < 1e-3, "{:?}", it.bands[0]);
        assert_eq!(it.bands[0].false_positive_operators, 0);
        assert!((it.bands[0].upper95_operators - 0.95).abs() < 1e-12);
    }

    #[test]
    fn another_machine_timer_or_path_is_refused_by_name_another_compiler_is_not() {
        let (it, nothing) = (calibration(), BTreeSet::new());
        assert!(it.check(&conditions(&[("compiler", "triton 3.9"), ("python", "3.13")]), &nothing).is_ok());
        for (field, value) in [("device", "NVIDIA H100"), ("timer", "direct"), ("measurement_path", "bb22")] {
            let rows = conditions(&[(field, value)]);
            let error = it.check(&rows, &nothing).unwrap_err();
            assert!(error.to_string().contains(&format!("`{field}`")), "{error}");
            assert_eq!(error.exit_code(), switchback_model::exit_code::ExitCode::Refused);
            assert!(it.check(&rows, &BTreeSet::from([field.to_owned()])).is_ok());
        }
        // A driver that only the rows know may hide a difference.
        assert!(it.check(&conditions(&[("driver", "580")]), &nothing).is_err());
    }

    #[test]
    fn what_is_no_calibration_is_told_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Calibration::read(folder.path()).unwrap_err();
        assert!(missing.to_string().contains(FILE), "{missing}");
        std::fs::write(folder.path().join(FILE), "{\"schema\": 1}").unwrap();
        assert!(Calibration::read(folder.path()).unwrap_err().to_string().contains("missing field"));
        let newer = Calibration { schema: 2, ..calibration() };
        std::fs::write(folder.path().join(FILE), newer.text()).unwrap();
        assert!(Calibration::read(folder.path()).unwrap_err().to_string().contains("version 2"));
    }
}
