"""Digest of a case's outputs, to be compared with the other side's.

Leaves the bits to `host_parts` and the comparison to the reader. Invariants: no tensor operation of ours runs while the
library's own kernels stand in for torch's (they would be compiled and launched for nothing): outputs are held and
digested after the library has been left, save those that cannot wait (of operators that change their inputs, and large
ones). Inputs and random numbers are seeded by the case alone, so both sides see the same.
"""

import hashlib
import math
import sys

from . import reference as references
from .outputs_of import size_bytes, tensors_in

WHOLE_BYTES = 64 << 20
"""Larger outputs are digested at once; smaller ones wait until the library has been left."""


def seed_of(*words):
    """A seed that depends on the words alone."""
    return int.from_bytes(hashlib.sha256("\0".join(map(str, words)).encode()).digest()[:4], "little")


def seed_all(seed):
    """Seed every generator that an operator could draw from."""
    import random

    random.seed(seed)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(seed % (1 << 32))


class Outputs:
    """Outputs of untimed passes that wait to be digested."""

    def __init__(self, session):
        self.session = session
        self.reference = None
        """`() → (tensors, roundings)`: the next case in higher precision, and the longest chain of roundings."""
        self._held = []

    def hold(self, case, call, result, inputs, changes_inputs):
        """Keep a pass's outputs, and those of a second call where that is cheap.

        `call()` makes the second call, seeded as the first. An operator that changes its inputs cannot be called twice.
        """
        if self.session.tuner.recording:
            return
        reference, self.reference = self.reference, None
        tensors = tensors_in(result)
        if not tensors:
            tensors, changes_inputs = tensors_in(inputs), True
        total = size_bytes(tensors)
        if not tensors:
            self._tell(case, detail="it returns no tensor")
            return
        if not changes_inputs:
            places = {tensor.data_ptr() for tensor in tensors_in(inputs)}
            changes_inputs = any(tensor.data_ptr() in places for tensor in tensors)
        if changes_inputs:
            reference = None  # there is nothing left to compute it from
        if changes_inputs or total > WHOLE_BYTES:
            # What is timed next changes them again, or needs their memory: they cannot wait.
            self._held.append((case, tensors, None, reference))
            self.settle()
            return
        self._held.append((case, tensors, tensors_in(call()), reference))

    def settle(self):
        """Digest what is held; to be called when torch's operators are torch's again."""
        held, self._held = self._held, []
        for case, tensors, again, reference in held:
            try:
                parts = self.session.parts
                repeatable = None if again is None else parts.equal(tensors, again)
                digest = parts.digest(tensors)
                fields = self._from_reference(case, reference, tensors)
                self._tell(case, digest=digest, repeatable=repeatable, **fields)
            except Exception as error:
                self._tell(case, detail=f"no digest: {type(error).__name__}: {error}")

    def _from_reference(self, case, reference, tensors):
        """How far outputs are from the reference; one that cannot be had is told and is nobody's fault."""
        if reference is None:
            return {}
        try:
            right, roundings = references.evaluated(self.session, reference)
            error, bound = references.against(right, roundings, tensors, self.session.parts)
        except Exception as error:
            if type(error) is not ValueError:
                self.session.after_failure(case, error)
            return {"detail": references.why_none(error)}
        fields = {"bound": bound}
        # JSON has no infinity: a bound without an error stands for one.
        if math.isfinite(error):
            fields[f"error_{self.session.side.lower()}"] = error
        if references.integers_in(tensors):
            fields["detail"] = "integers among the outputs, which no reference is asked for"
        return fields

    def _tell(self, case, **fields):
        self.session.events.emit("outputs", case=case, side=self.session.side, **fields)
