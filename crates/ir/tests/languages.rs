//! What stays and what goes in each language, on texts of the kind that compilers print.

use switchback_ir::{Canonical, Stage, canonical};

fn read(stage: &Stage, text: &str) -> Canonical {
    canonical(stage, text.as_bytes())
}

/// Asserts that `to` for `from` changes nothing, or something.
fn assert_edit(stage: &Stage, text: &str, from: &str, to: &str, meaning: bool) {
    assert!(text.contains(from), "`{from}` is not in the text");
    let edited = text.replace(from, to);
    assert_ne!(text, edited);
    let changed = read(stage, text).text != read(stage, &edited).text;
    assert_eq!(changed, meaning, "{stage}: `{from}` -> `{to}`");
}

fn assert_goes(stage: &Stage, text: &str, from: &str, to: &str) {
    assert_edit(stage, text, from, to, false);
}

fn assert_stays(stage: &Stage, text: &str, from: &str, to: &str) {
    assert_edit(stage, text, from, to, true);
}

fn assert_stable(stage: &Stage, text: &str) {
    let once = read(stage, text);
    assert!(once.warnings.is_empty(), "{:?}", once.warnings);
    let once = String::from_utf8(once.text).expect("canonical text of UTF-8 is UTF-8");
    assert_eq!(String::from_utf8_lossy(&read(stage, &once).text), once);
}

const LLIR: &str = r#"; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p3:32:32"
target triple = "nvptx64-nvidia-cuda"

%struct.pair = type { i32, i64 }

@global_smem = external addrspace(3) global [0 x i8], align 16, !dbg !20
@.str = private constant [4 x i8] c"a;\22\00"

; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, i32 %n, %struct.pair %p) local_unnamed_addr #0 !dbg !4 {
  %2 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !7
    #dbg_value(i32 %2, !8, !DIExpression(), !7)
  call void @llvm.dbg.value(metadata i32 %2, metadata !8, metadata !DIExpression()), !dbg !7
  %cond = icmp slt i32 %2, %n, !dbg !DILocation(line: 3, scope: !4)
  br i1 %cond, label %body, label %"exit block", !dbg !7

body:                                             ; preds = %1, %body
  %i = phi i32 [ 0, %1 ], [ %next, %body ]
  %next = add nuw nsw i32 %i, 1
  %3 = tail call i32 asm sideeffect "ld.global.b32 $0, [ $1 + 0 ]; ; %next !dbg !7", "=r,l"(ptr addrspace(1) %0) #1, !dbg !7, !srcloc !9
  %done = icmp eq i32 %next, 8
  br i1 %done, label %"exit block", label %body, !llvm.loop !10

"exit block":
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2
declare void @llvm.dbg.value(metadata, metadata, metadata) #3

attributes #0 = { nounwind "nvvm.reqntid"="128" }
attributes #1 = { nounwind }
attributes #2 = { speculatable willreturn }
attributes #3 = { nocallback }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!llvm.ident = !{!13}
!nvvm.annotations = !{!14}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "triton")
!1 = !DIFile(filename: "k.py", directory: "/opt/a")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 4, !"nvvm-reflect-ftz", i32 1}
!4 = distinct !DISubprogram(name: "k", file: !1, unit: !0)
!7 = !DILocation(line: 38, column: 25, scope: !4)
!8 = !DILocalVariable(name: "x", scope: !4)
!9 = !{i32 77}
!10 = distinct !{!10, !7, !11, !12}
!11 = !{!"llvm.loop.mustprogress"}
!12 = !{!"llvm.loop.unroll.count", i32 4}
!13 = !{!"clang version 21"}
!14 = !{ptr @k, !"maxntidx", i32 128}
!20 = !DIGlobalVariableExpression(var: !8)
"#;

#[test]
fn llvm_ir() {
    let stage = Stage::Llir;
    assert_stable(&stage, LLIR);
    for (from, to) in [
        ("ModuleID = 'LLVM", "ModuleID = 'other"),
        ("source_filename = \"LLVM", "source_filename = \"/w/LLVM"),
        (", !dbg !7\n", "\n"),
        (" !dbg !4 {", " {"),
        (", !dbg !20", ""),
        (", !srcloc !9", ", !srcloc !11"),
        (", !dbg !DILocation(line: 3, scope: !4)", ""),
        ("    #dbg_value(i32 %2, !8, !DIExpression(), !7)\n", ""),
        (
            "  call void @llvm.dbg.value(metadata i32 %2, metadata !8, metadata !DIExpression()), !dbg !7\n",
            "",
        ),
        ("declare void @llvm.dbg.value(metadata, metadata, metadata) #3\n", ""),
        ("%done", "%20"),
        ("exit block", "exit"),
        ("; preds = %1, %body", "; preds = %body, %1"),
        ("#0", "#12"),
        ("!12", "!99"),
        ("!{!10, !7, !11", "!{!10, !11"),
        ("k.py", "l.py"),
        ("!llvm.module.flags = !{!2, !3}", "!llvm.module.flags = !{!3}"),
        ("clang version 21", "clang version 22"),
        ("attributes #3 = { nocallback }\n", ""),
        ("\n\n", "\n"),
    ] {
        assert_goes(&stage, LLIR, from, to);
    }
    // Names of one function say nothing about another's.
    let function =
        &LLIR[LLIR.find("define").expect("a function")..LLIR.find("declare i32").expect("its end")];
    let second = function.replace("@k(", "@k2(");
    let two = |second: &str| LLIR.replacen("declare i32", &format!("{second}declare i32"), 1);
    let renamed = second.replace("%cond", "%3a").replace("%done", "%cond");
    assert_eq!(
        String::from_utf8_lossy(&read(&stage, &two(&second)).text),
        String::from_utf8_lossy(&read(&stage, &two(&renamed)).text)
    );
    assert_ne!(read(&stage, &two(&second)).text, read(&stage, LLIR).text);
    // An entry block with a name of its own is the same block; so are arguments with names.
    let named = LLIR
        .replacen("{\n  %2 =", "{\nentry:\n  %2 =", 1)
        .replace("%1 ", "%entry ")
        .replace("%1,", "%entry,");
    let named = named.replace("%0, i32", "%A, i32").replace("(1) %0)", "(1) %A)");
    assert_eq!(
        String::from_utf8_lossy(&read(&stage, &named).text),
        String::from_utf8_lossy(&read(&stage, LLIR).text)
    );
    for (from, to) in [
        ("nvptx64", "amdgcn"),
        ("align 16", "align 8"),
        ("c\"a;", "c\"b;"),
        ("ptx_kernel void @k", "ptx_kernel void @l"),
        ("i32 %n", "i64 %n"),
        ("slt", "sgt"),
        ("icmp slt i32 %2, %n", "icmp slt i32 %n, %2"),
        ("add nuw nsw", "add nsw"),
        ("; %next !dbg !7\"", "; %next !dbg !8\""),
        ("[ 0, %1 ]", "[ 1, %1 ]"),
        ("label %body, label %\"exit block\"", "label %\"exit block\", label %body"),
        ("\"=\"128\"", "\"=\"256\""),
        ("\"nvvm.reqntid\"", "\"nvvm.maxntid\""),
        ("#1", "#2"),
        ("i32 4}", "i32 8}"),
        ("reflect-ftz\", i32 1", "reflect-ftz\", i32 0"),
        ("maxntidx\", i32 128", "maxntidx\", i32 64"),
        (", !llvm.loop !10", ""),
        ("{ i32, i64 }", "{ i64, i64 }"),
    ] {
        assert_stays(&stage, LLIR, from, to);
    }
}

const PTX: &str = r#"//
// Generated by NVIDIA NVVM Compiler
// Compiler Build ID: CL-34841621
//
.version 8.7
.target sm_90a
.address_size 64
	// .globl	k // -- Begin function k
.extern .shared .align 16 .b8 global_smem[];
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.param .u32 k_param_1
)
.reqntid 128
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<4>;
	.loc	1 27 0                          // k.py:27:0
$L__func_begin0:
	.loc	1 27 0
// %bb.0:
	ld.param.b32 	%r7, [k_param_1];
$L__tmp0:
	mov.u32 	%r8, %ctaid.x;
	setp.lt.s32 	%p1, %r8, %r7;
	@%p1 bra 	$L__BB0_2;
	bra.uni 	$L__BB0_3;
$L__BB0_2:                              // %.body
	// begin inline asm
	{
	.reg .pred complete;
	waitLoop:
	mbarrier.try_wait.parity.shared::cta.b64 complete, [%r8], %r7;
	@!complete bra.uni waitLoop;
	}
	// end inline asm
	st.global.v2.b32 [ %rd1 + 16 ], { %r7, %r8 };
	bra.uni 	$L__BB0_2;
$L__BB0_3:
	.pragma "nounroll // not a comment";
	ret;
$L__tmp1:
$L__func_end0:
                                        // -- End function
}
	.file	1 "/opt/a/k.py"
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
.b64 $L__func_begin0
	}
	.section	.debug_macinfo	{	}
"#;

#[test]
fn ptx() {
    let stage = Stage::Ptx;
    assert_stable(&stage, PTX);
    let bare = &PTX[..PTX.find("\t.file").expect("the file is named")];
    assert_eq!(read(&stage, PTX).text, read(&stage, bare).text);
    for (from, to) in [
        ("CL-34841621", "CL-1"),
        ("// Generated", "/* Generated */ //"),
        ("/opt/a/k.py", "/root/k.py"),
        (".loc	1 27 0", ".loc	1 28 3"),
        ("$L__tmp0:\n", ""),
        ("$L__func_begin0:\n", ""),
        ("%r8", "%r11"),
        ("%p1", "%p2"),
        ("%r<12>", "%r<40>"),
        ("$L__BB0_2", "$L__BB0_7"),
        (".b8 1 ", ".b8 2 "),
        ("\t", "    "),
        ("[ %rd1 + 16 ]", "[%rd1+16]"),
    ] {
        assert_goes(&stage, PTX, from, to);
    }
    for (from, to) in [
        (".version 8.7", ".version 8.8"),
        ("sm_90a", "sm_90"),
        (".reqntid 128", ".reqntid 256"),
        (".entry k(", ".entry l("),
        (".u32 k_param_1", ".u64 k_param_1"),
        ("setp.lt.s32 	%p1, %r8, %r7", "setp.lt.s32 	%p1, %r7, %r8"),
        ("setp.lt", "setp.gt"),
        ("@%p1", "@!%p1"),
        ("%ctaid.x", "%ctaid.y"),
        ("bra.uni 	$L__BB0_2", "bra.uni 	$L__BB0_3"),
        ("shared::cta", "shared::cluster"),
        ("waitLoop:\n", "waitLoop:\n nop;\n"),
        ("nounroll // not", "nounroll // really not"),
        ("+ 16", "+ 32"),
        (".reg .b32 	%r<12>", ".reg .f32 	%r<12>"),
        ("{ %r7, %r8 }", "{ %r8, %r7 }"),
    ] {
        assert_stays(&stage, PTX, from, to);
    }
    // Numbers start again with every function: the second one's names are its own.
    let second = bare.replace(".entry k(", ".func k2(");
    for (one, other) in [("%r7", "%r8"), ("$L__BB0_2", "$L__BB0_3"), ("%r7", "%r3"), ("%p1", "%p2")] {
        let renamed = second.replace(one, "#").replace(other, one).replace('#', other);
        assert_ne!(second, renamed);
        assert_eq!(
            read(&stage, &format!("{bare}{second}")).text,
            read(&stage, &format!("{bare}{renamed}")).text,
            "{one} <-> {other}"
        );
    }
}

const AMDGCN: &str = r#"	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.globl	k                               ; -- Begin function k
	.p2align	8
	.type	k,@function
k:                                      ; @k
.Lfunc_begin0:
	.file	1 "/opt/a" "k.py"
	.loc	1 7 0                           ; k.py:7:0
	.cfi_startproc
; %bb.0:
	s_load_dwordx2 s[0:1], s[4:5], 0x0
.Ltmp0:
	s_cbranch_scc1 .LBB0_2
	v_add_u32_e32 v1, s0, v0 // note
.LBB0_2:
	s_endpgm
.Lfunc_end0:
	.size	k, .Lfunc_end0-k
	.section	.debug_abbrev,"",@progbits
	.byte	1                               ; Abbreviation Code
	.quad	.Lfunc_begin0
	.section	".note.GNU-stack","",@progbits
	.ident	"AMD clang version 20"
	.amdgpu_metadata
---
amdhsa.kernels:
  - .name:           k
    .vgpr_count:     12
...
	.end_amdgpu_metadata
"#;

#[test]
fn amdgcn() {
    let stage = Stage::Amdgcn;
    assert_stable(&stage, AMDGCN);
    for (from, to) in [
        ("; @k", "; @somewhere"),
        ("/opt/a", "/root"),
        (".loc	1 7 0", ".loc	1 8 0"),
        (".Ltmp0:\n", ""),
        (".LBB0_2", ".LBB3_9"),
        (".byte	1 ", ".byte	2 "),
        ("version 20", "version 21"),
        ("\t.cfi_startproc\n", ""),
        ("v0 // note", "v0"),
    ] {
        assert_goes(&stage, AMDGCN, from, to);
    }
    for (from, to) in [
        ("gfx942", "gfx90a"),
        ("s[0:1]", "s[2:3]"),
        ("v1, s0, v0", "v1, v0, s0"),
        ("v_add_u32_e32", "v_sub_u32_e32"),
        ("scc1 .LBB0_2", "scc1 .Lfunc_end0"),
        ("vgpr_count:     12", "vgpr_count:     16"),
        (".name:           k", ".name:           l"),
    ] {
        assert_stays(&stage, AMDGCN, from, to);
    }
}

const SASS: &str = r#"
Fatbin elf code:
================
arch = sm_90
code version = [1,8]
host = linux
compile_size = 64bit
identifier = /tmp/tmpabc/k.ptx

	code for sm_90
		Function : k
	.headerflags	@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                   /* 0x00000a00ff017b82 */
                                                                            /* 0x000fe20000000800 */
        /*0010*/              @!P0 BRA `(.L_x_1) ;                          /* 0x0000000000088947 */
                                                                            /* 0x000fea0003800000 */
.L_x_1:
	//## File "/opt/a/k.py", line 12
        /*0020*/                   EXIT ;                                   /* 0x000000000000794d */
                                                                            /* 0x000fea0003800000 */
		..........
"#;

#[test]
fn sass() {
    let stage = Stage::Sass;
    assert_stable(&stage, SASS);
    for (from, to) in [
        ("/tmp/tmpabc/k.ptx", "/tmp/tmpxyz/k.ptx"),
        ("host = linux", "host = windows"),
        ("/*0010*/", "/*0f10*/"),
        ("line 12", "line 13"),
        (".L_x_1", ".L_x_44"),
        ("                   LDC", " LDC"),
    ] {
        assert_goes(&stage, SASS, from, to);
    }
    for (from, to) in [
        ("arch = sm_90\n", "arch = sm_100\n"),
        ("Function : k", "Function : l"),
        ("c[0x0][0x28]", "c[0x0][0x20]"),
        ("LDC R1", "LDC R2"),
        ("@!P0", "@P0"),
        // What the text does not show: stall counts and barriers.
        ("0x000fe20000000800", "0x000fe40000000800"),
    ] {
        assert_stays(&stage, SASS, from, to);
    }
}

const CLIF: &str = r#"function u0:12(i64, i64) -> i64 system_v {
    ss0 = explicit_slot 16
    sig0 = (f32, f32, f32) -> f32 system_v
    fn0 = colocated u0:5 sig0

block0(v0: i64, v1: i64):
@0012 v2 = load.f32x4 notrap aligned v0+8  ; a note
    v9 -> v2
    v3 = iconst.i64 0
    jump block2(v3)

block2(v4: i64):
    v5 = iadd_imm v4, 1
    v6 = icmp slt v5, v1
    brif v6, block2(v5), block3

block3:
    return v5
}
"#;

#[test]
fn clif() {
    for stage in [Stage::Clif, Stage::ClifOpt] {
        assert_stable(&stage, CLIF);
        for (from, to) in [
            ("v5", "v50"),
            ("block2", "block7"),
            ("  ; a note", ""),
            ("@0012 ", "    "),
            ("\n\n", "\n"),
            ("    v3 =", "  v3  ="),
        ] {
            assert_goes(&stage, CLIF, from, to);
        }
        for (from, to) in [
            ("u0:12(i64, i64)", "u0:12(i64, i32)"),
            ("u0:5", "u0:6"),
            ("explicit_slot 16", "explicit_slot 32"),
            ("v0+8", "v0+16"),
            ("f32x4", "f32x2"),
            ("slt v5, v1", "slt v1, v5"),
            ("block2(v5), block3", "block3, block2(v5)"),
            ("notrap aligned", "aligned"),
            ("v9 -> v2", "v9 -> v0"),
            ("iconst.i64 0", "iconst.i64 1"),
        ] {
            assert_stays(&stage, CLIF, from, to);
        }
    }
}

#[test]
fn vcode() {
    let stage = Stage::Vcode;
    let text =
        "block0:\n  pushq   %rbp\n  movq    %rsp, %rbp\n\n  vaddps  %xmm0, %xmm1, %xmm2 ; note\n  ret\n";
    assert_stable(&stage, text);
    assert_goes(&stage, text, "  pushq   %rbp", "\tpushq %rbp  ");
    assert_goes(&stage, text, "\n\n", "\n");
    for (from, to) in [("block0", "block1"), ("%xmm1", "%xmm3"), ("vaddps", "vsubps"), ("; note", "; other")]
    {
        assert_stays(&stage, text, from, to);
    }
}
