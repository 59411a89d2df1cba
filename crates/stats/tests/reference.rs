//! Every estimator against what scipy, numpy and R's limma say, to 1e-9 relative.
//!
//! The values in `data/reference.json` were made by `reference/make_reference.py`.

use serde::Deserialize;
use switchback_stats::controls::upper_bound95;
use switchback_stats::effect::mean;
use switchback_stats::interval::Estimate;
use switchback_stats::moderated::fit_prior;
use switchback_stats::multiplicity::{benjamini_hochberg, holm};
use switchback_stats::trend::Trend;
use switchback_stats::{
    CaseInput, CaseRound, OperatorInput, Settings, in_blocks, judge, special, student, summarise,
};

#[derive(Deserialize)]
struct Reference {
    student: Student,
    paired: Vec<Paired>,
    moderated: Vec<Moderated>,
    adjusted: Vec<Adjusted>,
    summaries: Vec<Summary>,
    gamma_derivatives: Vec<GammaDerivatives>,
    bounds: Vec<Bound>,
    campaigns: Vec<Campaign>,
}

#[derive(Deserialize)]
struct Student {
    tails: Vec<Tail>,
    quantiles: Vec<Quantile>,
}

#[derive(Deserialize)]
struct Tail {
    df: Option<f64>,
    t: f64,
    two_sided: f64,
}

#[derive(Deserialize)]
struct Quantile {
    df: Option<f64>,
    tail: f64,
    t: f64,
}

#[derive(Deserialize)]
struct Paired {
    a: Vec<f64>,
    b: Vec<f64>,
    p: f64,
    ci95: [f64; 2],
    ci90: [f64; 2],
}

#[derive(Deserialize)]
struct Moderated {
    name: String,
    variances: Vec<f64>,
    df: Vec<f64>,
    covariate: Option<Vec<f64>>,
    prior_df: Option<f64>,
    prior: Vec<f64>,
    posterior: Vec<f64>,
}

#[derive(Deserialize)]
struct Adjusted {
    p: Vec<f64>,
    holm: Vec<f64>,
    benjamini_hochberg: Vec<f64>,
}

#[derive(Deserialize)]
struct Summary {
    samples: Vec<f64>,
    length: usize,
    latency: f64,
    median: f64,
}

#[derive(Deserialize)]
struct GammaDerivatives {
    x: f64,
    trigamma: f64,
    tetragamma: f64,
}

#[derive(Deserialize)]
struct Bound {
    hits: usize,
    trials: usize,
    upper: f64,
}

#[derive(Deserialize)]
struct Campaign {
    resolution_us: f64,
    operators: Vec<CampaignOperator>,
    tau: f64,
    floor: f64,
}

#[derive(Deserialize)]
struct CampaignOperator {
    operator: String,
    identical: bool,
    cases: Vec<CampaignCase>,
    effect: f64,
    ci: [f64; 2],
    p: f64,
    p_adjusted: Option<f64>,
}

#[derive(Deserialize)]
struct CampaignCase {
    case: String,
    a: Vec<f64>,
    b: Vec<f64>,
    effect: f64,
    ci: [f64; 2],
    p: f64,
    q: Option<f64>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("data/reference.json")).expect("the reference is read")
}

#[track_caller]
fn near(found: f64, expected: f64, what: &str) {
    let scale = expected.abs().max(1e-300);
    assert!((found - expected).abs() <= 1e-9 * scale, "{what}: found {found:e}, expected {expected:e}");
}

#[track_caller]
fn near_all(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (idx, (found, expected)) in found.iter().zip(expected).enumerate() {
        near(*found, *expected, &format!("{what}, number {idx}"));
    }
}

#[test]
fn student_tails_and_quantiles_are_those_of_scipy() {
    let it = reference().student;
    for Tail { df, t, two_sided } in it.tails {
        let df = df.unwrap_or(f64::INFINITY);
        near(student::two_sided(t, df), two_sided, &format!("t {t}, df {df}"));
        near(student::two_sided(-t, df), two_sided, &format!("t -{t}, df {df}"));
    }
    for Quantile { df, tail, t } in it.quantiles {
        let df = df.unwrap_or(f64::INFINITY);
        near(student::upper(tail, df), t, &format!("tail {tail}, df {df}"));
    }
}

#[test]
fn derivatives_of_log_gamma_are_those_of_scipy() {
    for GammaDerivatives { x, trigamma, tetragamma } in reference().gamma_derivatives {
        near(special::trigamma(x), trigamma, &format!("trigamma {x}"));
        near(special::tetragamma(x), tetragamma, &format!("tetragamma {x}"));
        near(special::trigamma_inverse(trigamma), x, &format!("inverse {x}"));
    }
}

#[test]
fn paired_tests_and_intervals_are_those_of_scipy() {
    for Paired { a, b, p, ci95, ci90 } in reference().paired {
        let effects: Vec<f64> =
            a.iter().zip(&b).map(|(a, b)| switchback_stats::effect::effect(*a, *b).unwrap()).collect();
        let it = Estimate {
            effect: mean(&effects).unwrap(),
            round_variance: switchback_stats::effect::variance(&effects).unwrap(),
            round_df: (a.len() - 1) as f64,
            prior_df: 0.0,
            n_rounds: u32::try_from(a.len()).unwrap(),
            quantisation: 0.0,
            tau_squared: 0.0,
            control_square: 0.0,
            n_controls: 0.0,
        };
        near(it.p_value(), p, "p");
        near_all(&[it.interval(0.95).low, it.interval(0.95).high], &ci95, "95 %");
        near_all(&[it.interval(0.90).low, it.interval(0.90).high], &ci90, "90 %");
    }
}

#[test]
fn priors_and_posteriors_are_those_of_limma() {
    let mut infinite = 0;
    for it in reference().moderated {
        let trend = if it.covariate.is_some() { Trend::Spline } else { Trend::Constant };
        let covariate = it.covariate.unwrap_or_else(|| vec![0.0; it.df.len()]);
        let prior = fit_prior(&it.variances, &it.df, &covariate, trend).expect("there is a prior");
        match it.prior_df {
            Some(df) => near(prior.df, df, &it.name),
            None => assert!(prior.df.is_infinite(), "{}: {}", it.name, prior.df),
        }
        infinite += usize::from(it.prior_df.is_none());
        near_all(&prior.variances, &it.prior, &it.name);
        let posterior: Vec<f64> =
            (0..it.df.len()).map(|idx| prior.squeeze(idx, it.variances[idx], it.df[idx])).collect();
        near_all(&posterior, &it.posterior, &it.name);
    }
    assert!(infinite > 3, "both branches are visited");
}

#[test]
fn adjustments_are_those_of_scipy_and_the_textbook() {
    for Adjusted { p, holm: by_holm, benjamini_hochberg: by_rate } in reference().adjusted {
        near_all(&holm(&p), &by_holm, "Holm");
        near_all(&benjamini_hochberg(&p), &by_rate, "Benjamini-Hochberg");
    }
}

#[test]
fn summaries_are_those_of_scipy() {
    for Summary { samples, length, latency, median } in reference().summaries {
        let it = summarise(&in_blocks(&samples, length)).expect("there are samples");
        near(it.latency_us, latency, "latency");
        near(it.median_us, median, "median");
        assert_eq!(it.n_samples, samples.len());
    }
}

#[test]
fn bounds_of_rates_are_those_of_scipy() {
    for Bound { hits, trials, upper } in reference().bounds {
        near(upper_bound95(hits, trials), upper, &format!("{hits} of {trials}"));
    }
}

#[test]
fn whole_campaigns_are_judged_alike_by_a_second_implementation() {
    for campaign in reference().campaigns {
        let operators: Vec<OperatorInput> = campaign
            .operators
            .iter()
            .map(|operator| OperatorInput {
                operator: operator.operator.clone(),
                all_identical: operator.identical,
                control: operator.identical,
                cases: operator.cases.iter().map(|case| case_input(case, campaign.resolution_us)).collect(),
                ..OperatorInput::default()
            })
            .collect();
        let judgement = judge(&operators, &Settings::default());
        near(judgement.controls.tau, campaign.tau, "tau");
        near(judgement.controls.floor.expect("there are controls"), campaign.floor, "floor");
        for (found, expected) in judgement.operators.iter().zip(&campaign.operators) {
            let name = &expected.operator;
            near(found.effect.expect("an effect"), expected.effect, name);
            let ci = found.ci.expect("an interval");
            near_all(&[ci.low, ci.high], &expected.ci, name);
            near(found.p_value.expect("a p-value"), expected.p, name);
            assert_eq!(found.p_adjusted.is_some(), expected.p_adjusted.is_some(), "{name}");
            near(found.p_adjusted.unwrap_or(1.0), expected.p_adjusted.unwrap_or(1.0), name);
            for (found, expected) in found.cases.iter().zip(&expected.cases) {
                let name = format!("{name}, {}", expected.case);
                near(found.effect.expect("an effect"), expected.effect, &name);
                let ci = found.ci.expect("an interval");
                near_all(&[ci.low, ci.high], &expected.ci, &name);
                near(found.p.expect("a p-value"), expected.p, &name);
                assert_eq!(found.q.is_some(), expected.q.is_some(), "{name}");
                near(found.q.unwrap_or(1.0), expected.q.unwrap_or(1.0), &name);
            }
        }
    }
}

fn case_input(case: &CampaignCase, resolution_us: f64) -> CaseInput {
    let pairs = case.a.iter().zip(&case.b).zip(1..);
    CaseInput {
        case: case.case.clone(),
        timer: "gated".into(),
        resolution_us,
        rounds: pairs.map(|((a_us, b_us), round)| CaseRound::pair(round, *a_us, *b_us)).collect(),
        ..CaseInput::default()
    }
}
