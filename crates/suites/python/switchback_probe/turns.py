"""A cell's turn on its card: what needs no card is done before it, and then the cell waits.

The order says whether there is one (`turn`); `SWITCHBACK_TURN_FILE` names the file that cells of a campaign lock in
turn, exclusively by a cell that times something, shared by those that do not. Invariant: the lock is held until this
process has ended, and by children that were forked from it until they have; the kernel lets it go then, however that
happens.
"""

import errno
import fcntl
import os

from .protocol import OrderError, monotonic_s

TURN_FILE_VARIABLE = "SWITCHBACK_TURN_FILE"
WAITS = "waits_for_card"
"""The note after which a cell's deadline waits with it."""
_OPERATIONS = {"alone": fcntl.LOCK_EX, "shared": fcntl.LOCK_SH}


class CardTurn:
    """The turn of one cell; nothing to wait for where its order has none."""

    def __init__(self, kind, environment=os.environ):
        if kind is not None and kind not in _OPERATIONS:
            raise OrderError(f"`turn` is `{kind}`: `alone` and `shared` are")
        self.kind = kind
        self.path = environment.get(TURN_FILE_VARIABLE)
        if kind is not None and not self.path:
            raise OrderError(f"the order has a turn, and `{TURN_FILE_VARIABLE}` names no file")
        self._file = None

    def take(self, events):
        """Wait until the card may be used, once, and tell how long that was."""
        if self.kind is None or self._file is not None:
            return
        events.note(WAITS, "all is done that needs no card")
        since_s = monotonic_s()
        self._file = opened(self.path)
        fcntl.flock(self._file, _OPERATIONS[self.kind])
        events.emit("turn", waited_s=round(monotonic_s() - since_s, 6))


def opened(path):
    """The file, for writing too where it can be: over NFS nothing else is locked exclusively."""
    close = getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, os.O_RDWR | close)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return os.open(path, os.O_RDONLY | close)
