//! How a child that ended by itself ended: with a status or of a signal, whoever reports it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a child that ended by itself ended: one of the two, however a shell or a wrapper reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    Status(i32),
    Signal { signal: i32, by_wrapper: bool },
}

impl Death {
    pub(crate) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            // A shell, or Python's `subprocess` behind `sys.exit`, reports a signal as 128 plus its number.
            (Some(code), _) if is_fatal_signal(code - 128) => {
                Self::Signal { signal: code - 128, by_wrapper: true }
            }
            (Some(code), _) => Self::Status(code),
            (None, Some(signal)) => Self::Signal { signal, by_wrapper: false },
            (None, None) => Self::Status(-1),
        }
    }

    pub(crate) fn words(self) -> Option<String> {
        let Self::Signal { signal, by_wrapper } = self else { return None };
        let name = signal_hook::low_level::signal_name(signal)
            .map_or_else(|| format!("signal {signal}"), str::to_owned);
        let wrapper = if by_wrapper { " below a wrapper" } else { "" };
        let memory =
            if signal == signal_hook::consts::SIGKILL { ", possibly for want of memory" } else { "" };
        Some(format!("killed by {name}{wrapper}{memory}"))
    }
}

/// True for the signals that end a process by default and that something other than a person sends.
fn is_fatal_signal(number: i32) -> bool {
    use signal_hook::consts as signals;
    [
        signals::SIGHUP,
        signals::SIGINT,
        signals::SIGQUIT,
        signals::SIGILL,
        signals::SIGTRAP,
        signals::SIGABRT,
        signals::SIGBUS,
        signals::SIGFPE,
        signals::SIGKILL,
        signals::SIGSEGV,
        signals::SIGPIPE,
        signals::SIGALRM,
        signals::SIGTERM,
        signals::SIGXCPU,
        signals::SIGXFSZ,
        signals::SIGSYS,
    ]
    .contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A status as `wait` returns it: the signal in the low byte, the exit code in the next.
    fn death(raw: i32) -> Death {
        Death::of(ExitStatus::from_raw(raw))
    }

    #[test]
    fn the_same_death_is_the_same_whoever_reports_it() {
        assert_eq!(death(11), Death::Signal { signal: 11, by_wrapper: false });
        assert_eq!(death(139 << 8), Death::Signal { signal: 11, by_wrapper: true });
        assert_eq!(death(134 << 8), Death::Signal { signal: 6, by_wrapper: true });
        assert_eq!(death(9).words().unwrap(), "killed by SIGKILL, possibly for want of memory");
        assert_eq!(
            death(137 << 8).words().unwrap(),
            "killed by SIGKILL below a wrapper, possibly for want of memory"
        );
    }

    #[test]
    fn a_status_is_a_status() {
        for status in [0, 1, 2, 3, 4, 5, 124, 127, 128, 247, 255] {
            assert_eq!(death(status << 8), Death::Status(status));
        }
    }
}
