"""Prints MLIR texts with Triton's own parser and without locations, as digests to compare.

For each `*.mlir` in a folder, one line: `<stem> <SHA-256 of the printed module>`, or `<stem> invalid` if
the text does not parse or verify. Equal digests: Triton takes the texts for the same module, up to
locations, names of values and aliases, spacing. Needs an interpreter with triton 3.6 and nothing else.
"""

import hashlib
import os
import sys
from pathlib import Path

from triton._C.libtriton import ir, nvidia


def printed(path: Path) -> str | None:
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    try:
        return ir.parse_mlir_module(str(path), context).str_nodebug()
    except RuntimeError:
        return None


def without_stamps(text: str) -> str:
    """The parser knows no stamps; they stand in the module's dictionary, on one line."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("module attributes {") and '"ttg.rlc-' in line:
            inside, rest = line.removeprefix("module attributes {").rsplit("} {", 1)
            kept = [entry for entry in inside.split(", ") if not entry.startswith('"ttg.rlc-')]
            lines[number] = "module attributes {" + ", ".join(kept) + "} {" + rest
    return "\n".join(lines)


def judge(paths: list[Path]) -> None:
    for path in paths:
        text = printed(path)
        verdict = "invalid" if text is None else hashlib.sha256(without_stamps(text).encode()).hexdigest()
        print(path.stem, verdict, flush=True)


def main() -> None:
    paths = sorted(Path(sys.argv[1]).glob("*.mlir"))
    while paths:
        # Some invalid texts abort the parser, so it runs in a child; what a child died of is refused.
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.dup2(writing, 1)
            # The parser reports what it refuses on the error stream; a thousand refusals are no news.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            judge(paths)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as lines:
            done = [line for line in lines if line.endswith("\n")]
        os.waitpid(child, 0)
        sys.stdout.writelines(done)
        paths = paths[len(done) :]
        if paths:
            print(paths.pop(0).stem, "invalid")


main()
