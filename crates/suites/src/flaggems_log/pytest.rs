//! Lines of pytest's own at the end of a log.

use super::{LogFailure, PytestSummary};

/// A line of pytest's short summary: `FAILED file::test - message`, `ERROR file - message`.
pub(super) fn test_failure(line: &str, number: usize) -> Option<LogFailure> {
    let rest = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
    let (test, error) = match rest.split_once(" - ") {
        Some((test, error)) => (test, Some(error.trim().to_owned())),
        None => (rest, None),
    };
    let test = test.trim();
    if !test.contains(".py") || test.contains(char::is_whitespace) {
        return None;
    }
    Some(LogFailure { line: number, test: Some(test.to_owned()), error, ..LogFailure::default() })
}

/// pytest's last line: `2 failed, 397 passed, 1 warning in 28.27s`, perhaps between `=`.
pub(super) fn summary(line: &str) -> Option<PytestSummary> {
    let (counts, time) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    if !time.starts_with(|c: char| c.is_ascii_digit()) || !time.contains('s') {
        return None;
    }
    let mut summary = PytestSummary::default();
    for count in counts.split(',') {
        let (number, word) = count.trim().split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match word {
            "passed" => summary.passed = number,
            "failed" => summary.failed = number,
            "skipped" => summary.skipped = number,
            "error" | "errors" => summary.errors = number,
            "warning" | "warnings" | "deselected" | "xfailed" | "xpassed" | "rerun" => {}
            _ => return None,
        }
    }
    Some(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_are_counted_whatever_their_frame() {
        let it = summary("======= 2 failed, 397 passed, 1 warning, 3 skipped in 28.27s (0:00:28) =======")
            .unwrap();
        assert_eq!(it, PytestSummary { passed: 397, failed: 2, skipped: 3, errors: 0 });
        assert_eq!(summary("1 error in 0.50s").unwrap().errors, 1);
        for text in ["3 passed", "passed in 3s", "finished in 3.21s", "no tests ran in 0.01s", "2 cats in 3s"]
        {
            assert_eq!(summary(text), None, "{text}");
        }
    }

    #[test]
    fn a_failed_test_is_told_from_a_failed_row() {
        let it = test_failure("FAILED benchmark/test_a.py::test_a[x] - Failed: a - b", 3).unwrap();
        assert_eq!(
            (it.test.as_deref(), it.error.as_deref()),
            (Some("benchmark/test_a.py::test_a[x]"), Some("Failed: a - b"))
        );
        assert_eq!(test_failure("ERROR benchmark/test_a.py", 1).unwrap().error, None);
        assert_eq!(test_failure("FAILED 0.1 0.2 [1]", 1), None);
    }
}
