"""Keeps FlagGems' matrix product off its cluster kernel on Hopper, where the order asks for it.

The library chooses that kernel by shape, in a function of its own; with the condition `mm_cluster` = `avoided` the
function says no, and the product takes the way that all other shapes take. Off unless asked for: it changes what is
measured.
"""

import functools
import sys

CONDITION = "mm_cluster"
AVOIDED = "avoided"
CHOICE = "cluster_remote_mm_scenario"


def install(session):
    """Make the choice for every loaded module of the library that makes it; tells how many."""
    if session.order.conditions.get(CONDITION) != AVOIDED:
        return
    count = 0
    for name, module in list(sys.modules.items()):
        original = vars(module).get(CHOICE) if name.startswith("flag_gems.") and module is not None else None
        if original is not None:
            setattr(module, CHOICE, refuse(original))
            count += 1
    detail = f"{count} modules choose by `{CHOICE}`" if count else f"no loaded module has `{CHOICE}`: nothing to avoid"
    session.events.capability(CONDITION, True, detail)


def refuse(original):
    """A choice that is never for the cluster kernel."""

    @functools.wraps(original)
    def never(*args, **kwargs):
        return False

    return never
