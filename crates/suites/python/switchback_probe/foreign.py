"""Implementations of another vendor that this process loaded.

A benchmark that takes a successful import for support runs one vendor's kernel on another's card and dies deep in
the compiler. Nothing is stopped here: it is told, and is the first thing to look at when a result is odd.
"""

import sys

from .protocol import say

_ROOT = "flag_gems.runtime.backend._"
_SHARED = ("state",)  # `_state` is FlagGems' own, not a vendor


def foreign_vendors(active, modules=None):
    """Vendors other than the active one whose modules are loaded, by whole segments of the module's name."""
    found = set()
    for name in list(sys.modules if modules is None else modules):
        if name.startswith(_ROOT):
            vendor = name[len(_ROOT) :].split(".", 1)[0]
            if vendor and vendor != active and vendor not in _SHARED:
                found.add(vendor)
    return sorted(found)


def tell(events, active):
    """Note the foreign vendors, in the events and in the log."""
    if not active:
        return
    found = foreign_vendors(active)
    if found:
        detail = f"active={active} loaded={','.join(found)}"
        events.note("FOREIGN_VENDOR_MODULE", detail)
        say(f"FOREIGN_VENDOR_MODULE {detail}")
