//! Texts of the stages: the same in every compilation, and changed by those settings that should change them.

use switchback_cpu_suite::cell::compile;
use switchback_cpu_suite::dtype::Dtype;
use switchback_cpu_suite::jit::{Settings, Stages};
use switchback_cpu_suite::operators::{self, Code};
use switchback_model::switch::Variables;

/// The stages of all kernels of all operators, by operator and dtype.
fn all_stages(pairs: &[(&str, &str)]) -> Vec<(&'static str, Dtype, Stages)> {
    let variables: Variables =
        pairs.iter().map(|(name, value)| (format!("SWITCHBACK_CPU_{name}"), Some((*value).into()))).collect();
    let settings = Settings::from_variables(&variables).unwrap();
    let mut all = Vec::new();
    for operator in operators::ALL {
        let Code::Kernel(write) = operator.code else { continue };
        for dtype in operator.dtypes {
            all.push((operator.name, *dtype, compile(operator, write, *dtype, &settings).unwrap().stages));
        }
    }
    all
}

/// Operators some of whose kernels have other bytes.
fn changed(pairs: &[(&str, &str)]) -> Vec<&'static str> {
    let mut names: Vec<&str> = all_stages(&[])
        .into_iter()
        .zip(all_stages(pairs))
        .filter(|((_, _, plain), (_, _, other))| plain.bytes != other.bytes)
        .map(|((name, ..), _)| name)
        .collect();
    names.dedup();
    names
}

#[test]
fn two_compilations_give_the_same_texts() {
    let (one, two) = (all_stages(&[]), all_stages(&[]));
    assert!(one.len() > 60, "{}", one.len());
    assert_eq!(one, two);
    for (name, dtype, stages) in &one {
        for (stage, text) in stages.named() {
            assert!(text.lines().count() >= 3, "{name} {dtype} {stage}: {text}");
        }
        assert!(stages.clif.starts_with("function u0:0(i64)"), "{}", stages.clif);
        assert_ne!(stages.clif, stages.clif_opt);
    }
}

#[test]
fn the_body_does_not_depend_on_the_settings() {
    let settings = [("OPT_LEVEL", "none"), ("ENABLE_NAN_CANONICALIZATION", "1")];
    for (plain, other) in all_stages(&[]).into_iter().zip(all_stages(&settings)) {
        assert_eq!(plain.2.clif, other.2.clif);
    }
}

#[test]
fn the_verifier_changes_no_byte() {
    assert_eq!(changed(&[("ENABLE_VERIFIER", "1")]), [] as [&str; 0]);
}

#[test]
fn without_optimisation_every_kernel_changes() {
    for ((name, dtype, plain), (_, _, other)) in
        all_stages(&[]).into_iter().zip(all_stages(&[("OPT_LEVEL", "none")]))
    {
        assert_ne!(plain.bytes, other.bytes, "{name} {dtype}");
        assert_ne!(plain.clif_opt, other.clif_opt, "{name} {dtype}");
    }
}

#[test]
fn canonical_nans_change_what_computes_with_floats_and_nothing_else() {
    let with_nans = [("ENABLE_NAN_CANONICALIZATION", "true")];
    let changed = changed(&with_nans);
    let same: Vec<&str> = operators::ALL
        .iter()
        .filter(|operator| matches!(operator.code, Code::Kernel(_)) && !changed.contains(&operator.name))
        .map(|operator| operator.name)
        .collect();
    assert_eq!(same, ["relu", "tanh", "max", "transpose", "topk"]);
    for (plain, other) in all_stages(&[]).into_iter().zip(all_stages(&with_nans)) {
        if matches!(plain.1, Dtype::I32 | Dtype::I32x4) {
            assert_eq!(plain, other, "integers have no NaN");
        }
    }
}

#[test]
fn padding_is_seen_in_the_bytes_alone() {
    for (plain, other) in all_stages(&[]).into_iter().zip(all_stages(&[("BB_PADDING_LOG2_MINUS_ONE", "6")])) {
        assert_eq!(plain.2.clif_opt, other.2.clif_opt);
        assert_ne!(plain.2.bytes, other.2.bytes);
    }
}
