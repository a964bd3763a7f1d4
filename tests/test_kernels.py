"""All tests of Triton kernels, in Triton's interpreter.

Triton reads ``TRITON_INTERPRET`` when it is imported, so the interpreter needs a process of its own. One process serves
all files: its start takes longer than most of the tests.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from triton_interpreter import HAS_TRITON

TESTS = Path(__file__).parent
FILES = sorted(path for path in TESTS.glob("*/**/test_*.py") if "needs_kernels" in path.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TRITON, reason="needs Triton")
def test_the_interpreter_runs_all_tests_of_kernels():
    # The settings of a surrounding pytest process, such as a worker of pytest-xdist, are not for this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {
        "TRITON_INTERPRET": "1",
        "CUDA_VISIBLE_DEVICES": "",  # the interpreter must also work where there is no GPU
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join([str(TESTS.parent / "src"), str(TESTS), os.environ.get("PYTHONPATH", "")]),
    }
    # Neither the configuration nor conftest.py is read, so that no plugin of pytest is needed.
    plain = ["-c", os.devnull, "--rootdir", str(TESTS), "--noconftest", "--import-mode=importlib"]
    words = [*plain, "-p", "no:cacheprovider", "-W", "error", "-k", "kernel and not gpu", *map(str, FILES)]
    command = [sys.executable, "-m", "pytest", "-q", *words]
    result = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, check=False)
    summary = result.stdout.strip().rpartition("\n")[2]
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert re.search(r"\b[1-9]\d* passed", summary), summary
    assert not re.search(r"skipped|failed|error|xfailed", summary), summary
