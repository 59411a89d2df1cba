"""Runs cells of the miniature FlagGems in processes of their own, as the engine runs real ones."""

import functools
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYTHON = HERE.parent
MINI = HERE / "flaggems_mini"
collect_ignore = ["flaggems_mini", "fake"]

sys.path[:0] = [str(PYTHON), str(HERE / "fake")]


class Cell:
    """What one cell left."""

    def __init__(self, folder, process):
        self.folder = folder
        self.status = process.returncode
        self.log = process.stdout
        path = folder / "events.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        self.events = [json.loads(line) for line in lines]

    def of(self, kind):
        return [event for event in self.events if event["kind"] == kind]

    def one(self, kind):
        found = self.of(kind)
        assert len(found) == 1, (kind, found, self.log)
        return found[0]

    def rows(self, operator=None):
        return [row for row in self.of("row") if operator in (None, row["operator"])]

    def texts(self, stages):
        return {stage: (self.folder / "ir" / digest).read_bytes() for stage, digest in stages.items()}

    def compiled(self, launched):
        """The `compile` event that a launch refers to, the last of its id."""
        return [event for event in self.of("compile") if event["id"] == launched["id"]][-1]


@functools.cache
def triton_key():
    from switchback_probe import compat

    return compat.triton_key()


def environment(folder, **more):
    found = {
        name: value for name, value in os.environ.items() if not name.startswith(("SWITCHBACK", "TRITON", "PYTEST"))
    }
    found.update(
        PYTHONPATH=os.pathsep.join([str(PYTHON), str(HERE / "fake")]),
        PYTHONDONTWRITEBYTECODE="1",
        TRITON_CACHE_DIR=str(folder / "cache"),
        FLAGGEMS_DB_URL=f"sqlite:///{folder}/tuned.db",
        SWITCHBACK_RUN_DIR=str(folder),
        SWITCHBACK_PROTOCOL="1",
        FAKE_TRITON_KEY=triton_key(),
    )
    found.update(more)
    return {name: value for name, value in found.items() if value is not None}


def write_order(folder, purpose, operator, measure, switch=None, conditions=None, reference=False):
    folder.mkdir(parents=True, exist_ok=True)
    how = {"warmup_ms": 1.0, "sample_ms": 4.0, "block_length": 4, "vendor": "nvidia", "seed": 1}
    order = {
        "protocol": 1,
        "campaign": "test",
        "operator": operator,
        "purpose": purpose,
        "attempt_dir": str(folder),
        "ir_dir": str(folder / "ir"),
        "measure": {**how, **measure},
        "switch": switch or {},
        "conditions": conditions or {},
        "reference": reference,
        "of_a_later_version": [1],
    }
    (folder / "order.json").write_text(json.dumps(order))


def start(folder, argv, **env):
    return subprocess.run(
        [sys.executable, *argv],
        cwd=MINI,
        env=environment(folder, **env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )


@pytest.fixture
def cell(request, tmp_path, tmp_path_factory):
    """`cell(node, …)` runs one cell and gives what it left.

    Cells of a module with `SHARED_CACHE` share what is compiled: it is not what the module tests.
    """

    shared = {}
    if getattr(request.module, "SHARED_CACHE", False):
        shared = {"TRITON_CACHE_DIR": str(tmp_path_factory.getbasetemp() / "shared_cache")}
    count = itertools.count()

    def run(
        node,
        purpose="run",
        operator="op",
        options=("--metrics", "latency"),
        env=None,
        switch=None,
        folder=None,
        fresh=False,
        conditions=None,
        reference=False,
        **measure,
    ):
        folder = folder or tmp_path / f"{next(count)}_{purpose}"
        write_order(folder, purpose, operator, measure, switch, conditions, reference)
        argv = [
            "-m",
            "pytest",
            "-s",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "fake_driver",
            "-p",
            "switchback_probe.plugin",
        ]
        process = start(folder, [*argv, f"benchmark/{node}", *options], **{**({} if fresh else shared), **(env or {})})
        return Cell(folder, process)

    return run
