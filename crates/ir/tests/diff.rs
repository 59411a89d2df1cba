//! What a view says about real differences.

mod common;

use std::fs;

use common::excerpts;
use switchback_ir::{
    OperationGroup, RowKind, SourcePlace, Stage, operation_changes, operations, side_by_side,
};

fn excerpt(path: &str) -> Vec<u8> {
    fs::read(excerpts().join(path)).expect("excerpt is readable")
}

fn occurrences(text: &[u8], needle: &str) -> usize {
    String::from_utf8_lossy(text).matches(needle).count()
}

#[test]
fn operations_of_the_recorded_kernels_are_counted() {
    let a = excerpt("mm-switch/A/mm_kernel_general_host_tma.ttgir");
    let b = excerpt("mm-switch/B/mm_kernel_general_host_tma.ttgir");
    let counts = operations(&Stage::Ttgir, &a);
    for name in ["arith.constant", "ttng.init_barrier", "scf.for", "ttg.memdesc_index", "tt.return"] {
        assert_eq!(counts[name], occurrences(&a, &format!("{name} ")), "{name}");
    }
    let changes = operation_changes(&Stage::Ttgir, &a, &b);
    let change = |name: &str| {
        let change = changes.iter().find(|change| change.operation == name)?;
        Some((change.group, change.a, change.b))
    };
    assert_eq!(change("ttng.warp_group_dot"), Some((OperationGroup::Mma, 1, 0)));
    assert_eq!(change("tt.dot"), Some((OperationGroup::Mma, 0, 1)));
    assert_eq!(change("ttg.local_load"), Some((OperationGroup::Load, 0, 2)));
    assert_eq!(change("scf.for"), None);
    assert!(operation_changes(&Stage::Ttgir, &a, &a).is_empty());

    let (a, b) = (
        excerpt("mm-switch/A/mm_kernel_general_host_tma.ptx"),
        excerpt("mm-switch/B/mm_kernel_general_host_tma.ptx"),
    );
    let changes = operation_changes(&Stage::Ptx, &a, &b);
    let mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    assert_eq!(changes[0].operation, mma);
    assert_eq!((changes[0].a, changes[0].b), (0, occurrences(&b, mma)));
    let counts = operations(&Stage::Ptx, &a);
    assert_eq!(counts["bar.sync"], occurrences(&a, "bar.sync"));
    assert_eq!(counts["mbarrier.init.shared::cta.b64"], occurrences(&a, "mbarrier.init.shared::cta.b64"));
    assert_eq!(OperationGroup::of("mbarrier.init.shared::cta.b64"), OperationGroup::Barrier);

    let llir = excerpt("softmax-record/softmax_backward_kernel_inner.llir");
    let counts = operations(&Stage::Llir, &llir);
    assert_eq!(counts["shufflevector"], occurrences(&llir, "= shufflevector "));
    assert_eq!(counts["asm ld.global.v4.b32"], occurrences(&llir, "ld.global.v4.b32"));
    let shuffles = "call @llvm.nvvm.shfl.sync.bfly.i32";
    assert_eq!(counts[shuffles], occurrences(&llir, "call i32 @llvm.nvvm.shfl.sync.bfly.i32("));
    assert_eq!(OperationGroup::of(shuffles), OperationGroup::Shuffle);
}

#[test]
fn every_group_has_its_operations() {
    for (name, group) in [
        ("ttg.convert_layout", OperationGroup::ConvertLayout),
        ("ttng.wait_barrier", OperationGroup::Barrier),
        ("gpu.barrier", OperationGroup::Barrier),
        ("bar.sync", OperationGroup::Barrier),
        ("BAR.SYNC.DEFER_BLOCKING", OperationGroup::Barrier),
        ("s_barrier", OperationGroup::Barrier),
        ("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16", OperationGroup::Mma),
        ("v_mfma_f32_32x32x8_f16", OperationGroup::Mma),
        ("HGMMA.64x64x16.F32", OperationGroup::Mma),
        ("ttg.async_copy_global_to_local", OperationGroup::AsyncCopy),
        ("cp.async.bulk.tensor.2d.shared", OperationGroup::AsyncCopy),
        ("tt.atomic_rmw", OperationGroup::Atomic),
        ("tt.load", OperationGroup::Load),
        ("ld.global.v4.b32", OperationGroup::Load),
        ("LDG.E.128", OperationGroup::Load),
        ("global_load_dwordx4", OperationGroup::Load),
        ("tt.store", OperationGroup::Store),
        ("STG.E", OperationGroup::Store),
        ("st.shared.b32", OperationGroup::Store),
        ("arith.addf", OperationGroup::Other),
        ("add.s32", OperationGroup::Other),
        ("TEST", OperationGroup::Other),
    ] {
        assert_eq!(OperationGroup::of(name), group, "{name}");
    }
}

#[test]
fn operations_of_the_other_languages() {
    let clif = b"function u0:1(i64, i64) system_v {\n    ss0 = explicit_slot 16\n    sig0 = (i64) -> i64 system_v\n    fn0 = colocated u0:5 sig0\n\nblock0(v0: i64, v1: i64):\n    v2 = load.f32x4 notrap v0+8\n    v9 -> v2\n    v3 = fadd v2, v9\n    store v3, v1\n    v4 = call fn0(v0)\n    brif v4, block1(v3), block2\n\nblock1(v5: f32x4):\n    jump block2\n\nblock2:\n    return\n}\n";
    let counts = operations(&Stage::Clif, clif);
    let found: Vec<(&str, usize)> = counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(
        found,
        [("brif", 1), ("call", 1), ("fadd", 1), ("jump", 1), ("load.f32x4", 1), ("return", 1), ("store", 1)]
    );
    let sass = b"\tcode for sm_90\n\t\tFunction : k\n\t.headerflags\t@\"EF_CUDA_SM90\"\n        /*0000*/                   LDC R1, c[0x0][0x28] ;   /* 0x00000a00ff017b82 */\n                                                            /* 0x000fe20000000800 */\n        /*0010*/              @!P0 LDG.E R2, desc[UR4][R2.64] ;   /* 0x0000000402028981 */\n        /*0020*/                   EXIT ;\n";
    let counts = operations(&Stage::Sass, sass);
    assert_eq!((counts["LDC"], counts["LDG.E"], counts["EXIT"]), (1, 1, 1));
}

#[test]
fn side_by_side_shows_the_dot_that_changed_with_its_source() {
    let a = excerpt("mm-switch/A/mm_kernel_general_host_tma.ttgir");
    let b = excerpt("mm-switch/B/mm_kernel_general_host_tma.ttgir");
    let rows = side_by_side(&Stage::Ttgir, &a, &b);
    let of = |side: fn(&switchback_ir::Row) -> &Option<switchback_ir::ShownLine>, name: &str| {
        let row = rows.iter().find(|row| side(row).as_ref().is_some_and(|line| line.text.contains(name)));
        let row = row.unwrap_or_else(|| panic!("no row with {name}"));
        (row.kind, side(row).clone().expect("the row has this side"))
    };
    let (kind, line) = of(|row| &row.a, "ttng.warp_group_dot ");
    assert_ne!(kind, RowKind::Same);
    assert!(line.text.starts_with("%accumulator_"), "{line:?}");
    assert!(!line.text.contains("loc("));
    assert_eq!(line.source, Some(SourcePlace { file: "mm.py".to_owned(), line: 389 }));
    let original = String::from_utf8_lossy(&a);
    assert!(original.lines().nth(line.line - 1).expect("the line exists").contains("ttng.warp_group_dot "));
    // What both sides have stands beside itself, under its own names.
    let (kind, line) = of(|row| &row.a, "tt.get_program_id x");
    assert_eq!((kind, line.text.as_str()), (RowKind::Same, "%pid = tt.get_program_id x : i32"));
    // Nothing is lost: each side's lines are all there, in order.
    for side in [|row: &switchback_ir::Row| row.a.clone(), |row: &switchback_ir::Row| row.b.clone()] {
        assert!(rows.iter().filter_map(side).count() > 80);
    }
    assert!(side_by_side(&Stage::Ttgir, &a, &a).iter().all(|row| row.kind == RowKind::Same));
}

#[test]
fn one_more_operation_is_one_row() {
    let text = "module {\n  tt.func @f(%a: i32, %b: i32) {\n    %c = arith.addi %a, %b : i32\n    %d = arith.muli %c, %a : i32\n    foo.use %d : i32\n    tt.return\n  }\n}\n";
    let more = text.replace("    %d =", "    %n = arith.subi %a, %b : i32\n    %d =");
    let rows = side_by_side(&Stage::Ttgir, text.as_bytes(), more.as_bytes());
    let different: Vec<_> = rows.iter().filter(|row| row.kind != RowKind::Same).collect();
    assert_eq!(different.len(), 1);
    assert_eq!(different[0].kind, RowKind::OnlyB);
    assert_eq!(different[0].b.as_ref().expect("B is there").text, "%n = arith.subi %a, %b : i32");
    // Another operand changes no line's shape, and is found through the names.
    let other = text.replace("arith.muli %c, %a", "arith.muli %c, %b");
    let rows = side_by_side(&Stage::Ttgir, text.as_bytes(), other.as_bytes());
    let different: Vec<_> = rows.iter().filter(|row| row.kind != RowKind::Same).collect();
    assert_eq!(different.len(), 1);
    assert_eq!((different[0].kind, different[0].a.as_ref().expect("A is there").line), (RowKind::Changed, 4));
}

#[test]
fn ptx_and_llvm_lines_find_their_source() {
    let ptx = excerpt("softmax-record/softmax_backward_kernel_inner.ptx");
    let rows = side_by_side(&Stage::Ptx, &ptx, &ptx);
    let line = rows.iter().filter_map(|row| row.a.as_ref()).find(|line| line.text.contains("%ctaid.x"));
    let place = SourcePlace { file: "triton_lang_extension.py".to_owned(), line: 38 };
    assert_eq!(line.expect("the kernel reads its index").source, Some(place.clone()));
    let llir = excerpt("softmax-record/softmax_backward_kernel_inner.llir");
    let rows = side_by_side(&Stage::Llir, &llir, &llir);
    let line = rows.iter().filter_map(|row| row.a.as_ref()).find(|line| line.text.contains("ctaid.x()"));
    let line = line.expect("the kernel reads its index");
    assert_eq!(line.source, Some(place));
    assert_eq!(line.text, "%8 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()");
}
