"""Compares both sides' outputs on the same inputs, and both with a reference where they differ.

Leaves the bits to `host_parts`. Invariants: as there, nothing of ours runs while the library's kernels stand in for
torch's, save what cannot wait; `wrong` is B's error above both four times A's and the bound of rounding, for a sum in
another order is not a wrong sum.
"""

import functools
import math
import sys

from . import reference as references
from .distance import largest_of
from .host_parts import on_card
from .outputs import WHOLE_BYTES
from .outputs_of import size_bytes, tensors_in

WORSE = 4.0
"""B is wrong if its error is more than so many times A's, and beyond what rounding explains."""
SNAPSHOT_BYTES = 1 << 30
"""Inputs of an operator that changes them are kept up to this size."""


class ComparedOutputs:
    """Outputs of both sides that wait to be compared; takes the place of `Outputs` in a cell of both sides."""

    def __init__(self, session):
        self.session = session
        self.reference = None
        """`() → (tensors, roundings)`: the next case in higher precision, and the longest chain of roundings."""
        self._held = []

    def begin(self, case, snapshot, memory=None):
        """A new case, whose outputs are to be kept; `snapshot` where its inputs are put back before each call."""
        reference, self.reference = self.reference, None
        if reference is not None:
            reference = functools.partial(references.evaluated, self.session, reference)
        found = Comparison(case, snapshot, reference, self.session.parts, memory)
        if not self.session.tuner.recording:
            self._held.append(found)
        return found

    def settle(self):
        """Compare what is held; to be called when torch's operators are torch's again."""
        held, self._held = self._held, []
        for found in held:
            if set(found.tensors) >= {"A", "B"}:
                try:
                    fields = found.fields()
                except Exception as error:
                    fields = not_comparable(f"{type(error).__name__}: {error}")
                self.session.events.emit("outputs", case=found.case, **fields)


class Comparison:
    """The outputs of one case: A's, A's once more, B's."""

    def __init__(self, case, snapshot, reference, parts, memory=None):
        self.case = case
        self.memory = memory
        self.parts = parts
        self.snapshot = snapshot
        self.reference = reference
        self.inputs_changed = False
        self.tensors = {}

    def keep(self, name, result, inputs):
        """Keep a result; of an operator that changes its inputs, a copy."""
        tensors = tensors_in(result)
        places = {tensor.data_ptr() for tensor in inputs}
        if not tensors or any(tensor.data_ptr() in places for tensor in tensors):
            self.inputs_changed = self.inputs_changed or self.snapshot is None
            tensors = [copied(tensor, self.memory) for tensor in tensors or inputs]
        self.tensors[name] = tensors

    def repeats(self):
        """True if a second call of A is cheap and leaves what B is to see."""
        return not self.inputs_changed and size_bytes(self.tensors["A"]) <= WHOLE_BYTES

    def cannot_wait(self):
        """True if what is timed next needs the outputs' memory."""
        return any(size_bytes(tensors) > WHOLE_BYTES for tensors in self.tensors.values())

    def fields(self):
        """Fields of the `outputs` event."""
        if not self.tensors["A"] and not self.tensors["B"]:
            return not_comparable("it returns no tensor")
        if self.inputs_changed:
            return not_comparable("it changes its inputs, so the sides did not see the same")
        detail = None
        a, b = self.tensors["A"], self.tensors["B"]
        if "again" in self.tensors and not self.parts.equal(a, self.tensors["again"]):
            return not_comparable("side A gave other outputs on a second call")
        if self.parts.equal(a, b):
            return {"verdict": "equal"}
        if self.reference is not None:
            try:
                return self._against_reference()
            except Exception as error:
                detail = references.why_none(error)
        try:
            apart = f"{largest_of(a, b, self.parts):.3g} of A's largest value apart"
        except Exception as error:
            apart = f"apart, how far is not known: {type(error).__name__}: {error}"
        words = [f"A and B are {apart}", detail]
        return {"verdict": "differs", "detail": "; ".join(word for word in words if word)}

    def _against_reference(self):
        if self.snapshot is not None:
            self.snapshot.restore()  # timed calls have written into the inputs since
        right, roundings = self.reference()
        error_a, bound_a = references.against(right, roundings, self.tensors["A"], self.parts)
        error_b, bound_b = references.against(right, roundings, self.tensors["B"], self.parts)
        if math.isinf(error_a) and math.isinf(error_b):
            raise ValueError("both sides lie infinitely far from what it would be, so it is not this case's")
        bound = min(bound_a, bound_b)
        is_wrong = error_b > WORSE * error_a and error_b > bound
        integers = [references.integers_in(self.tensors[side]) for side in ("A", "B")]
        if not is_wrong and not self.parts.equal(*integers):
            return {
                "verdict": "differs",
                "detail": "integers among the outputs differ, which no reference is asked for",
            }
        # JSON has no infinity.
        numbers = {"error_a": error_a, "error_b": error_b, "bound": bound}
        detail = ", ".join(f"{name} {value:.3g}" for name, value in numbers.items())
        numbers = {name: value for name, value in numbers.items() if math.isfinite(value)}
        return {"verdict": "wrong" if is_wrong else "differs", "detail": detail, **numbers}


class Snapshot:
    """Inputs as they were, for an operator that writes into them.

    Kept and put back through the driver where `memory` can, for torch's copy may be the library's.
    """

    @classmethod
    def of(cls, tensors, memory=None):
        """A snapshot, None where there is nothing to keep or too much of it."""
        return cls(tensors, memory) if 0 < size_bytes(tensors) <= SNAPSHOT_BYTES else None

    def __init__(self, tensors, memory=None):
        self._kept = [(tensor, copied(tensor, memory)) for tensor in tensors]

    def restore(self, memory=None):
        """Put the inputs back."""
        for tensor, kept in self._kept:
            if not int(tensor.numel()):
                continue  # it has no address, and nothing to put back
            if past_torch(memory, tensor) and kept.is_contiguous():
                memory.copy(tensor.data_ptr(), kept.data_ptr(), size_bytes([kept]))
            else:
                tensor.detach().copy_(kept)


def past_torch(memory, tensor):
    """True if the driver can copy a tensor within the card: its bits in their order are all there is to it."""
    if memory is None or memory.fault is not None or not on_card(tensor) or not tensor.is_contiguous():
        return False
    return not any(getattr(tensor, lazy, bool)() for lazy in ("is_conj", "is_neg"))


def copied(tensor, memory):
    """A copy on the card, by the driver where it can: torch's may be the library's, compiled under the switch."""
    if not past_torch(memory, tensor) or not int(tensor.numel()):
        return tensor.detach().clone()
    found = sys.modules["torch"].empty_like(tensor.detach())
    memory.copy(found.data_ptr(), tensor.data_ptr(), size_bytes([found]))
    return found


def not_comparable(detail):
    """Fields of an `outputs` event where nothing could be compared."""
    return {"verdict": "not_comparable", "detail": detail}
