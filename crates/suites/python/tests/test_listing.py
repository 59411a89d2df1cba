"""The static list of FlagGems' operators, and the check of an interpreter."""

import json
import subprocess
import sys

from conftest import MINI, environment

from switchback_probe import collect


def test_operators_are_functions_with_marks_and_dtypes():
    offered = {one["operator"]: one for one in collect.collect(str(MINI / "benchmark"))}
    assert set(offered) == {
        "add", "add_direct", "add_cloning", "add_quantiles", "mm", "softmax", "softmax_never", "perf_sort",
        "perf_sort_thirteen", "perf_sort_lost", "planted", "bump_unnamed", "gradients", "following", "overwriting",
        "unconfigured", "max_pool2d", "inheriting_pool", "upsample", "lu_factor", "paged", "flash_mla", "scaled_mm",
        "stubborn", "many", "repeating", "apply_repetition_penalties", "another_of_the_same_file", "clustered",
        "router_gemm", "add_all_times", "perf_spectrum", "constant",
    }  # fmt: skip
    assert offered["perf_sort"] == {
        "operator": "perf_sort", "file": "sort", "dtypes": [], "detail": "", "marks": ["sort"],
    }  # fmt: skip
    assert offered["mm"]["dtypes"] == ["float16"]
    assert offered["add_cloning"]["detail"] == "2 parametrised tests"
    assert offered["softmax_never"]["detail"] == "skipped if True"


def test_lists_of_dtypes_are_read_where_they_can_be(tmp_path):
    (tmp_path / "consts.py").write_text("import torch\nA = [torch.float16]\nB = A + [torch.cfloat]\nC = [made()]\n")
    (tmp_path / "test_deep").mkdir()
    (tmp_path / "test_deep" / "test_x.py").write_text(
        "import pytest\npytestmark = pytest.mark.skipif(True, reason='x')\n"
        "@pytest.mark.one\n@pytest.mark.two(shape=3)\ndef test_x():\n    f(dtypes=consts.B + [torch.int8])\n"
        "def test_y():\n    f(dtypes=consts.C)\n"
        "def test_z():\n    f(dtypes=consts.A)\n    f(dtypes=consts.B)\n"
    )
    (tmp_path / "test_torn.py").write_text("def test_(:\n")
    x, y, z = collect.collect(str(tmp_path))
    assert x["dtypes"] == ["float16", "complex64", "int8"] and x["marks"] == ["one", "two"]
    assert x["file"] == "deep/test_x" and x["detail"] == "whole file: skipif"
    assert y["dtypes"] == z["dtypes"] == []


def test_the_check_prints_one_object_whatever_is_missing(tmp_path):
    (tmp_path / "loud.py").write_text("print('hello')\n__version__ = '1'\n")
    (tmp_path / "leaving.py").write_text("raise SystemExit('no card')\n")
    env = environment(tmp_path)
    # Triton 3.2 asks for a driver where a tuner is made, and FlagGems makes some while it loads.
    code = "import fake_driver, sys; from switchback_probe import check; sys.exit(check.main())"
    names = ["triton", "torch", "flag_gems", "loud", "leaving", "nowhere"]
    env["PYTHONPATH"] += f":{tmp_path}"
    process = subprocess.run(
        [sys.executable, "-c", code, "--flaggems", str(MINI), *names],
        env=env,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    assert found["executable"] == sys.executable
    assert found["modules"]["loud"]["version"] == "1" and "hello" in process.stderr
    assert found["modules"]["leaving"]["error"] == "SystemExit: no card"
    assert found["modules"]["nowhere"]["error"] == "ModuleNotFoundError: No module named 'nowhere'"
    assert found["modules"]["flag_gems"] == {"version": "9.9.9", "file": str(MINI / "src/flag_gems/__init__.py")}
    assert found["devices"] == [
        {
            "index": 0,
            "name": "Fake H200",
            "uuid": "GPU-00000000-1111-2222-3333-444444444444",
            "compute_capability": "9.0",
        }
    ]
    assert len(found["compiler_digest"]) == 64
