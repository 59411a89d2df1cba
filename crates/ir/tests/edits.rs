//! Every edit that changes the meaning changes the digest, no other edit does, and no input breaks it.

mod common;
#[path = "common/edit.rs"]
mod edit;

use std::sync::OnceLock;

use common::{Recorded, excerpts, full, texts};
use edit::{Draw, Edit, changing, preserving};
use proptest::prelude::*;
use switchback_ir::{Digest, Stage, canonical, digest, operations, side_by_side};

/// A recorded text and its digest.
struct Known {
    recorded: Recorded,
    text: String,
    digest: Digest,
}

fn known() -> &'static [Known] {
    static KNOWN: OnceLock<Vec<Known>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let folders = [Some(excerpts()), full()];
        folders
            .iter()
            .flatten()
            .flat_map(|folder| texts(folder))
            .filter(|recorded| {
                matches!(recorded.stage, Stage::Ttir | Stage::Ttgir | Stage::Llir | Stage::Ptx)
            })
            // Long assemblies tell nothing new and take the time of many short ones.
            .filter(|recorded| recorded.text.len() < 60_000)
            .map(|recorded| Known {
                text: String::from_utf8(recorded.text.clone()).expect("recorded texts are UTF-8"),
                digest: digest(&recorded.stage, &recorded.text).digest,
                recorded,
            })
            .collect()
    })
}

/// The first edit that finds a place, from one seed.
fn edited(known: &Known, seed: u64, of: fn(&Stage, &str, &mut Draw) -> Option<Edit>) -> Edit {
    let mut draw = Draw(seed);
    (0..1000)
        .find_map(|_| of(&known.recorded.stage, &known.text, &mut draw))
        .expect("every recorded text has a place for some edit")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_of_the_meaning_changes_the_digest(file in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let known = &known()[file.index(known().len())];
        let edit = edited(known, seed, changing);
        prop_assert!(edit.text != known.text, "{}", edit.what);
        let found = digest(&known.recorded.stage, edit.text.as_bytes());
        prop_assert!(found.digest != known.digest, "{}: {}", known.recorded.path.display(), edit.what);
    }

    #[test]
    fn an_edit_beside_the_meaning_does_not(file in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let known = &known()[file.index(known().len())];
        let edit = edited(known, seed, preserving);
        let found = digest(&known.recorded.stage, edit.text.as_bytes());
        prop_assert!(found.digest == known.digest, "{}: {}", known.recorded.path.display(), edit.what);
        prop_assert!(!found.raw && !found.incomplete);
    }
}

const STAGES: [Stage; 10] = Stage::KNOWN;

/// What must hold for any bytes.
fn assert_survives(stage: &Stage, text: &[u8]) {
    use sha2::Digest as _;
    let kept = canonical(stage, text);
    let streamed = digest(stage, text);
    let expected: [u8; 32] = sha2::Sha256::digest(&kept.text).into();
    assert_eq!(streamed.digest.0, expected);
    assert_eq!((&streamed.stamps, &streamed.warnings), (&kept.stamps, &kept.warnings));
    // Aliases may stand for more than they are, up to a bound.
    let bound = if matches!(stage, Stage::Ttir | Stage::Ttgir) {
        28 * text.len() + (1 << 21)
    } else {
        12 * text.len() + 1024
    };
    assert!(kept.text.len() <= bound, "{stage}: {} of {}", kept.text.len(), text.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(text in prop::collection::vec(any::<u8>(), 0..300)) {
        for stage in &STAGES {
            assert_survives(stage, &text);
            prop_assert!(operations(stage, &text).values().all(|count| *count > 0));
        }
    }

    #[test]
    fn any_pieces_of_the_languages_are_read(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "module ", "attributes ", "{", "}", "(", ")", "<", ">", "[", "]", "\"", "\\", "loc(", "#loc = ",
                "#a = ", "#a", "!b = ", "!b", "%x", "%0:2 = ", "%0#1", "^bb0", "@f", "tt.func ", "scf.for ", ",",
                "=", ":", "->", "-", "//", "\n", "{-#", "#-}", "ttg.rlc-x", "\"ttg.rlc-x\" = 1", "define ", "!0 = !{!1}",
                "!1", "!dbg !0", "attributes #0 = {", "#0", "; c", "0:", "%1", "call @llvm.dbg.value(", ".reg .b32 %r<4>;",
                "%r1", "$L__BB0_1", ":", ".section .debug_x {", ".loc 1", "/*", "*/", "/*0010*/", ".L1", "function ", "block1",
                "v1", "@0001 ", "::", "é", "\0", " ", "0x1", "1.0e+00",
            ]),
            0..60,
        )
    ) {
        let text = pieces.concat();
        for stage in &STAGES {
            assert_survives(stage, text.as_bytes());
            let rows = side_by_side(stage, text.as_bytes(), b"%x = foo.bar\n");
            prop_assert!(rows.iter().all(|row| row.a.is_some() || row.b.is_some()));
        }
    }

    #[test]
    fn damaged_recordings_are_read(
        file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), with in prop::collection::vec(any::<u8>(), 0..4), cut in any::<bool>()
    ) {
        let known = &known()[file.index(known().len())];
        let at = at.index(known.recorded.text.len());
        let (head, tail) = known.recorded.text.split_at(at);
        let mut damaged = [head, &with].concat();
        if !cut {
            damaged.extend_from_slice(&tail[1..]);
        }
        assert_survives(&known.recorded.stage, &damaged);
    }
}

#[test]
fn work_grows_with_the_text_only() {
    // Each of these took quadratic time or a deep stack in some plausible reader.
    for piece in [
        "{",
        "(",
        "<",
        "}",
        "\"",
        "%a, ",
        "%a:",
        "%a = ",
        "^a(",
        "^a(%b: i32): ",
        "#a = #a\n",
        "#a = (",
        "#a = \"",
        "loc(",
        "#loc = loc(\n",
        "{-#",
        "{-# \"",
        "a.func {",
        "a.func(",
        "scf.for %i = ",
        "module attributes {",
        "module attributes {a = {",
        "module {",
        "attributes {",
        "!0 = !{!0}\n",
        "!1 = !{!\"",
        "define {\n",
        "define {\n0:\n",
        "}\n",
        "call @(",
        "attributes #0 = {\n",
        "!dbg !0(",
        "!dbg ",
        ", ",
        "#dbg_x\n",
        ".reg .b32 %r<",
        ".section .debug_x {",
        ".entry {",
        "%r1",
        "$L1:\n",
        "/*",
        "/* */",
        "//",
        ".section .debug\n",
        "function u0:0 {\n",
        "v1 -> v1\n",
        "block0:\n",
        "\n",
        " ",
        "\0",
        "\u{e9}",
        "@",
        "!a = !a<",
        "#a1 = <#a0, #a0>\n",
    ] {
        let text = piece.repeat(120_000 / piece.len());
        for stage in &STAGES {
            assert_survives(stage, text.as_bytes());
        }
    }
    // Aliases that stand for two of the alias before: written once each.
    let mut laughs = String::new();
    for level in 1..2000 {
        laughs.push_str(&format!("#a{level} = #t.t<#a{}, #a{}>\n", level - 1, level - 1));
    }
    laughs.push_str("%x = foo.op : t<#a1999>\n");
    assert_survives(&Stage::Ttgir, laughs.as_bytes());
    assert_eq!(canonical(&Stage::Ttgir, laughs.as_bytes()).text.split(|&byte| byte == b'\n').count(), 2002);
}
