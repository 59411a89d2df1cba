//! What identical code read: in the report's own controls, the naive way, and in a calibration before.

use switchback_model::report::{CalibratedFloor, Controls, Naive, Report};

use crate::number;
use crate::text::{count, one_line};

/// What controls say of the noise, a sentence each; one that says so if there were none.
#[must_use]
pub fn noise(controls: &Controls) -> Vec<String> {
    if controls.cases == 0 {
        if let Some(worst) = controls.worst_pct {
            let worst = number::size_percent(worst);
            return vec![format!(
                "identical code read up to ±{worst}, but no case of it has two rounds or more, all complete: the floor is not known"
            )];
        }
        return vec!["no case with identical code was measured: the floor is not known".into()];
    }
    let cases = count(controls.cases, "case", "cases");
    let mut out = Vec::new();
    let floor = controls.floor_pct.map(number::size_percent);
    let worst = controls.worst_pct.map(number::size_percent);
    out.push(match (floor, worst) {
        (Some(floor), Some(worst)) if floor != worst => {
            format!("{cases} with identical code: 95 % read within ±{floor}, the worst {worst}")
        }
        (Some(floor), _) => format!("{cases} with identical code read within ±{floor}"),
        (None, Some(worst)) => format!("{cases} with identical code read within ±{worst}"),
        (None, None) => format!("{cases} with identical code, no reading"),
    });
    let mut called = format!("{} of {} called different", controls.false_positives, controls.cases);
    if let Some(upper) = controls.upper95 {
        let of = match controls.operators {
            0 => String::new(),
            operators => format!(" of {}", count(operators, "operator", "operators")),
        };
        called.push_str(&format!(
            ": with {cases}{of} in {} that rate may be up to {}, were cases independent",
            count(controls.processes, "process", "processes"),
            number::bound_percent(upper)
        ));
    }
    out.push(called);
    if let Some(tau) = controls.tau_pct.filter(|tau| *tau > 0.0) {
        out.push(format!("error that more rounds do not remove: {}", number::size_percent(tau)));
    }
    out
}

/// How many operators with identical code would have been called different, and the bound of that rate: the safe one, as
/// cases of one process are not independent. None where no operator was counted.
#[must_use]
pub fn noise_of_operators(controls: &Controls) -> Option<String> {
    let upper = controls.upper95_operators.filter(|_| controls.operators > 0)?;
    Some(format!(
        "{} of {} would have been called FASTER or SLOWER: that rate may be up to {}, the safe bound, as cases of one process are \
         not independent",
        controls.false_positive_operators,
        count(controls.operators, "operator with identical code", "operators with identical code"),
        number::bound_percent(upper)
    ))
}

/// All that is to be said of the noise: the campaign's own controls, the naive way, and a floor that was calibrated
/// before, where it was asked for.
#[must_use]
pub fn noise_of(report: &Report) -> Vec<String> {
    let mut out = noise(&report.controls);
    out.extend(noise_beside(report));
    out
}

/// The naive way and the calibrated floor alone.
#[must_use]
pub fn noise_beside(report: &Report) -> Vec<String> {
    let calibrated =
        report.calibration.as_ref().map(|floor| format!("calibrated before: {}", calibrated(floor)));
    report.naive.as_ref().map(naive).into_iter().chain(calibrated).collect()
}

/// What a calibration of this machine read, in a line.
#[must_use]
pub fn calibrated(floor: &CalibratedFloor) -> String {
    let size = |pct: Option<f64>| pct.map_or("nothing".into(), |pct| format!("±{pct:.2} %"));
    let pairing = floor.pairing.map_or_else(|| "nothing measured".into(), |it| it.to_string());
    let mut text = format!(
        "`{}` of {}, A against A, {pairing}, {} rounds: 95 % of {} cases read within {}",
        one_line(&floor.campaign),
        one_line(floor.created_utc.get(..10).unwrap_or(&floor.created_utc)),
        floor.rounds,
        floor.total.cases,
        size(floor.total.floor_pct)
    );
    for band in &floor.bands {
        text.push_str(&format!("; {}, {} {}", band.latencies(), one_line(&band.timer), size(band.floor_pct)));
    }
    text
}

/// What the same cases read the naive way.
#[must_use]
pub fn naive(naive: &Naive) -> String {
    if naive.cases == 0 {
        return "one process a side: no case was measured so".into();
    }
    let verb = if naive.over_1_pct == 1 { "reads" } else { "read" };
    let over = format!("{} of {} {verb} over 1 %", naive.over_1_pct, naive.cases);
    format!("one process a side, same cases: {over}, worst {}", number::percent(naive.worst_pct))
}
