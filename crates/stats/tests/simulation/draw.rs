//! Draws campaigns from a model of the noise; every draw comes from one seeded generator.
//!
//! Model of one round of one case: `effect + bias(operator) + shared(operator, round) + own(case, round)`. The scale of
//! the last two follows the settings; `Noise::Card` is a law along latency, as fitted to gated rounds of identical kernels.
//! Shared by the tests of promises and by `cargo xtask bench judge`.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchback_stats::{CaseInput, CaseRound, OperatorInput};

/// No law is followed below this: the longest kernels that were measured scatter so.
const LEAST: f64 = 1.5e-4;

/// How large the noise is.
#[derive(Debug, Clone, Copy)]
pub enum Noise {
    /// Standard deviation of an operator's effect from round to round, the same for all.
    Operator(f64),
    /// A card's law along latency, times an operator's own factor (inverse chi-square, 6 degrees of freedom).
    Card {
        /// Standard deviation of a case's effect from round to round at 1 us.
        at_1_us: f64,
        /// Its power of the latency.
        exponent: f64,
    },
}

/// How the noise is distributed.
#[derive(Debug, Clone, Copy)]
pub enum Tails {
    /// Normal.
    Normal,
    /// Student's t with 3 degrees of freedom, scaled to the same variance.
    Heavy,
}

/// One kind of campaign.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub n_operators: usize,
    pub n_controls: usize,
    pub n_cases: usize,
    pub n_rounds: u32,
    pub noise: Noise,
    pub tails: Tails,
    /// Correlation of the cases of one operator within a round.
    pub shared: f64,
    /// Standard deviation of a bias that an operator keeps in all rounds.
    pub persistent: f64,
    /// Effect of the first `n_changed` operators.
    pub effect: f64,
    pub n_changed: usize,
}

/// Draws standard numbers.
pub struct Draw {
    source: ChaCha8Rng,
}

impl Draw {
    pub fn seeded(seed: u64) -> Self {
        Self { source: ChaCha8Rng::seed_from_u64(seed) }
    }

    pub fn uniform(&mut self) -> f64 {
        self.source.random::<f64>()
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn chi_square(&mut self, df: u32) -> f64 {
        (0..df).map(|_| self.normal().powi(2)).sum()
    }

    fn noise(&mut self, tails: Tails) -> f64 {
        match tails {
            Tails::Normal => self.normal(),
            Tails::Heavy => self.normal() / (self.chi_square(3) / 3.0).sqrt() / 3.0_f64.sqrt(),
        }
    }
}

/// An operator that can be measured for as many rounds as are asked for.
pub struct Source {
    pub truth: f64,
    pub input: OperatorInput,
    mean_effect: f64,
    case_deviation: Vec<f64>,
    latency_us: Vec<f64>,
    shared: f64,
    tails: Tails,
}

/// Draws the operators of a campaign, controls last, without rounds.
pub fn campaign(setting: &Setting, draw: &mut Draw) -> Vec<Source> {
    (0..setting.n_operators + setting.n_controls)
        .map(|number| {
            let truth = if number < setting.n_changed { setting.effect } else { 0.0 };
            let latency_us: Vec<f64> =
                (0..setting.n_cases).map(|_| 4.0 * 50.0_f64.powf(draw.uniform())).collect();
            let factor = match setting.noise {
                Noise::Operator(_) => 1.0,
                Noise::Card { .. } => (6.0 / draw.chi_square(6)).sqrt(),
            };
            let mean_share = setting.shared + (1.0 - setting.shared) / setting.n_cases as f64;
            let case_deviation = latency_us.iter().map(|latency_us| match setting.noise {
                Noise::Operator(deviation) => deviation / mean_share.sqrt(),
                Noise::Card { at_1_us, exponent } => {
                    factor * (at_1_us * latency_us.powf(exponent)).max(LEAST)
                }
            });
            let control = number >= setting.n_operators;
            let cases = (0..setting.n_cases).map(|idx| CaseInput {
                case: format!("case {idx}"),
                timer: "gated".into(),
                ..CaseInput::default()
            });
            Source {
                truth,
                input: OperatorInput {
                    operator: format!("operator {number}"),
                    control,
                    rounds_requested: Some(0),
                    cases: cases.collect(),
                    ..OperatorInput::default()
                },
                mean_effect: truth + setting.persistent * draw.normal(),
                case_deviation: case_deviation.collect(),
                latency_us,
                shared: setting.shared,
                tails: setting.tails,
            }
        })
        .collect()
}

impl Source {
    /// Measures one more round.
    pub fn measure(&mut self, draw: &mut Draw) {
        let round = self.input.rounds_requested.unwrap_or(0) + 1;
        let together = draw.noise(self.tails);
        for (idx, case) in self.input.cases.iter_mut().enumerate() {
            let own = draw.noise(self.tails);
            let scatter = self.shared.sqrt() * together + (1.0 - self.shared).sqrt() * own;
            let effect = self.mean_effect + self.case_deviation[idx] * scatter;
            let b_us = self.latency_us[idx] * (0.01 * draw.normal()).exp();
            case.rounds.push(CaseRound::pair(round, b_us * effect.exp(), b_us));
        }
        self.input.rounds_requested = Some(round);
    }
}
