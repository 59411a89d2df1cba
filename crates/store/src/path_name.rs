//! Names from outside as names of folders: operators and kernels never become a path.

use sha2::{Digest, Sha256};

/// Longest folder name made from a name, bytes.
const LONGEST_BYTES: usize = 100;

/// A folder name for any text: letters, digits, `_`, `-` and `.` (not first) stay, other bytes become `%XX`.
///
/// Different texts get different names; a long one is cut and ends in a part of its SHA-256.
#[must_use]
pub fn path_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for (index, byte) in text.bytes().enumerate() {
        let plain =
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || (byte == b'.' && index > 0);
        if plain {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.is_empty() {
        return "%".into();
    }
    if name.len() > LONGEST_BYTES {
        let digest = Sha256::digest(text.as_bytes());
        let tail: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        name.truncate(LONGEST_BYTES - tail.len() - 1);
        name.push('~');
        name.push_str(&tail);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_folder() {
        assert_eq!(path_name("perf_sort"), "perf_sort");
        assert_eq!(path_name("../../etc"), "%2E.%2F..%2Fetc");
        assert_eq!(path_name(".."), "%2E.");
        assert_eq!(path_name("a b\n"), "a%20b%0A");
        assert_eq!(path_name(""), "%");
        assert_eq!(path_name("é"), "%C3%A9");
    }

    #[test]
    fn long_names_stay_apart() {
        let (one, two) = ("x".repeat(300), "x".repeat(301));
        assert_ne!(path_name(&one), path_name(&two));
        assert_eq!(path_name(&one).len(), LONGEST_BYTES);
    }
}
