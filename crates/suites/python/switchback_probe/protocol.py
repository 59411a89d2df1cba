"""The cell protocol: reads `order.json`, appends to `events.jsonl`, stores IR texts by their SHA-256.

Leaves to others what the events mean. Invariants: a line is written whole with one `os.write` to a file opened for
appending; `start` is the first line, whatever was told before it waits; a child of a fork writes nothing.
"""

import hashlib
import json
import math
import os
import re
import sys
import threading
import time

PROTOCOL = 1
RUN_DIR_VARIABLE = "SWITCHBACK_RUN_DIR"

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b")
_PURPOSE = re.compile(r"(?:tune|screen|again|naive[0-9]+|r[0-9]+)_(A|B|AB)")


class OrderError(ValueError):
    """An order that cannot be carried out; the text says why."""


class Measure:
    """How to measure; fields and defaults as `switchback_model::order::Measure` has them."""

    def __init__(self, fields):
        get = fields.get
        self.timed = bool(get("timed", True))
        self.timer = get("timer", "auto")
        self.warmup_ms = float(get("warmup_ms", 200.0))
        self.sample_ms = float(get("sample_ms", 200.0))
        self.direct_repeat = max(1, int(get("direct_repeat", 1)))
        self.blocks = max(1, int(get("blocks", 400)))
        self.block_length = max(1, int(get("block_length", 4)))
        self.case_precision_pct = max(0.0, float(get("case_precision_pct", 0.05)))
        self.regime = get("regime", "burst")
        self.turn_ms = max(1.0, float(get("turn_ms", 600.0)))
        self.cache_state = get("cache_state", "flush")
        self.seed = int(get("seed", 0))
        self.tuning = get("tuning", "off")
        self.recording = get("recording")
        self.with_baseline = bool(get("with_baseline", False))
        self.keep_ir = bool(get("keep_ir", True))
        self.capture_denied = list(get("capture_denied") or [])
        self.capture_fatal = list(get("capture_fatal") or [])
        self.capture_poisoned = list(get("capture_poisoned") or [])
        self.capture_supported = bool(get("capture_supported", False))
        self.vendor = get("vendor") or ""


class Order:
    """One attempt's order, as far as the child needs it. Unknown fields are ignored."""

    def __init__(self, fields):
        protocol = fields.get("protocol", PROTOCOL)
        if protocol != PROTOCOL:
            raise OrderError(f"`order.json` speaks protocol `{protocol}`, this probe speaks `{PROTOCOL}`")
        self.operator = str(fields.get("operator") or "")
        self.purpose = str(fields.get("purpose") or "run")
        self.attempt_dir = str(fields["attempt_dir"])
        self.ir_dir = str(fields.get("ir_dir") or os.path.join(self.attempt_dir, "ir"))
        self.measure = Measure(fields.get("measure") or {})
        self.conditions = dict(fields.get("conditions") or {})
        self.compiled = dict(fields.get("compiled") or {})
        """Cache folders by side, `A` and `B`, of the cells that had that side alone."""
        self.reference = bool(fields.get("reference", False))
        """True if a cell of one side is to hold its outputs against a reference."""
        self.turn = fields.get("turn")
        """How the cell shares its card, `alone` or `shared`; None where it has it from start to end."""
        self.sides = sides_of(self.purpose)
        self.switch = dict(fields.get("switch") or {})
        """Variables by side, `a` and `b`; what is None is unset."""

    @property
    def side(self):
        """The first side: of a process-paired cell the only one, `A` or `B`."""
        return self.sides[0]

    @property
    def is_round(self):
        """True for a cell of a round, which other rounds repeat."""
        return self.purpose.startswith(("r", "naive")) and self.purpose != "run"

    @property
    def operator_name(self):
        """`OP` of `OP[:FILE[:DTYPES]]`."""
        return self.operator.split(":", 1)[0]

    @property
    def operator_dtypes(self):
        """`DTYPES` of `OP[:FILE[:DTYPES]]` as a list, empty for all."""
        parts = self.operator.split(":")
        return [word for word in re.split(r"[,\s]+", parts[2]) if word] if len(parts) > 2 else []

    @classmethod
    def load(cls, run_dir):
        """Read `order.json` of an attempt's folder.

        Raises `OrderError` where it is missing, is not JSON or lacks a field.
        """
        path = os.path.join(run_dir, "order.json")
        try:
            with open(path, encoding="utf-8") as file:
                fields = json.load(file)
        except (OSError, ValueError) as error:
            raise OrderError(f"`{path}` cannot be read: {error}") from error
        fields.setdefault("attempt_dir", run_dir)
        return cls(fields)


def sides_of(purpose):
    """Sides of a cell by its purpose: `tune_A` → `["A"]`, `r2_AB` → `["A", "B"]`, `run` → `["A"]`."""
    if purpose == "run":
        return ["A"]
    match = _PURPOSE.fullmatch(purpose)
    if match is None:
        raise OrderError(f"`{purpose}` is no cell: `tune_A`, `screen_B`, `r1_A`, `r2_AB` and `run` are")
    return list(match.group(1))


class Events:
    """Appends events to `events.jsonl`."""

    def __init__(self, path):
        self.path = path
        self.started = False
        self.ended = False
        self.rows = 0
        self._waiting = []
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)

    def start(self, conditions, identity):
        """Write the `start` event and all that has waited for it; a second call does nothing."""
        if self.started:
            return
        conditions = {name: str(value) for name, value in conditions.items() if value not in (None, "")}
        identity = {name: str(value) for name, value in identity.items() if value not in (None, "")}
        self._write("start", {"pid": os.getpid(), "conditions": conditions, "identity": identity})
        self.started = True
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            self._append(line)

    def emit(self, kind, **fields):
        """Write one event; fields that are `None` are left out."""
        fields = {name: value for name, value in fields.items() if value is not None}
        if kind == "row":
            self.rows += 1
        if self.started:
            self._write(kind, fields)
        elif os.getpid() == self._pid:
            self._waiting.append(_line(kind, fields))

    def capability(self, hook, available, detail=""):
        """Tell whether a hook could be set, and how or why not."""
        self.emit("capability", hook=hook, available=bool(available), detail=str(detail))

    def note(self, topic, detail=""):
        """Tell something that a reader should know."""
        self.emit("note", topic=topic, detail=str(detail))

    def error(self, place, error, case=None):
        """Tell that something failed."""
        self.emit("error", place=place, error=error_text(error), case=case)

    def end(self, status):
        """Write the last event, once; without a `start` one is written before it."""
        if self.ended or os.getpid() != self._pid:
            return
        self.start({}, {})
        self._write("end", {"status": int(status), "rows": self.rows})
        self.ended = True

    def _write(self, kind, fields):
        self._append(_line(kind, fields))

    def _append(self, line):
        if os.getpid() != self._pid:
            return
        with self._lock:
            while line:
                line = line[os.write(self._file, line) :]


def _line(kind, fields):
    event = {"kind": kind, "t_s": monotonic_s(), **fields}
    return json.dumps(finite(event), separators=(",", ":")).encode() + b"\n"


def monotonic_s():
    """`CLOCK_MONOTONIC` in seconds, the supervisor's clock."""
    clock = getattr(time, "CLOCK_MONOTONIC", None)
    return time.clock_gettime(clock) if clock is not None else time.monotonic()


def finite(value):
    """A copy that JSON can hold: numbers that are not finite become null, keys become text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if value is None or isinstance(value, (str, int)):
        return value
    return plain_text(value)


def plain_text(value):
    """A value's text without addresses, so that two processes write the same."""
    return _ADDRESS.sub("0x…", str(value))


def error_text(error):
    """An error's text with its class; of a chain the first cause leads, for it is what happened."""
    if not isinstance(error, BaseException):
        return str(error)
    chain, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        chain.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    first = chain.pop()
    return "\n".join([first, *(f"then {text}" for text in reversed(chain))])


def say(line):
    """Write a line for people to `run.log`, on standard error."""
    try:
        sys.stderr.write(f"[switchback] {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


class Objects:
    """IR texts, each stored once under its SHA-256; written beside and renamed, an existing one is left alone."""

    def __init__(self, folder):
        self.folder = folder
        self._known = set()

    def put(self, content):
        """Store a text or bytes and return its SHA-256 in hexadecimal."""
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogateescape")
        digest = hashlib.sha256(content).hexdigest()
        if digest in self._known:
            return digest
        path = os.path.join(self.folder, digest)
        if not os.path.exists(path):
            os.makedirs(self.folder, exist_ok=True)
            write_beside(path, content)
        self._known.add(digest)
        return digest


def write_beside(path, content):
    """Write a file beside its place and rename it there, so that nobody reads half of it."""
    if isinstance(content, str):
        content = content.encode("utf-8")
    beside = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    try:
        with open(beside, "wb") as file:
            file.write(content)
        os.replace(beside, path)
    except BaseException:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise
