//! From options and constants to the parts that a variant's readable name is made of.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use switchback_ir::{VariantDescription, readable_names};
use switchback_model::event::Compile;

use super::CompiledKernel;

/// Options of a launch that tell variants of one kernel apart when their constants do not.
const TELLING: [&str; 4] = ["num_warps", "num_stages", "num_ctas", "maxnreg"];

/// What a compile event says of its variant.
pub(super) fn of_event(compile: &Compile) -> VariantDescription {
    let mut constexprs: BTreeMap<String, String> =
        compile.constexprs.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
    constexprs.extend(launch_options(&compile.options));
    let dtypes = compile
        .signature
        .values()
        .filter_map(Value::as_str)
        .filter(|text| *text != "constexpr")
        .map(|text| text.trim_start_matches('*').to_owned())
        .collect();
    let divisible = compile
        .specialization
        .iter()
        .filter(|(_, value)| plain(value).contains("divisibility") || plain(value) == "D")
        .map(|(name, _)| name.clone())
        .collect();
    VariantDescription {
        kernel: compile.kernel.clone(),
        constexprs,
        dtypes,
        divisible,
        hash: compile.id.clone(),
    }
}

/// What the metadata beside a text says of its variant.
pub(super) fn of_metadata(kernel: &str, metadata: &Map<String, Value>, hash: &str) -> VariantDescription {
    let options = metadata.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    VariantDescription {
        kernel: kernel.to_owned(),
        constexprs: launch_options(&options),
        dtypes: Vec::new(),
        divisible: BTreeSet::new(),
        hash: hash.to_owned(),
    }
}

fn launch_options(options: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
    TELLING
        .iter()
        .filter_map(|name| match options.get(*name)? {
            Value::Null => None,
            value => Some(((*name).to_owned(), plain(value))),
        })
        .collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Readable names of kernels, in their order, and what the abbreviations in them stand for.
pub(super) fn names(kernels: &[&CompiledKernel]) -> (Vec<String>, BTreeMap<String, String>) {
    let descriptions: Vec<VariantDescription> =
        kernels.iter().map(|kernel| kernel.description.clone()).collect();
    let named = readable_names(&descriptions);
    (named.rows.into_iter().map(|row| row.name).collect(), named.legend)
}
