//! What noise is, fitted to real measurements: `crates/stats/tests/data/h200-noise-components.tsv`.
//!
//! The program that made that file stands beside it, in `crates/stats/tests/reference`.

use anyhow::{Context, ensure};

/// Scatter of an effect from round to round by latency: `deviation at 1 us * latency^exponent`.
#[derive(Debug, Clone, Copy)]
pub struct Law {
    /// Standard deviation of the log ratio at 1 us.
    pub at_1_us: f64,
    /// Its power of the latency.
    pub exponent: f64,
}

impl Law {
    /// Standard deviation of a case's effect from round to round.
    pub fn deviation(self, latency_us: f64) -> f64 {
        self.at_1_us * latency_us.powf(self.exponent)
    }
}

/// Components of the samples of one kind of kernel: standard deviations of the log latency.
#[derive(Debug, Clone, Copy)]
pub struct Components {
    /// Between processes, on each side by itself.
    pub process: f64,
    /// Between processes, on both sides alike: 0 where the sides have processes of their own.
    pub common: f64,
    /// Between blocks of 12 calls.
    pub block: f64,
    /// Between samples of a block.
    pub sample: f64,
}

struct Row {
    pairing: &'static str,
    latency_us: f64,
    process: f64,
    block: f64,
    sample: f64,
    effect: f64,
}

fn rows() -> anyhow::Result<Vec<Row>> {
    let text = include_str!("../../../crates/stats/tests/data/h200-noise-components.tsv");
    text.lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            ensure!(fields.len() == 8, "a line of {} fields", fields.len());
            let number = |field: usize| fields[field].parse::<f64>().context("a field that is no number");
            Ok(Row {
                pairing: fields[0],
                latency_us: number(2)?,
                process: 0.01 * number(3)?,
                block: 0.01 * number(4)?,
                sample: 0.01 * number(5)?,
                effect: 0.01 * number(7)?,
            })
        })
        .collect()
}

/// The law of gated rounds: a straight line through the logarithms, by least squares.
///
/// # Errors
/// The file is damaged.
pub fn law() -> anyhow::Result<Law> {
    let points: Vec<(f64, f64)> = rows()?
        .iter()
        .filter(|row| row.pairing == "duet")
        .map(|row| (row.latency_us.ln(), row.effect.ln()))
        .collect();
    ensure!(points.len() >= 3, "{} gated kernels", points.len());
    let n = points.len() as f64;
    let (mean_x, mean_y) =
        points.iter().fold((0.0, 0.0), |(sum_x, sum_y), (x, y)| (sum_x + x / n, sum_y + y / n));
    let (mut xy, mut xx) = (0.0, 0.0);
    for (x, y) in &points {
        xy += (x - mean_x) * (y - mean_y);
        xx += (x - mean_x).powi(2);
    }
    let exponent = xy / xx;
    Ok(Law { at_1_us: (mean_y - exponent * mean_x).exp(), exponent })
}

/// Components of kernels of 20 to 25 us (root mean square): long enough to be no launch, short enough to be common.
///
/// # Errors
/// The file is damaged.
pub fn components(pairing: &str) -> anyhow::Result<Components> {
    let all = rows()?;
    let chosen: Vec<&Row> =
        all.iter().filter(|row| row.pairing == pairing && (20.0..25.0).contains(&row.latency_us)).collect();
    ensure!(!chosen.is_empty(), "no kernel of 20 to 25 us is paired by {pairing}");
    let size = |of: fn(&Row) -> f64| {
        (chosen.iter().map(|row| of(row).powi(2)).sum::<f64>() / chosen.len() as f64).sqrt()
    };
    let (process, common) = if pairing == "duet" {
        // Each side has half of the effect's variance; the rest of a process is on both sides alike.
        (size(|row| row.effect) / 2.0_f64.sqrt(), size(|row| row.process))
    } else {
        (size(|row| row.process), 0.0)
    };
    Ok(Components { process, common, block: size(|row| row.block), sample: size(|row| row.sample) })
}
