//! Every operator against its reference, on every dtype it takes and every shape, under several settings.

use switchback_cpu_suite::cell::compile;
use switchback_cpu_suite::jit::{Settings, available};
use switchback_cpu_suite::operands::Operands;
use switchback_cpu_suite::operators::{self, Case, Code, Operator};
use switchback_cpu_suite::reference::{expected, rounding_bound};
use switchback_model::switch::Variables;

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let variables: Variables =
        pairs.iter().map(|(name, value)| (format!("SWITCHBACK_CPU_{name}"), Some((*value).into()))).collect();
    Settings::from_variables(&variables).unwrap()
}

/// The case's largest error relative to its bound, after one call on a poisoned output.
fn error(operator: &Operator, case: Case, settings: &Settings) -> (f64, Operands) {
    let mut operands = operator.operands(case);
    operands.poison_output();
    match operator.code {
        Code::Kernel(write) => {
            compile(operator, write, case.dtype, settings).unwrap().native.call(&mut operands);
        }
        Code::Plain(plain) => plain(&mut operands),
    }
    let expected = expected(operator, case, &operands);
    (expected.largest_error(&operands.output().numbers(), case.dtype), operands)
}

fn check(pairs: &[(&str, &str)], is_checked: impl Fn(&Operator) -> bool) {
    let settings = settings(pairs);
    for operator in operators::ALL.iter().filter(|operator| is_checked(operator)) {
        for case in operator.cases(operator.dtypes) {
            let (error, _) = error(operator, case, &settings);
            let bound = rounding_bound(operator, case);
            assert!(error <= bound, "{} {}: {error:e} is more than {bound:e}", operator.name, case.key());
        }
    }
}

fn is_small(operator: &Operator) -> bool {
    operator.name != "add_64MB"
}

#[test]
fn all_operators_compute_what_they_should() {
    check(&[], |_| true);
}

#[test]
fn unoptimised_code_computes_the_same() {
    check(&[("OPT_LEVEL", "none")], is_small);
    check(&[("REGALLOC_ALGORITHM", "single_pass")], is_small);
}

#[test]
fn canonical_nans_and_padding_change_no_result() {
    check(&[("ENABLE_NAN_CANONICALIZATION", "true"), ("BB_PADDING_LOG2_MINUS_ONE", "7")], is_small);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn older_instruction_sets_compute_the_same() {
    check(&[("HAS_AVX", "0"), ("HAS_AVX2", "0"), ("HAS_FMA", "0")], is_small);
    check(&[("HAS_AVX512F", "0"), ("HAS_AVX512VL", "0"), ("HAS_AVX512DQ", "0"), ("HAS_BMI2", "0")], is_small);
}

#[test]
fn the_exponential_is_good_to_two_units_and_keeps_to_its_ends() {
    let exp = operators::find("exp").unwrap();
    for case in exp.cases(exp.dtypes) {
        let (error, _) = error(exp, case, &settings(&[]));
        // Two units in the last place are four roundoffs.
        assert!(error <= 4.0 * case.dtype.unit_roundoff(), "{}: {error:e}", case.key());
    }
}

#[test]
fn no_setting_ends_the_process_or_spoils_a_result() {
    let names = ["gelu", "tanh", "dot", "rms_norm", "topk", "fft"];
    let mut tried = 0;
    let mut refused = Vec::new();
    for (name, values) in available().unwrap() {
        for value in values {
            let variables: Variables =
                [(format!("SWITCHBACK_CPU_{}", name.to_uppercase()), Some(value.to_owned()))].into();
            let Ok(settings) = Settings::from_variables(&variables) else {
                refused.push(format!("{name}={value}"));
                continue;
            };
            for operator in operators::ALL.iter().filter(|operator| names.contains(&operator.name)) {
                let Code::Kernel(write) = operator.code else { unreachable!("all of them are compiled") };
                for dtype in operator.dtypes {
                    // The compiler may refuse; what it does compile must compute.
                    let Ok(compiled) = compile(operator, write, *dtype, &settings) else { continue };
                    let case = Case { dtype: *dtype, shape: operator.shapes[0] };
                    let mut operands = operator.operands(case);
                    operands.poison_output();
                    compiled.native.call(&mut operands);
                    let expected = expected(operator, case, &operands);
                    let error = expected.largest_error(&operands.output().numbers(), *dtype);
                    let bound = rounding_bound(operator, case);
                    assert!(error <= bound, "{name}={value}: {} {}: {error:e}", operator.name, case.key());
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 500, "{tried} kernels ran, refused: {refused:?}");
    for setting in ["is_pic=true", "use_colocated_libcalls=true", "libcall_call_conv=windows_fastcall"] {
        assert!(refused.iter().any(|it| it == setting), "{refused:?}");
    }
}
