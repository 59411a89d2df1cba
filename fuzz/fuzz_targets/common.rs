//! What every target asks of a stage: no bytes make it panic or hang, and its forms agree with each other.

use sha2::{Digest as _, Sha256};
use switchback_ir::{Stage, canonical, canonical_lines, digest, operation_changes, side_by_side};

/// Puts `bytes` through every entry point that reads a text of `stage`.
///
/// The first byte says where the text ends and a second one begins, so that comparing is reached too.
pub fn check(stage: &Stage, bytes: &[u8]) {
    let (first, rest) = bytes.split_first().map_or((0, bytes), |(first, rest)| (usize::from(*first), rest));
    let (a, b) = rest.split_at(rest.len() * first / 256);
    let whole = canonical(stage, rest);
    let streamed = digest(stage, rest);
    assert_eq!(streamed.incomplete, whole.incomplete);
    assert_eq!(streamed.stamps, whole.stamps);
    assert_eq!(streamed.warnings, whole.warnings);
    assert_eq!(
        streamed.digest.0,
        <[u8; 32]>::from(Sha256::digest(&whole.text)),
        "the digest is of another text"
    );
    let lines = canonical_lines(stage, rest);
    let joined: String = lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(flat(&joined), flat(&String::from_utf8_lossy(&whole.text)), "the lines are another text");
    assert!(lines.iter().all(|line| line.original_line >= 1));
    let rows = side_by_side(stage, a, b);
    assert!(rows.iter().all(|row| row.a.is_some() || row.b.is_some()));
    assert!(operation_changes(stage, a, b).iter().all(|change| change.a != change.b));
}
