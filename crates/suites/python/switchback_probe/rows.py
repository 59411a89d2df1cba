"""Identity of a case: dtype and input as the suite prints them, and a counter among those that print alike.

Invariant: the counter follows the order in which inputs appear, measured or failed, so that the n-th of one run is
the n-th of another.
"""

import re

_WHITE = re.compile(r"\s+")


class CaseNames:
    """Gives each input of a cell its case key."""

    def __init__(self):
        self._seen = {}

    def next(self, operator, dtype, text):
        """The key `{dtype, input, occurrence}` of the next input of an operator."""
        text = normal(text)
        place = (operator, dtype, text)
        occurrence = self._seen.get(place, 0)
        self._seen[place] = occurrence + 1
        return {"dtype": dtype, "input": text, "occurrence": occurrence}


def normal(text):
    """Text with its white space normalised."""
    return _WHITE.sub(" ", str(text)).strip()


def label(case):
    """A case for people: `torch.float16 [torch.Size([64, 64])] #2`."""
    words = [case["dtype"], case["input"]]
    if case["occurrence"]:
        words.append(f"#{case['occurrence'] + 1}")
    return " ".join(word for word in words if word)
