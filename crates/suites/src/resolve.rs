//! Finds the operators that were asked for among those on offer.
//!
//! Rule, in this order: the operator's own name; else its aliases (FlagGems: a test's mark), which may stand for several
//! operators, all of which are meant; a file narrows both, and without one the file of the same name goes first. An alias
//! that means one operator stays the name, and the file part says which is meant, as in `sort:sort/perf_sort`.
//! Invariant: what comes back names one offered operator each, with its file, in the order asked, each once.

use switchback_model::operator::OperatorSpec;

use crate::suite::{Offered, SuiteError};

/// Largest number of names in a hint.
const NAMES_IN_A_HINT: usize = 5;

/// Resolves all; none on offer means that the suite cannot tell, and operators are taken as given. Operators that name no
/// dtypes get those for all, so that every cell's order says what it measures.
///
/// # Errors
/// An operator that is not there (with the nearest names), one that lies in several files, file and operator written
/// the wrong way round.
pub fn resolve(
    suite: &str,
    asked: &[OperatorSpec],
    offered: &[Offered],
    dtypes: &[String],
) -> Result<Vec<OperatorSpec>, SuiteError> {
    let mut resolved: Vec<OperatorSpec> = Vec::new();
    for spec in asked {
        let found = if offered.is_empty() { vec![spec.clone()] } else { one(suite, spec, offered)? };
        for mut it in found {
            if it.dtypes.is_empty() {
                it.dtypes = dtypes.to_vec();
            }
            if !resolved.contains(&it) {
                resolved.push(it);
            }
        }
    }
    Ok(resolved)
}

/// The file of an offered operator.
fn file_of(offer: &Offered) -> &str {
    offer.file.as_deref().unwrap_or(&offer.operator)
}

fn one<'a>(
    suite: &str,
    spec: &OperatorSpec,
    offered: &'a [Offered],
) -> Result<Vec<OperatorSpec>, SuiteError> {
    // `FILE/OP` is how an alias was resolved before: it names both.
    let in_file = |offer: &&'a Offered| {
        spec.file.as_deref().is_none_or(|file| match file.split_once('/') {
            Some((file, operator)) => file_of(offer) == file && offer.operator == operator,
            None => file_of(offer) == file,
        })
    };
    // Without a file, the operator's own file goes before others that answer to the same name.
    let own_first = |found: Vec<&'a Offered>| -> Vec<&'a Offered> {
        let own: Vec<&Offered> = found
            .iter()
            .copied()
            .filter(|offer| spec.file.is_none() && file_of(offer) == spec.operator)
            .collect();
        if own.is_empty() { found } else { own }
    };
    let mut named =
        own_first(offered.iter().filter(|offer| offer.operator == spec.operator).filter(in_file).collect());
    named.dedup_by_key(|offer| file_of(offer));
    let found = if named.is_empty() {
        own_first(
            offered.iter().filter(|offer| offer.aliases.contains(&spec.operator)).filter(in_file).collect(),
        )
    } else if named.len() > 1 {
        let places: Vec<String> =
            named.iter().map(|offer| format!("`{}:{}`", offer.operator, file_of(offer))).collect();
        return Err(SuiteError::new(
            format!("`{spec}` lies in {} files", named.len()),
            format!("write which one is meant: {}", places.join(", ")),
        ));
    } else {
        named
    };
    if found.is_empty() {
        return Err(missing(suite, spec, offered));
    }
    // What was asked for by an alias that means one operator keeps the name that the user knows it by.
    if let [offer] = found[..]
        && offer.operator != spec.operator
    {
        return Ok(vec![OperatorSpec {
            operator: spec.operator.clone(),
            file: Some(format!("{}/{}", file_of(offer), offer.operator)),
            dtypes: spec.dtypes.clone(),
        }]);
    }
    Ok(found
        .into_iter()
        .map(|offer| OperatorSpec {
            operator: offer.operator.clone(),
            file: offer.file.clone().filter(|file| *file != offer.operator),
            dtypes: spec.dtypes.clone(),
        })
        .collect())
}

/// Says what is wrong with an operator that is not there.
fn missing(suite: &str, spec: &OperatorSpec, offered: &[Offered]) -> SuiteError {
    let answers = |offer: &Offered, name: &str| {
        offer.operator == name || offer.aliases.iter().any(|alias| alias == name)
    };
    if let Some(file) = spec.file.as_deref() {
        if let Some(offer) =
            offered.iter().find(|offer| answers(offer, file) && file_of(offer) == spec.operator)
        {
            return SuiteError::new(
                format!(
                    "`{spec}` is the wrong way round: operator `{file}` lies in file `{}`",
                    spec.operator
                ),
                format!("write `{}`, operator first", written(offer, file, &spec.dtypes)),
            );
        }
        let places: Vec<String> = offered
            .iter()
            .filter(|offer| answers(offer, &spec.operator))
            .map(|offer| format!("`{}`", written(offer, &spec.operator, &spec.dtypes)))
            .collect();
        if !places.is_empty() {
            return SuiteError::new(
                format!("`{spec}`: file `{file}` holds no operator `{}`", spec.operator),
                format!("it is {}", places[..places.len().min(NAMES_IN_A_HINT)].join(", ")),
            );
        }
    }
    let in_file: Vec<&str> = offered
        .iter()
        .filter(|offer| file_of(offer) == spec.operator)
        .map(|offer| offer.operator.as_str())
        .take(NAMES_IN_A_HINT)
        .collect();
    if spec.file.is_none() && !in_file.is_empty() {
        let written: Vec<String> = in_file.iter().map(|name| format!("`{name}:{}`", spec.operator)).collect();
        return SuiteError::new(
            format!("`{}` is a file of suite `{suite}`, not an operator", spec.operator),
            format!("it holds {}", written.join(", ")),
        );
    }
    let names = offered.iter().flat_map(|offer| {
        std::iter::once(offer.operator.as_str()).chain(offer.aliases.iter().map(String::as_str))
    });
    let near = nearest(&spec.operator, names, NAMES_IN_A_HINT);
    let hint = if near.is_empty() {
        format!("`switchback ops --suite {suite}` lists them")
    } else {
        let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        format!("nearest: {}; `switchback ops --suite {suite}` lists all", quoted.join(", "))
    };
    SuiteError::new(format!("suite `{suite}` offers no operator `{}`", spec.operator), hint)
}

/// How an operator is to be written, under the name the user used for it.
fn written(offer: &Offered, name: &str, dtypes: &[String]) -> OperatorSpec {
    OperatorSpec { operator: name.into(), file: Some(file_of(offer).into()), dtypes: dtypes.to_vec() }
}

/// The names most like one, best first; those that are not like it at all are left out.
///
/// Similarity is that of Jaro and Winkler (Winkler 1990), from 0 to 1; 0.8 and more counts as like. A name that holds
/// the other one counts too (`sort` in `perf_sort`), after those.
#[must_use]
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>, limit: usize) -> Vec<&'a str> {
    let lower = name.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .filter_map(|other| {
            let candidate = other.to_lowercase();
            let similarity = strsim::jaro_winkler(&lower, &candidate);
            let holds = lower.len() >= 3 && candidate.contains(&lower);
            (similarity >= 0.8 || holds).then_some((similarity, other))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    scored.into_iter().take(limit).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(operator: &str, file: &str, aliases: &[&str]) -> Offered {
        Offered {
            operator: operator.into(),
            file: (operator != file).then(|| file.to_owned()),
            dtypes: Vec::new(),
            detail: String::new(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        }
    }

    /// As FlagGems has them: function, file, marks.
    fn tree() -> Vec<Offered> {
        vec![
            offer("mm", "mm", &["mm"]),
            offer("mm_self_transpose_benchmark", "mm", &["mm"]),
            offer("mm_out", "mm", &["mm_out"]),
            offer("perf_sort", "sort", &["sort"]),
            offer("perf_sort_stable", "sort", &["sort_stable"]),
            offer("einsum_bmm", "einsum", &["einsum"]),
            offer("einsum_dot", "einsum", &["einsum"]),
            offer("abs_inplace", "abs", &["abs_"]),
            offer("nextafter_", "nextafter", &[]),
            offer("nextafter_", "nextafter_", &[]),
            offer("perf_router_gemm", "blas_perf_parallel", &["router_gemm"]),
            offer("perf_router_gemm", "router_gemm", &["router_gemm"]),
        ]
    }

    fn resolved(text: &str) -> Result<Vec<String>, SuiteError> {
        resolve("flaggems", &[text.parse().unwrap()], &tree(), &[])
            .map(|specs| specs.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn an_operators_own_name_goes_before_marks() {
        assert_eq!(resolved("mm").unwrap(), ["mm"]);
        assert_eq!(resolved("perf_sort:sort:float16").unwrap(), ["perf_sort:sort:float16"]);
        assert_eq!(resolved("mm_out").unwrap(), ["mm_out:mm"]);
    }

    #[test]
    fn a_mark_means_all_its_functions() {
        assert_eq!(resolved("sort").unwrap(), ["sort:sort/perf_sort"]);
        assert_eq!(resolved("sort:sort/perf_sort").unwrap(), ["sort:sort/perf_sort"]);
        assert_eq!(resolved("abs_").unwrap(), ["abs_:abs/abs_inplace"]);
        assert_eq!(
            resolved("einsum::float32").unwrap(),
            ["einsum_bmm:einsum:float32", "einsum_dot:einsum:float32"]
        );
        assert_eq!(
            resolved("router_gemm:blas_perf_parallel").unwrap(),
            ["router_gemm:blas_perf_parallel/perf_router_gemm"]
        );
        assert_eq!(
            resolved("router_gemm").unwrap(),
            ["router_gemm:router_gemm/perf_router_gemm"],
            "its own file goes first"
        );
    }

    #[test]
    fn one_name_in_several_files_is_the_own_files_or_must_be_told() {
        assert_eq!(resolved("nextafter_").unwrap(), ["nextafter_"]);
        assert_eq!(resolved("nextafter_:nextafter").unwrap(), ["nextafter_:nextafter"]);
        let it = resolved("perf_router_gemm").unwrap_err();
        assert_eq!(it.message, "`perf_router_gemm` lies in 2 files");
        assert_eq!(
            it.hint.unwrap(),
            "write which one is meant: `perf_router_gemm:blas_perf_parallel`, `perf_router_gemm:router_gemm`"
        );
    }

    #[test]
    fn the_wrong_way_round_is_said() {
        let it = resolved("sort:perf_sort:float16").unwrap_err();
        assert_eq!(
            it.message,
            "`sort:perf_sort:float16` is the wrong way round: operator `perf_sort` lies in file `sort`"
        );
        assert_eq!(it.hint.unwrap(), "write `perf_sort:sort:float16`, operator first");
    }

    #[test]
    fn a_wrong_file_and_a_mere_file_are_told_the_right_ones() {
        let it = resolved("perf_sort:topk").unwrap_err();
        assert_eq!(it.message, "`perf_sort:topk`: file `topk` holds no operator `perf_sort`");
        assert_eq!(it.hint.unwrap(), "it is `perf_sort:sort`");
        let it = resolved("abs").unwrap_err();
        assert_eq!(it.message, "`abs` is a file of suite `flaggems`, not an operator");
        assert_eq!(it.hint.unwrap(), "it holds `abs_inplace:abs`");
    }

    #[test]
    fn an_unknown_name_is_told_the_nearest() {
        let it = resolved("sort_stabel").unwrap_err();
        assert_eq!(it.message, "suite `flaggems` offers no operator `sort_stabel`");
        assert!(it.hint.unwrap().starts_with("nearest: `sort_stable`"));
        assert_eq!(
            resolved("zzz").unwrap_err().hint.unwrap(),
            "`switchback ops --suite flaggems` lists them"
        );
    }

    #[test]
    fn nothing_on_offer_takes_operators_as_given_and_doubles_go_once() {
        let asked: Vec<OperatorSpec> = vec![OperatorSpec::named("x"), OperatorSpec::named("x")];
        assert_eq!(resolve("command", &asked, &[], &[]).unwrap(), asked[..1]);
        let asked = ["perf_sort:sort".parse().unwrap(), "perf_sort".parse().unwrap()];
        assert_eq!(resolve("flaggems", &asked, &tree(), &[]).unwrap().len(), 1);
    }

    #[test]
    fn dtypes_for_all_are_for_those_that_name_none() {
        let asked = ["mm".parse().unwrap(), "perf_sort::int32".parse().unwrap()];
        let resolved = resolve("flaggems", &asked, &tree(), &["float16".into()]).unwrap();
        let written: Vec<String> = resolved.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["mm::float16", "perf_sort:sort:int32"]);
    }
}
