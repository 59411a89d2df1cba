"""A case on both sides of one process: untimed passes, timing, and the proof that the sides stayed apart.

Leaves the blocks to `duet_timer` and the outputs to `compare`. The engine compares the code of each side with that of
the side's own screening cell; here is proven only what this process alone can see. Invariants: both sides get the same
tensors and the same seeds; a case that fails on one side is measured on neither.
"""

from .calls import resetter
from .compare import ComparedOutputs, Snapshot
from .duet_timer import DuetTimer
from .outputs import seed_all, seed_of
from .outputs_of import tensors_in
from .protocol import error_text


class Duet:
    """Carries the cases of a cell of both sides."""

    def __init__(self, session):
        self.session = session
        self.sides = session.sides
        self.timer = DuetTimer(session)
        self.outputs = ComparedOutputs(session)
        self.failing = None
        """The side in whose turn an error came up; None where no side had its turn."""
        self._launched = {}
        self._faults = []
        self._snapshot = None

    def untimed_pass(self, case, operator, call, inputs=(), changes_inputs=False):
        """Call once a side: compile, record launches, keep outputs to be compared; returns side A's result."""
        session = self.session
        seed = seed_of("call", operator, case["dtype"], case["input"], case["occurrence"])
        self._launched, self._faults = {}, []
        changes_inputs = changes_inputs or is_in_place(operator) or writes_out(inputs)
        tensors = tensors_in(inputs)
        memory = session.timer.memory()
        snapshot = Snapshot.of(tensors, memory) if changes_inputs else None
        before = versions(tensors)
        self._snapshot = snapshot
        comparison = self.outputs.begin(case, snapshot, memory)

        def restore():
            # Outside what is recorded: without a way past torch the library may launch kernels of its own for it.
            if snapshot is not None:
                snapshot.restore(memory)

        def seeded():
            seed_all(seed)
            return call()

        results = {}
        for side in self._turns():
            restore()
            results[side], launches, unknown = session.launches.record(seeded)
            session.synchronize()
            try:
                session.launches.tell(case, launches, unknown)
                self._note_launches(side, launches, unknown)
                comparison.keep(side, results[side], tensors)
                if side == "A" and comparison.repeats():
                    restore()
                    comparison.keep("again", seeded(), tensors)
            except Exception as error:
                session.after_failure(case, error)
                session.fault("untimed_pass", error)
            if snapshot is None and versions(tensors) != before:
                comparison.inputs_changed = True
        self.sides.to(self.sides.first)
        if comparison.cannot_wait():
            self.outputs.settle()
        return results["A"]

    def time(self, case, operator, call, grad_to_none=None):
        """Time both sides in blocks, then prove; returns `{side: Timed}`."""
        self.failing = None
        restore = self._restore()
        forget = resetter(grad_to_none)

        def reset():
            forget()
            restore()

        try:
            with self.sides.focus():
                timed = self._turn(lambda: self.timer.time(case, operator, call, reset, restore))
            self._prove(case, operator, call)
        finally:
            self.sides.to(self.sides.first)
        return timed

    def _restore(self):
        """What puts back, before each timed call, the inputs that the operator writes into."""
        snapshot = self._snapshot
        if snapshot is None:
            return lambda: None
        memory = self.session.timer.memory()
        return lambda: snapshot.restore(memory)

    def wall(self, case, sample):
        """The same of a benchmark that times by wall clock; `sample()` gives microseconds."""
        try:
            timed = self._turn(lambda: self.timer.wall(case, sample))
            self._note_compiled()
            self._tell(case)
        finally:
            self.sides.to(self.sides.first)
        return timed

    def errors(self, error):
        """The error of each side where a case failed; the next case begins on the first side."""
        failing, self.failing = self.failing, None
        self.sides.to(self.sides.first)
        if failing is None:
            return dict.fromkeys(self.sides.names, error)
        reason = f"not measured: side {failing} failed: {error.splitlines()[0] if error else ''}"
        return {side: error if side == failing else reason for side in self.sides.names}

    def _turns(self):
        """Each side's turn, in the order drawn."""
        for side in self.sides.order:
            self.sides.to(side)
            self.failing = side
            yield side
        self.failing = None

    def _turn(self, act):
        """An act that changes sides by itself: what fails in it is the current side's."""
        try:
            return act()
        except Exception:
            self.failing = self.sides.current
            raise

    # The proof.

    def _note_launches(self, side, launches, unknown):
        self._launched[side] = {id(form) for form, _ in launches}
        for form, _ in launches:
            if form.side != side:
                self._faults.append(f"side {side} launches `{name_of(form)}` as it was compiled for side {form.side}")
        if unknown:
            self._faults.append(f"side {side}: {unknown} launches were of kernels that no hook saw")

    def _note_compiled(self):
        for name in dict.fromkeys(self.timer.compiled):
            self._faults.append(f"`{name}` was compiled while blocks were timed")

    def _prove(self, case, operator, call):
        session, faults = self.session, self._faults
        self._note_compiled()
        seed = seed_of("call", operator, case["dtype"], case["input"], case["occurrence"])

        def seeded():
            seed_all(seed)
            return call()

        restore = self._restore()
        for side in self.sides.order:
            self.sides.to(side)
            try:
                restore()
                _, launches, _ = session.launches.record(seeded)
                session.synchronize()
            except Exception as error:
                session.after_failure(case, error)
                faults.append(f"side {side} failed after its last block: {error_text(error).splitlines()[0]}")
                continue
            for form, _ in launches:
                if id(form) not in self._launched.get(side, ()):
                    faults.append(f"side {side} launches `{name_of(form)}` other than in its untimed pass")
        self._tell(case)

    def _tell(self, case):
        faults = list(dict.fromkeys(self._faults + self.sides.overlaps()))
        detail = "; ".join(faults) or "each side launches what it compiled, before and after its blocks"
        self.session.events.emit("proof", case=case, holds=not faults, detail=detail)


def is_in_place(operator):
    """True for an operator that is named as one that writes into its input: `sort_`, `relu_inplace`."""
    return operator.endswith("_") or "inplace" in operator


def writes_out(inputs):
    """True for a call that is given the tensor to write its result into, `out=`."""
    kwargs = inputs[1] if isinstance(inputs, tuple) and len(inputs) == 2 else None
    return isinstance(kwargs, dict) and kwargs.get("out") is not None


def versions(tensors):
    """How often torch saw each tensor written to, None where it does not count."""
    found = []
    for tensor in tensors:
        try:
            found.append(tensor._version)
        except (AttributeError, RuntimeError):
            found.append(None)
    return found


def name_of(form):
    """Name of a compiled kernel."""
    metadata = getattr(form.kernel, "metadata", None)
    return str(getattr(metadata, "name", "") or getattr(form.kernel, "name", "") or form.id)
