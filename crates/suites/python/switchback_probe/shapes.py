"""Shapes of a file that the user gave, measured exactly, also where a benchmark would not read the file.

FlagGems' `Benchmark` looks its operator or class up in a YAML file and keeps the shapes in `self.shapes`. Many classes
go past that: they overwrite `set_shapes`, add shapes of their own at a larger level, or write their inputs into
`get_input_iter`. Here `self.shapes` is set to the file's shapes when the inputs are asked for, and whether the class
then reads them is seen, not assumed. A class that does not is made to by its entry in `shapes_registry`. Invariant: a
class that the file names and that ignores it all the same is an error; what the file does not name is measured with its
own shapes, and the condition `shape_mode` says so.
"""

import functools
import os

from . import shapes_registry

OPTION = "--shape_file"
_READ = "_switchback_shapes_read"
_OWN = "_switchback_own_shapes"


class Ignored(ValueError):
    """A class that would not measure the file's shapes."""


class Unreadable(ValueError):
    """A shape file that is none."""


class ShapeFile:
    """The shape file of one cell; without one nothing is changed."""

    def __init__(self, session, order):
        self.session = session
        self.order = order
        self.path = None
        self.base = None
        self._entries = None
        self._watched = None
        self._seen = False
        self._modes = []

    def configure(self, config):
        """Take the file that pytest was given; the benchmark's default is nobody's choice."""
        words = [str(word) for word in config.invocation_params.args]
        if any(word == OPTION or word.startswith(f"{OPTION}=") for word in words):
            self.path = str(config.getoption(OPTION))

    def install(self, base):
        """See when a benchmark reads its shapes, and when it reads them from the file by itself."""
        if self.path is None or self.base is not None:
            return
        self.base = base.Benchmark
        self.base.shapes = Shapes(self)
        original = self.base.set_shapes

        @functools.wraps(original)
        def set_shapes(bench, *args, **kwargs):
            result = original(bench, *args, **kwargs)
            vars(bench)[_READ] = True
            return result

        self.base.set_shapes = set_shapes
        detail = f"`{self.path}`, {len(shapes_registry.REGISTRY)} classes are made to follow it"
        self.session.events.capability("shape_file", True, detail)

    def inputs(self, bench, dtype, make):
        """The inputs to measure: those of the file's shapes; `make()` gives the benchmark's own iterator.

        Raises `Unreadable`; what it returns raises `Ignored` when it is asked for the first input.
        """
        if self.path is None or self.base is None:
            return make()
        name, entry = self.entry(bench)
        if entry is None:
            self._tell(bench, f"own, {self._source()} names neither `{bench.op_name}` nor `{type(bench).__name__}`")
            return make()
        shapes = [as_shape(shape) for shape in entry["shapes"]]
        if entry.get("shape_desc"):
            bench.shape_desc = str(entry["shape_desc"])
        registered = shapes_registry.of(type(bench), self.base)
        if registered is not None:
            self._tell(bench, f"{self._source()} made for {registered.name}")
            places, said = self.order.draw(bench, str(dtype), shapes)
            self.order.tell(bench, said)
            taken = self.order.taken

            def made(place):
                if taken is not None:
                    taken(place)
                return registered.make(bench, shapes[place], dtype)

            return ByShape(shapes, places, made)
        return self._set(bench, shapes, make, specific=name in (bench.op_name, type(bench).__name__))

    def entry(self, bench):
        """Name and entry of the file for a benchmark, by operator and then by class; `(None, None)` without one.

        A class that does not read the file has shapes of its own form, which entries for its ancestors are not in.
        """
        entries = self._load()
        names = [bench.op_name]
        for found in type(bench).__mro__:
            names.append(found.__name__)
            own = not vars(bench).get(_READ) and ("set_shapes" in vars(found) or "init_user_config" in vars(found))
            if found is self.base or own or found.__name__ in shapes_registry.REGISTRY:
                break
        for name in names:
            entry = entries.get(name)
            if isinstance(entry, dict) and "shapes" in entry:
                if not isinstance(entry["shapes"], list) or not entry["shapes"]:
                    raise Unreadable(f"shape file `{self.path}`: `{name}` has no list of shapes")
                return name, entry
            if entry is not None:
                raise Unreadable(f"shape file `{self.path}`: `{name}` has no `shapes`")
        return None, None

    def _set(self, bench, shapes, make, specific):
        """Give the class the file's shapes, and see that it reads them before its first input is measured."""
        before = vars(bench).setdefault(_OWN, [as_shape(shape) for shape in vars(bench).get("shapes") or ()])
        bench.shapes = list(shapes)
        hidden = any("shapes" in vars(found) for found in type(bench).__mro__ if found is not self.base)
        self._watched, self._seen = bench, hidden
        iterator = iter(make())
        first = next(iterator, None)
        self._watched = None
        name = type(bench).__name__
        if not self._seen:
            if specific:
                raise Ignored(
                    f"`{name}` ignores the shape file: its inputs are written into the benchmark, and "
                    f"`shapes_registry` does not know the class"
                )
            self._tell(bench, f"own, {name} ignores {self._source()}")
        elif before == shapes:
            self._tell(bench, self._source())
        else:
            self._tell(bench, f"{self._source()} set in {name}")
        if first is not None:
            yield first
            yield from iterator

    def seen(self, bench):
        """A benchmark read its shapes."""
        if bench is self._watched:
            self._seen = True

    def _load(self):
        if self._entries is None:
            import yaml

            try:
                with open(self.path, encoding="utf-8") as file:
                    entries = yaml.safe_load(file)
            except (OSError, ValueError, yaml.YAMLError) as error:
                raise Unreadable(f"shape file `{self.path}` cannot be read: {error}") from error
            if not isinstance(entries, dict):
                raise Unreadable(f"shape file `{self.path}` names no operator and no class")
            self._entries = entries
        return self._entries

    def _source(self):
        """How the engine calls the file: by the digest of its content."""
        return self.session.order.conditions.get("shape_mode") or f"file {os.path.basename(self.path)}"

    def _tell(self, bench, mode):
        """Say which shapes a benchmark is measured with: a condition, and a note where they are not the file's."""
        if mode in self._modes:
            return
        self._modes.append(mode)
        self.session.events.emit("conditions", conditions={"shape_mode": "; ".join(self._modes)})
        if mode.startswith("own, "):
            self.session.events.note("shapes", f"`{bench.op_name}` is measured with shapes of its own: {mode[5:]}")


class Shapes:
    """`Benchmark.shapes`, seen when it is read; a data descriptor, so that it comes before the instance's own."""

    def __init__(self, file):
        self.file = file

    def __get__(self, bench, owner=None):
        if bench is None or "shapes" not in vars(bench):
            raise AttributeError("shapes")
        self.file.seen(bench)
        return vars(bench)["shapes"]

    def __set__(self, bench, value):
        vars(bench)["shapes"] = value


class ByShape:
    """Inputs made shape by shape; one from which none can be made leaves the others to be measured."""

    goes_on = True

    def __init__(self, shapes, places, make):
        self.shape = None
        self._shapes = shapes
        self._places = iter(places)
        self._make = make
        self._inputs = None

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            if self._inputs is None:
                place = next(self._places)
                self.shape = self._shapes[place]
                self._inputs = iter(self._make(place))
            try:
                return next(self._inputs)
            except StopIteration:
                self._inputs = None
            except Exception:
                self._inputs = None
                raise


def as_shape(shape):
    """A shape as the benchmark keeps it: lists become tuples, mappings and single values stay."""
    return tuple(shape) if isinstance(shape, (list, tuple)) else shape
