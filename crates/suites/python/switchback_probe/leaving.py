"""How a cell's process ends.

All that was measured is on disk with the last event. What libraries have left to be done at exit takes a second of the
card's time, and a driver that crashes while it is taken down would turn a measured cell into one that died: so the
process ends at once. Invariant: a cell whose tuners chose ends as Python ends, for their own databases may be written
then.
"""

import os
import sys


def leave(session, status):
    """End the process, unless something may still be written; then it returns."""
    if session is None or not session.events.ended or session.tuner.recording:
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(status)
