//! Simulated campaigns: false calls, family-wise error, power, coverage; and what stopping by precision saves.

use switchback_model::verdict::Verdict;
use switchback_stats::controls::upper_bound95;
use switchback_stats::effect::{mean, variance};
use switchback_stats::{OperatorInput, Precision, Settings, judge, rounds_wanted};

use super::draw::{Draw, Noise, Setting, Source, Tails, campaign};
use super::fit::Law;
use super::in_parallel;

pub(super) const BASE: Setting = Setting {
    n_operators: 24,
    n_controls: 0,
    n_cases: 10,
    n_rounds: 4,
    noise: Noise::Operator(3e-3),
    tails: Tails::Normal,
    shared: 0.4,
    persistent: 0.0,
    effect: 0.01,
    n_changed: 6,
};

/// The bias of a campaign with one: half of 0.3 % noise, about what the shortest gated kernels show.
const BIAS: f64 = 1.5e-3;

fn settings(law: Law) -> Vec<(&'static str, Setting)> {
    let card = Noise::Card { at_1_us: law.at_1_us, exponent: law.exponent };
    let null = Setting { n_changed: 0, ..BASE };
    let wide = Setting { noise: Noise::Operator(0.02), ..null };
    let biased = Setting { persistent: BIAS, ..BASE };
    let fine = Noise::Operator(1e-3);
    vec![
        ("all null, 0.3 %", null),
        ("all null, 0.3 %, 3 rounds", Setting { n_rounds: 3, ..null }),
        ("all null, the card's noise", Setting { noise: card, ..null }),
        ("all null, the card's noise, 8 controls", Setting { noise: card, n_controls: 8, ..null }),
        ("all null, 2 %", wide),
        ("all null, 2 %, heavy tails", Setting { tails: Tails::Heavy, ..wide }),
        ("1 % in 6 of 24, 0.3 %", BASE),
        ("the same, 3 rounds", Setting { n_rounds: 3, ..BASE }),
        ("the same, 3 controls", Setting { n_controls: 3, ..BASE }),
        ("the same, 8 controls", Setting { n_controls: 8, ..BASE }),
        ("the same, 12 controls", Setting { n_controls: 12, ..BASE }),
        ("the same, the card's noise", Setting { noise: card, ..BASE }),
        ("the same, 0.3 %, heavy tails", Setting { tails: Tails::Heavy, ..BASE }),
        ("the same, bias 0.15 %, no control", biased),
        ("the same, bias 0.15 %, 3 controls", Setting { n_controls: 3, ..biased }),
        ("the same, bias 0.15 %, 8 controls", Setting { n_controls: 8, ..biased }),
        ("the same, bias 0.15 %, 12 controls", Setting { n_controls: 12, ..biased }),
        ("the same, bias 0.15 %, 24 controls", Setting { n_controls: 24, ..biased }),
        ("the same, bias 0.15 %, 12 controls, 0.1 %", Setting { n_controls: 12, noise: fine, ..biased }),
        ("the same, bias 0.25 %, 12 controls", Setting { n_controls: 12, persistent: 2.5e-3, ..BASE }),
        ("4 operators (plain t), one changed, 0.3 %", Setting { n_operators: 4, n_changed: 1, ..BASE }),
        (
            "1 operator of 1 case, changed, 0.3 %",
            Setting { n_operators: 1, n_changed: 1, n_cases: 1, ..BASE },
        ),
        (
            "all 24 changed by the margin, 0.1 %",
            Setting { effect: 0.005_f64.ln_1p(), n_changed: 24, noise: fine, ..BASE },
        ),
        (
            "1 % in 6 of 24, 0.3 %, bias 0.25 %, 3 controls",
            Setting { n_controls: 3, persistent: 2.5e-3, ..BASE },
        ),
    ]
}

/// What happened to the operators of one kind of campaign.
#[derive(Default)]
struct Tally {
    nulls: usize,
    nulls_called: usize,
    campaigns_wrong: usize,
    rounds: usize,
    operators: usize,
    /// A share for each campaign: nulls found equal, changed ones found, changed ones called equal, intervals that cover.
    shares: [Vec<f64>; 4],
    campaigns: usize,
}

impl Tally {
    fn add(&mut self, sources: &[Source]) {
        let inputs: Vec<OperatorInput> = sources.iter().map(|source| source.input.clone()).collect();
        let judgement = judge(&inputs, &Settings::default());
        let mut wrong = false;
        let mut counts = [(0_usize, 0_usize); 4];
        let mut count = |place: usize, holds: bool| {
            counts[place].0 += usize::from(holds);
            counts[place].1 += 1;
        };
        for (it, source) in
            judgement.operators.iter().zip(sources).filter(|(_, source)| !source.input.control)
        {
            let equivalent = it.verdict == Verdict::Equivalent;
            if source.truth == 0.0 {
                let called = matches!(it.verdict, Verdict::Faster | Verdict::Slower);
                self.nulls += 1;
                self.nulls_called += usize::from(called);
                wrong |= called;
                count(0, equivalent);
            } else {
                count(1, it.verdict == Verdict::Faster);
                count(2, equivalent);
            }
            if let Some(ci) = it.ci {
                count(3, ci.low <= source.truth && source.truth <= ci.high);
            }
            self.rounds += it.rounds as usize;
            self.operators += 1;
        }
        for (shares, (part, whole)) in self.shares.iter_mut().zip(counts).filter(|(_, (_, whole))| *whole > 0)
        {
            shares.push(part as f64 / whole as f64);
        }
        self.campaigns += 1;
        self.campaigns_wrong += usize::from(wrong);
    }

    /// Cells of the tables: errors with their upper 95 % bounds, shares with what 95 % of such runs lie within.
    fn cells(&self) -> Vec<String> {
        let rate = |hits: usize, trials: usize, places: usize| {
            if self.nulls == 0 {
                return "–".to_owned();
            }
            let bound = upper_bound95(hits, trials);
            format!("{:.places$} (≤ {bound:.places$})", hits as f64 / trials as f64)
        };
        let mut cells =
            vec![rate(self.nulls_called, self.nulls, 4), rate(self.campaigns_wrong, self.campaigns, 3)];
        for shares in &self.shares {
            // Operators of one campaign are judged together: the campaign is what repeats.
            cells.push(match (mean(shares), variance(shares)) {
                (Some(share), Some(variance)) => {
                    let error = 1.96 * (variance / shares.len() as f64).sqrt();
                    format!("{share:.3} ± {error:.3}")
                }
                (Some(share), None) => format!("{share:.3}"),
                _ => "–".to_owned(),
            });
        }
        cells
    }
}

const COLUMNS: &str = "| false | family | equal | power | missed | covered |";

/// Prints errors, power and coverage of every setting.
pub fn errors(campaigns: usize, seed: u64, law: Law) {
    println!(
        "\nfalse: null operators called FASTER or SLOWER; family: campaigns with such a call; equal: nulls EQUIVALENT; \
         power: changed operators FASTER; missed: those EQUIVALENT; covered: 95 % intervals that hold the truth. Errors \
         with their upper 95 % bounds, shares with 95 % limits.\n"
    );
    println!("| setting {COLUMNS}\n|---|---|---|---|---|---|---|");
    let settings = settings(law);
    let rows = in_parallel(&settings, |index, (name, setting)| {
        let mut draw = Draw::seeded(seed + index as u64);
        let mut tally = Tally::default();
        for _ in 0..campaigns {
            let mut sources = campaign(setting, &mut draw);
            for source in &mut sources {
                (0..setting.n_rounds).for_each(|_| source.measure(&mut draw));
            }
            tally.add(&sources);
        }
        format!("| {name} | {} |", tally.cells().join(" | "))
    });
    println!("{}", rows.join("\n"));
}

/// Prints rounds given by precision against twelve rounds for all.
pub fn stopping(campaigns: usize, seed: u64, law: Law) {
    const MOST: u32 = 12;
    println!("\nstopping by precision, at most {MOST} rounds, 1 % in 6 of 24 operators\n");
    println!("| noise, half width asked for {COLUMNS} rounds |\n|---|---|---|---|---|---|---|---|");
    let card = Noise::Card { at_1_us: law.at_1_us, exponent: law.exponent };
    let mut pieces = Vec::new();
    for (name, noise) in [("0.2 %", Noise::Operator(2e-3)), ("the card's", card)] {
        for half_width_percent in [0.5, 0.3, 0.25, 0.0] {
            pieces.push((name, noise, half_width_percent));
        }
    }
    let rows = in_parallel(&pieces, |_, (name, noise, half_width_percent)| {
        let setting = Setting { noise: *noise, n_rounds: MOST, ..BASE };
        let precision = Precision { half_width_percent: *half_width_percent, max_rounds: MOST };
        let mut draw = Draw::seeded(seed);
        let mut tally = Tally::default();
        for _ in 0..campaigns.div_ceil(2) {
            let mut sources = campaign(&setting, &mut draw);
            let mut stopped = vec![false; sources.len()];
            // Who has stopped stays so, as in a campaign.
            while stopped.iter().any(|it| !it) {
                let inputs: Vec<OperatorInput> = sources.iter().map(|source| source.input.clone()).collect();
                let needs = rounds_wanted(&inputs, &Settings::default(), &precision);
                for ((source, need), stopped) in sources.iter_mut().zip(&needs).zip(&mut stopped) {
                    *stopped |= !need.wanted;
                    if !*stopped {
                        source.measure(&mut draw);
                    }
                }
            }
            tally.add(&sources);
        }
        let asked = if *half_width_percent > 0.0 {
            format!("{half_width_percent} %")
        } else {
            format!("none: {MOST} rounds for all")
        };
        let rounds = tally.rounds as f64 / tally.operators.max(1) as f64;
        format!("| {name}, {asked} | {} | {rounds:.2} |", tally.cells().join(" | "))
    });
    println!("{}", rows.join("\n"));
}
