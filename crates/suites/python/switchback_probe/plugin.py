"""The pytest plug-in that measures a FlagGems operator: `-p switchback_probe.plugin`.

Does nothing unless `SWITCHBACK_RUN_DIR` is set. Leaves the measuring to `session` and `flaggems`; here is only when
what happens: hooks before the first conftest, `start` once FlagGems is loaded, the benchmark's classes after
collection, `end` with pytest's status. Invariant: pytest's status 5 ("nothing collected") becomes 4, because 5 means
a refused recording in the cell protocol.
"""

import sys

import pytest

from . import compatibility, foreign
from .flaggems import FlagGems
from .leaving import leave
from .protocol import OrderError, error_text, say
from .session import Session
from .tuner import REFUSED_STATUS, Refused

NOTHING_COLLECTED = 5
USAGE_STATUS = 4


class Probe:
    """The plug-in's state, one a process."""

    def __init__(self, session):
        self.session = session
        self.flaggems = FlagGems(session)
        self.reported = 0
        self.status = None
        """pytest's status, once it is known."""


_probe = None


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config, parser, args):
    """Set the hooks before FlagGems' conftest imports the library; tell why where that fails."""
    global _probe
    try:
        session = Session.from_environment()
    except OrderError as error:
        raise pytest.UsageError(str(error)) from error
    if session is not None:
        _probe = Probe(session)
        try:
            session.install()
        except OrderError as error:
            raise pytest.UsageError(str(error)) from error
    outcome = yield
    if _probe is not None and outcome.excinfo is not None:
        session.events.start({}, {})
        session.events.error("collect", outcome.excinfo[1])


def pytest_sessionstart(session):
    """FlagGems is loaded by now: tell what this process is, and check the recording."""
    if _probe is None:
        return
    try:
        _probe.session.start(sys.modules.get("flag_gems"))
    except Refused as error:
        _probe.session.events.error("recording", f"refused: {error}")
        _probe.session.finish(REFUSED_STATUS)
        pytest.exit(f"switchback: recording refused: {error}", returncode=REFUSED_STATUS)
    except (OSError, ValueError, KeyError) as error:
        _probe.session.events.error("recording", error)
        _probe.session.finish(REFUSED_STATUS)
        pytest.exit(f"switchback: recording cannot be read: {error_text(error)}", returncode=REFUSED_STATUS)


def pytest_collectreport(report):
    """A test file that cannot be loaded, or skips itself, is told with its reason."""
    if _probe is None:
        return
    if report.failed:
        _probe.session.events.error("collect", f"{report.nodeid}: {report.longreprtext}")
    elif report.skipped:
        _probe.session.events.note("skipped", f"{report.nodeid}: {skip_reason(report)}")


def pytest_collection_finish(session):
    """All test files are loaded: wrap the benchmark's classes, and wait for the card."""
    if _probe is None:
        return
    _probe.flaggems.shapes.configure(session.config)
    _probe.flaggems.install()
    if _probe.flaggems.base is None:
        detail = "no `benchmark/base.py` with a `Benchmark` is loaded, so no case will be seen"
        _probe.session.events.capability("flaggems_benchmark", False, detail)
    vendor = getattr(sys.modules.get("flag_gems"), "vendor_name", "")
    compatibility.apply(_probe.session.events, vendor, session.items)
    if not session.items:
        _probe.session.events.error("collect", "no test was selected")
        return
    _probe.session.take_turn()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Classes may have been made since."""
    if _probe is not None:
        _probe.flaggems.install()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A test whose cases failed has failed, though it went on; skips and other errors are told."""
    outcome = yield
    if _probe is None:
        return
    report = outcome.get_result()
    failures = _probe.flaggems.failures
    if report.skipped:
        _probe.session.events.note("skipped", f"{report.nodeid}: {skip_reason(report)}")
    elif report.failed and len(failures) == _probe.reported:
        _probe.session.events.error(report.when, call.excinfo.value if call.excinfo else report.longreprtext)
    if call.when == "call" and len(failures) > _probe.reported:
        if report.passed:
            count = len(failures) - _probe.reported
            report.outcome = "failed"
            report.longrepr = f"{count} case(s) failed, first: {failures[_probe.reported]}"
        _probe.reported = len(failures)


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Tell of foreign vendors, then the end, with the status that pytest is going to return."""
    yield
    if _probe is None:
        return
    if int(session.exitstatus) == NOTHING_COLLECTED:
        session.exitstatus = USAGE_STATUS
        say("nothing was collected; status 4 instead of pytest's 5, which means a refused recording here")
    cell = _probe.session
    foreign.tell(cell.events, cell.order.measure.vendor or getattr(sys.modules.get("flag_gems"), "vendor_name", ""))
    cell.finish(int(session.exitstatus))
    _probe.status = int(session.exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """Everything is told and printed: end the process."""
    if _probe is not None and _probe.status is not None:
        leave(_probe.session, _probe.status)


def skip_reason(report):
    """Why a test was skipped."""
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
