"""What the sides of a duet begin with: the compiler's caches of the cells that had one side each.

A round would otherwise compile on the card's time what screening has compiled already. Leaves to the proof whether what
is launched is that code: a cache that does not fit is passed over by Triton's own key, and what is then compiled here
is held against what the cell of that side alone launched, as always. Invariant: nothing is written into another
cell's folder, and a cache that is there already is left as it is.
"""

import json
import os
import shutil

GROUP = "__grp__"
"""Files of Triton's cache that list a kernel's other files by their full paths."""


def copy(source, target):
    """Copy a cache, unless there is none or the target has one; returns its number of kernels, None without a copy."""
    if os.path.exists(target) or not os.path.isdir(source):
        return None
    beside = f"{target}.{os.getpid()}.tmp"
    shutil.rmtree(beside, ignore_errors=True)
    try:
        shutil.copytree(source, beside)
        for folder, _, names in os.walk(beside):
            for name in names:
                if name.startswith(GROUP):
                    move_paths(os.path.join(folder, name), source, target)
        os.rename(beside, target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return sum(1 for entry in os.scandir(target) if entry.is_dir())


def move_paths(path, source, target):
    """Have a group's file name the copies."""
    with open(path, encoding="utf-8") as file:
        group = json.load(file)
    paths = group.get("child_paths")
    if not isinstance(paths, dict):
        return  # names without folders, as remote caches have them
    prefix = source.rstrip(os.sep) + os.sep
    for name, found in paths.items():
        if found.startswith(prefix):
            paths[name] = os.path.join(target, found[len(prefix) :])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(group, file)
