//! Simulated campaigns: how often the rules of `docs/statistics.md` are wrong, and how often they find what is there.
//!
//!     cargo run -p switchback-stats --example simulate [CAMPAIGNS]
//!
//! Prints the tables of `docs/statistics.md`, 800 campaigns a setting unless another number is given. The seed is
//! fixed: the same number of campaigns prints the same tables.

mod draw;
mod rivals;

use draw::{Draw, Noise, Setting, Tails, campaign};
use switchback_model::verdict::Verdict;
use switchback_stats::{OperatorInput, Precision, Settings, judge, rounds_wanted};

const SEED: u64 = 20_260_910;

const BASE: Setting = Setting {
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

fn settings() -> Vec<(&'static str, Setting)> {
    let of = |name, change: fn(&mut Setting)| {
        let mut setting = BASE;
        change(&mut setting);
        (name, setting)
    };
    vec![
        of("all null, 0.3 %", |it| it.n_changed = 0),
        of("all null, 0.3 %, 3 rounds", |it| (it.n_changed, it.n_rounds) = (0, 3)),
        of("all null, the card's noise", |it| (it.n_changed, it.noise) = (0, Noise::Card)),
        of("all null, the card's noise, 8 controls", |it| {
            (it.n_changed, it.noise, it.n_controls) = (0, Noise::Card, 8);
        }),
        of("all null, 2 %, process pairing's noise", |it| {
            (it.n_changed, it.noise) = (0, Noise::Operator(0.02));
        }),
        of("all null, 2 %, heavy tails", |it| {
            (it.n_changed, it.noise, it.tails) = (0, Noise::Operator(0.02), Tails::Heavy);
        }),
        of("1 % in 6 of 24, 0.3 %", |_| ()),
        of("1 % in 6 of 24, 0.3 %, 3 rounds", |it| it.n_rounds = 3),
        of("1 % in 6 of 24, 0.3 %, 8 controls", |it| it.n_controls = 8),
        of("1 % in 6 of 24, the card's noise", |it| it.noise = Noise::Card),
        of("1 % in 6 of 24, 0.3 %, heavy tails", |it| it.tails = Tails::Heavy),
        of("bias 0.15 %, no control", |it| it.persistent = 1.5e-3),
        of("bias 0.15 %, 3 controls", |it| (it.persistent, it.n_controls) = (1.5e-3, 3)),
        of("bias 0.15 %, 12 controls", |it| (it.persistent, it.n_controls) = (1.5e-3, 12)),
        of("bias 0.15 %, 12 controls, 0.1 %", |it| {
            (it.persistent, it.n_controls, it.noise) = (1.5e-3, 12, Noise::Operator(1e-3));
        }),
        of("4 operators (plain t), 0.3 %", |it| (it.n_operators, it.n_changed) = (4, 1)),
        of("1 operator, 1 case, 0.3 %", |it| (it.n_operators, it.n_changed, it.n_cases) = (1, 1, 1)),
        of("at the margin, 0.1 %: false EQUIVALENT?", |it| {
            (it.effect, it.n_changed, it.noise) = (0.005_f64.ln_1p(), 24, Noise::Operator(1e-3));
        }),
    ]
}

/// What happened to the operators of one kind of campaign.
#[derive(Default)]
struct Tally {
    nulls: usize,
    nulls_called: usize,
    nulls_equivalent: usize,
    changed: usize,
    changed_called: usize,
    changed_equivalent: usize,
    intervals: usize,
    covered: usize,
    campaigns: usize,
    campaigns_wrong: usize,
    rounds: usize,
}

impl Tally {
    fn add(&mut self, sources: &[draw::Source]) {
        let inputs: Vec<OperatorInput> = sources.iter().map(|source| source.input.clone()).collect();
        let judgement = judge(&inputs, &Settings::default());
        let mut wrong = false;
        for (it, source) in
            judgement.operators.iter().zip(sources).filter(|(_, source)| !source.input.control)
        {
            let called = matches!(it.verdict, Verdict::Faster | Verdict::Slower);
            let equivalent = it.verdict == Verdict::Equivalent;
            if source.truth == 0.0 {
                self.nulls += 1;
                self.nulls_called += usize::from(called);
                self.nulls_equivalent += usize::from(equivalent);
                wrong |= called;
            } else {
                self.changed += 1;
                self.changed_called += usize::from(it.verdict == Verdict::Faster);
                self.changed_equivalent += usize::from(equivalent);
            }
            self.rounds += it.rounds as usize;
            if let Some(ci) = it.ci {
                self.intervals += 1;
                self.covered += usize::from(ci.low <= source.truth && source.truth <= ci.high);
            }
        }
        self.campaigns += 1;
        self.campaigns_wrong += usize::from(wrong);
    }

    fn line(&self) -> String {
        let share = |part: usize, whole: usize| {
            if whole == 0 { "       -".to_owned() } else { format!("{:8.4}", part as f64 / whole as f64) }
        };
        [
            share(self.nulls_called, self.nulls),
            share(self.campaigns_wrong, if self.nulls == 0 { 0 } else { self.campaigns }),
            share(self.nulls_equivalent, self.nulls),
            share(self.changed_called, self.changed),
            share(self.changed_equivalent, self.changed),
            share(self.covered, self.intervals),
        ]
        .join(" ")
    }
}

fn main() {
    let n_campaigns: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(800);
    println!(
        "{n_campaigns} campaigns a setting, seed {SEED}; false = null operators called FASTER or SLOWER, family ="
    );
    println!(
        "campaigns with one, equal = nulls EQUIVALENT, power = changed operators FASTER, missed = changed EQUIVALENT"
    );
    println!(
        "{:42} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "setting", "false", "family", "equal", "power", "missed", "covered"
    );
    for (idx, (name, setting)) in settings().iter().enumerate() {
        let mut draw = Draw::seeded(SEED + idx as u64);
        let mut tally = Tally::default();
        for _ in 0..n_campaigns {
            let mut sources = campaign(setting, &mut draw);
            for source in &mut sources {
                (0..setting.n_rounds).for_each(|_| source.measure(&mut draw));
            }
            tally.add(&sources);
        }
        println!("{name:42} {}", tally.line());
    }
    stopping(n_campaigns);
    rivals::compare((n_campaigns / 4).max(1), &mut Draw::seeded(SEED));
}

/// Rounds given by precision against twelve rounds for all.
fn stopping(n_campaigns: usize) {
    println!("\nstopping by precision, at most 12 rounds, 0.2 % noise, 1 % in 6 of 24 operators");
    println!(
        "{:42} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "half width", "false", "family", "equal", "power", "missed", "covered", "rounds"
    );
    let setting = Setting { noise: Noise::Operator(2e-3), n_rounds: 12, ..BASE };
    for half_width_percent in [0.5, 0.3, 0.25, 0.0] {
        let precision = Precision { half_width_percent, max_rounds: 12 };
        let mut draw = Draw::seeded(SEED);
        let mut tally = Tally::default();
        for _ in 0..n_campaigns {
            let mut sources = campaign(&setting, &mut draw);
            loop {
                let inputs: Vec<OperatorInput> = sources.iter().map(|source| source.input.clone()).collect();
                let needs = rounds_wanted(&inputs, &Settings::default(), &precision);
                let mut measured = false;
                for (source, need) in sources.iter_mut().zip(&needs).filter(|(_, need)| need.wanted) {
                    debug_assert_eq!(source.input.operator, need.operator);
                    source.measure(&mut draw);
                    measured = true;
                }
                if !measured {
                    break;
                }
            }
            tally.add(&sources);
        }
        let name = if half_width_percent > 0.0 {
            format!("{half_width_percent} %")
        } else {
            "none: 12 rounds".into()
        };
        println!("{name:42} {} {:8.2}", tally.line(), tally.rounds as f64 / (tally.intervals as f64));
    }
}
