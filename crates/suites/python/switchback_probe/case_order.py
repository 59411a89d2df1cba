"""The order in which a benchmark's shapes come: drawn for each round, so that no case has the same neighbours in all.

FlagGems' `Benchmark` makes its inputs shape by shape from the list in `self.shapes`; here that list is put in another
order before it is read. Leaves to `shapes` which shapes there are. Invariants: both sides of a round see one order; a
case has the same inputs in whichever order it comes, for random numbers are seeded by the shape and not by its place; a
class that keeps no such list, or one in which two shapes print alike, has the order of its own, and that is said.
"""

import random


class CaseOrder:
    """Draws the orders of one cell."""

    def __init__(self, session):
        self.session = session
        self.taken = None
        """Called with the place of a shape, in the benchmark's own order, before its inputs are made."""
        self._unread = {}
        self._told = set()

    def apply(self, bench, dtype):
        """Put a benchmark's shapes in the order of this cell, if it keeps a list of them."""
        shapes = vars(bench).get("shapes")
        if isinstance(shapes, Drawn):
            shapes = shapes.own
        self._unread[id(bench)] = "the benchmark's own order: it makes its inputs from no list of shapes"
        if not isinstance(shapes, (list, tuple)) or not shapes:
            return
        places, said = self.draw(bench, dtype, shapes)

        def taken(place):
            if self._unread.pop(id(bench), None) is not None:
                self.tell(bench, said)
            if self.taken is not None:
                self.taken(place)

        bench.shapes = Drawn(shapes, places, taken)

    def end(self, bench):
        """All inputs were made: a class that has not looked at its list has an order of its own."""
        unread = self._unread.pop(id(bench), None)
        if unread is not None:
            self.tell(bench, unread)

    def draw(self, bench, dtype, shapes):
        """Places of the shapes in the order in which they are to come, and what is to be said of it.

        Only rounds have another order than the benchmark's own.
        """
        places, seed = list(range(len(shapes))), self.session.order.measure.seed
        if len({str(shape) for shape in shapes}) < len(shapes):
            return places, "the benchmark's own order: two of its shapes print alike"
        if self.session.order.is_round:
            random.Random(f"{seed} {bench.op_name} {dtype}").shuffle(places)
        return places, f"shapes in an order drawn with seed {seed}"

    def tell(self, bench, detail):
        """Say once in a round whose order an operator's cases have."""
        if self.session.order.is_round and (bench.op_name, detail) not in self._told:
            self._told.add((bench.op_name, detail))
            self.session.events.note("draws", f"`{bench.op_name}`: {detail}")


class Drawn(list):
    """Shapes in the order in which they come; says of each that it is taken."""

    def __init__(self, shapes, places, taken):
        super().__init__(shapes[place] for place in places)
        self.own = list(shapes)
        self._places = places
        self._taken = taken

    def __iter__(self):
        for place, shape in zip(self._places, super().__iter__()):
            self._taken(place)
            yield shape

    def __getitem__(self, index):
        if isinstance(index, int):
            self._taken(self._places[index])
        return super().__getitem__(index)
