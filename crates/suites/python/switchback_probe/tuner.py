"""Records what autotuners choose, and gives them a recording's choices.

Triton's `Autotuner` keeps its choices in a dict, FlagGems' `LibTuner` in SQLite through `ConfigCache`. Both ask
"is the key there" and then take it: that question is where a recording answers, so keys need not be computed a second
time and every version's tuner works unchanged. The tuners' own benchmarking is left alone.

Invariants: a recording of another back end, device or compiler is refused, never used in part; a replayed config is
the tuner's own object where it still offers an equal one (with its hook and exact types), else one with the recorded
types; what the recording lacks is told as `fallback`.
"""

import functools
import gc
import json
import os
import sys

from . import compat
from .protocol import plain_text, say, write_beside

SCHEMA = 1
FOLDER = "autotune_records"
REFUSED_STATUS = 5
_MUST_AGREE = ("backend", "device", "compiler", "compiler_digest")


class Refused(RuntimeError):
    """A recording that was made under other conditions."""


class TunerHook:
    """The tuners of one process."""

    def __init__(self, session):
        self.session = session
        self.depth = 0
        self.records = {}  # (tuner, kernel, module, key) → record, the recording in use or in the making
        self._loose = {}  # (kernel, key) → record, of recordings that name no tuner and no module
        self._told = set()
        self._known = {}  # (id(tuner), table, key) → config, so that a launch does not look twice
        self._running = []  # LibTuners whose `run` is on the stack
        self._names = {}

    @property
    def recording(self):
        """True while choices are recorded."""
        return self.session.order.measure.tuning == "record"

    @property
    def replaying(self):
        """True while choices are replayed."""
        return self.session.order.measure.tuning == "replay"

    def install(self, triton):
        """Watch Triton's tuner; FlagGems' is watched once it is imported."""
        events = self.session.events
        try:
            tuner_class = compat.autotuner_class()
            self._watch_benchmarking(tuner_class)
            self._watch_caches(tuner_class)
            events.capability("autotuner_replay", True, "`Autotuner.cache` answers from the recording")
        except Exception as error:
            events.capability("autotuner_replay", False, error)

    def install_flaggems(self):
        """Watch FlagGems' tuner, if FlagGems is loaded."""
        events = self.session.events
        # Not `from flag_gems.utils import libentry`: the package gives a function under that name.
        library = sys.modules.get("flag_gems.utils.libentry")
        if library is None:
            return
        try:
            tuner_class, cache_class = library.LibTuner, library.ConfigCache
            self._watch_library(tuner_class, cache_class)
            events.capability("libtuner_replay", True, "`ConfigCache` answers from the recording")
        except Exception as error:
            events.capability("libtuner_replay", False, error)

    def load(self, facts):
        """Read the recording to replay, or begin one; `facts` are this process's back end, device and compiler.

        Raises `Refused` for a recording that does not fit, `OSError` or `ValueError` for one that cannot be read.
        """
        if self.recording:
            self._begin(facts)
        if not self.replaying:
            return
        path = self.session.order.measure.recording
        if not path:
            raise Refused("`measure.recording` names no recording to replay")
        if not os.path.exists(os.path.join(path, "meta.json")):
            path = os.path.join(path, FOLDER)
        with open(os.path.join(path, "meta.json"), encoding="utf-8") as file:
            meta = json.load(file)
        if meta.get("schema") != SCHEMA:
            raise Refused(f"the recording has schema `{meta.get('schema')}`, this probe reads `{SCHEMA}`")
        converted = meta.get("converted_from")
        for name in _MUST_AGREE:
            if converted and name != "backend" and not meta.get(name):
                self.session.events.note("recording", f"`{converted}` does not tell its `{name}`")
                continue
            there, here = str(meta.get(name) or ""), str(facts.get(name) or "")
            if there != here:
                raise Refused(f"the recording's `{name}` is `{there}`, here it is `{here}`")
        with open(os.path.join(path, "records.json"), encoding="utf-8") as file:
            for record in json.load(file)["records"]:
                self.records[_place(record)] = record
                if not record["tuner"] and not record["module"]:
                    self._loose[(record["kernel"], json.dumps(record["key"]))] = record
        self.session.events.note("recording", f"{len(self.records)} choices from `{path}`")

    def _begin(self, facts):
        self.folder = os.path.join(self.session.order.attempt_dir, FOLDER)
        os.makedirs(self.folder, exist_ok=True)
        meta = {"schema": SCHEMA, "side": self.session.side, **facts}
        write_beside(os.path.join(self.folder, "meta.json"), json.dumps(meta, indent=1, sort_keys=True) + "\n")
        self._save()

    def _save(self):
        content = {"schema": SCHEMA, "records": list(self.records.values())}
        write_beside(os.path.join(self.folder, "records.json"), json.dumps(content, indent=1) + "\n")

    # What tuners do.

    def _watch_benchmarking(self, tuner_class):
        """Know when a tuner tries configs: what it compiles and launches then is not the case's own."""
        benchmark = tuner_class._bench
        hook = self

        @functools.wraps(benchmark)
        def _bench(tuner, *args, **kwargs):
            hook.depth += 1
            try:
                return benchmark(tuner, *args, **kwargs)
            finally:
                hook.depth -= 1

        tuner_class._bench = _bench

    def _watch_caches(self, tuner_class):
        constructor = tuner_class.__init__
        hook = self

        @functools.wraps(constructor)
        def __init__(tuner, *args, **kwargs):
            constructor(tuner, *args, **kwargs)
            hook._watch(tuner)

        tuner_class.__init__ = __init__
        for found in gc.get_objects():
            if isinstance(found, tuner_class):
                self._watch(found)

    def _watch(self, tuner):
        if type(getattr(tuner, "cache", None)) is dict:
            tuner.cache = WatchedCache(self, tuner, tuner.cache)

    def _watch_library(self, tuner_class, cache_class):
        run, get, put = tuner_class.run, cache_class.get, cache_class.set
        hook = self

        @functools.wraps(run)
        def watched_run(tuner, *args, **kwargs):
            hook._running.append(tuner)
            try:
                return run(tuner, *args, **kwargs)
            finally:
                hook._running.pop()

        @functools.wraps(get)
        def watched_get(cache, key):
            tuner = hook._running[-1] if hook._running else None
            if tuner is None or not (hook.replaying or hook.recording):
                return get(cache, key)
            try:
                place = (id(tuner), getattr(cache, "table_name", ""), key)
                hash(place)
            except TypeError:
                return get(cache, key)
            if place in hook._known:
                return hook._known[place]
            config = hook.replayed(tuner, key) if hook.replaying else None
            if config is None:
                config = get(cache, key)
                if config is not None:
                    # Chosen before, by this process or by another one that shares the database.
                    config = _own(tuner, config, loosely=True) or config
                    hook.chosen(tuner, key, config)
            if config is not None:
                hook._known[place] = config
            return config

        @functools.wraps(put)
        def watched_set(cache, key, config):
            result = put(cache, key, config)
            if hook._running:
                hook.chosen(hook._running[-1], key, config)
            return result

        tuner_class.run = watched_run
        cache_class.get, cache_class.set = watched_get, watched_set

    # What the recording says.

    def replayed(self, tuner, key):
        """The recorded config of a tuner's key as a config object, None where there is none."""
        try:
            return self._replayed(tuner, key)
        except Exception as error:  # a fault of ours must not become the operator's: the tuner chooses by itself
            self.session.fault("tuner", error)
            return None

    def _replayed(self, tuner, key):
        place = self._place(tuner, key)
        record = self.records.get(place) or self._loose.get((place[1], place[3]))
        if record is None:
            return None
        config = _own(tuner, record["config"])
        if config is None:
            hooked = any(getattr(offered, "pre_hook", None) is not None for offered in tuner.configs)
            try:
                if hooked:
                    raise compat.Unsupported("its configs have hooks, which a recording does not hold")
                config = compat.config_from(record["config"])
            except Exception as error:
                self.session.events.error(
                    "tuner", f"`{kernel_name(tuner)}` no longer offers a recorded config: {error}"
                )
                return None
        self._tell(tuner, key, config, "replayed")
        return config

    def chosen(self, tuner, key, config):
        """A tuner chose, by benchmarking or from a cache of its own."""
        try:
            self._chosen(tuner, key, config)
        except Exception as error:
            self.session.fault("tuner", error)

    def _chosen(self, tuner, key, config):
        source = "fallback" if self.replaying else "tuned"
        if self.recording:
            place = self._place(tuner, key)
            record = {
                "tuner": tuner_name(tuner),
                "kernel": kernel_name(tuner),
                "module": module_name(tuner),
                "key": key_data(key),
                "config": compat.config_record(config),
                "offered": len(getattr(tuner, "configs", None) or []),
            }
            try:
                json.dumps(record)
            except (TypeError, ValueError) as error:
                self.session.events.error("tuner", f"`{record['kernel']}` cannot be recorded: {error}")
            else:
                if self.records.get(place) != record:
                    self.records[place] = record
                    self._save()
        self._tell(tuner, key, config, source)

    def _tell(self, tuner, key, config, source):
        place = self._place(tuner, key)
        if place in self._told:
            return
        self._told.add(place)
        kernel, text = kernel_name(tuner), plain_text(key)
        self.session.events.emit(
            "config",
            side=self.session.side,
            kernel=kernel,
            key=text,
            config=plain_text(config),
            source=source,
            tuner=tuner_name(tuner),
        )
        if source == "fallback":
            say(f"AUTOTUNE_REPLAY_FALLBACK kernel={kernel} key={text}")

    def _place(self, tuner, key):
        names = self._names.get(id(tuner))
        if names is None:
            # The tuner is held with its names, so that its id is not given to another.
            names = self._names[id(tuner)] = (tuner_name(tuner), kernel_name(tuner), module_name(tuner), tuner)
        return (*names[:3], json.dumps(key_data(key)))


class WatchedCache(dict):
    """The choices of one `Autotuner`, answered from the recording where it has none yet."""

    def __init__(self, hook, tuner, content):
        super().__init__(content)
        self._hook = hook
        self._tuner = tuner

    def __contains__(self, key):
        if dict.__contains__(self, key):
            return True
        if not self._hook.replaying:
            return False
        config = self._hook.replayed(self._tuner, key)
        if config is None:
            return False
        dict.__setitem__(self, key, config)
        return True

    def __setitem__(self, key, config):
        dict.__setitem__(self, key, config)
        self._hook.chosen(self._tuner, key, config)

    def __reduce__(self):
        return (dict, (dict(self),))


def tuner_name(tuner):
    """`LibTuner` for FlagGems' tuners whatever policy made their class, else the class's name."""
    names = [found.__name__ for found in type(tuner).__mro__]
    return "LibTuner" if "LibTuner" in names else names[0]


def kernel_name(tuner):
    """Name of the tuned kernel."""
    return str(getattr(getattr(tuner, "base_fn", None), "__name__", "") or getattr(tuner, "__name__", ""))


def module_name(tuner):
    """Module of the tuned kernel, by which two kernels of one name are told apart."""
    return compat.stable_module(getattr(getattr(tuner, "base_fn", None), "__module__", ""))


def key_data(key):
    """A tuner's key as JSON data that keeps types: `1`, `True` and `1.0` stay three keys."""
    if isinstance(key, (list, tuple)):
        return [key_data(item) for item in key]
    if key is None or isinstance(key, (bool, int, str)):
        return key
    return {type(key).__name__: plain_text(repr(key))}


def _place(record):
    return (record["tuner"], record["kernel"], record["module"], json.dumps(record["key"]))


def _own(tuner, wanted, loosely=False):
    """The config that a tuner offers with the same values and types, None if it offers none.

    Loosely, `True` equals `1`: what comes out of FlagGems' database has lost its types.
    """
    wanted = wanted if isinstance(wanted, dict) else compat.config_record(wanted)
    for offered in getattr(tuner, "configs", None) or []:
        record = compat.config_record(offered)
        if (record == wanted) if loosely else (typed(record) == typed(wanted)):
            return offered
    return None


def typed(record):
    """A config record in a form in which `True` and `1` differ."""
    return json.dumps(record, sort_keys=True, default=plain_text)
