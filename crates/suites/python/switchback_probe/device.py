"""The card and the software around it: set-up before the benchmark, and what `start` tells.

Fail-soft: a fact that cannot be read is left out, and an unknown condition is visible as such.
"""

import ctypes
import os
import platform
import socket
import sys

from . import compat

TUNING_VARIABLES = "USE_FLAGTUNE"
COMMIT_VARIABLE = "SWITCHBACK_LIBRARY_COMMIT"

_TORCH_EXTENSIONS = {"mthreads": "torch_musa", "ascend": "torch_npu", "cambricon": "torch_mlu", "enflame": "torch_gcu"}


def load(vendor):
    """Load the vendor's torch extension, and say what it sees; nothing is done on a device."""
    import importlib

    extension = _TORCH_EXTENSIONS.get(vendor)
    if extension:
        importlib.import_module(extension)
    interface = torch_interface(vendor)
    if interface is not None and interface.is_available():
        return f"device 0 of {interface.device_count()} through `{interface.__name__}`"
    return "no device is available to torch"


def choose(vendor):
    """Choose device 0, the only one that the engine lets a cell see; on some this makes its context."""
    interface = torch_interface(vendor)
    if interface is not None and interface.is_available():
        interface.set_device(0)


def torch_interface(vendor=""):
    """`torch.cuda` or the vendor's own namespace of torch; None without torch."""
    torch = sys.modules.get("torch")
    if torch is None:
        try:
            import torch
        except Exception:
            return None
    name = {"mthreads": "musa", "ascend": "npu", "cambricon": "mlu", "enflame": "gcu"}.get(vendor, "cuda")
    return getattr(torch, name, None) or getattr(torch, "cuda", None)


def attempt(read, default=""):
    """A fact, or the default where reading it fails."""
    try:
        found = read()
    except Exception:
        return default
    return default if found is None else found


def conditions(triton, vendor="", library=None):
    """Conditions that only this process can know, by the names in `switchback_model::conditions`."""
    torch = sys.modules.get("torch")
    interface = torch_interface(vendor)
    found = {
        "compiler": f"triton {triton.__version__}" if triton is not None else "",
        "compiler_digest": attempt(compat.compiler_digest) if triton is not None else "",
        "torch": str(getattr(torch, "__version__", "")),
        "library_tuning": library_tuning(os.environ),
        "python": platform.python_version(),
        "device": attempt(lambda: interface.get_device_name(0)),
        "compute_capability": attempt(lambda: ".".join(str(part) for part in interface.get_device_capability(0))),
        "driver": attempt(driver_version),
    }
    if library is not None:
        found["library"] = f"{library.__name__} {getattr(library, '__version__', '')}".strip()
        folder = os.path.dirname(os.path.abspath(getattr(library, "__file__", "") or "."))
        found["library_commit"] = attempt(lambda: commit_of(folder)) or os.environ.get(COMMIT_VARIABLE, "")
    return found


def identity(triton, vendor="", library=None):
    """Facts that are recorded and not compared: paths, the card's UUID, host, runtime and package versions."""
    torch = sys.modules.get("torch")
    interface = torch_interface(vendor)
    found = {
        "python_executable": sys.executable,
        "python_build": " ".join(sys.version.split()),
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "probe_path": os.path.dirname(os.path.abspath(__file__)),
        "triton_path": str(getattr(triton, "__file__", "")),
        "torch_path": str(getattr(torch, "__file__", "")),
        "device_uuid": attempt(lambda: uuid_of(interface)),
        "device_count": attempt(lambda: interface.device_count()),
        "cuda_runtime": attempt(lambda: torch.version.cuda),
        "hip_runtime": attempt(lambda: torch.version.hip),
        "target": attempt(lambda: compat.target_backend(triton)),
        "packages": attempt(packages),
    }
    if library is not None:
        found["library_path"] = str(getattr(library, "__file__", ""))
        found["library_vendor"] = str(getattr(library, "vendor_name", ""))
    return found


def library_tuning(environment):
    """The library's tuning variables, as one text; `default` where none is set."""
    found = sorted(f"{name}={value}" for name, value in environment.items() if name.startswith(TUNING_VARIABLES))
    return " ".join(found) or "default"


def packages():
    """Versions of the installed packages that touch a measurement."""
    from importlib import metadata

    wanted = (
        "torch",
        "triton",
        "pytorch-triton",
        "flagtree",
        "flag-gems",
        "flag_gems",
        "numpy",
        "pytest",
        "sqlalchemy",
    )
    found = {}
    for name in wanted:
        try:
            found[name.replace("_", "-")] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return " ".join(f"{name}={version}" for name, version in sorted(found.items()))


def uuid_of(interface, index=0):
    """The card's UUID in the form that `nvidia-smi` prints."""
    uuid = str(interface.get_device_properties(index).uuid)
    return uuid if uuid.startswith(("GPU-", "MIG-")) or uuid == "None" else f"GPU-{uuid}"


def driver_version():
    """Version of the kernel driver; empty where it does not tell."""
    try:
        with open("/sys/module/nvidia/version", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        pass
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    buffer = ctypes.create_string_buffer(96)
    if nvml.nvmlInit_v2() != 0:
        return ""
    try:
        return buffer.value.decode() if nvml.nvmlSystemGetDriverVersion(buffer, 96) == 0 else ""
    finally:
        nvml.nvmlShutdown()


def commit_of(folder):
    """Commit of the checkout of a package that lies in it as `src/package` or `package`; empty where there is none.

    No further up: an archive that was unpacked within somebody's repository is not of that repository's commit.
    """
    folder = os.path.abspath(folder)
    for _ in range(3):
        git = os.path.join(folder, ".git")
        if os.path.exists(git):
            return head_of(git)
        folder = os.path.dirname(folder)
    return ""


def head_of(git):
    """Commit that a `.git` folder, or the file of a worktree, points to."""
    if os.path.isfile(git):
        with open(git, encoding="utf-8") as file:
            pointed = file.read().split(":", 1)[1].strip()
        git = os.path.normpath(os.path.join(os.path.dirname(git), pointed))
    with open(os.path.join(git, "HEAD"), encoding="utf-8") as file:
        head = file.read().strip()
    if not head.startswith("ref:"):
        return head
    name = head.split(":", 1)[1].strip()
    common = git
    if os.path.exists(os.path.join(git, "commondir")):
        with open(os.path.join(git, "commondir"), encoding="utf-8") as file:
            common = os.path.normpath(os.path.join(git, file.read().strip()))
    for base in (git, common):
        path = os.path.join(base, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return file.read().strip()
    with open(os.path.join(common, "packed-refs"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 2 and words[1] == name:
                return words[0]
    return ""
