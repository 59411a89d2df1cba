"""Lists FlagGems' operators: `python -m switchback_probe.collect BENCHMARK_DIR`.

Reads the test files' syntax trees and imports nothing: FlagGems' own `--collect-marks` imports the library, which needs
a card and 6 to 9 seconds. An operator is a test function, `perf_sort` for `test_perf_sort` in `test_sort.py`; its
marks, mostly the library's names, are told beside it. Prints a JSON array of `{operator, file, dtypes, detail, marks}`.
"""

import ast
import json
import os
import sys

BUILTIN_MARKS = {
    "parametrize",
    "skip",
    "skipif",
    "xfail",
    "usefixtures",
    "filterwarnings",
    "timeout",
    "tryfirst",
    "trylast",
}


def main(arguments=None):
    """Print the list; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m switchback_probe.collect BENCHMARK_DIR", file=sys.stderr)
        return 2
    folder = arguments[0]
    if not os.path.isdir(folder):
        print(f"error: `{folder}` is no folder", file=sys.stderr)
        return 2
    print(json.dumps(collect(folder)))
    return 0


def collect(folder):
    """All operators of a benchmark folder, by file and place in the file."""
    constants = Constants(os.path.join(folder, "consts.py"))
    found = []
    for path in test_files(folder):
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        try:
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read(), filename=path)
        except (OSError, SyntaxError, ValueError) as error:
            print(f"warning: `{name}` cannot be read: {error}", file=sys.stderr)
            continue
        found.extend(operators(tree, name[len("test_") : -len(".py")], constants))
    return found


def test_files(folder):
    """Test files, those in folders below as well, sorted; each path begins with `test_`."""
    found = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one.startswith("test_"))
        found.extend(os.path.join(root, one) for one in files if one.startswith("test_") and one.endswith(".py"))
    return sorted(found)


def operators(tree, file, constants):
    """Operators of one test file."""
    everywhere = module_marks(tree)
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            methods = [
                one.name for one in node.body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")
            ]
            if methods:
                print(f"warning: `{file}`: methods of `{node.name}` cannot be asked for alone", file=sys.stderr)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not node.name.startswith("test_"):
            continue
        marks = [mark for mark in map(mark_of, node.decorator_list) if mark is not None]
        names = list(dict.fromkeys(name for name, _ in marks if name not in BUILTIN_MARKS))
        details = []
        count = 1
        for name, call in marks:
            if name == "parametrize" and call is not None:
                count *= parameters(call)
            if name in ("skip", "skipif"):
                details.append(
                    "skipped" if name == "skip" else f"skipped if {ast.unparse(call.args[0])}" if call else ""
                )
        if count > 1:
            details.insert(0, f"{count} parametrised tests")
        details.extend(f"whole file: {name}" for name in everywhere if name in ("skip", "skipif"))
        found.append(
            {
                "operator": node.name[len("test_") :],
                "file": file,
                "dtypes": constants.dtypes_of(node),
                "detail": "; ".join(detail for detail in details if detail),
                "marks": names,
            }
        )
    return found


def module_marks(tree):
    """Names of marks that `pytestmark` gives to a whole file."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(one, ast.Name) and one.id == "pytestmark" for one in node.targets
        ):
            values = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else [node.value]
            found.extend(mark[0] for mark in map(mark_of, values) if mark is not None)
    return found


def mark_of(node):
    """`(name, call or None)` of `pytest.mark.name` and `pytest.mark.name(…)`; None for another decorator."""
    call = node if isinstance(node, ast.Call) else None
    node = call.func if call is not None else node
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "mark"
        and isinstance(node.value.value, ast.Name)
    ):
        return node.attr, call
    return None


def parameters(call):
    """Number of values of a `parametrize`; 1 where it cannot be told without running it."""
    values = call.args[1] if len(call.args) > 1 else None
    for keyword in call.keywords:
        if keyword.arg == "argvalues":
            values = keyword.value
    return max(1, len(values.elts)) if isinstance(values, (ast.List, ast.Tuple)) else 1


class Constants:
    """Lists of dtypes as `consts.py` and the tests write them."""

    def __init__(self, path):
        self.lists = {}
        try:
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read(), filename=path)
        except (OSError, SyntaxError, ValueError):
            return
        for node in tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                value = self.value(node.value)
                if value is not None:
                    self.lists[node.targets[0].id] = value

    def value(self, node):
        """Names of dtypes that an expression lists; None where it has to be run to know."""
        if isinstance(node, (ast.List, ast.Tuple)):
            names = [self.dtype(one) for one in node.elts]
            return None if None in names else names
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.value(node.left), self.value(node.right)
            return None if left is None or right is None else left + right
        if isinstance(node, ast.Name):
            return self.lists.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return self.lists.get(node.attr)
        return None

    @staticmethod
    def dtype(node):
        """`float16` of `torch.float16`."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
            return {"cfloat": "complex64", "half": "float16", "float": "float32"}.get(node.attr, node.attr)
        return None

    def dtypes_of(self, function):
        """Dtypes that a test gives its one benchmark; empty where it cannot be told."""
        found = []
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                found.extend(self.value(one.value) for one in node.keywords if one.arg == "dtypes")
        return list(dict.fromkeys(found[0])) if len(found) == 1 and found[0] else []


if __name__ == "__main__":
    sys.exit(main())
