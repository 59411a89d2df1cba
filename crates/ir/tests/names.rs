//! Readable names: distinct, short, and explained.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use switchback_ir::{IndexRow, VariantDescription, readable_names};

fn variant(
    constexprs: &[(&str, &str)],
    dtypes: &[&str],
    divisible: &[&str],
    hash: &str,
) -> VariantDescription {
    VariantDescription {
        kernel: "mm_kernel".to_owned(),
        constexprs: constexprs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        dtypes: dtypes.iter().map(|&dtype| dtype.to_owned()).collect(),
        divisible: divisible.iter().map(|&argument| argument.to_owned()).collect(),
        hash: hash.to_owned(),
    }
}

fn names(variants: &[VariantDescription]) -> Vec<String> {
    readable_names(variants).rows.into_iter().map(|row| row.name).collect()
}

#[test]
fn only_what_differs_is_named() {
    let one =
        variant(&[("BLOCK_SIZE_M", "64"), ("BLOCK_SIZE_N", "32"), ("EVEN", "True")], &["fp16"], &[], "aaaa");
    assert_eq!(names(std::slice::from_ref(&one)), ["mm_kernel"]);
    let two = variant(
        &[("BLOCK_SIZE_M", "128"), ("BLOCK_SIZE_N", "32"), ("EVEN", "False")],
        &["fp16"],
        &[],
        "bbbb",
    );
    let named = readable_names(&[one, two]);
    let found: Vec<&str> = named.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(found, ["mm_kernel__BSM64_EVEN-True", "mm_kernel__BSM128_EVEN-False"]);
    assert_eq!(named.legend, BTreeMap::from([("BSM".to_owned(), "BLOCK_SIZE_M".to_owned())]));
    assert_eq!(
        named.legend_markdown(),
        "| abbreviation | parameter |\n|---|---|\n| `BSM` | `BLOCK_SIZE_M` |\n"
    );
}

#[test]
fn parameters_with_the_same_initials_keep_their_names() {
    let one = variant(
        &[("BLOCK_SIZE_M", "64"), ("BIG_SPLIT_M", "1"), ("GROUP_M", "8"), ("GM", "2")],
        &[],
        &[],
        "a",
    );
    let two = variant(
        &[("BLOCK_SIZE_M", "32"), ("BIG_SPLIT_M", "2"), ("GROUP_M", "4"), ("GM", "3")],
        &[],
        &[],
        "b",
    );
    assert_eq!(names(&[one, two])[0], "mm_kernel__BIG_SPLIT_M1_BLOCK_SIZE_M64_GM2_GROUP_M8");
}

#[test]
fn clashes_take_dtype_then_divisibility_then_hash() {
    let all = [
        variant(&[], &["fp16"], &[], "11112222aa"),
        variant(&[], &["fp32"], &["E", "M", "N"], "33334444aa"),
        variant(&[], &["fp32"], &["N"], "55556666aa"),
        variant(&[], &["fp32"], &["N"], "55556666bb"),
    ];
    assert_eq!(
        names(&all),
        [
            "mm_kernel__fp16",
            "mm_kernel__fp32__EMdiv16",
            "mm_kernel__fp32__55556666a",
            "mm_kernel__fp32__55556666b"
        ]
    );
    let twin = [all[0].clone(), all[0].clone()];
    assert_eq!(names(&twin), ["mm_kernel__11112222aa", "mm_kernel__11112222aa-2"]);
}

#[test]
fn an_index_row_holds_everything_on_one_line() {
    let one = variant(&[("A", "x\ty"), ("B", "2")], &["fp16", "fp32"], &["M"], "ff");
    let row = readable_names(&[one]).rows.remove(0);
    assert_eq!(row.tsv(), "mm_kernel\tmm_kernel\tff\tA=x y B=2\tfp16 fp32\tM");
    assert_eq!(row.tsv().split('\t').count(), IndexRow::TSV_HEADER.split('\t').count());
}

proptest! {
    #[test]
    fn names_are_distinct_and_fit_a_file_name(
        drawn in prop::collection::vec(
            (
                prop::sample::select(vec!["k", "l/é"]),
                prop::collection::btree_map("[A-C]{1,2}(_[A-C]{1,2}){0,2}", "[0-9]{1,2}|True|.{0,90}", 0..5),
                prop::collection::vec("fp16|fp32", 0..3),
                prop::collection::btree_set("[A-C](_[A-C])?", 0..3),
                "[0-9a-b]{0,12}",
            ),
            0..12,
        )
    ) {
        let variants: Vec<VariantDescription> = drawn
            .into_iter()
            .map(|(kernel, constexprs, dtypes, divisible, hash)| VariantDescription {
                kernel: kernel.to_owned(), constexprs, dtypes, divisible, hash,
            })
            .collect();
        let named = readable_names(&variants);
        prop_assert_eq!(named.rows.len(), variants.len());
        let distinct: BTreeSet<&str> = named.rows.iter().map(|row| row.name.as_str()).collect();
        prop_assert_eq!(distinct.len(), variants.len());
        for (row, variant) in named.rows.iter().zip(&variants) {
            prop_assert_eq!(&row.variant, variant);
            prop_assert!(row.name.len() <= 240, "{}", row.name);
            prop_assert!(row.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)));
        }
        let full: BTreeSet<&String> = named.legend.values().collect();
        prop_assert_eq!(full.len(), named.legend.len());
    }
}
