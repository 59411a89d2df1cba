"""Compiles recorded kernels again, without a card: `python recompile.py JOB.json`.

A program of its own, run by path from a folder in which nothing else lies; it needs Triton and nothing of the probe.
The environment decides what the compiler does, so one process serves one environment: options that a variable sets are
read at import, and LLVM's flags stick. Prints JSON lines on standard output; what the compiler prints goes to standard
error. A line is told before each kernel, so that whoever reads knows which one a crash took along.

The job: `{"action": "describe" | "compile", "out": FOLDER, "kernels": [{"id", "ttir": PATH, "name", "target":
{"backend", "arch", "warp_size"}, "options": {…}}]}`. Texts and metadata go to `FOLDER/ID/NAME.STAGE`, as in Triton's
cache.
"""

import json
import os
import sys
import time


def main(arguments):
    """Do the job; returns the exit status."""
    if len(arguments) != 1:
        print("usage: recompile.py JOB.json", file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        job = json.load(file)
    tell = teller()
    try:
        import triton
    except Exception as error:
        tell(kind="no_compiler", error=text_of(error), executable=sys.executable)
        return 0
    if job["action"] == "describe":
        describe(job, triton, tell)
    else:
        for kernel in job["kernels"]:
            compile_one(kernel, job["out"], triton, tell)
    tell(kind="end")
    return 0


def teller():
    """A function that prints a JSON line where nothing else can write."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(**fields):
        out.write(json.dumps(fields) + "\n")
        out.flush()

    return tell


def describe(job, triton, tell):
    """Tell versions, and for each target the options that this environment gives when none is asked for."""
    defaults = {}
    for kernel in job["kernels"]:
        key = json.dumps(kernel["target"], sort_keys=True)
        if key in defaults:
            continue
        try:
            backend = backend_of(triton, kernel["target"])
            defaults[key] = {"options": plain(vars(backend.parse_options({})))}
        except Exception as error:
            defaults[key] = {"error": text_of(error)}
    tell(
        kind="compiler",
        triton=str(triton.__version__),
        python=".".join(str(part) for part in sys.version_info[:3]),
        executable=sys.executable,
        triton_path=str(triton.__file__),
        defaults=defaults,
    )


def compile_one(kernel, out, triton, tell):
    """Compile one text to machine code and keep all stages."""
    tell(kind="begin", id=kernel["id"])
    start = time.perf_counter()
    try:
        compiled = triton.compile(kernel["ttir"], target=target_of(kernel["target"]), options=options_of(kernel))
        stages = keep(compiled, kernel, os.path.join(out, kernel["id"]))
    except Exception as error:
        tell(kind="failed", id=kernel["id"], error=text_of(error))
        return
    tell(kind="done", id=kernel["id"], stages=stages, compile_ms=1e3 * (time.perf_counter() - start))


def keep(compiled, kernel, folder):
    """Write texts and metadata; returns the names of the stages."""
    os.makedirs(folder, exist_ok=True)
    stages = []
    for stage, text in dict(compiled.asm).items():
        if stage in ("ttir", "source", "json") or text is None:
            continue  # the text that was given, as this compiler prints it
        with open(os.path.join(folder, f"{kernel['name']}.{stage}"), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        stages.append(stage)
    metadata = compiled.metadata
    metadata = metadata if isinstance(metadata, dict) else metadata._asdict()
    with open(os.path.join(folder, f"{kernel['name']}.json"), "w", encoding="utf-8") as file:
        json.dump(plain(metadata), file)
    return stages


def options_of(kernel):
    """A kernel's options as a launch would give them: what JSON made a list was a tuple."""
    return {name: hashable(value) for name, value in kernel["options"].items()}


def hashable(value):
    """A value that can be part of a cache's key; a dictionary stays one, as the compiler takes it apart itself."""
    return tuple(hashable(item) for item in value) if isinstance(value, list) else value


def target_of(target):
    """Triton's own value for a target."""
    from triton.backends.compiler import GPUTarget

    return GPUTarget(target["backend"], target["arch"], target["warp_size"])


def backend_of(triton, target):
    """The back end that compiles for a target."""
    from triton.compiler.compiler import make_backend

    return make_backend(target_of(target))


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "backend") and hasattr(value, "arch"):
        return {"backend": value.backend, "arch": value.arch, "warp_size": getattr(value, "warp_size", None)}
    return str(value)


def text_of(error):
    """An error in one text, short enough for a table's note."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:500]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
