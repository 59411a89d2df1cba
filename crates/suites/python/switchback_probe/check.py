"""What this interpreter can do: `python -m switchback_probe.check [--flaggems DIR] [MODULE…]`.

Prints one JSON object on standard output, whatever the modules print while they load; a module that cannot be loaded
is told with its error. Exit status 0 unless the arguments are wrong: what is missing is for the reader to judge.
"""

import importlib
import json
import os
import platform
import sys
from contextlib import contextmanager

from . import device
from .protocol import error_text

MODULES = ("triton", "torch", "flag_gems", "pytest")


def main(arguments=None):
    """Print the report; returns the exit status."""
    names = list(sys.argv[1:] if arguments is None else arguments)
    folder = None
    if "--flaggems" in names:
        at = names.index("--flaggems")
        if at + 1 >= len(names):
            print("usage: python -m switchback_probe.check [--flaggems DIR] [MODULE…]", file=sys.stderr)
            return 2
        folder = names[at + 1]
        del names[at : at + 2]
    with stdout_to_stderr():
        found = report(names or MODULES, folder)
    print(json.dumps(found), flush=True)
    return 0


def report(names, folder=None):
    """Interpreter, modules and devices."""
    if folder:
        sys.path.insert(0, os.path.join(folder, "src"))
    found = {
        "executable": sys.executable,
        "python": platform.python_version(),
        "modules": {name: module(name) for name in names},
        "devices": [],
    }
    if "torch" in sys.modules:
        try:
            found["devices"] = devices()
        except Exception as error:
            found["devices_error"] = error_text(error)
    driver = device.attempt(device.driver_version)
    if driver:
        found["driver"] = driver
    if "triton" in sys.modules:
        found["compiler_digest"] = device.attempt(device.compat.compiler_digest)
    library = sys.modules.get("flag_gems")
    if library is not None:
        found["vendor"] = str(getattr(library, "vendor_name", ""))
        where = os.path.dirname(os.path.abspath(getattr(library, "__file__", "") or "."))
        found["library_commit"] = device.attempt(lambda: device.commit_of(where))
    return found


def module(name):
    """Version and path of a module, or why it cannot be loaded."""
    try:
        loaded = importlib.import_module(name)
    except BaseException as error:  # a library that exits while it loads is a fault to tell, not to follow
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"error": error_text(error)}
    return {"version": str(getattr(loaded, "__version__", "?")), "file": str(getattr(loaded, "__file__", "") or "")}


def devices():
    """Cards that torch sees."""
    interface = device.torch_interface()
    if interface is None or not interface.is_available():
        return []
    found = []
    for index in range(interface.device_count()):
        uuid = device.attempt(lambda index=index: device.uuid_of(interface, index))
        capability = device.attempt(lambda index=index: interface.get_device_capability(index), ())
        found.append(
            {
                "index": index,
                "name": str(interface.get_device_name(index)),
                "uuid": uuid,
                "compute_capability": ".".join(str(part) for part in capability),
            }
        )
    return found


@contextmanager
def stdout_to_stderr():
    """Send what is printed to standard error, by descriptor, so that native code is caught as well."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


if __name__ == "__main__":
    sys.exit(main())
