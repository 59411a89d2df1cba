//! Exit codes of the `switchback` command and which of them wins.

/// What the command tells its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// Measured and judged.
    Success = 0,
    /// A verdict that `--fail-on` names came out.
    FailOn = 1,
    /// The command line, a file or a name in it cannot be used.
    Usage = 2,
    /// The machine or the benchmark cannot measure: a check before measuring failed.
    Environment = 3,
    /// Cells failed or were cut off; what was measured is kept.
    Incomplete = 4,
    /// Conditions differ: refused before a latency was read.
    Refused = 5,
    /// Ended by Ctrl-C or TERM; the campaign can be resumed.
    Interrupted = 130,
}

impl ExitCode {
    /// The number for the caller's shell.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The one of two that is reported: 130, 3, 5, 4, 1, 0; a usage error ends a command before there is a second.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        if self.precedence() >= other.precedence() { self } else { other }
    }

    fn precedence(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::FailOn => 1,
            Self::Incomplete => 2,
            Self::Refused => 3,
            Self::Environment => 4,
            Self::Interrupted => 5,
            Self::Usage => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_is_130_3_5_4_1() {
        let order = [
            ExitCode::Interrupted,
            ExitCode::Environment,
            ExitCode::Refused,
            ExitCode::Incomplete,
            ExitCode::FailOn,
            ExitCode::Success,
        ];
        for pair in order.windows(2) {
            assert_eq!(pair[0].worse(pair[1]), pair[0]);
            assert_eq!(pair[1].worse(pair[0]), pair[0]);
        }
        assert_eq!(order.map(ExitCode::code), [130, 3, 5, 4, 1, 0]);
    }
}
