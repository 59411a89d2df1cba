"""A cell gets ready without the card, waits for its turn, and keeps it until it has ended."""

import errno
import fcntl
import json
import os
import subprocess
import sys
import time

import pytest
from conftest import MINI, Cell, environment, start, write_order

from switchback_probe.protocol import Order, OrderError
from switchback_probe.turns import CardTurn, opened

RUNNER = ["-c", "import fake_driver, sys; from switchback_probe import runner; sys.exit(runner.main([]))"]
PLUGIN = ["-m", "pytest", "-s", "-q", "-p", "no:cacheprovider", "-p", "fake_driver", "-p", "switchback_probe.plugin"]
CELLS = {
    "triton": ("add", RUNNER),
    "flaggems": ("softmax", [*PLUGIN, "benchmark/test_softmax.py", "--metrics", "latency"]),
}
USES_THE_CARD = {"compile", "launch", "row", "outputs"}


def order_with_turn(folder, operator, kind):
    write_order(folder, "screen_A", operator, {"timed": False})
    path = folder / "order.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "turn": kind}))


def kinds(folder):
    path = folder / "events.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line)["kind"] for line in text.splitlines() if line.endswith("}")]


@pytest.fixture
def turn_file(tmp_path):
    path = tmp_path / "card.turn"
    path.touch()
    return path


@pytest.mark.parametrize("suite", CELLS)
def test_a_cell_waits_with_all_done_that_needs_no_card(suite, tmp_path, turn_file):
    operator, argv = CELLS[suite]
    folder = tmp_path / suite
    order_with_turn(folder, operator, "alone")
    with open(turn_file) as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        process = subprocess.Popen(
            [sys.executable, *argv],
            cwd=MINI,
            env=environment(folder, SWITCHBACK_TURN_FILE=str(turn_file)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        deadline = time.monotonic() + 120
        while not waits_for(process, turn_file) and process.poll() is None:
            assert time.monotonic() < deadline, kinds(folder)
            time.sleep(0.02)
        before = kinds(folder)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert before[0] == "start" and not USES_THE_CARD & set(before), before
    after = kinds(folder)
    turn = after.index("turn")
    assert not USES_THE_CARD & set(after[:turn]) and "row" in after[turn:]
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert events[turn]["waited_s"] > 0
    assert events[turn - 1]["topic"] == "waits_for_card"


def waits_for(process, path):
    """True once the process has the file open, which it has only to lock it."""
    listed = subprocess.run(["ls", "-l", f"/proc/{process.pid}/fd"], capture_output=True, text=True)
    return str(path) in listed.stdout


def test_cells_that_share_do_not_wait_for_each_other(tmp_path, turn_file):
    folder = tmp_path / "shared"
    order_with_turn(folder, "add", "shared")
    with open(turn_file) as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        found = Cell(folder, start(folder, RUNNER, SWITCHBACK_TURN_FILE=str(turn_file)))
    assert found.status == 0, found.log
    assert found.one("turn")["waited_s"] >= 0


def test_without_a_turn_nothing_is_locked_and_a_wrong_one_is_refused(tmp_path):
    CardTurn(None, {}).take(None)
    write_order(tmp_path, "run", "add", {})
    assert Order.load(str(tmp_path)).turn is None
    with pytest.raises(OrderError, match="`turn` is `both`"):
        CardTurn("both", {"SWITCHBACK_TURN_FILE": "x"})
    with pytest.raises(OrderError, match="names no file"):
        CardTurn("alone", {})


def test_the_file_is_opened_for_writing_where_it_can_be(turn_file, monkeypatch):
    def mode():
        found = opened(turn_file)
        try:
            return fcntl.fcntl(found, fcntl.F_GETFL) & os.O_ACCMODE
        finally:
            os.close(found)

    original = os.open

    def refusing(error):
        def call(path, flags, *rest):
            if flags & os.O_ACCMODE != os.O_RDONLY:
                raise OSError(error, os.strerror(error))
            return original(path, flags, *rest)

        return call

    assert mode() == os.O_RDWR
    for refused in (errno.EACCES, errno.EROFS):
        monkeypatch.setattr(os, "open", refusing(refused))
        assert mode() == os.O_RDONLY
    monkeypatch.setattr(os, "open", refusing(errno.ENOENT))
    with pytest.raises(FileNotFoundError):
        mode()
