//! The collected cases F02 to F12: what real compilers print, and what a correct reader makes of it.

use std::collections::{BTreeMap, BTreeSet};

use switchback_ir::{
    Canonical, Difference, Digest, Fingerprint, IrVerdict, KernelIr, Stage, StampUse, canonical, compare,
    digest,
};

fn ttgir(text: &str) -> Canonical {
    canonical(&Stage::Ttgir, text.as_bytes())
}

fn text(canonical: &Canonical) -> &str {
    std::str::from_utf8(&canonical.text).expect("canonical text of UTF-8 is UTF-8")
}

fn same(one: &str, other: &str) -> bool {
    ttgir(one).text == ttgir(other).text
}

#[test]
fn f02_every_form_of_location_goes() {
    let input = r##"
#loc = loc("/w/k.py":10:5)
#loc2 = loc("/w/k.py":20:28)
#loc13 = loc("x_ptr"(#loc))
#loc16 = loc("pid"(#loc2))
#loc20 = loc(#loc16)
#loc57 = loc("/w/k.py":421:16)
#loc58 = loc("/w/k.py":853:16)
#loc7 = loc("/w/k.py":1091:8)
#loc190 = loc(callsite(#loc58 at #loc7))
#loc220 = loc(callsite(#loc57 at #loc190))
#loc221 = loc(fused[#loc57, "a)b\"(":1:2])
#loc222 = loc(fused<#llvm.di_subprogram<id = distinct[0]<>, name = ")">>[#loc57])
%0 = tt.load %ptr loc(#loc220)
%1 = tt.load %0 loc(fused<"x)">["/w/)(.py":1:2, unknown])
%2 = tt.load %1 loc(unknown)
#loc300 = loc("late.py":1:1)
"##;
    let bare = "%0 = tt.load %ptr\n%1 = tt.load %0\n%2 = tt.load %1\n";
    assert_eq!(text(&ttgir(input)), text(&ttgir(bare)));
    assert_eq!(text(&ttgir(bare)), "%0 = tt.load %1\n%2 = tt.load %0\n%3 = tt.load %2\n");
    assert!(ttgir(input).warnings.is_empty());
}

const F03: &str = r##"#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], loadType = 0}>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "musa:31", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @add_kernel(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("/opt/a/01-vector-add.py":28:0), %arg1: i32 loc("/opt/a/01-vector-add.py":28:0)) attributes {noinline = false} {
    %c1024_i32 = arith.constant 1024 : i32 loc(#loc1)
    %0 = tt.splat %arg1 : i32 -> tensor<1024xi32, #blocked> loc(unknown)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("/opt/a/01-vector-add.py":30:1)
#loc = loc(unknown)
"##;

#[test]
fn f03_install_path_is_no_difference_but_target_and_layout_are() {
    assert!(same(F03, &F03.replace("/opt/a/", "/root/some/where/")));
    assert!(same(F03, &F03.replace(":28:0", ":31:4")));
    for (from, to) in [
        ("loadType = 0", "loadType = 1"),
        ("musa:31", "musa:22"),
        ("threads-per-warp\" = 32", "threads-per-warp\" = 64"),
        ("divisibility = 16", "divisibility = 8"),
        ("tensor<1024xi32", "tensor<512xi32"),
        ("@add_kernel", "@sub_kernel"),
        ("noinline = false", "noinline = true"),
    ] {
        assert!(F03.contains(from));
        assert!(!same(F03, &F03.replace(from, to)), "{from} -> {to}");
    }
}

const F05: &str = r##"%a = tt.elementwise_inline_asm "{ cvt.rn.satfinite.e4m3x2.f16x2 $0, $1; }" {constraints = "=r,r", packed_element = 2 : i32, pure = true} %x : tensor<16x16xf8E5M2, #blocked> -> tensor<16x16xf16, #blocked>
tt.print ": " {hex = false} : %x : tensor<16x16xf16, #blocked>
tt.assert %c, "cond must be true ", "unknown", "unknown", 0 : tensor<1024xi1, #blocked1>
%r = llvm.inline_asm has_side_effects "mov.u64 $0, 0x0;\0A\09@$4 atom.global.acq_rel.cta.cas.b64 $0, [ $1 + 0 ], $2, $3;", "=l,l,l,l,b" %p : (i64) -> i64
tt.print " see loc(#loc5) and %arg3 and #blocked9 // not a comment" {hex = false} : %x : tensor<16x16xf16, #blocked>
tt.print "a \" quote, a \\" {hex = true} : %x : i32 // a comment " with { brackets
"##;

#[test]
fn f05_strings_are_opaque() {
    let canonical = ttgir(F05);
    assert!(!canonical.incomplete && canonical.warnings.is_empty(), "{:?}", canonical.warnings);
    for kept in [
        r#""{ cvt.rn.satfinite.e4m3x2.f16x2 $0, $1; }""#,
        r#"": ""#,
        r#""cond must be true ""#,
        r#""mov.u64 $0, 0x0;\0A\09@$4 atom.global.acq_rel.cta.cas.b64 $0, [ $1 + 0 ], $2, $3;""#,
        r#"" see loc(#loc5) and %arg3 and #blocked9 // not a comment""#,
        r#""a \" quote, a \\""#,
    ] {
        assert!(text(&canonical).contains(kept), "{kept}");
    }
    assert!(!text(&canonical).contains("brackets"));
    for (from, to) in [("$0, $1; }", "$0, $2; }"), ("%arg3", "%arg4"), ("#loc5", "#loc6"), ("\\0A", "\\0B")] {
        assert!(!same(F05, &F05.replacen(from, to, 1)), "{from} -> {to}");
    }
}

#[test]
fn f06_alias_names_do_not_matter_and_a_double_definition_is_compared_raw() {
    let body = "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>";
    let other = body.replace("[4], threads", "[8], threads");
    let use_of = |name: &str| format!("%0 = tt.splat %x : i32 -> tensor<1xi32, {name}>\n");
    let old = format!("#blocked1_ = {body}\n{}", use_of("#blocked1_"));
    let new = format!("#blocked1 = {body}\n{}", use_of("#blocked1"));
    assert!(same(&old, &new));
    // Defined after use, and with others around, as printers place them.
    assert!(same(&new, &format!("{}#blocked1 = {body}\n", use_of("#blocked1"))));
    assert!(same(&new, &format!("#unused = {other}\n{new}")));
    assert!(!same(&new, &new.replace(body, &other)));
    let two = |first: &str, second: &str| {
        format!(
            "#a = {first}\n#b = {second}\n%0 = foo.op %x : t<#b>\n%1 = foo.op %x : t<#a>\n%2 = foo.op %x : t<#b>\n"
        )
    };
    assert!(!same(&two(body, &other), &two(&other, body)));
    assert!(same(
        &two(body, &other),
        &two(&other, body).replace("#a>", "#c>").replace("#b>", "#a>").replace("#c>", "#b>")
    ));
    let nested = |name: &str, inner: &str| {
        format!("#{name} = {inner}\n#s = #ttg.slice<{{dim = 1, parent = #{name}}}>\n{}", use_of("#s"))
    };
    assert!(same(&nested("p", body), &nested("q", body)));
    assert!(!same(&nested("p", body), &nested("p", &other)));
    // Spelled out in place, or through another alias: the same attribute.
    assert!(same(&new, &use_of(body)));
    assert!(same(&new, &format!("#a = {body}\n#b = #a\n{}", use_of("#b"))));
    let types = |name: &str| format!("!{name} = !llvm.struct<(i32, i64)>\n%0 = llvm.mlir.undef : !{name}\n");
    assert!(same(&types("s"), &types("t")));
    assert!(!same(&types("s"), &types("s").replace("i64", "i32")));

    let twice = format!("#blocked1 = {body}\n#blocked1 = {other}\n{}", use_of("#blocked1"));
    let canonical = ttgir(&twice);
    assert!(canonical.raw);
    assert_eq!(text(&canonical), twice);
    assert!(canonical.warnings[0].contains("`#blocked1`"), "{:?}", canonical.warnings);
    let streamed = digest(&Stage::Ttgir, twice.as_bytes());
    assert_eq!(streamed.digest, digest(&Stage::Bytes, twice.as_bytes()).digest);
    assert!(streamed.raw);
    // The same body twice says nothing new.
    assert!(!ttgir(&format!("#blocked1 = {body}\n#blocked1 =  {body}\n{}", use_of("#blocked1"))).raw);
}

#[test]
fn f08_a_crash_reproducer_is_no_code() {
    let module = "module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n";
    let section = r#"
{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(convert-triton-gpu-to-llvm{compute-capability=120 ptx-version=87}, canonicalize{  max-iterations=10}, a #-} b)",
      disable_threading: true,
      verify_each: true
    }
  }
#-}"#;
    let whole = ttgir(&format!("{module}{section}"));
    assert_eq!(whole.text, ttgir(module).text);
    assert!(whole.crash_reproducer && !whole.incomplete);
    assert!(whole.warnings.iter().any(|warning| warning.contains("crash reproducer present")));
    assert!(!ttgir(module).crash_reproducer);
    // Data that the code reads is code.
    let data =
        |blob: &str| format!("{module}{{-# dialect_resources: {{ builtin: {{ d: \"{blob}\" }} }} #-}}\n");
    assert!(!same(&data("0x01"), &data("0x02")));
}

fn kernel(name: &str, variant: &str, stages: &[(Stage, u8)]) -> KernelIr {
    let stages: BTreeMap<_, _> =
        stages.iter().map(|(stage, seed)| (stage.clone(), Digest([*seed; 32]))).collect();
    KernelIr { kernel: name.to_owned(), variant: variant.to_owned(), stages }
}

#[test]
fn f09_kernels_match_by_name_and_variant_and_one_key_may_hold_several_texts() {
    let none = BTreeSet::new();
    let a = [
        kernel("k", "num_warps=4", &[(Stage::Ttir, 1), (Stage::Ttgir, 2)]),
        kernel("k", "num_warps=4", &[(Stage::Ttir, 3), (Stage::Ttgir, 4)]),
    ];
    let swapped = [a[1].clone(), a[0].clone()];
    assert_eq!(compare(&a, &swapped, &none).verdict, IrVerdict::Same);
    assert_eq!(Fingerprint::of(&a), Fingerprint::of(&swapped));
    // The same stages, exchanged between the texts: no single stage shows it.
    let crossed = [
        kernel("k", "num_warps=4", &[(Stage::Ttir, 1), (Stage::Ttgir, 4)]),
        kernel("k", "num_warps=4", &[(Stage::Ttir, 3), (Stage::Ttgir, 2)]),
    ];
    assert_eq!(compare(&a, &crossed, &none).kernels[0].difference, Difference::Stage(Stage::Ttgir));
    assert_ne!(Fingerprint::of(&a), Fingerprint::of(&crossed));
    // Launch options are part of the key: another number of warps is another variant.
    let eight = [kernel("k", "num_warps=8", &[(Stage::Ttir, 1)])];
    let comparison = compare(&a[..1], &eight, &none);
    let differences: Vec<_> = comparison.kernels.iter().map(|kernel| kernel.difference.clone()).collect();
    assert_eq!(differences, [Difference::OnlyInA, Difference::OnlyInB]);
    assert_eq!((comparison.verdict, comparison.first_stage), (IrVerdict::Changed, None));
    assert_eq!(compare(&a, &a[..1], &none).kernels[0].difference, Difference::Count { a: 2, b: 1 });
}

#[test]
fn f11_damaged_text_is_named_not_fatal() {
    let damaged =
        ttgir("{\"kernel\":\"a\",\"ir\":\"module {{\"kernel\":\"b\",\"ir\":\"...\"}\n...}\"}\n\0\0\0\0\n");
    assert!(damaged.warnings.iter().any(|warning| warning.contains("NUL")), "{:?}", damaged.warnings);
    let cut = ttgir(&F03[..F03.len() / 2]);
    assert!(cut.incomplete && cut.warnings.iter().any(|warning| warning.contains("cut off")));
    assert_ne!(cut.text, ttgir(F03).text);
    assert!(ttgir("").warnings[0].contains("empty"));
}

#[test]
fn f12_module_attributes_have_no_order_and_a_side_that_differs_from_itself_is_no_evidence() {
    let one = "module attributes {\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n}\n";
    let other = "module attributes {ttg.target = \"cuda:90\", \"ttg.num-warps\" = 4 : i32, \"ttg.num-ctas\" = 1 : i32} {\n}\n";
    assert!(same(one, other));
    assert!(!same(one, &other.replace("num-warps\" = 4", "num-warps\" = 8")));
    // Values may hold commas and brackets.
    let array = "module attributes {b = array<i32: 1, 2>, a = {x = [1, 2], y = \"},\"}} {\n}\n";
    let sorted = "module attributes {a = {x = [1, 2], y = \"},\"}, b = array<i32: 1, 2>} {\n}\n";
    assert!(same(array, sorted));

    let a = [kernel("k", "", &[(Stage::Ptx, 1), (Stage::Sass, 2)])];
    let b = [kernel("k", "", &[(Stage::Ptx, 1), (Stage::Sass, 3)])];
    let unreliable = BTreeSet::from([Stage::Sass, Stage::Llir]);
    let comparison = compare(&a, &b, &unreliable);
    assert_eq!((comparison.verdict, comparison.unreliable.as_slice()), (IrVerdict::Same, &[Stage::Sass][..]));
    assert_eq!(compare(&a, &b, &BTreeSet::new()).first_stage, Some(Stage::Sass));
    let only_sass = [kernel("k", "", &[(Stage::Sass, 2)])];
    let comparison = compare(&only_sass, &only_sass, &unreliable);
    assert_eq!(comparison.kernels[0].difference, Difference::NoEvidence);
    assert_eq!(comparison.verdict, IrVerdict::NoIr);
}

#[test]
fn stamps_go_with_the_right_commas_and_are_counted() {
    let bare = "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"musa:31\"} {\n}\n";
    let stamp = "\"ttg.rlc-enhance\" = 1 : i32";
    let other = "\"ttg.rlc-cost\" = -3 : i32";
    for stamped in [
        bare.replacen("{\"ttg.num", &format!("{{{stamp}, \"ttg.num"), 1),
        bare.replacen(", ttg.target", &format!(", {stamp}, ttg.target"), 1),
        bare.replacen("\"musa:31\"", &format!("\"musa:31\", {stamp}"), 1),
        bare.replacen("\"musa:31\"", &format!("\"musa:31\", {stamp}, {other}"), 1),
        bare.replacen("\"musa:31\"", "\"musa:31\", \"ttg.rlc-mode\" = \"a, b\"", 1),
    ] {
        assert_ne!(stamped, bare);
        let canonical = ttgir(&stamped);
        assert_eq!(text(&canonical), text(&ttgir(bare)));
        assert_eq!(canonical.stamps.len(), 1);
        assert_eq!(canonical.stamps[0].pattern, "ttg.rlc-*");
    }
    let both = ttgir(&format!("module attributes {{{stamp}, {other}}} {{\n}}\n"));
    assert_eq!(text(&both), text(&ttgir("module {\n}\n")));
    assert_eq!(both.stamps, [StampUse { pattern: "ttg.rlc-*".to_owned(), count: 2 }]);
    // A name in a string, or an attribute of an operation, is no stamp of the module.
    assert!(!same("%0 = foo.op {\"ttg.rlc-x\" = 1 : i32}\n", "%0 = foo.op {}\n"));
    assert!(!same(bare, &bare.replace("musa:31", "ttg.rlc-x")));
}

#[test]
fn names_mean_what_they_mean_in_their_region() {
    let loops = |first: &str, second: &str| {
        format!(
            "tt.func @f(%a: i32) {{\n  scf.for %{first} = %a to %a step %a iter_args(%{first}_x = %a) -> (i32) : i32 {{\n    foo.use %{first}, %{first}_x : i32\n  }}\n  scf.for %{second} = %a to %a step %a iter_args(%{second}_x = %a) -> (i32) : i32 {{\n    foo.use %{second}, %{second}_x : i32\n  }}\n  %r = \"tt.reduce\"(%a) ({{\n  ^bb0(%{first}: f32, %q: f32):\n    tt.reduce.return %{first} : f32\n  }}) : (i32) -> i32\n  tt.return %r : i32\n}}\n"
        )
    };
    assert!(same(&loops("i", "i"), &loops("i", "j")));
    assert!(same(&loops("start_n", "start_n_3"), &loops("arg5", "arg5")));
    // Another operand is another program.
    assert!(!same(&loops("i", "i"), &loops("i", "i").replacen("foo.use %i, %i_x", "foo.use %i_x, %i", 1)));
    assert!(!same(&loops("i", "i"), &loops("i", "i").replacen("foo.use %i, %i_x", "foo.use %a, %i_x", 1)));
    // Partitions of a warp-specialised kernel name their arguments each for itself.
    let partitions = |first: &str, second: &str| {
        format!(
            "tt.func @f(%a: i32) {{\n  ttg.warp_specialize(%a) attributes {{requestedRegisters = array<i32: 24>}}\n  default {{\n    foo.use %a : i32\n    ttg.warp_yield\n  }}\n  partition0(%{first}: i32) num_warps(4) {{\n    foo.use %{first} : i32\n    ttg.warp_return\n  }}\n  partition1(%{second}: i32) num_warps(2) {{\n    foo.use %{second} : i32\n    ttg.warp_return\n  }} : (i32) -> ()\n  tt.return\n}}\n"
        )
    };
    assert!(same(&partitions("arg1", "arg1"), &partitions("x", "y")));
    assert!(!same(&partitions("x", "y"), &partitions("x", "y").replace("num_warps(2)", "num_warps(4)")));
    assert!(!same(&partitions("x", "y"), &partitions("x", "y").replace("foo.use %y", "foo.use %a")));
    // Functions share no names, results keep their index.
    let two = "tt.func @f(%a: i32) {\n  %r:2 = foo.op %a : i32\n  foo.use %r#1 : i32\n}\ntt.func @g(%b: i32) {\n  foo.use %b : i32\n}\n";
    assert!(same(two, &two.replace("%b", "%a")));
    assert!(same(two, &two.replace("%r", "%0")));
    assert!(!same(two, &two.replace("%r#1", "%r#0")));
    // Block labels belong to their region, and may be used before they are placed.
    let blocks = "llvm.func @f(%a: i1) {\n  llvm.cond_br %a, ^bb2, ^bb1(%a : i1)\n^bb1(%x: i1):\n  llvm.return\n^bb2:\n  llvm.br ^bb1(%a : i1)\n}\n";
    assert!(same(blocks, &blocks.replace("bb1", "exit").replace("%x", "%y")));
    assert!(!same(blocks, &blocks.replacen("^bb2, ^bb1(%a : i1)", "^bb1(%a : i1), ^bb2", 1)));
}

#[test]
fn white_space_and_comments_do_not_matter() {
    let spread = F03.replace(", ", " ,\n   ").replace(": i32 {", ":\ti32 // note \"\n {");
    assert!(same(F03, &spread));
    assert!(!same("foo.op a b", "foo.op ab"));
}

#[test]
fn a_run_without_ir_is_never_the_same() {
    assert_eq!(Fingerprint::of(&[]), None);
    assert_eq!(Fingerprint::of(&[kernel("k", "", &[])]), None);
    let none = BTreeSet::new();
    assert_eq!(compare(&[], &[], &none).verdict, IrVerdict::NoIr);
    let one = [kernel("k", "", &[(Stage::Ttir, 1)])];
    assert_eq!(compare(&one, &[], &none).verdict, IrVerdict::NoIr);
    assert_eq!(compare(&one, &[kernel("k", "", &[])], &none).verdict, IrVerdict::NoIr);
    // A stage on one side only is a difference, unless it is declared unreliable.
    let more = [kernel("k", "", &[(Stage::Ttir, 1), (Stage::Ptx, 1)])];
    assert_eq!(compare(&one, &more, &none).kernels[0].difference, Difference::MissingInA(Stage::Ptx));
    assert_eq!(compare(&more, &one, &none).kernels[0].difference, Difference::MissingInB(Stage::Ptx));
    assert_eq!(compare(&one, &more, &BTreeSet::from([Stage::Ptx])).verdict, IrVerdict::Same);
    // One kernel without evidence beside a sound one: nothing can be claimed.
    let mixed = [one[0].clone(), kernel("l", "", &[])];
    assert_eq!(compare(&mixed, &mixed, &none).verdict, IrVerdict::NoIr);
}

#[test]
fn unknown_stages_are_compared_byte_by_byte_and_say_so() {
    let stage = Stage::from_name("hsaco");
    let result = canonical(&stage, b"a  b\xff");
    assert_eq!(result.text, b"a  b\xff");
    assert!(result.warnings[0].contains("`hsaco`"));
    assert!(canonical(&Stage::Bytes, b"\0\xff").warnings.is_empty());
    assert_eq!(
        digest(&stage, b"abc").digest.to_string(),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn stages_are_ordered_by_the_pipeline_and_go_by_their_names() {
    let names = [
        "ttir", "ttgir", "llir", "ptx", "amdgcn", "sass", "clif", "clif_opt", "vcode", "bytes", "hsaco",
        "spv",
    ];
    let stages: Vec<Stage> = names.iter().map(|name| Stage::from_name(name)).collect();
    assert!(stages.is_sorted());
    assert_eq!(stages.iter().map(Stage::name).collect::<Vec<_>>(), names);
    let json = serde_json::to_string(&stages).expect("stages serialise");
    assert_eq!(json, serde_json::to_string(&names).expect("names serialise"));
    assert_eq!(serde_json::from_str::<Vec<Stage>>(&json).expect("stages parse"), stages);
    let kernel = kernel("k", "v", &[(Stage::ClifOpt, 0xab)]);
    let json = serde_json::to_string(&kernel).expect("kernel serialises");
    assert!(json.contains(&format!("\"clif_opt\":\"{}\"", "ab".repeat(32))), "{json}");
    assert_eq!(serde_json::from_str::<KernelIr>(&json).expect("kernel parses"), kernel);
    assert!(serde_json::from_str::<Digest>("\"xyz\"").is_err());
}
